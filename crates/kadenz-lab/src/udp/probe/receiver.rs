//! Receives answers and records them.

use std::time::Duration;

use kadenz_rt::clock::{Clock, MonotonicTime};
use kadenz_rt::net::port::{Inbox, ReceiveError, StampSource, UdpPort, Wait};

use super::density::{ArrivalClock, Densities};
use super::measurement_sender::{MeasurementSender, SentMeasurements};
use super::one_way::Exchanges;
use super::packet_counts::PacketCounts;
use super::recorders::ProbeRecorders;
use super::sender::{Announced, Departure};
use super::stack::Stack;
use super::{Destination, ProbePlan, SocketReceiving};

/// Datagrams that one call takes, and more where more devices answer a broadcast. One for a single device: a call that
/// may take more checks for a second datagram before it returns the first.
const SLOTS: usize = 64;
/// Maximum number of calls that take waiting datagrams at the end: more than a receive buffer of some MB holds.
const MAX_WAITING: usize = 1 << 14;
/// How often a blocked receiver reads the departures. Long enough for the port to wait in the receiving call.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Datagrams that one call takes from this many devices. One more than can wait after a beat, so that a
/// call that took them all does not look as if it had left some.
pub(super) fn slots_for(devices: usize) -> usize {
    if devices > 1 {
        SLOTS.max(devices.saturating_add(1))
    } else {
        1
    }
}

/// The receiving side.
pub(super) struct Receiver {
    port: UdpPort,
    inbox: Inbox,
    announced: Announced,
    pub(super) counts: PacketCounts,
    recorders: ProbeRecorders,
    pub(super) stack: Option<Stack>,
    densities: Option<(ArrivalClock, Densities)>,
    /// Answers taken by calls since one that found room to spare.
    at_once: u64,
    /// The maximum of that.
    pub(super) most_at_once: u64,
    measurement_sender: Option<MeasurementSender>,
    exchanges: Option<Exchanges>,
    origin: MonotonicTime,
    receiving: SocketReceiving,
    /// Polling time after each packet.
    pub(super) spins_for: Duration,
    timeout: Duration,
    last_departure: MonotonicTime,
    last_sequence: u32,
    over: bool,
    /// Answers that came while the thread awaited its beat: their recorded times are too long.
    pub(super) overslept: u64,
    /// Whether the datagrams that were taken last may have waited for the beat.
    waited_for_the_beat: bool,
    /// The last error of the network, and how many there were.
    pub(super) trouble: Option<(ReceiveError, u64)>,
}

impl Receiver {
    pub(super) fn new(
        plan: &ProbePlan,
        port: UdpPort,
        announced: Announced,
        counts: PacketCounts,
        recorders: ProbeRecorders,
        origin: MonotonicTime,
    ) -> Self {
        let granted = port.granted();
        let stamps = granted.receive_stamps.zip(granted.transmit_stamps);
        let each = plan.destination == Destination::Each;
        let devices = plan.devices.len();
        let densities = (ArrivalClock::of_port(&port), Densities::new(devices));
        Self {
            port,
            inbox: Inbox::new(slots_for(devices), plan.payload_bytes + 1),
            announced,
            counts,
            recorders,
            stack: stamps.map(|(came, sent)| {
                Stack::new(origin, each, came.min(sent) == StampSource::Hardware)
            }),
            densities: (!each).then_some(densities),
            at_once: 0,
            most_at_once: 0,
            measurement_sender: None,
            exchanges: None,
            origin,
            receiving: plan.receiving,
            spins_for: plan.spins_for(),
            timeout: plan.timeout,
            last_departure: origin,
            last_sequence: 0,
            over: false,
            overslept: 0,
            waited_for_the_beat: false,
            trouble: None,
        }
    }

    /// Sends measurements to a logging server, too.
    pub(super) fn measurement_sender(&mut self, measurement_sender: MeasurementSender) {
        self.measurement_sender = Some(measurement_sender);
    }

