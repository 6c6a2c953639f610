use std::sync::atomic::AtomicBool;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::control::cyclic::{CycleReport, Loop, LoopMode, LoopSettings, Timekeeper, VirtualTime};
use crate::main_device::acyclic::AcyclicQueue;
use crate::main_device::bring_up::{find, prepare};
use crate::main_device::clocks::{self, Bounds, Epoch};
use crate::main_device::cycle::Cycle;
use crate::main_device::exchange::{BlockingExchange, Registers};
use crate::main_device::link::Link;
use crate::port::Port as _;
use crate::sim::WirePort;
use crate::sim::fault::{Fault, FrameFault, When};
use crate::sim::humanoid::humanoid;
use crate::sim::{DeviceId, Random};

const MS: u64 = 1_000_000;

/// A loop's clock against a reference that runs wrongly, and steps of the regulator.
struct Model {
    regulator: Regulator,
    random: Random,
    /// How much faster than this computer's clock it runs, in ppm.
    drift_ppm: f64,
    ahead_ns: f64,
    jitter_ns: u64,
    beat: i64,
    /// The observation that is still out: a pipelined loop sees each a cycle later.
    out: Option<Observation>,
}

impl Model {
    fn new(drift_ppm: f64, ahead_ns: f64, jitter_ns: u64) -> Self {
        Self {
            regulator: Regulator::new(PhaseSettings::every(MS)),
            random: Random::new(11),
            drift_ppm,
            ahead_ns,
            jitter_ns,
            beat: 1_000 * MS as i64,
            out: None,
        }
    }

    fn system(&self, at: f64) -> f64 {
        at * (1.0 + self.drift_ppm * 1e-6) + self.ahead_ns
    }

    /// Runs one cycle; returns the true offset of its beat.
    fn cycle(&mut self, lost: bool) -> i64 {
        let woken = self.beat + self.random.below(50_000) as i64;
        let travel = self.random.below(self.jitter_ns + 1) as f64;
        let seen = Observation {
            intended: MonotonicTime::from_ns(self.beat as u64),
            sent: MonotonicTime::from_ns(woken as u64),
            system_time_ns: self.system(woken as f64 + travel) as u64,
        };
        let step = match self.out.replace(seen) {
            Some(before) if !lost => self.regulator.observe(before),
            _ => self.regulator.missed(),
        };
        let offset = self.regulator.offset(self.system(self.beat as f64) as u64);
        self.beat += MS as i64 + step.correction_ns;
        offset
    }

    /// The largest true offset of that many cycles, in ns.
    fn worst(&mut self, cycles: u32) -> i64 {
        (0..cycles).map(|_| self.cycle(false).abs()).max().unwrap()
    }
}

#[test]
fn beats_come_from_the_far_side_of_the_cycle_and_stay() {
    for drift_ppm in [-100.0, -3.0, 0.0, 100.0] {
        let mut model = Model::new(drift_ppm, 499_000.0, 0);
        model.worst(1_000);
        let worst = model.worst(10_000);
        // A beat is served up to 50 us late, which at 100 ppm is 5 ns by the other clock.
        assert!(worst <= 8, "{drift_ppm} ppm: {worst} ns");
        let step = model.regulator.last();
        assert!(step.locked);
        let estimate = step.drift_ppb as f64 / 1_000.0;
        assert!(
            (estimate - drift_ppm).abs() < 1.0,
            "{estimate} for {drift_ppm}"
        );
    }
}

#[test]
fn an_oscillator_that_warms_up_is_followed() {
    let mut model = Model::new(0.0, 0.0, 0);
    model.worst(1_000);
    let mut worst = 0;
    for _ in 0..20_000 {
        // 1 ppm a second, continuously; the clock itself does not jump.
        let before = model.system(model.beat as f64);
        model.drift_ppm += 0.001;
        model.ahead_ns += before - model.system(model.beat as f64);
        worst = worst.max(model.cycle(false).abs());
    }
    assert!(worst < 10, "{worst} ns");
}

