//! Sends on the beat.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kadenz_record::run::folder::SeriesRecorder;
use kadenz_record::samples::{self, Sample, SampleConsumer, SampleProducer};
use kadenz_rt::beat::Beat;
use kadenz_rt::clock::MonotonicTime;
use kadenz_rt::net::port::{OpenPortError, Outbox, OutboxFull, SendCounts, UdpPort};
use kadenz_udp::wire::{self, EncodeError, Probe, RunId, Sequence, Stamp, Token};

use super::{Destination, ProbePlan};
use crate::measuring_threads::{GRACE, LoopContext};
use crate::udp::{BEFORE_THE_BEAT, Rehearsal, has_time};

/// The sending side.
pub(super) struct Sender {
    port: UdpPort,
    outbox: Outbox,
    token: Option<Token>,
    announcer: Announcer,
    receives_on: ReceiveThread,
    rehearsal: Option<Rehearsal>,
    lateness: SeriesRecorder,
    beat: Option<Beat>,
    beats: u64,
    next: u64,
    warm_up: u32,
}

/// A beat that has been sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departed {
    sequence: u32,
    /// When it was handed to the system.
    pub(super) at: MonotonicTime,
    intended_ns: i64,
    sent_ns: i64,
    departures: SendCounts,
}

/// Which thread receives the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReceiveThread {
    /// Another thread, which may receive an answer at once.
    Another,
    /// The sending thread.
    Oneself,
}