    /// Passes on exchanges with device stamps, too.
    pub(super) fn set_exchanges(&mut self, exchanges: Exchanges) {
        self.exchanges = Some(exchanges);
    }

    /// Receives until the sender has ended and no answer is awaited.
    ///
    /// # Real-time safety
    /// No allocation and no lock; its system calls are the port's, and a yield after each busy poll that finds nothing.
    pub(super) fn run(&mut self, clock: &dyn Clock) {
        while !self.is_done(clock) {
            self.receive(clock, clock.now() + POLL_INTERVAL);
            if self.receiving == SocketReceiving::BusyPoll && self.inbox.is_empty() {
                // The sender may have the same real-time priority, and only this CPU.
                std::thread::yield_now();
            }
        }
        self.drain_pending(clock);
        self.end(clock);
    }

    /// Takes the first datagram, until `until` at the latest; returns its arrival time. [`Receiver::settle`] records
    /// it.
    pub(super) fn first_answer(
        &mut self,
        until: MonotonicTime,
        clock: &dyn Clock,
    ) -> MonotonicTime {
        // A call that waits returns what came in time.
        self.waited_for_the_beat = self.receiving != SocketReceiving::Blocking;
        loop {
            self.take(self.wait(until));
            let now = clock.now();
            if !self.inbox.is_empty() || now >= until {
                return now;
            }
            self.waited_for_the_beat = false;
            self.yield_cpu();
        }
    }

    /// In the polling modes: polls for the answers to the packet of this number, until all have come or `until` has.
    pub(super) fn spin(&mut self, sequence: u32, until: MonotonicTime, clock: &dyn Clock) {
        if self.receiving == SocketReceiving::Blocking {
            return;
        }
        while !self.counts.is_complete(sequence) && clock.now() < until {
            self.take(Wait::Poll);
            if self.inbox.is_empty() {
                self.yield_cpu();
            } else {
                self.settle(clock.now());
            }
        }
    }

    /// Yields the CPU: the answering process may need it.
    fn yield_cpu(&self) {
        if self.receiving == SocketReceiving::Spinning {
            std::thread::yield_now();
        }
    }

    /// Receives until no answer is awaited any more or `until` has come.
    pub(super) fn await_outstanding(&mut self, until: MonotonicTime, clock: &dyn Clock) {
        while !self.counts.is_settled() && clock.now() < until {
            self.receive(clock, until);
        }
    }

    /// Receives the answers to the packet of this number, until all have come or `until` has.
    pub(super) fn await_answers(&mut self, sequence: u32, until: MonotonicTime, clock: &dyn Clock) {
        while !self.counts.is_complete(sequence) && clock.now() < until {
            self.receive(clock, until);
        }
    }

    /// Answers may still wait if this thread did not run when the time was over: they are recorded as late, and not as
    /// if they had never come.
    fn drain_pending(&mut self, clock: &dyn Clock) {
        // A flood at the port must not keep the run from ending.
        for _ in 0..MAX_WAITING {
            self.take(Wait::Poll);
            if self.inbox.is_empty() {
                return;
            }
            self.settle(clock.now());
        }
    }

    /// Sends what is left to the logging server, and ends the estimator.
    pub(super) fn end(&mut self, clock: &dyn Clock) {
        if let Some(stack) = &mut self.stack {
            stack.give_up();
        }
        // The estimator ends when its other end is gone.
        self.exchanges = None;
        if let Some(measurement_sender) = &mut self.measurement_sender {
            measurement_sender.finish(clock.now().since(self.origin));
        }
    }

    /// Takes datagrams that wait or come until `until`, and records them.
    fn receive(&mut self, clock: &dyn Clock, until: MonotonicTime) {
        self.take(match self.receiving {
            SocketReceiving::Blocking | SocketReceiving::Spinning => Wait::Until(until),
            SocketReceiving::BusyPoll => Wait::Poll,
        });
        self.settle(clock.now());
    }

