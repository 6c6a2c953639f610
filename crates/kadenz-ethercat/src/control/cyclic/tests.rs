use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::*;
use crate::control::locked::Locked;
use crate::control::process_image::Reader;
use crate::main_device::bring_up::{find, prepare};
use crate::main_device::exchange::{BlockingExchange, Registers};
use crate::port::Side;
use crate::sim::WirePort;
use crate::sim::fault::{Fault, FrameFault, WireFault};
use crate::sim::humanoid::humanoid;
use crate::sync::AtomicU64;

const MS: Duration = Duration::from_millis(1);

/// A segment in OP, in virtual time.
struct Bench {
    link: Link<WirePort>,
    cycle: Cycle,
    queue: AcyclicQueue,
    stop: AtomicBool,
}

impl Bench {
    fn new(devices: u16) -> Self {
        let port = WirePort::new(humanoid(usize::from(devices)).build().unwrap());
        let mut link = Link::new(port, 1);
        let mut exchange = BlockingExchange::over(&mut link);
        let mut registers = Registers::by(&mut exchange);
        let mut found = find(&mut registers).unwrap();
        let cycle = prepare(&mut registers, &mut found, None).unwrap();
        let mut bench = Self {
            link,
            cycle,
            queue: AcyclicQueue::default(),
            stop: AtomicBool::new(false),
        };
        operate(
            &mut bench.bus(),
            devices,
            &LoopSettings::every(MS).unwrap(),
            &mut VirtualTime,
        )
        .unwrap();
        bench
    }

    fn bus(&mut self) -> Loop<'_, WirePort> {
        Loop::new(&mut self.link, &mut self.cycle, &self.queue, &self.stop)
    }

    fn inject(&mut self, fault: FrameFault) {
        let now = self.link.port_mut().time();
        let segment = self.link.port_mut().segment_mut();
        segment.inject(Fault::Frame(fault), now);
    }
}

fn cycles(count: u64) -> LoopSettings {
    LoopSettings {
        cycles: Some(count),
        ..LoopSettings::every(MS).unwrap()
    }
}

fn synchronous(count: u64) -> LoopSettings {
    LoopSettings {
        mode: LoopMode::Synchronous { wait: MS / 2 },
        ..cycles(count)
    }
}

/// Virtual time in which the computer stalls: in the given cycles it wakes that much late.
struct Stumbling {
    cycle: u64,
    late: &'static [(u64, u64)],
}

impl Timekeeper<WirePort> for Stumbling {
    fn wait_until(&mut self, port: &mut WirePort, time: MonotonicTime) {
        self.cycle += 1;
        VirtualTime.wait_until(port, time);
        if let Some((_, us)) = self.late.iter().find(|it| it.0 == self.cycle) {
            port.elapse(us * 1000);
        }
    }
}

#[test]
fn both_modes_exchange_everything_every_cycle() {
    let mut bench = Bench::new(59);
    for settings in [cycles(200), synchronous(200)] {
        let mut whole = 0;
        let mut last = None;
        let ended = bench.bus().run(
            &settings,
            &mut VirtualTime,
            &mut (),
            &mut |report: &CycleReport<'_>| {
                assert_eq!(report.wake_up_ns(), 0);
                assert!(report.period_ns().is_none_or(|it| it == 1_000_000));
                whole += u32::from(report.is_whole());
                last = report.outcome;
            },
        );
        assert_eq!((ended.by, ended.cycles), (EndedBy::Count, 200));
        let pipelined = settings.mode == LoopMode::Pipelined;
        assert_eq!(whole, 200 - u32::from(pipelined), "{last:?}");
    }
    let counts = bench.link.counts();
    assert_eq!((counts.lost, counts.late), (0, 0), "{counts:?}");
}

#[test]
fn synchronous_sees_this_cycle_s_inputs_and_pipelined_those_of_the_cycle_before() {
    let mut bench = Bench::new(59);
    let mut waited = Vec::new();
    for settings in [cycles(20), synchronous(20)] {
        let mut observer = |report: &CycleReport<'_>| {
            waited.push((report.exchange_ns() > 0, report.sent >= report.controlled));
        };
        bench
            .bus()
            .run(&settings, &mut VirtualTime, &mut (), &mut observer);
    }
    // Pipelined: the loop does not wait, and sends last. Synchronous: it first sends, then waits.
    assert_eq!(waited[..20], [(false, true); 20]);
    assert_eq!(waited[20..], [(true, false); 20]);
}