#[test]
fn lost_frames_do_not_let_the_beat_drift_away() {
    let mut model = Model::new(80.0, 0.0, 0);
    model.worst(2_000);
    let worst = (0..1_000).map(|_| model.cycle(true).abs()).max().unwrap();
    // A second without any: what is left of the drift is below 0.1 ppm.
    assert!(worst < 100, "{worst} ns");
    assert!(!model.regulator.last().seen);
    assert!(model.regulator.last().locked);
}

#[test]
fn a_wrong_time_is_not_believed_but_a_clock_that_was_set_is() {
    let mut model = Model::new(20.0, 0.0, 0);
    model.worst(1_000);
    let ahead = model.ahead_ns;
    model.ahead_ns = ahead + 300_000.0;
    model.cycle(false);
    model.cycle(false);
    model.ahead_ns = ahead;
    let worst = model.worst(100);
    assert!(worst < 10, "two wrong ones: {worst} ns");
    model.ahead_ns = ahead + 300_000.0;
    model.worst(1_500);
    assert!(model.worst(100) < 10);
    assert!(model.regulator.last().locked);
}

#[test]
fn a_wire_that_jitters_as_a_busy_computer_does_is_locked_to_all_the_same() {
    let mut model = Model::new(70.0, 250_000.0, 80_000);
    model.worst(2_000);
    let worst = model.worst(5_000);
    // Half of the jitter is the wire's mean delay, which counts as the beat's.
    assert!(worst < 60_000, "{worst} ns");
    assert!(model.regulator.last().locked);
    let estimate = model.regulator.last().drift_ppb;
    assert!((estimate - 70_000).abs() < 5_000, "{estimate} ppb");
}

#[test]
fn corrections_are_bounded() {
    let mut model = Model::new(0.0, 400_000.0, 0);
    for _ in 0..500 {
        let before = model.beat;
        model.cycle(false);
        let moved = model.beat - before - MS as i64;
        assert!(moved.abs() <= 10_001, "{moved}");
    }
}

#[test]
fn a_time_of_32_bits_comes_round_unseen() {
    let mut wide = Regulator::new(PhaseSettings {
        interval_ns: 700_001,
        ..PhaseSettings::every(700_001)
    });
    let mut narrow = Regulator::new(PhaseSettings {
        width: Width::Bits32,
        ..wide.settings
    });
    for beat in 0..20_000_u64 {
        let at = MonotonicTime::from_ns(beat * 700_001);
        let seen = |system_time_ns| Observation {
            intended: at,
            sent: at,
            system_time_ns,
        };
        let system = beat * 700_001 + beat * 20 + 1_000;
        let one = wide.observe(seen(system));
        let other = narrow.observe(seen(system & 0xFFFF_FFFF));
        assert_eq!(one, other, "beat {beat}");
    }
}

#[test]
fn hostile_times_break_nothing() {
    let mut regulator = Regulator::new(PhaseSettings::every(0));
    for (at, system_time_ns) in [(0, u64::MAX), (u64::MAX, 0), (5, 1 << 63)] {
        let step = regulator.observe(Observation {
            intended: MonotonicTime::from_ns(at),
            sent: MonotonicTime::from_ns(at / 2),
            system_time_ns,
        });
        assert!(step.correction_ns.abs() <= 1);
    }
}

proptest! {
    /// Whatever drift within 100 ppm, start and jitter: after two seconds beats are within the jitter's
    /// mean and a part of it.
    #[test]
    fn it_converges_and_holds(
        drift_ppm in -100.0..100.0_f64, ahead in 0.0..1e6_f64, jitter in 0_u64..20_000
    ) {
        let mut model = Model::new(drift_ppm, ahead, jitter);
        model.worst(2_000);
        let worst = model.worst(3_000);
        prop_assert!(worst <= jitter as i64 + 10, "{worst} ns with {jitter} ns of jitter");
        prop_assert!(model.regulator.last().locked);
    }
}

/// A humanoid with clocks aligned, in SAFEOP; its reference runs wrongly by that many ppm.
fn humanoid_with_clocks(drift_ppm: f64) -> (Link<WirePort>, Cycle) {
    let mut plan = humanoid(59);
    plan.devices[0].drift_ppm = drift_ppm;
    let mut link = Link::new(WirePort::new(plan.build().unwrap()), 1);
    let mut exchange = BlockingExchange::over(&mut link);
    let mut registers = Registers::by(&mut exchange);
    let mut devices = find(&mut registers).unwrap();
    let measured =
        clocks::measure(&mut registers, &devices, &clocks::ClockSettings::default()).unwrap();
    measured.set(&mut registers, Epoch::Own).unwrap();
    measured
        .align(&mut registers, &Bounds::default(), &mut |_| {})
        .unwrap();
    let reference = measured.reference();
    let cycle = prepare(&mut registers, &mut devices, reference).unwrap();
    (link, cycle)
}

