//! How axes follow their programs.

use super::*;

#[test]
fn all_drives_of_the_humanoid_are_enabled_and_follow() {
    let mut bench = Bench::new(59, |plan| *plan = plan.clone().once());
    assert_eq!(bench.runners.len(), 50);
    let handle = MotionHandle::default();
    let mut group =
        AxisGroup::new(bench.runners.clone(), Policy::default(), &handle).ending_when_played();
    let ended = bench.play(20_000, &mut group, |_, _| ());
    assert_eq!(ended.by, EndedBy::Controller, "{:?}", group.stage());
    assert_eq!(group.stops(), 0);
    for runner in group.runners() {
        let tracking = runner.tracking();
        assert!(tracking.cycles > 4000, "{tracking:?}");
        // Inputs are two cycles old, and the drives' loops have feed-forward.
        assert!(tracking.greatest < 0.005, "{tracking:?}");
        assert!(tracking.root_mean_square() < 0.002, "{tracking:?}");
        assert!(!runner.reading().unwrap().state().has_torque());
    }
}

#[test]
fn velocity_and_torque_follow_too_by_a_regulator_of_ours() {
    let gains = [
        (
            Control::Velocity,
            Gains {
                proportional: 20.0,
                ..Gains::default()
            },
        ),
        (
            Control::Torque,
            Gains {
                proportional: 1500.0,
                integral: 4000.0,
                derivative: 60.0,
                filter: 0.002,
                limit: Some(150.0),
            },
        ),
    ];
    for (control, gains) in gains {
        for mode in [
            LoopMode::Pipelined,
            LoopMode::Synchronous {
                wait: Duration::from_micros(500),
            },
        ] {
            // The waist: knees by their motors.
            let mut bench = Bench::new(6, |plan| {
                plan.mode = mode;
                *plan = plan.clone().once();
                for axis in &mut plan.axes {
                    (axis.control, axis.gains) = (control, gains);
                }
            });
            let handle = MotionHandle::default();
            let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
            bench.play(8_000, &mut group, |_, _| ());
            assert!(is_moving(group.stage()), "{:?}", group.stage());
            for runner in group.runners() {
                let tracking = runner.tracking();
                assert!(
                    tracking.greatest < 0.06,
                    "{control:?} {mode:?} {tracking:?}"
                );
            }
        }
    }
}

#[test]
fn an_axis_moves_no_further_in_a_cycle_than_its_limits_let_it() {
    let mut bench = Bench::new(12, |_| ());
    let handle = MotionHandle::default();
    let mut group = AxisGroup::new(bench.runners.clone(), Policy::default(), &handle);
    let mut before: Vec<f64> = Vec::new();
    let mut greatest = 0.0_f64;
    bench.play(6_000, &mut group, |_, group| {
        let now: Vec<_> = group
            .runners()
            .iter()
            .filter_map(|it| it.reading().map(|it| it.position))
            .collect();
        for (now, before) in now.iter().zip(&before) {
            greatest = greatest.max((now - before).abs());
        }
        before = now;
    });
    // The demonstration's fastest way is a sine of 0.2 rad and half a hertz, swelling.
    assert!(greatest > 0.0003 && greatest < 0.0015, "{greatest}");
}