/// Why packets cannot be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum CannotPack {
    #[error(transparent)]
    Encode(#[from] EncodeError),
    #[error(transparent)]
    Outbox(#[from] OutboxFull),
    #[error(transparent)]
    Rehearsal(#[from] OpenPortError),
}

impl Sender {
    /// Makes the packets; from then on only number and stamp change.
    pub(super) fn new(
        plan: &ProbePlan,
        run: RunId,
        port: UdpPort,
        announcer: Announcer,
        lateness: SeriesRecorder,
    ) -> Result<Self, CannotPack> {
        let packet = packet(plan, run)?;
        let to: Vec<_> = match plan.destination {
            Destination::Broadcast(address) => vec![address],
            Destination::Each => plan.devices.iter().map(|it| it.address).collect(),
        };
        let mut outbox = Outbox::new(to.len(), plan.payload_bytes);
        for address in to {
            outbox.push(&packet, address)?;
        }
        let beats = plan.count.unwrap_or(u64::MAX);
        Ok(Self {
            port,
            outbox,
            token: plan.token.clone(),
            announcer,
            receives_on: match plan.on_one_thread() {
                true => ReceiveThread::Oneself,
                false => ReceiveThread::Another,
            },
            rehearsal: plan
                .rehearses
                .then(|| Rehearsal::open(plan.payload_bytes))
                .transpose()?,
            lateness,
            beat: None,
            beats: beats.saturating_add(plan.warm_up.into()),
            next: 0,
            warm_up: plan.warm_up,
        })
    }

    /// Sends until the plan is done or a stop is requested.
    ///
    /// # Real-time safety
    /// No allocation and no lock; its system calls are the sleeper's, one per beat that sends, and two more where it
    /// rehearses.
    pub(super) fn run(&mut self, plan: &ProbePlan, context: &mut LoopContext<'_>) {
        while let Some(intended) = self.next_beat(plan, context) {
            self.await_beat(intended, context);
            let departed = self.depart(intended, context);
            self.note(&departed);
            if context.stop.requested() {
                break;
            }
        }
    }

    /// The next intended time; none when the plan is done, or when a [`GRACE`] after its last beat
    /// some are still owed.
    pub(super) fn next_beat(
        &mut self,
        plan: &ProbePlan,
        context: &mut LoopContext<'_>,
    ) -> Option<MonotonicTime> {
        let beat = self
            .beat
            .get_or_insert_with(|| Beat::at(context.start, plan.interval));
        let left = self.beats.saturating_sub(self.next);
        if left > 0 && context.clock.now() > beat.intended(self.beats) + GRACE {
            context.owed += left;
            return None;
        }
        (left > 0).then(|| beat.next())
    }

    /// Sleeps until a beat, and rehearses shortly before it where the plan wants that and there is time.
    pub(super) fn await_beat(&mut self, intended: MonotonicTime, context: &mut LoopContext<'_>) {
        let now = context.clock.now();
        if let Some(rehearsal) = self.rehearsal.as_mut().filter(|_| has_time(now, intended)) {
            context.sleeper.sleep_until(intended - BEFORE_THE_BEAT);
            rehearsal.play();
            // Number and stamp are written again when the packet leaves.
            self.pack(Sequence(0), Stamp(0));
        }
        context.sleeper.sleep_until(intended);
    }

    fn pack(&mut self, sequence: Sequence, stamp: Stamp) {
        for at in 0..self.outbox.len() {
            if let Some(packet) = self.outbox.bytes_mut(at) {
                // The packet was made with room for both.
                let _ = wire::patch(packet, sequence, stamp, self.token.as_ref());
            }
        }
    }

    /// Sends a beat's packets now. [`Sender::note`] records the departure, once there is time.
    ///
    /// As little as possible happens between the stamp and the sending: after a pause of some ms the caches are cold,
    /// and each cache line that is read delays the packet.
    pub(super) fn depart(
        &mut self,
        intended: MonotonicTime,
        context: &LoopContext<'_>,
    ) -> Departed {
        // Wraps after 4 billion beats: 49 days at 1 kHz.
        let sequence = (self.next & u64::from(u32::MAX)) as u32;
        let sent = context.clock.now();
        let since_origin = |time: MonotonicTime| time.since(context.origin);
        let (intended_ns, sent_ns) = (since_origin(intended), since_origin(sent));
        if self.receives_on == ReceiveThread::Another {
            // Before the packet can be answered: every answer must belong to a known packet.
            self.announcer.announce(Departure::Leaving {
                sequence,
                intended_ns,
                sent_ns,
            });
        }
        self.pack(Sequence(sequence), Stamp(sent_ns.cast_unsigned()));
        let departures = self.port.send_batch(&mut self.outbox);
        self.next += 1;
        Departed {
            sequence,
            at: sent,
            intended_ns,
            sent_ns,
            departures,
        }
    }

    /// Records a beat's departure and reports it to the receiver; returns its number.
    pub(super) fn note(&mut self, departed: &Departed) -> u32 {
        let &Departed {
            sequence,
            intended_ns,
            sent_ns,
            departures,
            ..
        } = departed;
        if self.receives_on == ReceiveThread::Oneself {
            self.announcer.announce(Departure::Leaving {
                sequence,
                intended_ns,
                sent_ns,
            });
        }
        let keys = (0..self.outbox.len()).filter_map(|at| self.outbox.outcome(at)?.ok());
        let first_key = keys.map(|key| key.ordinal()).next().unwrap_or(0);
        self.announcer.announce(Departure::Left {
            sequence,
            first_key,
            accepted: u32::try_from(departures.sent).unwrap_or(u32::MAX),
            refused: u32::try_from(departures.refused).unwrap_or(u32::MAX),
        });
        if sequence >= self.warm_up {
            self.lateness.record(Sample {
                sequence: sequence.into(),
                intended_ns,
                actual_ns: sent_ns,
                value_ns: sent_ns - intended_ns,
            });
        }
        sequence
    }

    /// Reports the end to the receiver.
    pub(super) fn over(&self) {
        self.announcer.over();
    }
}

/// A packet of the plan, as yet without number and stamp.
pub(super) fn packet(plan: &ProbePlan, run: RunId) -> Result<Vec<u8>, CannotPack> {
    let probe = Probe {
        run,
        sequence: Sequence(0),
        stamp: Stamp(0),
        stamps: plan.device_stamps,
        token: plan.token.as_ref(),
    };
    let mut packet = vec![0; plan.payload_bytes];
    probe.write(&mut packet)?;
    Ok(packet)
}

impl Drop for Sender {
    fn drop(&mut self) {
        // Also where the thread ends by a panic: the receiver must not wait forever.
        self.over();
    }
}

// Reports of the sending thread to the receiving one: a bounded ring, no lock.

/// Capacity of the ring in departures; more than a minute at 1 kHz.
const CAPACITY: usize = 1 << 17;

/// An event at the sender. Times are ns since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Departure {
    /// A beat's packets are about to be handed to the system.
    Leaving {
        sequence: u32,
        intended_ns: i64,
        sent_ns: i64,
    },
    /// They were handed over: `accepted` of them, the first of which has this key among the port's transmit stamps, and
    /// `refused` others.
    Left {
        sequence: u32,
        first_key: u64,
        accepted: u32,
        refused: u32,
    },
}

/// The sender's end.
pub(super) struct Announcer {
    ring: SampleProducer,
    /// Not in the ring, which may be full.
    is_over: Arc<AtomicBool>,
}

/// The receiver's end.
pub(super) struct Announced {
    ring: SampleConsumer,
    is_over: Arc<AtomicBool>,
}

/// Both ends of a ring.
pub(super) fn departures() -> (Announcer, Announced) {
    let (producer, consumer) = samples::ring(CAPACITY);
    let is_over = Arc::new(AtomicBool::new(false));
    let announcer = Announcer {
        ring: producer,
        is_over: Arc::clone(&is_over),
    };
    let ring = consumer;
    (announcer, Announced { ring, is_over })
}

/// The upper half of a sequence gives the kind of the event.
const LEFT: u64 = 1 << 32;

impl Announcer {
    /// Reports an event, before the packet can be answered. False if there is no room: the receiver has not run for a
    /// minute, and cannot match the answers to packets that are sent now.
    pub(super) fn announce(&mut self, departure: Departure) -> bool {
        self.ring.push(departure.into())
    }

    /// Reports that nothing more will be sent.
    fn over(&self) {
        self.is_over.store(true, Ordering::Release);
    }
}

impl Announced {
    /// Takes the oldest event.
    pub(super) fn next(&mut self) -> Option<Departure> {
        self.ring.pop().map(Departure::from)
    }

    /// How many events found no room.
    pub(super) fn dropped(&self) -> u64 {
        self.ring.dropped()
    }

    /// Whether nothing more will be sent: all events are in the ring by now.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

impl From<Departure> for Sample {
    fn from(departure: Departure) -> Self {
        match departure {
            Departure::Leaving {
                sequence,
                intended_ns,
                sent_ns,
            } => Self {
                sequence: sequence.into(),
                intended_ns,
                actual_ns: sent_ns,
                value_ns: 0,
            },
            Departure::Left {
                sequence,
                first_key,
                accepted,
                refused,
            } => Self {
                sequence: LEFT | u64::from(sequence),
                intended_ns: first_key.cast_signed(),
                actual_ns: accepted.into(),
                value_ns: refused.into(),
            },
        }
    }
}

impl From<Sample> for Departure {
    fn from(sample: Sample) -> Self {
        let sequence = (sample.sequence & u64::from(u32::MAX)) as u32;
        if sample.sequence & LEFT == 0 {
            return Self::Leaving {
                sequence,
                intended_ns: sample.intended_ns,
                sent_ns: sample.actual_ns,
            };
        }
        Self::Left {
            sequence,
            first_key: sample.intended_ns.cast_unsigned(),
            accepted: u32::try_from(sample.actual_ns).unwrap_or(u32::MAX),
            refused: u32::try_from(sample.value_ns).unwrap_or(u32::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departures_arrive_as_they_were_sent() {
        let (mut announcer, mut announced) = departures();
        let all = [
            Departure::Leaving {
                sequence: u32::MAX,
                intended_ns: -1,
                sent_ns: i64::MAX,
            },
            Departure::Left {
                sequence: 7,
                first_key: u64::MAX,
                accepted: 40,
                refused: 1,
            },
        ];
        for departure in all {
            assert!(announcer.announce(departure));
        }
        for departure in all {
            assert_eq!(announced.next(), Some(departure));
        }
        assert_eq!(announced.next(), None);
    }

    #[test]
    fn a_full_ring_has_an_end_too() {
        let (mut announcer, announced) = departures();
        let left = Departure::Left {
            sequence: 1,
            first_key: 2,
            accepted: 1,
            refused: 0,
        };
        while announcer.announce(left) {}
        assert_eq!(announced.dropped(), 1);
        assert!(!announced.is_over());
        announcer.over();
        assert!(announced.is_over());
    }
}
