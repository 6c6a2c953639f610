use std::marker::PhantomData;
use std::time::Duration;

use kadenz_record::run::folder::{AddSeriesError, SeriesRecorder};
use kadenz_record::run::model::{Kind, Series};
use kadenz_record::samples::Sample;
use kadenz_rt::beat::{Beat, ParseRateError, Rate};
use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::sleep::{self, OpenSleeperError, Sleeper, SleeperKind, SleeperOptions};
use kadenz_rt::tuning::{self, AppliedTuning, Measure, Tuning};
use kadenz_rt::units::{self, ParseQuantityError};

use crate::machine;
use crate::recording::{Recording, nanoseconds};

/// A periodic loop before it starts: its rate, and its tuning.
///
/// ```
/// use kadenz::Periodic;
///
/// let mut position = 0.0;
/// for tick in Periodic::new("1kHz")?.start()?.take(10) {
///     position += 0.5 * tick.step().as_secs_f64();
/// }
/// assert!(position >= 0.005);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Real-time safety
/// For the time before the loop: starting it allocates and makes system calls. [`Ticks`] states what the loop does.
#[derive(Debug, Clone)]
pub struct Periodic {
    rate: Rate,
    deadline: Option<Duration>,
    tuning: Tuning,
    sleeper: SleeperKind,
}

/// Why a loop cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordTicksError {
    /// This machine lacks the timer of the loop's sleep.
    #[error(transparent)]
    Sleeper(#[from] OpenSleeperError),
    /// The recording cannot add the series.
    #[error(transparent)]
    Series(#[from] AddSeriesError),
}

impl Periodic {
    /// A loop at a rate with its unit: `1kHz`, `250Hz`, `29.97Hz`, `30000/1001Hz`.
    ///
    /// # Errors
    /// [`ParseRateError`] where the text is not a rate.
    pub fn new(rate: &str) -> Result<Self, ParseRateError> {
        rate.parse().map(Self::at)
    }

    /// A loop at a rate.
    #[must_use]
    pub fn at(rate: Rate) -> Self {
        Self {
            rate,
            deadline: None,
            tuning: Tuning::default(),
            sleeper: SleeperKind::recommended(),
        }
    }

    /// How late a wake-up may be, with its unit: `400us`. A recording counts what is later as missed.
    ///
    /// # Errors
    /// [`ParseQuantityError`] where the text is not a duration.
    pub fn deadline(mut self, limit: &str) -> Result<Self, ParseQuantityError> {
        self.deadline = Some(units::duration(limit)?);
        Ok(self)
    }

    /// The requested tuning of the loop's thread: priority, locked memory, CPUs. Where the system refuses a part, the
    /// loop runs without it; see [`Ticks::measures`].
    #[must_use]
    pub fn tuned(mut self, tuning: Tuning) -> Self {
        self.tuning = tuning;
        self
    }

    /// How the loop sleeps; [`SleeperKind::Spin`] wakes up with less delay and takes more of the CPU.
    #[must_use]
    pub fn sleeper(mut self, sleeper: SleeperKind) -> Self {
        self.sleeper = sleeper;
        self
    }

    /// Tunes the calling thread, and starts: the first tick comes one interval after the first call of
    /// [`Ticks::next`]. The thread is restored when the ticks are dropped.
    ///
    /// # Errors
    /// [`OpenSleeperError`] where this machine lacks the timer of the loop's sleep.
    pub fn start(self) -> Result<Ticks<'static>, OpenSleeperError> {
        self.begin()
    }

    /// As [`start`](Self::start), with the lateness of each wake-up recorded as a series of that name. The run keeps
    /// the requested and the granted tuning, and a warning for each refusal.
    ///
    /// The ticks borrow the run, so it cannot be finished while a loop still records into it:
    ///
    /// ```compile_fail,E0505
    /// # use kadenz::{Periodic, Recording};
    /// # fn f() -> Result<(), Box<dyn std::error::Error>> {
    /// let run = Recording::create("run")?;
    /// let mut ticks = Periodic::new("1kHz")?.record(&run, "lateness")?;
    /// run.finish()?;
    /// ticks.next();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecordTicksError`] where the name is taken or not a file name, and as [`start`](Self::start).
    pub fn record<'a>(
        self,
        run: &'a Recording,
        series: &str,
    ) -> Result<Ticks<'a>, RecordTicksError> {
        let recorder = run.series(run.spec(Series {
            name: series.to_owned(),
            description: "how late the loop woke up".to_owned(),
            kind: Kind::Lateness,
            expected_interval_ns: Some(nanoseconds(self.rate.interval().as_duration())),
            deadline_ns: self.deadline.map(nanoseconds),
            ..Series::default()
        }))?;
        let mut ticks: Ticks<'a> = self.begin()?;
        machine::note_tuning(run.running(), &[series], ticks.measures());
        ticks.lateness = Some(Lateness {
            recorder,
            origin: run.start(),
        });
        Ok(ticks)
    }

    fn begin<'a>(self) -> Result<Ticks<'a>, OpenSleeperError> {
        let sleeper = sleep::open(self.sleeper, SleeperOptions::default())?;
        let words = self.sleeper.to_string();
        Ok(Ticks {
            rate: self.rate,
            beat: None,
            sleeper,
            sleeping: Measure {
                name: "sleeper",
                requested: words.clone(),
                granted: words,
                ok: true,
                reason: None,
                remedy: None,
            },
            lateness: None,
            tuned: tuning::apply(&self.tuning),
            of_run: PhantomData,
        })
    }
}