    /// How the receiver waits for the first answer to a packet.
    fn wait(&self, until: MonotonicTime) -> Wait {
        match self.receiving {
            SocketReceiving::Blocking => Wait::Until(until),
            SocketReceiving::Spinning | SocketReceiving::BusyPoll => Wait::Poll,
        }
    }

    fn take(&mut self, wait: Wait) {
        if let Err(error) = self.port.receive_batch(&mut self.inbox, wait) {
            let count = self.trouble.map_or(0, |(_, count)| count);
            self.trouble = Some((error, count + 1));
        }
    }

    /// Combines the sender's departures, the kernel's stamps and the received answers.
    pub(super) fn settle(&mut self, received: MonotonicTime) {
        self.take_departures();
        if let Some(stack) = &mut self.stack {
            self.port.transmit_stamps().for_each(|it| stack.left(it));
        }
        self.record(received.since(self.origin));
    }

    fn record(&mut self, received_ns: i64) {
        let waited = std::mem::take(&mut self.waited_for_the_beat);
        for datagram in self.inbox.datagrams() {
            let answered = self
                .counts
                .answered(datagram.from, datagram.bytes, received_ns);
            let Some(reply) = answered else {
                continue;
            };
            self.at_once += 1;
            self.overslept += u64::from(waited && reply.sequence != self.last_sequence);
            self.recorders.record(&reply);
            let stack = self.stack.as_mut();
            let bridged = stack.and_then(|stack| stack.came(reply, datagram.stamps));
            if let Some((came_by, densities)) = &mut self.densities {
                let came_ns = came_by.time(&reply, datagram.stamps, bridged);
                if let Some(density) = densities.came(&reply, came_ns) {
                    self.recorders.record_density(&reply, &density);
                }
            }
            if let Some(exchanges) = &mut self.exchanges {
                exchanges.push(&reply);
            }
            if let Some(measurement_sender) = &mut self.measurement_sender {
                measurement_sender.measured(datagram.from, &reply);
            }
        }
        self.most_at_once = self.most_at_once.max(self.at_once);
        if self.inbox.len() < self.inbox.slots() {
            // A full one may have left some for the next call.
            self.at_once = 0;
        }
        if let Some(stack) = &mut self.stack {
            stack.settle(|reply, parts| self.recorders.record_parts(reply, parts));
        }
        if let Some(measurement_sender) = &mut self.measurement_sender {
            measurement_sender.flush_if_due(received_ns);
        }
    }

    /// How many reports of the sender, two a beat, found no room, because this thread had not taken the earlier ones.
    pub(super) fn lost_reports(&self) -> u64 {
        self.announced.dropped()
    }

    /// Takes the sender's departures. The sender announces a packet before it sends it, so that every answer belongs to
    /// a known packet.
    fn take_departures(&mut self) {
        // Before the ring is emptied: of what comes later it does not know.
        self.over = self.announced.is_over();
        while let Some(departure) = self.announced.next() {
            match departure {
                Departure::Leaving {
                    sequence,
                    intended_ns,
                    sent_ns,
                } => {
                    self.counts.leaving(sequence, intended_ns, sent_ns);
                    self.last_departure = self.origin.offset_by_ns(sent_ns);
                    self.last_sequence = sequence;
                }
                Departure::Left {
                    sequence,
                    first_key,
                    accepted,
                    refused,
                } => {
                    self.counts.refused(sequence, refused);
                    if let Some(stack) = &mut self.stack {
                        stack.keyed(sequence, first_key, accepted, refused);
                    }
                }
            }
        }
    }

    /// Datagrams that the kernel dropped because this side was too slow.
    pub(super) fn dropped(&mut self) -> Option<u64> {
        self.port.dropped()
    }

    /// Counts of the measurements sent to a logging server, if there is one.
    pub(super) fn sent_measurements(&self) -> Option<SentMeasurements> {
        self.measurement_sender
            .as_ref()
            .map(MeasurementSender::so_far)
    }

    fn is_done(&self, clock: &dyn Clock) -> bool {
        let waited = || clock.now() >= self.last_departure + self.timeout;
        self.over && (self.counts.is_settled() || waited())
    }
}
