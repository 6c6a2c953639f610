use std::sync::atomic::AtomicBool;
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::axis::Control;
use super::pid::Gains;
use super::*;
use crate::control::cyclic::{
    CycleReport, Ended, EndedBy, Loop, Mode, Moment, Settings, Timekeeper, VirtualTime, operate,
};
use crate::main_device::bring_up::{find, prepare};
use crate::main_device::cycle::Cycle;
use crate::main_device::exchange::{Patience, Registers, Waiting};
use crate::main_device::link::Link;
use crate::main_device::postbox::Postbox;
use crate::port::WirePort;
use crate::sim::Side;
use crate::sim::fault::{Fault, FrameFault, When, WireFault};
use crate::sim::humanoid::humanoid;

/// A humanoid in OP with its axes.
struct Bench {
    link: Link<WirePort>,
    cycle: Cycle,
    players: Vec<Player>,
    settings: Settings,
}

impl Bench {
    fn new(devices: u16, change: impl FnOnce(&mut Plan)) -> Self {
        let port = WirePort::new(humanoid(usize::from(devices)).build().unwrap());
        let mut link = Link::new(port, 1);
        let mut way = Waiting {
            link: &mut link,
            patience: Patience::default(),
        };
        let mut registers = Registers::by(&mut way);
        let mut found = find(&mut registers).unwrap();
        let mut plan = demo(&mut registers, &mut found).unwrap();
        change(&mut plan);
        let players = plan.commission(&mut registers, &mut found).unwrap();
        let mut cycle = prepare(&mut registers, &mut found, None).unwrap();
        let settings = plan.settings().unwrap();
        operate(
            &mut Loop {
                link: &mut link,
                cycle: &mut cycle,
                postbox: &Postbox::default(),
                stop: &AtomicBool::new(false),
            },
            devices,
            &settings,
            &mut VirtualTime,
        )
        .unwrap();
        Self {
            link,
            cycle,
            players,
            settings,
        }
    }

    /// Plays for so many cycles; before each, `meddle` may look and ask.
    fn play(
        &mut self,
        cycles: u64,
        conductor: &mut Conductor<'_>,
        mut meddle: impl FnMut(u64, &Conductor<'_>),
    ) -> Ended {
        let settings = Settings {
            cycles: Some(cycles),
            ..self.settings
        };
        let mut controller = |moment: &mut Moment<'_>| {
            meddle(moment.number(), conductor);
            crate::control::cyclic::Controller::beat(conductor, moment);
        };
        Loop {
            link: &mut self.link,
            cycle: &mut self.cycle,
            postbox: &Postbox::default(),
            stop: &AtomicBool::new(false),
        }
        .run(
            &settings,
            &mut VirtualTime,
            &mut controller,
            &mut |_: &CycleReport<'_>| (),
        )
    }
}

fn is_moving(stage: Stage) -> bool {
    matches!(stage, Stage::Approaching(_) | Stage::Playing(_))
}

#[test]
fn all_drives_of_the_humanoid_are_enabled_and_follow() {
    let mut bench = Bench::new(59, |plan| *plan = plan.clone().once());
    assert_eq!(bench.players.len(), 50);
    let switch = Switch::default();
    let mut conductor =
        Conductor::new(bench.players.clone(), Policy::default(), &switch).ending_when_played();
    let ended = bench.play(20_000, &mut conductor, |_, _| ());
    assert_eq!(ended.by, EndedBy::Controller, "{:?}", conductor.stage());
    assert_eq!(conductor.stops(), 0);
    for player in conductor.players() {
        let tracking = player.tracking();
        assert!(tracking.cycles > 4000, "{tracking:?}");
        // What is read is two cycles old, and their loops are fed forward.
        assert!(tracking.greatest < 0.005, "{tracking:?}");
        assert!(tracking.root_mean_square() < 0.002, "{tracking:?}");
        assert!(!player.reading().unwrap().state().has_torque());
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
            Mode::Pipelined,
            Mode::Synchronous {
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
            let switch = Switch::default();
            let mut conductor = Conductor::new(bench.players.clone(), Policy::default(), &switch);
            bench.play(8_000, &mut conductor, |_, _| ());
            assert!(is_moving(conductor.stage()), "{:?}", conductor.stage());
            for player in conductor.players() {
                let tracking = player.tracking();
                assert!(
                    tracking.greatest < 0.06,
                    "{control:?} {mode:?} {tracking:?}"
                );
            }
        }
    }
}

