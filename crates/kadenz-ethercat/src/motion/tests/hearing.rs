//! Axes that do not receive each of their targets.

use super::*;
use crate::sim::model::drive::Parameters;
use crate::wire::register::{FMMU, FMMU_SIZE};
use crate::wire::{Command, DatagramAddress as Place, FrameWriter, Position};

/// A device that takes no part in some cycles, in which its process data is not mapped.
struct Deaf {
    device: u16,
    cycle: u64,
    from: u64,
    cycles: u64,
}

impl Deaf {
    fn map(&self, port: &mut WirePort, is_mapped: bool) {
        let now = port.time();
        // Outputs and inputs.
        for fmmu in 0..2 {
            let mut bytes = [0; 128];
            let mut writer = FrameWriter::new(&mut bytes, [0; 6]).unwrap();
            // The byte that activates the FMMU.
            let register = FMMU + fmmu * FMMU_SIZE + 12;
            let place = Place::position(Position(self.device), register);
            let slot = writer.push(Command::Apwr, 0, place, 1).unwrap();
            writer.data(slot)[0] = u8::from(is_mapped);
            let length = writer.finish();
            let _ = port.segment_mut().pass(&mut bytes[..length], now);
        }
    }
}

impl Timekeeper<WirePort> for Deaf {
    fn wait_until(&mut self, port: &mut WirePort, time: MonotonicTime) {
        self.cycle += 1;
        VirtualTime.wait_until(port, time);
        if self.cycle == self.from {
            self.map(port, false);
        } else if self.cycle == self.from + self.cycles {
            self.map(port, true);
        }
    }
}

/// The greatest step between two targets that the watched axis received, in 600 cycles of which it misses some from
/// the 300th on; and the targets of another axis meanwhile.
fn greatest_step(bench: &mut Bench, group: &mut AxisGroup<'_>, deaf: u64) -> (f64, Vec<f64>) {
    let from = 300;
    let mut time = Deaf {
        device: bench.watched as u16,
        cycle: 0,
        from,
        cycles: deaf,
    };
    let mut others = Vec::new();
    bench.seen.clear();
    bench.play_by(600, group, &mut time, |_, group| {
        others.push(group.runners()[0].asked());
    });
    let is_deaf = |cycle: u64| (from..from + deaf).contains(&cycle);
    let heard = (1..).zip(&bench.seen).filter(|it| !is_deaf(it.0));
    let heard: Vec<_> = heard.map(|(_, it)| it.asked).collect();
    let steps = heard.windows(2).map(|it| (it[1] - it[0]).abs());
    (steps.fold(0.0, f64::max), others)
}

#[test]
fn all_wait_for_an_axis_that_takes_no_part_in_some_cycles() {
    let mut bench = Bench::new(12, |_| ());
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    bench.play(1_200, &mut group, |_, _| ());
    let (step, others) = greatest_step(&mut bench, &mut group, 5);
    assert!(is_moving(group.stage()), "{:?}", group.stage());
    assert!(step > 0.0003 && step < 0.001, "{step}");
    // The loop learns of it one cycle later, and of its end one cycle later.
    assert_eq!(others[301], others[305]);
    assert!((others[307] - others[305]).abs() > 0.0003);
    let asked = group.runners()[0].asked();
    assert_eq!(group.runners()[1].asked(), asked, "they are together");
}

#[test]
fn where_any_loss_is_tolerated_others_go_on_and_the_axis_goes_on_from_where_it_was() {
    let mut bench = Bench::new(12, |_| ());
    let policy = Policy {
        lost: None,
        ..Policy::default()
    };
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), policy, &handle);
    bench.play(1_200, &mut group, |_, _| ());
    let (step, others) = greatest_step(&mut bench, &mut group, 40);
    assert!(is_moving(group.stage()), "{:?}", group.stage());
    assert!(step > 0.0003 && step < 0.001, "{step}");
    assert_eq!(others[301], others[309], "they wait for ten cycles");
    assert!((others[338] - others[312]).abs() > 0.005, "and go on then");
    let [first, second] = [0, 1].map(|it: usize| group.runners()[it].asked());
    assert!((first - second).abs() > 0.0001, "{first} {second}");
}

