//! The loop over a cable, in real time: other threads bring the segment to OP and read it meanwhile.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod beside;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kadenz_ethercat::control::cyclic::{
    CycleImage, CycleReport, Ended, EndedBy, Loop, LoopMode, LoopSettings, RealTime,
    SeqlockPublisher,
};
use kadenz_ethercat::control::process_image::Reader;
use kadenz_ethercat::control::timing::Timing;
use kadenz_ethercat::main_device::acyclic::{AcyclicClient, AcyclicQueue};
use kadenz_ethercat::main_device::bring_up::{find, prepare};
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers, Target};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::main_device::states;
use kadenz_ethercat::port::{self, InterfacePort};
use kadenz_ethercat::wire::State;

const DEVICES: u16 = 59;
/// Longer than even a very busy machine needs.
const LONG: Duration = Duration::from_secs(60);

/// Waits until a condition holds; returns whether it did.
fn await_it(mut is_it: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + LONG;
    while Instant::now() < end {
        if is_it() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// The counts that the loop passes to the other threads of this test.
#[derive(Default)]
struct Seen {
    whole_in_op: AtomicU64,
}

impl Seen {
    fn note(&self, report: &CycleReport<'_>) {
        let states = report.outcome.and_then(|it| it.states);
        let in_op =
            states.is_some_and(|(it, count)| it.state() == Some(State::Op) && count == DEVICES);
        let count = u64::from(in_op && report.is_whole());
        self.whole_in_op.fetch_add(count, Ordering::Relaxed);
    }
}

fn settings(mode: LoopMode) -> LoopSettings {
    LoopSettings {
        mode,
        ..LoopSettings::every(Duration::from_millis(2)).unwrap()
    }
}

/// Runs the loop until `work`, which runs beside it, is done.
fn run_beside(
    mode: LoopMode,
    work: impl Fn(&AcyclicQueue, &Seen, &[AtomicU64]) + Sync,
) -> (Ended, Timing) {
    let port = InterfacePort::open("near", port::WaitMode::Blocking).unwrap();
    let mut link = Link::new(port, 1);
    let mut waiting = BlockingExchange {
        link: &mut link,
        retry: beside::BUSY_HOST,
    };
    let mut registers = Registers::by(&mut waiting);
    let mut found = find(&mut registers).unwrap();
    let mut cycle = prepare(&mut registers, &mut found, None).unwrap();
    let settings = settings(mode);
    let (queue, stop, seen) = (
        AcyclicQueue::default(),
        AtomicBool::new(false),
        Seen::default(),
    );
    let words: Vec<_> = (0..SeqlockPublisher::words(cycle.layout()))
        .map(|_| AtomicU64::new(0))
        .collect();
    let publisher = SeqlockPublisher::begin(&words, cycle.layout()).unwrap();
    let timing = Timing::new(&settings);
    let mut bus = Loop::new(&mut link, &mut cycle, &queue, &stop);
    let mut time = RealTime::open(settings.spin).unwrap();
    let mut observer = (&timing, publisher, |report: &CycleReport<'_>| {
        seen.note(report);
    });
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            // A panic here must end the loop too, or the test would never end.
            let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                work(&queue, &seen, &words);
            }));
            stop.store(true, Ordering::Relaxed);
            if let Err(panic) = worked {
                std::panic::resume_unwind(panic);
            }
        });
        let ended = bus.run(&settings, &mut time, &mut (), &mut observer);
        queue.end();
        ended
    });
    (ended, timing)
}

fn to_op_and_stop(mode: LoopMode) {
    let (ended, timing) = run_beside(mode, |queue, seen, words| {
        let mut exchange = AcyclicClient::of(queue, beside::BUSY_HOST);
        let mut registers = Registers::by(&mut exchange);
        states::reach(&mut registers, Target::All(DEVICES), State::Op).unwrap();
        assert!(await_it(|| seen.whole_in_op.load(Ordering::Relaxed) >= 200));
        let reader = Reader::of(words).unwrap();
        let mut image = vec![0; reader.bytes()];
        assert!(await_it(|| {
            reader.read(&mut image).is_ok()
                && CycleImage::of(&image)
                    .is_some_and(|it| it.header.whole && it.header.number > 200)
        }));
    });
    assert_eq!(ended.by, EndedBy::Flag);
    let snapshot = timing.snapshot();
    assert_eq!(snapshot.cycles, ended.cycles);
    assert!(snapshot.whole_exchanges >= 200, "{snapshot}");
    assert_eq!(snapshot.early_wake_ups, 0, "{snapshot}");
    assert!(snapshot.exchange.p50_ns > Some(0), "{snapshot}");
}

#[test]
fn the_humanoid_comes_to_op_by_a_pipelined_loop_that_ends_by_its_flag() {
    let test = "the humanoid comes to OP by a pipelined loop";
    beside::a_humanoid(DEVICES, test, || to_op_and_stop(LoopMode::Pipelined));
}

#[test]
fn the_humanoid_comes_to_op_by_a_synchronous_loop_that_ends_by_its_flag() {
    let test = "the humanoid comes to OP by a synchronous loop";
    let wait = Duration::from_millis(1);
    beside::a_humanoid(DEVICES, test, || {
        to_op_and_stop(LoopMode::Synchronous { wait });
    });
}
