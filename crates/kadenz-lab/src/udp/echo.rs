//! A device: it answers packets, and does nothing else.

use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime, WallTime};
use kadenz_rt::net::port::{Inbox, OpenPortError, PortOptions, Reception, UdpPort, Wait};
use kadenz_udp::device::{Answer, Echo, EchoCounts, Policy};
use kadenz_udp::wire::MAX_PAYLOAD_BYTES;

use super::Rehearsal;
use crate::stop::Stop;

/// How a device waits for packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listening {
    /// The kernel wakes the thread.
    #[default]
    Blocking,
    /// If packets keep a beat, the thread is awake before the next, has rehearsed its answer over the loopback, and
    /// polls around the time at which it is due; otherwise the kernel wakes the thread.
    Anticipating,
    /// The thread polls, and takes a whole CPU.
    BusyPoll,
}

/// The clock of a device's stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StampClock {
    /// The monotonic clock of the device.
    #[default]
    Monotonic,
    /// Its wall clock: ns since 1970-01-01 00:00 UTC. For hosts with synchronised clocks.
    Wall,
}

impl StampClock {
    /// The time of this clock.
    ///
    /// # Real-time safety
    /// Real-time safe: one or two readings of a clock.
    fn now_ns(self) -> u64 {
        match self {
            Self::Monotonic => clock::now().as_ns(),
            Self::Wall => WallTime::now().as_unix_ns().cast_unsigned(),
        }
    }
}

/// Parameters of a device.
#[derive(Clone, Debug, Default)]
pub struct EchoPlan {
    /// The address, interface and other options of the socket.
    pub port: PortOptions,
    /// Which packets it answers, how often, and its name.
    pub policy: Policy,
    /// How the device waits for packets.
    pub listening: Listening,
    /// The clock of its stamps.
    pub stamps: StampClock,
}

/// Counts of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub struct Echoed {
    /// Counts of the protocol.
    #[cfg_attr(feature = "schema", serde(flatten))]
    pub counts: EchoCounts,
    /// Answers that the system refused to send.
    pub unsent: u64,
    /// Packets that the kernel dropped, the receive buffer being full.
    pub dropped: u64,
}

/// Datagrams that one call takes at most, after a wait.
const SLOTS: usize = 64;
/// Size of the datagrams with which an anticipating device rehearses its answer.
const REHEARSED_BYTES: usize = 256;
/// How often a blocked device checks for a stop request.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A device that is ready to answer.
pub struct EchoDevice {
    port: UdpPort,
    inbox: Inbox,
    echo: Echo,
    listening: Listening,
    anticipation: Anticipation,
    rehearsal: Option<Rehearsal>,
    /// Whether it has rehearsed since the last packet.
    rehearsed: bool,
    stamps: StampClock,
    unsent: u64,
}

impl EchoDevice {
    /// Opens the port.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn open(plan: &EchoPlan) -> Result<Self, OpenPortError> {
        Ok(Self {
            port: UdpPort::open(&plan.port)?,
            inbox: Inbox::new(slots(plan.listening), MAX_PAYLOAD_BYTES),
            echo: Echo::new(plan.policy.clone()),
            listening: plan.listening,
            anticipation: Anticipation::default(),
            rehearsal: match plan.listening {
                Listening::Anticipating => Some(Rehearsal::open(REHEARSED_BYTES)?),
                Listening::Blocking | Listening::BusyPoll => None,
            },
            rehearsed: false,
            stamps: plan.stamps,
            unsent: 0,
        })
    }

    /// The port that the device receives and answers by.
    #[must_use]
    pub fn port(&self) -> &UdpPort {
        &self.port
    }

    /// Answers until a stop is requested.
    ///
    /// # Real-time safety
    /// Real-time safe: allocates nothing and takes no lock; two system calls per packet, or fewer.
    pub fn run(&mut self, stop: &Stop) {
        while !stop.requested() {
            match self.listening {
                Listening::Blocking => self.listen(Wait::Until(clock::now() + POLL_INTERVAL)),
                Listening::Anticipating => self.anticipate(),
                Listening::BusyPoll => self.listen(Wait::Poll),
            }
        }
    }

    fn listen(&mut self, wait: Wait) {
        // An error concerns an earlier answer; the next packet may come.
        if let Ok(Reception::Datagrams(_)) = self.port.receive_batch(&mut self.inbox, wait) {
            let received = clock::now();
            self.answer(received.as_ns(), self.stamps.now_ns());
            self.anticipation.came(received);
            self.rehearsed = false;
        }
    }

    fn anticipate(&mut self) {
        let now = clock::now();
        match self.anticipation.next(now) {
            Some(expected) if now >= expected.from => {
                if let Some(rehearsal) = self.rehearsal.as_mut().filter(|_| !self.rehearsed) {
                    rehearsal.play();
                    self.rehearsed = true;
                }
                self.listen(Wait::Poll);
                // The sender may need this CPU.
                std::thread::yield_now();
            }
            Some(expected) => self.listen(Wait::Until(expected.from.min(now + POLL_INTERVAL))),
            None => self.listen(Wait::Until(now + POLL_INTERVAL)),
        }
    }

    /// The counts of packets so far.
    pub fn echoed(&mut self) -> Echoed {
        Echoed {
            counts: self.echo.counts(),
            unsent: self.unsent,
            dropped: self.port.dropped().unwrap_or(0),
        }
    }

    fn answer(&mut self, now_ns: u64, received_ns: u64) {
        for datagram in self.inbox.datagrams() {
            if datagram.truncated() {
                continue;
            }
            let answer = self
                .echo
                .on_stamped_datagram(now_ns, received_ns, datagram.bytes);
            let Answer::Reply(length) = answer else {
                continue;
            };
            let Some(reply) = datagram.bytes.get_mut(..length) else {
                continue;
            };
            self.echo.stamp_departure(self.stamps.now_ns(), reply);
            self.unsent += u64::from(self.port.send_to(reply, datagram.from).is_err());
        }
    }
}