/// How long the demonstration takes once, and its axes, where one takes no part in some cycles from the 2000th on;
/// the policy tolerates any loss and any fault.
fn played_once(away: u64) -> (Ended, Vec<AxisRunner>) {
    let mut bench = Bench::new(12, |plan| *plan = plan.clone().once());
    let policy = Policy {
        lost: None,
        stop_on_fault: false,
        ..Policy::default()
    };
    let handle = MotionHandle::default();
    let runners = bench.runners.clone();
    let mut group = AxisGroup::new(runners, policy, &handle).ending_when_played();
    let mut time = Deaf {
        device: 11,
        cycle: 0,
        from: 2_000,
        cycles: away,
    };
    let ended = bench.play_by(20_000, &mut group, &mut time, |_, _| ());
    assert_eq!(ended.by, EndedBy::Controller, "{:?}", group.stage());
    (ended, group.runners().to_vec())
}

#[test]
fn the_group_does_not_wait_for_an_axis_that_comes_back_without_power() {
    let (short, runners) = played_once(1);
    assert!(runners.iter().all(|it| !it.is_out()));
    // Its watchdog switches its power off meanwhile.
    let (long, runners) = played_once(1_000);
    assert!(runners[7].is_out() && runners[7].received_target());
    // For ten cycles all axes wait.
    let longer = long.cycles - short.cycles;
    assert!((5..100).contains(&longer), "{longer}");
    assert!(runners[0].tracking().cycles >= 4_000);
}

#[test]
fn the_end_does_not_wait_for_an_axis_that_is_gone_for_good() {
    let mut bench = Bench::new(12, |plan| *plan = plan.clone().once());
    let policy = Policy {
        lost: None,
        ..Policy::default()
    };
    let handle = MotionHandle::default();
    let runners = bench.runners.clone();
    let mut group = AxisGroup::new(runners, policy, &handle).ending_when_played();
    bench.play(2_000, &mut group, |_, _| ());
    // While no axis receives targets, none moves.
    bench.lose(50);
    bench.play(60, &mut group, |_, _| ());
    assert!(is_moving(group.stage()), "{:?}", group.stage());
    bench.inject(11, WireFault::PowerOff);
    let ended = bench.play(20_000, &mut group, |_, _| ());
    assert_eq!(ended.by, EndedBy::Controller, "{:?}", group.stage());
    let tracking = group.runners()[0].tracking();
    assert!(tracking.cycles > 4_000, "it plays to its end: {tracking:?}");
    assert!(!group.runners()[7].received_target());
}

#[test]
fn a_device_that_takes_no_part_shows_from_the_second_cycle_on() {
    let models = [0, 1, 2].map(|_| models::drive(Parameters::default(), &[]));
    let segment = Segment::line(models, 1).unwrap();
    let mut bench = Bench::of(segment, |_, _| (), |_| ()).unwrap();
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    let mut time = Deaf {
        device: 1,
        cycle: 0,
        from: 10,
        cycles: 5,
    };
    let mut heard = Vec::new();
    bench.play_by(20, &mut group, &mut time, |_, group| {
        let all = group.runners().iter().map(AxisRunner::received_target);
        heard.push(all.collect::<Vec<_>>());
    });
    // Before a cycle the test sees the result of the cycle before, from the frame before that.
    let all = vec![true; 3];
    assert_eq!(heard[10], all);
    assert_eq!(heard[11], vec![false; 3], "some did not");
    for cycle in &heard[12..16] {
        assert_eq!(*cycle, [true, false, true]);
    }
    assert!(heard[16..].iter().all(|it| *it == all), "{heard:?}");
}
