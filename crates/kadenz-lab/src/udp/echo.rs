//! A device: answers what it is asked, and no more.

use std::time::Duration;

use kadenz_rt::clock::{self, WallTime};
use kadenz_rt::net::port::{Inbox, OpenPortError, PortOptions, Reception, UdpPort, Wait};
use kadenz_udp::device::{Answer, Counts, Echo, Policy};
use kadenz_udp::wire::MAX_PAYLOAD_BYTES;

use super::anticipation::Anticipation;
use super::rehearsal::Rehearsal;
use crate::stop::Stop;

/// How a device waits for questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listening {
    /// The kernel wakes the thread.
    #[default]
    Blocking,
    /// Where questions keep a beat, the thread is awake for the next, has rehearsed its answer over the
    /// loopback, and asks again and again around the time at which it is due; else the kernel wakes it.
    Anticipating,
    /// The thread asks again and again, and takes a whole CPU.
    BusyPoll,
}

/// With which clock a device stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StampClock {
    /// Its monotonic one.
    #[default]
    Monotonic,
    /// Its wall clock: ns since 1970-01-01 00:00 UTC. For hosts that somebody synchronises.
    Wall,
}

impl StampClock {
    /// Real-time safe: one or two readings of a clock.
    fn now_ns(self) -> u64 {
        match self {
            Self::Monotonic => clock::now().as_ns(),
            Self::Wall => WallTime::now().as_unix_ns().cast_unsigned(),
        }
    }
}

/// What a device is.
#[derive(Clone, Debug, Default)]
pub struct EchoPlan {
    /// The socket.
    pub port: PortOptions,
    /// Whom it answers, how often, and its name.
    pub policy: Policy,
    /// How it waits.
    pub listening: Listening,
    /// With which clock it stamps.
    pub stamps: StampClock,
}

/// What a device did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub struct Echoed {
    /// By the protocol.
    #[cfg_attr(feature = "schema", serde(flatten))]
    pub counts: Counts,
    /// Answers that the system refused to send.
    pub unsent: u64,
    /// Questions that the kernel threw away, the receive buffer being full.
    pub dropped: u64,
}

/// Datagrams that one call takes, where somebody had to wait for it.
const SLOTS: usize = 64;
/// What a device that anticipates rehearses its answer with.
const REHEARSED_BYTES: usize = 256;
/// A blocked device looks this often whether it shall stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A device that is ready to answer.
pub struct EchoDevice {
    port: UdpPort,
    inbox: Inbox,
    echo: Echo,
    listening: Listening,
    anticipation: Anticipation,
    rehearsal: Option<Rehearsal>,
    /// Since the last question.
    rehearsed: bool,
    stamps: StampClock,
    unsent: u64,
}

impl EchoDevice {
    /// Opens the port.
    ///
    /// # Errors
    /// When the address cannot be had.
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

    /// Its port.
    #[must_use]
    pub fn port(&self) -> &UdpPort {
        &self.port
    }

    /// Answers until somebody stops it.
    ///
    /// Real-time safe: allocates nothing and takes no lock; two system calls a question, or fewer.
    pub fn run(&mut self, stop: &Stop) {
        while !stop.requested() {
            match self.listening {
                Listening::Blocking => self.listen(Wait::Until(clock::now() + LOOK_EVERY)),
                Listening::Anticipating => self.anticipate(),
                Listening::BusyPoll => self.listen(Wait::Poll),
            }
        }
    }

    fn listen(&mut self, wait: Wait) {
        // An error tells of an answer that nobody waited for; the next question may come.
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
                // Whoever asks may need this CPU.
                std::thread::yield_now();
            }
            Some(expected) => self.listen(Wait::Until(expected.from.min(now + LOOK_EVERY))),
            None => self.listen(Wait::Until(now + LOOK_EVERY)),
        }
    }

    /// What it did so far.
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

/// A call that asks for more than one looks for a second before it gives the first, which keeps its
/// answer waiting for microseconds.
fn slots(listening: Listening) -> usize {
    match listening {
        Listening::Blocking => SLOTS,
        Listening::Anticipating | Listening::BusyPoll => 1,
    }
}
