//! Nothing allocates, from the first probe to the last batch.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::net::SocketAddr;
use std::num::NonZeroU32;

use allocation_counter::measure;
use kadenz_udp::clock_fit::{ClockFit, Exchange, FitSlot, Options};
use kadenz_udp::controller::{
    Burst, BurstSlot, DeviceKey, DeviceTable, DeviceTableSlot, Outstanding, OutstandingSlot,
    Sending, TrackWord, Tracker,
};
use kadenz_udp::device::{Answer, Echo, PerSecond, Policy};
use kadenz_udp::record::{
    self, Batch, BatchTracker, Batcher, Measurement, Outcome, Position, ServerReply,
};
use kadenz_udp::wire::{self, Name, Packet, Probe, RunId, Sequence, Stamp, Token};

const RUN: RunId = RunId(7);

#[test]
fn the_counter_counts() {
    let counted = measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(counted.count_total, 1);
}

#[test]
fn a_whole_run_allocates_nothing() {
    let address: SocketAddr = "10.10.1.2:6176".parse().unwrap();
    let counted = measure(|| whole_run(address.into()));
    assert_eq!((counted.count_total, counted.bytes_total), (0, 0));
}

/// All work of a controller, a device and a logging server, in one thread and in virtual time.
fn whole_run(device: DeviceKey) {
    let token = Token::new(b"arm of robot 3").unwrap();
    let mut echo = Echo::new(Policy {
        token: Some(token.clone()),
        rate: Some(PerSecond::new(NonZeroU32::new(1000).unwrap())),
        name: Name::new("left knee").unwrap(),
    });
    let mut controller = Controller::new(device, &token);
    let mut logger = Logger::new(&token);
    for number in 0..300 {
        let sent_ns = u64::from(number) * 10_000_000 + 4000;
        let mut bytes = controller.send(Sequence(number), sent_ns, &token);
        let answer = echo.on_datagram(sent_ns + 80_000, &mut bytes);
        assert_eq!(answer, Answer::Reply(bytes.len()));
        echo.stamp_departure(sent_ns + 90_000, &mut bytes);
        let reply = Packet::open(&bytes, Some(&token)).unwrap();
        let measurement = controller.receive(device, &reply, sent_ns + 170_000);
        logger.log(&measurement);
    }
    assert_eq!(controller.tracker.finish().in_time, 300);
    assert_eq!(logger.tracker.finish().lost, 0);
}

struct Controller {
    template: [u8; 200],
    table: DeviceTable<[DeviceTableSlot; 4]>,
    outstanding: Outstanding<[OutstandingSlot; 16]>,
    tracker: Tracker<[TrackWord; 2]>,
    burst: Burst<[BurstSlot; 2]>,
    fit: ClockFit<[FitSlot; 8]>,
}

impl Controller {
    fn new(device: DeviceKey, token: &Token) -> Self {
        let mut table = DeviceTable::over([DeviceTableSlot::default(); 4]);
        table.add(device).unwrap();
        let probe = Probe {
            run: RUN,
            sequence: Sequence(0),
            stamp: Stamp(0),
            stamps: true,
            token: Some(token),
        };
        let mut template = [0; 200];
        probe.write(&mut template).unwrap();
        Self {
            template,
            table,
            outstanding: Outstanding::over([OutstandingSlot::default(); 16], RUN),
            tracker: Tracker::over([TrackWord::default(); 2], 10_000_000),
            burst: Burst::over([BurstSlot::default(); 2]),
            fit: ClockFit::over([FitSlot::default(); 8], Options::default()),
        }
    }

    fn send(&mut self, sequence: Sequence, sent_ns: u64, token: &Token) -> [u8; 200] {
        let stamp = Stamp(sent_ns);
        wire::patch(&mut self.template, sequence, stamp, Some(token)).unwrap();
        self.tracker.expect(sequence).unwrap();
        let intended_ns = sent_ns - 4000;
        self.outstanding
            .sent(sequence, Sending { intended_ns, stamp });
        self.burst.begin(sequence, sent_ns);
        self.template
    }

    fn receive(&mut self, device: DeviceKey, reply: &Packet<'_>, received_ns: u64) -> Measurement {
        let id = self.table.count_datagram(&device).unwrap();
        let sending = self.outstanding.verify(reply).unwrap();
        let sent_ns = sending.stamp.0;
        self.tracker
            .received(reply.sequence(), received_ns - sent_ns);
        self.burst
            .answered(reply.sequence(), id, received_ns)
            .unwrap();
        let stamps = reply.device_stamps().unwrap();
        let exchange = Exchange {
            sent_ns,
            device: stamps,
            received_ns,
        };
        self.fit.observe(&exchange).unwrap();
        let there = self
            .fit
            .bounds_at(sent_ns)
            .unwrap()
            .one_way(&exchange)
            .there;
        assert!(there.value_ns.abs_diff(80_000) <= there.error_ns);
        Measurement {
            device,
            sequence: reply.sequence(),
            intended_ns: sending.intended_ns,
            sent_ns,
            outcome: Outcome::Answered {
                received_ns,
                device: Some(stamps),
            },
        }
    }
}

struct Logger {
    token: Token,
    batcher: Batcher<[u8; 200]>,
    tracker: BatchTracker<[TrackWord; 2]>,
}

impl Logger {
    fn new(token: &Token) -> Self {
        Self {
            token: token.clone(),
            batcher: Batcher::over([0; 200], RUN, Some(token.clone())).unwrap(),
            tracker: BatchTracker::over([TrackWord::default(); 2], RUN),
        }
    }

    fn log(&mut self, measurement: &Measurement) {
        if self.batcher.push(measurement).is_ok() {
            return;
        }
        let mut datagram = [0; 200];
        let sent = self.batcher.finish(Stamp(0), Position::Within);
        let datagram = &mut datagram[..sent.len()];
        datagram.copy_from_slice(sent);
        let packet = Packet::open(datagram, Some(&self.token)).unwrap();
        let batch = Batch::read(&packet).unwrap();
        self.tracker.arrived(&batch, 100);
        assert!(batch.measurements().count() > 1);
        record::server_reply(datagram, ServerReply::Kept, Some(&self.token)).unwrap();
    }
}