/// The ticks of a periodic loop: an endless iterator, on the thread that started it. Each call of [`next`](Self::next)
/// sleeps until the next intended time; `take`, `take_while` and `break` end the loop.
///
/// The intended times are the start plus whole intervals, exactly: lateness does not add up. A loop that
/// falls behind gets the latest tick that is due, and the ticks before it are skipped: [`Tick::skipped`]
/// counts them, [`Tick::step`] spans them, and a recording holds each as late as it then is, so that a
/// stall is not hidden.
///
/// A program that must end cleanly on Ctrl-C sets a flag in its handler, and checks it:
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
/// use kadenz::Periodic;
///
/// static STOP: AtomicBool = AtomicBool::new(false);
///
/// let ticks = Periodic::new("1kHz")?.start()?;
/// for tick in ticks.take_while(|_| !STOP.load(Relaxed)) {
///     // ... the control law ...
/// #   STOP.store(tick.index() > 3, Relaxed);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Real-time safety
/// After the start, `next` allocates nothing, takes no lock, and makes no system call but the sleep and the
/// reading of the clock.
pub struct Ticks<'a> {
    rate: Rate,
    /// `None` before the first tick.
    beat: Option<Beat>,
    sleeper: Box<dyn Sleeper>,
    sleeping: Measure,
    lateness: Option<Lateness>,
    /// Restores the thread's settings when dropped.
    tuned: AppliedTuning,
    /// Borrows the run, so that it ends after its loops.
    of_run: PhantomData<&'a Recording>,
}

/// The recorder of lateness.
#[derive(Debug)]
struct Lateness {
    recorder: SeriesRecorder,
    /// Start of the run.
    origin: MonotonicTime,
}

