//! Playing: a log's messages again, at the times of a beat of their own.
//!
//! A [`Player`] only computes: it returns which message is due when, and is tested in virtual time. [`play`]
//! sleeps and hands over. Due times are absolute, so that no delay adds up: a message that was late makes
//! none of the next ones late.

use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime, WallTime};
use kadenz_rt::random::Random;
use kadenz_rt::sleep::{self, OpenSleeperError, Sleeper, SleeperKind, SleeperOptions};

use super::{Damage, Entry, LogError, LogReader};
use crate::channel::ChannelFilter;

/// Determines when each message of a log is due.
///
/// ```
/// use kadenz_msg::log::play::{PlayOptions, Player, Timing as _, VirtualTime, play};
/// # use kadenz_msg::log::{self, Entry, LogWriter as _};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("log");
/// # let mut writer = log::create(&path, log::Format::EventLog)?;
/// # let channel = std::sync::Arc::new(log::LoggedChannel::lcm("POSE"));
/// # for n in 0..3 {
/// #     let log_time = kadenz_rt::clock::WallTime::from_unix_ns(n * 1_000_000);
/// #     writer.write(&Entry { log_time, channel: channel.clone(), ..Entry::default() })?;
/// # }
/// # writer.finish()?;
/// let options = PlayOptions { speed: 2.0, ..PlayOptions::default() };
/// let mut player = Player::new(log::open(&path)?, options)?;
/// let mut time = VirtualTime::default();
/// let mut count = 0;
/// play(&mut player, &mut time, &mut || false, &mut |_played| count += 1)?;
/// assert_eq!((count, time.now().as_ns()), (3, 1_000_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Player {
    reader: Box<dyn LogReader>,
    options: PlayOptions,
    random: Random,
    head: Entry,
    /// Whether `head` is the next message.
    has_head: bool,
    /// Whether `due` is that of `head`.
    has_due: bool,
    due: MonotonicTime,
    /// A time of the log, with the time at which it is played.
    anchor: Option<(WallTime, MonotonicTime)>,
    rounds: u64,
    /// How many messages this round has given; a round without any is the last.
    given: u64,
    lost: u64,
    /// The most damage of a round before.
    damage: Damage,
}

impl Player {
    /// Plays from the start that the options name.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn new(mut reader: Box<dyn LogReader>, options: PlayOptions) -> Result<Self, LogError> {
        if let Some(from) = options.from {
            reader.seek(from)?;
        }
        Ok(Self {
            reader,
            random: Random::new(options.seed),
            options,
            head: Entry::default(),
            has_head: false,
            has_due: false,
            due: MonotonicTime::from_ns(0),
            anchor: None,
            rounds: 0,
            given: 0,
            lost: 0,
            damage: Damage::default(),
        })
    }

    /// Returns the due time of the next message; `None` at the end. The first call sets its message due at
    /// `now`.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn next_due(&mut self, now: MonotonicTime) -> Result<Option<MonotonicTime>, LogError> {
        if !self.find_next(&mut || false)? {
            return Ok(None);
        }
        if !self.has_due {
            self.due = self.next_due_time(now);
            self.has_due = true;
        }
        Ok(Some(self.due))
    }

    /// Reads up to the next wanted message; returns `false` at the end, and once `stop` returns `true`.
    fn find_next(&mut self, stop: &mut dyn FnMut() -> bool) -> Result<bool, LogError> {
        while !self.has_head {
            if stop() {
                return Ok(false);
            }
            if !self.reader.read(&mut self.head)? || self.is_behind_the_end() {
                if !self.begin_again()? {
                    return Ok(false);
                }
                continue;
            }
            self.has_head = self.is_wanted();
            self.has_due = false;
        }
        Ok(true)
    }

    /// Returns the message that is due next; call it after [`Player::next_due`] has returned its time.
    pub fn take(&mut self) -> Option<&mut Entry> {
        let had = std::mem::take(&mut self.has_head);
        self.given += u64::from(had);
        had.then_some(&mut self.head)
    }

    /// Returns how many messages were left out on purpose, by [`PlayOptions::loss`].
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the parts of the log that could not be read; if it was read several times, the most of one time.
    #[must_use]
    pub fn damage(&self) -> Damage {
        let now = self.reader.damage();
        match now.places >= self.damage.places {
            true => now,
            false => self.damage,
        }
    }

    /// Returns how much of the log has been read, and how much there is, in bytes.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        self.reader.progress()
    }

    fn is_behind_the_end(&self) -> bool {
        let until = self.options.until;
        until.is_some_and(|until| self.head.log_time >= until)
    }

    fn begin_again(&mut self) -> Result<bool, LogError> {
        if !self.options.looped || self.given == 0 {
            return Ok(false);
        }
        self.given = 0;
        self.rounds += 1;
        self.damage = self.damage();
        let begin = WallTime::from_unix_ns(i64::MIN);
        self.reader.seek(self.options.from.unwrap_or(begin))?;
        // The next round begins when the last message of this one was due.
        self.anchor = None;
        Ok(true)
    }

    fn is_wanted(&mut self) -> bool {
        if !self.options.channels.wants(&self.head.channel.name) {
            return false;
        }
        let lost = self.options.loss > 0.0 && self.random.unit() < self.options.loss;
        self.lost += u64::from(lost);
        // A loop of which everything is lost still has had its messages.
        self.given += u64::from(lost);
        !lost
    }

    fn next_due_time(&mut self, now: MonotonicTime) -> MonotonicTime {
        let begin = if self.rounds == 0 { now } else { self.due };
        let (origin, start) = *self.anchor.get_or_insert((self.head.log_time, begin));
        let speed = self.options.speed;
        if speed <= 0.0 {
            return start;
        }
        let passed_ns = self
            .head
            .log_time
            .as_unix_ns()
            .saturating_sub(origin.as_unix_ns());
        // Exact if the speed is 1: a float has no room for the nanoseconds of a year.
        let scaled_ns = if speed == 1.0 {
            passed_ns
        } else {
            (passed_ns as f64 / speed) as i64
        };
        let jitter_ns = self.options.jitter.as_nanos() as f64 * self.random.unit();
        let due = start.offset_by_ns(scaled_ns.saturating_add(jitter_ns as i64));
        // Neither jitter nor a log out of order makes a message overtake the one before.
        due.max(if self.given == 0 { start } else { self.due })
    }
}