/// A call for more than one datagram checks for a second datagram before it returns the first, which delays the answer
/// by microseconds.
fn slots(listening: Listening) -> usize {
    match listening {
        Listening::Blocking => SLOTS,
        Listening::Anticipating | Listening::BusyPoll => 1,
    }
}

// Predicts the next packet, if packets keep a beat. Sans-IO.

/// Packets that must have kept the beat before the next is expected.
const MIN_BEATS_TO_PREDICT: u32 = 4;
/// A packet may be off its beat by this share of the interval, either way.
const OFF_BEAT: u64 = 4;
/// The device is awake this share of the interval before and after an expected packet,
const SHARE: u64 = 5;
/// but no longer than this: later wake-ups are rare, and cost as much as the wait.
const MAX: Duration = Duration::from_micros(500);

/// The beat of the packets.
///
/// # Real-time safety
/// Real-time safe: some integers, no clock read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Anticipation {
    last: Option<MonotonicTime>,
    interval_ns: u64,
    kept: u32,
}

/// When the device should be awake for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) from: MonotonicTime,
    pub(super) until: MonotonicTime,
}

impl Anticipation {
    /// Takes the arrival time of a packet.
    pub(super) fn came(&mut self, at: MonotonicTime) {
        let Some(last) = self.last.replace(at) else {
            return;
        };
        let since_ns = u64::try_from(at.since(last)).unwrap_or(0);
        if since_ns.abs_diff(self.interval_ns) <= self.interval_ns / OFF_BEAT {
            self.kept = self.kept.saturating_add(1);
            // A slowly adapting mean: a late packet is followed by one that seems early.
            self.interval_ns = (7 * self.interval_ns + since_ns) / 8;
        } else {
            self.kept = 0;
            self.interval_ns = since_ns;
        }
    }

    /// When to be awake for the next packet, if packets have kept a beat and that time is not over.
    pub(super) fn next(&self, now: MonotonicTime) -> Option<Expected> {
        let last = self.last.filter(|_| self.kept >= MIN_BEATS_TO_PREDICT)?;
        let due = last + Duration::from_nanos(self.interval_ns);
        let awake = MAX.min(Duration::from_nanos(self.interval_ns / SHARE));
        let awake_ns = i64::try_from(awake.as_nanos()).unwrap_or(0);
        let until = due + awake;
        (now < until).then_some(Expected {
            from: due.offset_by_ns(-awake_ns),
            until,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> MonotonicTime {
        MonotonicTime::from_ns(us * 1000)
    }

    fn after(questions_us: impl IntoIterator<Item = u64>) -> Anticipation {
        let mut anticipation = Anticipation::default();
        questions_us
            .into_iter()
            .for_each(|us| anticipation.came(at(us)));
        anticipation
    }

    #[test]
    fn a_beat_is_expected_once_it_has_been_kept() {
        let few = after((0..5).map(|beat| beat * 10_000));
        assert_eq!(few.next(at(40_100)), None);
        let enough = after((0..6).map(|beat| beat * 10_000));
        let expected = Expected {
            from: at(59_500),
            until: at(60_500),
        };
        assert_eq!(enough.next(at(50_100)), Some(expected));
        assert_eq!(enough.next(at(60_500)), None, "it did not come");
    }

    #[test]
    fn a_fast_beat_leaves_most_of_the_time_to_others() {
        let fast = after((0..10).map(|beat| beat * 1_000));
        let expected = Expected {
            from: at(9_800),
            until: at(10_200),
        };
        assert_eq!(fast.next(at(9_100)), Some(expected));
    }

    #[test]
    fn a_late_question_does_not_unsettle_the_beat_and_a_lost_one_does() {
        let late = after([0, 1_000, 2_000, 3_000, 4_000, 5_200, 6_000, 7_000]);
        assert!(late.next(at(7_100)).is_some());
        let lost = after([0, 1_000, 2_000, 3_000, 4_000, 6_000]);
        assert_eq!(lost.next(at(6_100)), None);
    }

    #[test]
    fn what_keeps_no_beat_is_not_expected() {
        let two_controllers = (0..20).flat_map(|beat| [beat * 1_000, beat * 1_000 + 90]);
        assert_eq!(after(two_controllers).next(at(19_100)), None);
        assert_eq!(after([7; 20]).next(at(8)), None, "a burst is not a beat");
        assert_eq!(Anticipation::default().next(at(0)), None);
    }
}