/// Wakes up late by random times, as a computer does.
struct Late(Random, u64);

impl Timekeeper<WirePort> for Late {
    fn wait_until(&mut self, port: &mut WirePort, time: MonotonicTime) {
        let late = self.0.below(self.1) as i64;
        VirtualTime.wait_until(port, time.offset_by_ns(late));
    }
}

/// Runs locked cycles; returns the offsets of the last thousand beats from whole cycles of the
/// reference's time, by the segment's own view, and the phase's last step.
fn run_locked(link: &mut Link<WirePort>, cycle: &mut Cycle, mode: LoopMode) -> (Vec<i64>, Step) {
    let (queue, stop) = (AcyclicQueue::default(), AtomicBool::new(false));
    let settings = LoopSettings {
        mode,
        cycles: Some(3_000),
        ..LoopSettings::every(Duration::from_millis(1)).unwrap()
    };
    let mut beats = Vec::new();
    let mut last = Step::default();
    let mut phase = ClockFollower::new(PhaseSettings::every(MS), |step: &Step| last = *step);
    let mut bus = Loop::new(link, cycle, &queue, &stop);
    bus.run_locked(
        &settings,
        &mut Late(Random::new(5), 30_000),
        &mut phase,
        &mut (),
        &mut |report: &CycleReport<'_>| beats.push(report.intended),
    );
    let port = link.port_mut();
    let now = port.now();
    let segment = port.segment();
    let reference = segment.device(DeviceId(0)).unwrap();
    let shown = reference.system_time(port.time());
    let offsets = beats[2_000..].iter().map(|beat| {
        // The reference's clock is never corrected: it keeps its own rate.
        let drift = last.drift_ppb as f64 * 1e-9;
        let ago = now.since(*beat) as f64 * (1.0 + drift);
        let at = shown - ago.round() as u64;
        let later = (at % MS) as i64;
        if later > 500_000 {
            later - MS as i64
        } else {
            later
        }
    });
    (offsets.collect(), last)
}

#[test]
fn a_loop_stays_with_a_reference_that_drifts() {
    for drift_ppm in [-100.0, 100.0, 30.0] {
        for mode in [
            LoopMode::Pipelined,
            LoopMode::Synchronous {
                wait: Duration::from_micros(800),
            },
        ] {
            let (mut link, mut cycle) = humanoid_with_clocks(drift_ppm);
            let (offsets, last) = run_locked(&mut link, &mut cycle, mode);
            let worst = offsets.iter().map(|it| it.abs()).max().unwrap();
            // The frame is at the reference 0.6 us behind the beat, which counts as the beat's.
            assert!(worst < 1_000, "{drift_ppm} ppm, {mode:?}: {worst} ns");
            assert!(last.locked, "{last:?}");
            let estimate = last.drift_ppb as f64 / 1_000.0;
            assert!(
                (estimate - drift_ppm).abs() < 0.5,
                "{estimate} for {drift_ppm}"
            );
        }
    }
}

#[test]
fn a_wire_that_loses_frames_does_not_unlock_it() {
    let (mut link, mut cycle) = humanoid_with_clocks(-60.0);
    let lose = Fault::Frame(FrameFault::Lose { after: None });
    let late = Fault::Frame(FrameFault::Delay { ns: 3 * MS });
    let faults = link.port_mut().segment_mut().faults();
    faults.add(When::Chance(0.1), lose).unwrap();
    faults.add(When::Chance(0.05), late).unwrap();
    let (offsets, last) = run_locked(&mut link, &mut cycle, LoopMode::Pipelined);
    let worst = offsets.iter().map(|it| it.abs()).max().unwrap();
    assert!(worst < 2_000 && last.locked, "{worst} ns, {last:?}");
}