/// A message that is played.
#[derive(Debug)]
pub struct Played<'a> {
    /// The message; its payload may be taken by a swap.
    pub entry: &'a mut Entry,
    /// How much later than due it is handed over, in nanoseconds.
    pub lateness_ns: i64,
}

/// Plays to the end, or until `stop` returns `true`; it is called at least every 50 ms. Returns the number of
/// messages that were handed over.
///
/// # Errors
/// If the log cannot be read.
pub fn play(
    player: &mut Player,
    time: &mut dyn Timing,
    stop: &mut dyn FnMut() -> bool,
    hand_over: &mut dyn FnMut(Played<'_>),
) -> Result<u64, LogError> {
    let mut count = 0;
    // The clock is read behind the search, which may read through a long log.
    while player.find_next(stop)?
        && let Some(due) = player.next_due(time.now())?
    {
        loop {
            if stop() {
                return Ok(count);
            }
            let slice = time.now() + MAX_SLEEP;
            time.sleep_until(due.min(slice));
            if due <= slice {
                break;
            }
        }
        let lateness_ns = time.now().since(due);
        if let Some(entry) = player.take() {
            hand_over(Played { entry, lateness_ns });
            count += 1;
        }
    }
    Ok(count)
}

/// The maximum duration of a sleep before the next look at `stop`.
const MAX_SLEEP: std::time::Duration = std::time::Duration::from_millis(50);

/// The options of a player.
#[derive(Debug, Clone)]
pub struct PlayOptions {
    /// The speed relative to the recording; 0 for as fast as possible.
    pub speed: f64,
    /// The time of the log at which it begins.
    pub from: Option<WallTime>,
    /// The time of the log before which it ends.
    pub until: Option<WallTime>,
    /// The channels to play.
    pub channels: ChannelFilter,
    /// Whether it begins again at its end.
    pub looped: bool,
    /// The maximum delay of a message, evenly distributed from zero on.
    pub jitter: Duration,
    /// The share of messages that are left out, from 0 to 1.
    pub loss: f64,
    /// The same seed gives the same jitter and loss.
    pub seed: u64,
}

impl Default for PlayOptions {
    /// Everything, once, as it was recorded.
    fn default() -> Self {
        Self {
            speed: 1.0,
            from: None,
            until: None,
            channels: ChannelFilter::default(),
            looped: false,
            jitter: Duration::ZERO,
            loss: 0.0,
            seed: 0,
        }
    }
}

// The clock by which a player sleeps: the sleep clock, or a clock of its own in tests.

/// A clock, and a way to sleep on it.
pub trait Timing {
    /// Returns the present time.
    fn now(&self) -> MonotonicTime;

    /// Returns once the clock shows that time; at once if it has passed.
    fn sleep_until(&mut self, deadline: MonotonicTime);
}

/// The sleep clock.
pub struct SleepClock(Box<dyn Sleeper>);

impl SleepClock {
    /// Opens the sleeper that is recommended for this system.
    ///
    /// # Errors
    /// If the kernel refuses one.
    pub fn open() -> Result<Self, OpenSleeperError> {
        let sleeper = sleep::open(SleeperKind::recommended(), SleeperOptions::default())?;
        Ok(Self(sleeper))
    }
}

impl Timing for SleepClock {
    fn now(&self) -> MonotonicTime {
        clock::now()
    }

    fn sleep_until(&mut self, deadline: MonotonicTime) {
        self.0.sleep_until(deadline);
    }
}

/// A clock that advances only when a thread sleeps by it.
#[derive(Debug, Clone, Default)]
pub struct VirtualTime(MonotonicTime);

impl Timing for VirtualTime {
    fn now(&self) -> MonotonicTime {
        self.0
    }

    fn sleep_until(&mut self, deadline: MonotonicTime) {
        self.0 = self.0.max(deadline);
    }
}

#[cfg(test)]
mod tests;