#[test]
fn lost_cycles_within_the_policy_are_ridden_out_and_more_stop_all_until_a_reset() {
    let mut bench = Bench::new(12, |_| ());
    let switch = Switch::default();
    let mut conductor = Conductor::new(bench.players.clone(), Policy::default(), &switch);
    bench.play(1_000, &mut conductor, |_, _| ());
    assert!(is_moving(conductor.stage()));
    let lose = |bench: &mut Bench, frames: u64| {
        let segment = bench.link.port_mut().segment_mut();
        let next = segment.counts().frames + 1;
        let fault = Fault::Frame(FrameFault::Lose { after: Some(0) });
        segment
            .faults()
            .add(When::Frames(next, next + frames), fault)
            .unwrap();
    };
    lose(&mut bench, 10);
    bench.play(100, &mut conductor, |_, _| ());
    assert!(is_moving(conductor.stage()));
    lose(&mut bench, 11);
    bench.play(300, &mut conductor, |_, _| ());
    assert_eq!(conductor.stage(), Stage::Stopped(Cause::Lost(11)));
    for player in conductor.players() {
        assert!(!player.reading().unwrap().state().has_torque());
    }
    bench.play(300, &mut conductor, |_, _| ());
    assert_eq!(conductor.stops(), 1, "it stays");
    switch.reset();
    bench.play(1_000, &mut conductor, |_, _| ());
    assert!(is_moving(conductor.stage()), "{:?}", conductor.stage());
}

#[test]
fn the_fault_of_one_axis_stops_all_and_is_reset_with_them() {
    let mut bench = Bench::new(12, |_| ());
    let switch = Switch::default();
    let mut conductor = Conductor::new(bench.players.clone(), Policy::default(), &switch);
    bench.play(1_000, &mut conductor, |_, _| ());
    let fail = |bench: &mut Bench, code: u16| {
        let now = bench.link.port_mut().time();
        let segment = bench.link.port_mut().segment_mut();
        let device = segment.positions(Side::Primary)[5];
        segment.inflict(Fault::Wire(WireFault::Fail(device, code)), now);
    };
    fail(&mut bench, 0x3230);
    bench.play(300, &mut conductor, |_, _| ());
    assert_eq!(conductor.stage(), Stage::Stopped(Cause::Fault(1)));
    for player in conductor.players() {
        assert!(!player.reading().unwrap().state().has_torque());
    }
    // What failed fails still: the others wait for it, and nothing moves.
    switch.reset();
    bench.play(300, &mut conductor, |_, _| ());
    assert_eq!(conductor.stage(), Stage::Enabling);
    fail(&mut bench, 0);
    bench.play(1_000, &mut conductor, |_, _| ());
    assert!(is_moving(conductor.stage()), "{:?}", conductor.stage());
}

#[test]
fn with_another_policy_the_others_go_on_and_the_failed_axis_stays_without_power() {
    let mut bench = Bench::new(12, |_| ());
    let switch = Switch::default();
    let policy = Policy {
        stop_on_fault: false,
        ..Policy::default()
    };
    let mut conductor = Conductor::new(bench.players.clone(), policy, &switch);
    bench.play(1_000, &mut conductor, |_, _| ());
    let now = bench.link.port_mut().time();
    let segment = bench.link.port_mut().segment_mut();
    let device = segment.positions(Side::Primary)[5];
    segment.inflict(Fault::Wire(WireFault::Fail(device, 0x3230)), now);
    bench.play(500, &mut conductor, |_, _| ());
    assert!(is_moving(conductor.stage()));
    let powered: Vec<_> = conductor
        .players()
        .iter()
        .map(|it| it.reading().unwrap().state().has_torque())
        .collect();
    assert_eq!(powered.iter().filter(|it| !**it).count(), 1);
    assert!(!powered[1]);
}

#[test]
fn the_switch_stops_at_once() {
    let mut bench = Bench::new(12, |_| ());
    let switch = Switch::default();
    let mut conductor = Conductor::new(bench.players.clone(), Policy::default(), &switch);
    let mut stopped = None;
    bench.play(2_000, &mut conductor, |number, conductor| {
        if number == 1_500 {
            switch.stop();
        }
        if matches!(conductor.stage(), Stage::Stopped(Cause::Asked)) {
            stopped = stopped.or(Some(number));
        }
    });
    // What it did in cycle 1500 is seen before cycle 1501.
    assert_eq!(stopped, Some(1_501));
}

