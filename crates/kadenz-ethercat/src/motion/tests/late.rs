//! Effects of lateness on axes, and the end of a motion.

use super::*;

#[test]
fn the_switch_stops_at_once() {
    let mut bench = Bench::new(12, |_| ());
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    let mut stopped = None;
    bench.play(2_000, &mut group, |number, group| {
        if number == 1_500 {
            handle.stop();
        }
        if matches!(group.stage(), Stage::Stopped(Cause::Asked)) {
            stopped = stopped.or(Some(number));
        }
    });
    // The result of cycle 1500 is visible before cycle 1501.
    assert_eq!(stopped, Some(1_501));
}

/// A computer that is late in some cycles.
struct Slow {
    cycle: u64,
    from: u64,
    cycles: u64,
    /// How late, in ns.
    ns: u64,
}

impl Timekeeper<WirePort> for Slow {
    fn wait_until(&mut self, port: &mut WirePort, time: MonotonicTime) {
        self.cycle += 1;
        VirtualTime.wait_until(port, time);
        if (self.from..self.from + self.cycles).contains(&self.cycle) {
            port.elapse(self.ns);
        }
    }
}

#[test]
fn late_cycles_within_the_policy_are_ridden_out_and_more_stop_all() {
    // The cycle after a late one is the one that is due already when it begins.
    for (late, stopped) in [(10, false), (11, true)] {
        let mut bench = Bench::new(12, |_| ());
        let handle = MotionHandle::default();
        let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
        let mut slow = Slow {
            cycle: 0,
            from: 1_500,
            cycles: late,
            ns: 1_100_000,
        };
        let ended = bench.play_by(2_000, &mut group, &mut slow, |_, _| ());
        assert_eq!(ended.overruns, late);
        let stage = group.stage();
        assert_eq!(
            matches!(stage, Stage::Stopped(Cause::Late(11))),
            stopped,
            "{stage:?}"
        );
        assert_eq!(is_moving(stage), !stopped, "{stage:?}");
    }
}

#[test]
fn one_long_stall_counts_as_all_deadlines_that_it_missed_and_asks_no_axis_to_jump() {
    for overrun in [Overrun::Skip, Overrun::CatchUp, Overrun::Relative] {
        for (beats, stopped) in [(10, false), (11, true)] {
            let mut bench = Bench::new(12, |plan| plan.overrun = overrun);
            let handle = MotionHandle::default();
            // Frames of cycles that run at once to catch up are not back in time.
            let policy = Policy {
                lost: None,
                ..Policy::default()
            };
            let mut group = AxisGroup::new(bench.runners.clone(), policy, &handle);
            let mut slow = Slow {
                cycle: 0,
                from: 1_500,
                cycles: 1,
                ns: beats * 1_000_000 + 500_000,
            };
            let mut asked = Vec::new();
            bench.play_by(1_700, &mut group, &mut slow, |_, group| {
                let all = group.runners().iter().map(AxisRunner::asked);
                asked.push(all.collect::<Vec<_>>());
            });
            let stage = group.stage();
            let is_late = matches!(stage, Stage::Stopped(Cause::Late(11)));
            assert_eq!(is_late, stopped, "{overrun:?} {beats}: {stage:?}");
            assert_eq!(is_moving(stage), !stopped, "{overrun:?} {beats}: {stage:?}");
            if stopped {
                continue;
            }
            let steps = asked.windows(2).flat_map(|pair| {
                let both = pair[0].iter().zip(&pair[1]);
                both.map(|(before, now)| (now - before).abs())
            });
            let greatest = steps.skip(8 * 200).fold(0.0, f64::max);
            // At 1 rad/s at most; eleven intervals in one step would be eleven times as much.
            assert!(
                greatest > 0.0003 && greatest < 0.001,
                "{overrun:?} {greatest}"
            );
        }
    }
}

#[test]
fn behind_a_target_that_was_lost_comes_none_further_on() {
    let mut bench = Bench::new(12, |_| ());
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    bench.play(1_500, &mut group, |_, _| ());
    let before: Vec<_> = group.runners().iter().map(AxisRunner::asked).collect();
    bench.lose(8);
    bench.play(9, &mut group, |_, _| ());
    assert!(is_moving(group.stage()));
    for (runner, before) in group.runners().iter().zip(before) {
        let step = (runner.asked() - before).abs();
        assert!(step > 0.0002 && step < 0.001, "{step}");
    }
}

#[test]
fn a_drive_that_does_not_rest_delays_the_end_by_a_second_and_loses_its_power() {
    let stays = |registers: &mut Registers<'_>, devices: &mut [SubDevice]| {
        // The drive stays in its quick stop.
        write_object(
            registers,
            &mut devices[5],
            object::QUICK_STOP_OPTION,
            &[6, 0],
        );
    };
    let mut bench = Bench::of(humanoid(12).build().unwrap(), stays, |_| ()).unwrap();
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    bench.play(1_500, &mut group, |_, _| ());
    handle.end();
    let ended = bench.play(5_000, &mut group, |_, _| ());
    assert_eq!(ended.by, EndedBy::Controller);
    assert!((1_000..1_150).contains(&ended.cycles), "{ended:?}");
    for runner in group.runners() {
        assert!(!runner.reading().unwrap().state().has_torque());
    }
}

#[test]
fn a_drive_that_is_gone_does_not_keep_the_loop_from_its_end() {
    let mut bench = Bench::new(12, |_| ());
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    bench.play(1_500, &mut group, |_, _| ());
    bench.inject(11, WireFault::PowerOff);
    bench.play(5, &mut group, |_, _| ());
    handle.end();
    let ended = bench.play(5_000, &mut group, |_, _| ());
    assert_eq!(ended.by, EndedBy::Controller);
    assert!(ended.cycles < 1_150, "{ended:?}");
}

#[test]
fn a_shutdown_brings_all_axes_to_rest_before_the_loop_ends() {
    let mut bench = Bench::new(12, |_| ());
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    bench.play(1_500, &mut group, |_, _| ());
    assert!(is_moving(group.stage()));
    let ended = Loop::new(
        &mut bench.link,
        &mut bench.cycle,
        &AcyclicQueue::default(),
        &AtomicBool::new(true),
    )
    .run(&bench.settings, &mut VirtualTime, &mut group, &mut ());
    assert_eq!(ended.by, EndedBy::Controller, "{ended:?}");
    assert_eq!(group.stage(), Stage::Ending);
    for runner in group.runners() {
        assert!(!runner.reading().unwrap().state().has_torque());
    }
}

#[test]
fn an_overrun_that_ends_the_loop_brings_all_axes_to_rest_before() {
    let mut bench = Bench::new(12, |plan| plan.overrun = Overrun::Stop);
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    let mut slow = Slow {
        cycle: 0,
        from: 1_500,
        cycles: 1,
        ns: 1_100_000,
    };
    let mut was_moving = false;
    let ended = bench.play_by(5_000, &mut group, &mut slow, |number, group| {
        was_moving |= number == 1_500 && is_moving(group.stage());
    });
    assert!(was_moving);
    assert_eq!(ended.by, EndedBy::Overrun, "{ended:?}");
    assert!(ended.cycles > 1_500, "{ended:?}");
    assert_eq!(group.stage(), Stage::Ending);
    for runner in group.runners() {
        assert!(!runner.reading().unwrap().state().has_torque());
    }
    let last = bench.words.last().unwrap();
    assert!(!last.has(0x08), "{last:?}");
}