impl Ticks<'_> {
    /// The requested tuning and what the system granted, with the reason and the remedy of a refusal.
    pub fn measures(&self) -> impl Iterator<Item = &Measure> {
        self.tuned.measures.iter().chain([&self.sleeping])
    }

    /// As [`next`](Iterator::next), for a caller that must also check something else: sleeps for at most `longest`.
    /// `None` where the tick is not due by then; the next call waits for the same tick.
    ///
    /// # Real-time safety
    /// As of [`Ticks`].
    pub fn next_within(&mut self, longest: Duration) -> Option<Tick> {
        let interval = self.rate.interval();
        let now = clock::now();
        let beat = self.beat.get_or_insert_with(|| Beat::at(now, interval));
        let due = beat.intended(beat.index() + 1);
        if due.remaining(now) > longest {
            self.sleeper.sleep_until(now + longest);
            return None;
        }
        self.next()
    }

    /// The same ticks without the lifetime that makes them end before their run: for languages without lifetimes.
    /// Samples that come after the run was finished are lost.
    #[must_use]
    pub fn beyond_the_run(self) -> Ticks<'static> {
        let Self {
            rate,
            beat,
            sleeper,
            sleeping,
            lateness,
            tuned,
            of_run: _,
        } = self;
        Ticks {
            rate,
            beat,
            sleeper,
            sleeping,
            lateness,
            tuned,
            of_run: PhantomData,
        }
    }
}

impl Iterator for Ticks<'_> {
    type Item = Tick;

    /// Sleeps until the next tick; never `None`.
    ///
    /// # Real-time safety
    /// As of [`Ticks`].
    fn next(&mut self) -> Option<Tick> {
        let interval = self.rate.interval();
        let beat = self
            .beat
            .get_or_insert_with(|| Beat::at(clock::now(), interval));
        let before = beat.current();
        self.sleeper.sleep_until(beat.next());
        let tick = Tick::woken(beat, before, clock::now());
        if let Some(lateness) = &mut self.lateness {
            lateness.record(beat, &tick);
        }
        Some(tick)
    }
}

impl std::fmt::Debug for Ticks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticks")
            .field("rate", &self.rate)
            .field("sleeper", &self.sleeping.granted)
            .field("tuned", &self.tuned)
            .finish_non_exhaustive()
    }
}

impl Lateness {
    /// Records a tick, and before it the skipped ones.
    fn record(&mut self, beat: &Beat, tick: &Tick) {
        let sample = |index: u64| {
            let intended = beat.intended(index);
            Sample {
                sequence: index - 1,
                intended_ns: intended.since(self.origin),
                actual_ns: tick.woke.since(self.origin),
                value_ns: tick.woke.since(intended),
            }
        };
        if tick.skipped > 0 {
            let [first, last] = [tick.index - tick.skipped, tick.index - 1].map(sample);
            self.recorder.record_left_out(first, last, tick.skipped);
        }
        self.recorder.record(sample(tick.index));
    }
}

/// One tick of a periodic loop.
///
/// # Real-time safety
/// All methods are a few instructions without allocation, lock or system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    index: u64,
    intended: MonotonicTime,
    before: MonotonicTime,
    woke: MonotonicTime,
    skipped: u64,
}

impl Tick {
    /// The latest tick that is due at the wake-up. `before` is the intended time of the previous tick.
    fn woken(beat: &mut Beat, before: MonotonicTime, woke: MonotonicTime) -> Self {
        let skipped = beat.skip_to(woke);
        Self {
            index: beat.index(),
            intended: beat.current(),
            before,
            woke,
            skipped,
        }
    }

    /// Its number: 1 for the first; skipped ones count. Its intended time is the start plus so many intervals.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The time step of the control law: from the intended time of the tick before to that of this one; an interval,
    /// and one more for each skipped tick.
    #[must_use]
    pub fn step(&self) -> Duration {
        self.intended.remaining(self.before)
    }

    /// The intended time of the wake-up.
    #[must_use]
    pub fn intended(&self) -> MonotonicTime {
        self.intended
    }

    /// The actual time of the wake-up.
    #[must_use]
    pub fn woke(&self) -> MonotonicTime {
        self.woke
    }

    /// How much later than intended the loop woke up.
    #[must_use]
    pub fn lateness(&self) -> Duration {
        self.woke.remaining(self.intended)
    }

    /// How many ticks before this one were skipped, because the loop's body took too long.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }
}

#[cfg(test)]
mod tests;