#[test]
fn no_fault_of_a_frame_ends_the_loop_and_each_is_reported_in_one_outcome() {
    for settings in [cycles(30), synchronous(30)] {
        for fault in [
            FrameFault::Lose { after: None },
            FrameFault::Corrupt { after: None },
            FrameFault::Delay { ns: 5_000_000 },
            FrameFault::Truncate { length: 40 },
            FrameFault::Skew { by: -1 },
        ] {
            let mut bench = Bench::new(20);
            bench.inject(fault);
            let mut bad = Vec::new();
            let ended = bench.bus().run(
                &settings,
                &mut VirtualTime,
                &mut (),
                &mut |report: &CycleReport<'_>| {
                    if report.outcome.is_some_and(|it| !it.is_whole()) {
                        bad.push(report.number);
                    }
                },
            );
            let expected = if settings.mode == LoopMode::Pipelined {
                2
            } else {
                1
            };
            assert_eq!(ended.cycles, 30, "{fault:?}");
            assert_eq!(bad, [expected], "{fault:?}");
        }
    }
}

#[test]
fn a_stall_is_caught_up_skipped_or_ends_the_loop_as_the_user_chose() {
    // The fifth wake-up is 2.5 ms late.
    let run = |overrun| {
        let mut bench = Bench::new(5);
        let mut time = Stumbling {
            cycle: 0,
            late: &[(5, 2500)],
        };
        let mut beats = Vec::new();
        let settings = LoopSettings {
            overrun,
            ..cycles(10)
        };
        let ended = bench.bus().run(
            &settings,
            &mut time,
            &mut (),
            &mut |report: &CycleReport<'_>| {
                beats.push((report.beat, report.wake_up_ns() / 1000));
            },
        );
        (ended, beats)
    };
    let (ended, beats) = run(Overrun::CatchUp);
    assert_eq!((ended.cycles, ended.overruns, ended.skipped), (10, 2, 0));
    assert_eq!(
        &beats[3..8],
        [(4, 0), (5, 2500), (6, 1500), (7, 500), (8, 0)]
    );
    let (ended, beats) = run(Overrun::Skip);
    assert_eq!((ended.cycles, ended.overruns, ended.skipped), (10, 1, 2));
    assert_eq!(&beats[3..6], [(4, 0), (5, 2500), (8, 0)]);
    let (ended, beats) = run(Overrun::Relative);
    // Each period counts from the wake-up before, so that the stall is one long period, and the time of
    // ten is over two cycles earlier.
    assert_eq!((ended.cycles, ended.overruns, ended.skipped), (8, 0, 0));
    assert_eq!(&beats[3..6], [(4, 0), (5, 2500), (8, 0)]);
    let (ended, beats) = run(Overrun::Stop);
    assert_eq!(
        (ended.by, ended.cycles, beats.len()),
        (EndedBy::Overrun, 5, 5)
    );
}

#[test]
fn a_controller_ends_the_loop_and_its_last_outputs_are_sent() {
    for settings in [cycles(100), synchronous(100)] {
        let mut bench = Bench::new(5);
        let sent = bench.link.counts().sent;
        let mut controller = |context: &mut CycleContext<'_>| {
            context.outputs_of(1).fill(0xA5);
            if context.number() == 7 {
                context.stop();
            }
        };
        let ended = bench
            .bus()
            .run(&settings, &mut VirtualTime, &mut controller, &mut ());
        assert_eq!((ended.by, ended.cycles), (EndedBy::Controller, 7));
        let extra = u64::from(settings.mode != LoopMode::Pipelined);
        assert_eq!(bench.link.counts().sent - sent, 7 + extra);
        assert_eq!(bench.link.counts().lost, 0);
    }
}

#[test]
fn after_the_flag_a_controller_has_time_to_bring_everything_to_rest() {
    let mut bench = Bench::new(3);
    bench.stop.store(true, Ordering::Relaxed);
    let settings = LoopSettings {
        shutdown_cycles: 50,
        ..LoopSettings::every(MS).unwrap()
    };
    let mut ending = 0;
    let mut controller = |context: &mut CycleContext<'_>| ending += u32::from(context.is_ending());
    let ended = bench
        .bus()
        .run(&settings, &mut VirtualTime, &mut controller, &mut ());
    assert_eq!((ended.by, ended.cycles, ending), (EndedBy::Flag, 50, 50));
    let ended = bench.bus().run(
        &LoopSettings::every(MS).unwrap(),
        &mut VirtualTime,
        &mut (),
        &mut (),
    );
    assert_eq!((ended.by, ended.cycles), (EndedBy::Flag, 0));
}