/// A computer that is late by more than a cycle, from a cycle on and for so many of them.
struct Slow {
    cycle: u64,
    from: u64,
    cycles: u64,
}

impl Timekeeper<WirePort> for Slow {
    fn wait_until(&mut self, port: &mut WirePort, time: MonotonicTime) {
        self.cycle += 1;
        VirtualTime.wait_until(port, time);
        if (self.from..self.from + self.cycles).contains(&self.cycle) {
            port.elapse(1_100_000);
        }
    }
}

#[test]
fn late_cycles_within_the_policy_are_ridden_out_and_more_stop_all() {
    // The cycle after a late one is the one that finds itself due already.
    for (late, stopped) in [(10, false), (11, true)] {
        let mut bench = Bench::new(12, |_| ());
        let switch = Switch::default();
        let mut conductor = Conductor::new(bench.players.clone(), Policy::default(), &switch);
        let settings = Settings {
            cycles: Some(2_000),
            ..bench.settings
        };
        let mut slow = Slow {
            cycle: 0,
            from: 1_500,
            cycles: late,
        };
        let ended = Loop {
            link: &mut bench.link,
            cycle: &mut bench.cycle,
            postbox: &Postbox::default(),
            stop: &AtomicBool::new(false),
        }
        .run(&settings, &mut slow, &mut conductor, &mut ());
        assert_eq!(ended.overruns, late);
        let stage = conductor.stage();
        assert_eq!(
            matches!(stage, Stage::Stopped(Cause::Late(11))),
            stopped,
            "{stage:?}"
        );
        assert_eq!(is_moving(stage), !stopped, "{stage:?}");
    }
}

#[test]
fn a_farewell_brings_all_axes_to_rest_before_the_loop_ends() {
    let mut bench = Bench::new(12, |_| ());
    let switch = Switch::default();
    let mut conductor = Conductor::new(bench.players.clone(), Policy::default(), &switch);
    bench.play(1_500, &mut conductor, |_, _| ());
    assert!(is_moving(conductor.stage()));
    let ended = Loop {
        link: &mut bench.link,
        cycle: &mut bench.cycle,
        postbox: &Postbox::default(),
        stop: &AtomicBool::new(true),
    }
    .run(&bench.settings, &mut VirtualTime, &mut conductor, &mut ());
    assert_eq!(ended.by, EndedBy::Controller, "{ended:?}");
    assert_eq!(conductor.stage(), Stage::Ending);
    for player in conductor.players() {
        assert!(!player.reading().unwrap().state().has_torque());
    }
}

#[test]
fn an_axis_moves_no_further_in_a_cycle_than_its_limits_let_it() {
    let mut bench = Bench::new(12, |_| ());
    let switch = Switch::default();
    let mut conductor = Conductor::new(bench.players.clone(), Policy::default(), &switch);
    let mut before: Vec<f64> = Vec::new();
    let mut greatest = 0.0_f64;
    bench.play(6_000, &mut conductor, |_, conductor| {
        let now: Vec<_> = conductor
            .players()
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

#[test]
fn a_device_that_is_no_drive_or_not_there_is_an_error_that_says_so() {
    let mut link = Link::new(WirePort::new(humanoid(8).build().unwrap()), 1);
    let mut way = Waiting {
        link: &mut link,
        patience: Patience::default(),
    };
    let mut registers = Registers::by(&mut way);
    let mut found = find(&mut registers).unwrap();
    let plan = demo(&mut registers, &mut found).unwrap();
    let mut error = |device: Which| {
        let mut plan = plan.clone();
        plan.axes.truncate(1);
        plan.axes[0].device = device;
        let error = plan.commission(&mut registers, &mut found);
        error.unwrap_err().to_string()
    };
    let nobody = error(Which::Name("left nee".to_owned()));
    assert!(
        nobody.starts_with("no device is \"left nee\"; there are 0 EK1100"),
        "{nobody}"
    );
    assert!(nobody.contains("waist yaw"), "{nobody}");
    let several = error(Which::Name("KZ-Drive".to_owned()));
    assert!(several.contains("write their positions"), "{several}");
    let coupler = error(Which::Position(0));
    assert!(coupler.contains("speaks no CoE"), "{coupler}");
    let imu = error(Which::Position(3));
    assert!(imu.contains("0x6040") || imu.contains("0x607A"), "{imu}");
}