#[test]
fn an_overrun_that_ends_the_loop_leaves_time_to_bring_everything_to_rest() {
    let mut bench = Bench::new(3);
    let settings = LoopSettings {
        overrun: Overrun::Stop,
        shutdown_cycles: 50,
        ..LoopSettings::every(MS).unwrap()
    };
    // The fifth wake-up is 2.5 ms late, and so is one of the cycles that bring all to rest.
    let mut time = Stumbling {
        cycle: 0,
        late: &[(5, 2500), (20, 2500)],
    };
    let mut ending = Vec::new();
    let mut controller = |context: &mut CycleContext<'_>| {
        ending.extend(context.is_ending().then_some(context.number()));
    };
    let ended = bench
        .bus()
        .run(&settings, &mut time, &mut controller, &mut ());
    assert_eq!((ended.by, ended.cycles), (EndedBy::Overrun, 55));
    assert_eq!((ended.overruns, ended.skipped), (2, 4));
    assert_eq!(ending, (6..=55).collect::<Vec<_>>());
}

#[test]
fn a_phase_moves_every_beat_to_come() {
    struct Later;
    impl Phase for Later {
        fn correct(&mut self, report: &CycleReport<'_>) -> i64 {
            if report.number == 3 { 250 } else { 0 }
        }
    }
    let mut bench = Bench::new(3);
    let mut periods = Vec::new();
    bench.bus().run_locked(
        &cycles(6),
        &mut VirtualTime,
        &mut Later,
        &mut (),
        &mut |report: &CycleReport<'_>| periods.extend(report.period_ns()),
    );
    assert_eq!(
        periods,
        [1_000_000, 1_000_000, 1_000_250, 1_000_000, 1_000_000]
    );
}

#[test]
fn a_publisher_shows_what_the_controller_saw() {
    let mut bench = Bench::new(59);
    let layout = bench.cycle.layout().clone();
    let words: Vec<_> = (0..SeqlockPublisher::words(&layout))
        .map(|_| AtomicU64::new(0))
        .collect();
    let mut publisher = SeqlockPublisher::begin(&words, &layout).unwrap();
    let mut controller = |context: &mut CycleContext<'_>| {
        let number = context.number() as u8;
        context.outputs().fill(number);
    };
    bench.bus().run(
        &cycles(9),
        &mut VirtualTime,
        &mut controller,
        &mut publisher,
    );
    let reader = Reader::of(&words[..]).unwrap();
    let mut bytes = vec![0; reader.bytes()];
    assert_eq!(reader.read(&mut bytes).unwrap(), 9);
    let image = CycleImage::of(&bytes).unwrap();
    assert_eq!((image.header.number, image.header.whole), (9, true));
    assert_eq!(image.inputs.len(), layout.inputs);
    assert!(image.inputs.iter().any(|it| *it != 0));
    assert_eq!(image.outputs, vec![9; layout.outputs]);
    for short in [0, IMAGE_HEAD - 1, bytes.len() - 1] {
        assert_eq!(CycleImage::of(&bytes[..short]), None);
    }
    assert!(!reader.has_ended());
    drop(publisher);
    assert!(reader.has_ended());
    assert_eq!(reader.read(&mut bytes), Ok(9), "the last one stays");
}

#[test]
fn a_process_image_behind_a_lock_shows_the_same() {
    let mut bench = Bench::new(59);
    let layout = bench.cycle.layout().clone();
    let image = Locked::new(image_bytes(&layout)).unwrap();
    let mut publisher = LockedPublisher::begin(&image, &layout);
    bench
        .bus()
        .run(&cycles(9), &mut VirtualTime, &mut (), &mut publisher);
    let mut bytes = vec![0; image.bytes()];
    assert_eq!(image.read(&mut bytes), 9);
    let last = CycleImage::of(&bytes).unwrap();
    assert_eq!((last.header.number, last.header.whole), (9, true));
    assert!(last.inputs.iter().any(|it| *it != 0));
    assert_eq!((last.inputs.len(), image.waits()), (layout.inputs, 0));
    assert!(!image.has_ended());
    drop(publisher);
    assert!(image.has_ended());
    let next = LockedPublisher::begin(&image, &layout);
    assert!(!image.has_ended(), "another loop goes on");
    drop(next);
}

#[test]
fn a_device_that_is_gone_is_an_outcome_and_no_end() {
    let mut bench = Bench::new(20);
    let now = bench.link.port_mut().time();
    let segment = bench.link.port_mut().segment_mut();
    let last = segment.positions(Side::Primary)[19];
    segment.inject(Fault::Wire(WireFault::PowerOff(last)), now);
    let mut broken = 0;
    let ended = bench.bus().run(
        &cycles(50),
        &mut VirtualTime,
        &mut (),
        &mut |report: &CycleReport<'_>| broken += u32::from(!report.is_whole()),
    );
    assert_eq!((ended.cycles, broken), (50, 50));
}
