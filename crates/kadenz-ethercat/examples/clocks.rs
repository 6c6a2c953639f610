//! How accurately distributed clocks are measured, aligned and followed, on humanoids of virtual devices. The example
//! runs in virtual time, so that it prints the same on every machine.
#![allow(clippy::print_stdout, reason = "an example prints for its user")]

use std::error::Error;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use kadenz_ethercat::control::cyclic::{Loop, LoopSettings, Timekeeper, VirtualTime};
use kadenz_ethercat::control::phase::{self, ClockFollower, Step};
use kadenz_ethercat::main_device::acyclic::AcyclicQueue;
use kadenz_ethercat::main_device::bring_up::{find, prepare};
use kadenz_ethercat::main_device::clocks::{self, Bounds, Clocks, Epoch};
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::port::Side;
use kadenz_ethercat::sim::Segment;
use kadenz_ethercat::sim::WirePort;
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_rt::clock::MonotonicTime;

const MS: u64 = 1_000_000;

/// A humanoid whose oscillators deviate by at most `ppm`, and whose hops jitter by some nanoseconds.
struct Wire {
    devices: usize,
    ppm: f64,
    jitter_ns: u64,
}

impl Wire {
    fn segment(&self) -> Result<Segment, Box<dyn Error>> {
        let mut plan = humanoid(self.devices);
        for (at, device) in plan.devices.iter_mut().enumerate() {
            device.drift_ppm *= self.ppm / 20.0;
            device.jitter_ns = self.jitter_ns;
            // Cables of different lengths, up to some metres.
            device.delay_ns = 500 + (at as u64 * 97) % 400;
        }
        Ok(plan.build()?)
    }
}

/// Largest error of a delay, in ns. The reference clock is wrong by `ppm`, and so are its nanoseconds.
fn worst_delay(clocks: &Clocks, segment: &mut Segment, wire: &Wire) -> f64 {
    let truth = segment.delays(Side::Primary);
    let first = truth.first().map_or(0, |it| it.1);
    let measured = clocks.devices().iter().zip(truth);
    let measured = measured.filter(|(clock, _)| clock.measured);
    let errors = measured.map(|(clock, (_, ns))| {
        // The jitter's mean is half of its maximum.
        let hops = (ns - first) / 700;
        let mean = (ns - first) as f64 + hops as f64 * wire.jitter_ns as f64 / 2.0;
        (f64::from(clock.delay_ns) - mean * (1.0 - wire.ppm * 1e-6)).abs()
    });
    errors.fold(0.0, f64::max)
}

/// How far the clocks are apart, in ns, by the segment's own view.
fn apart(port: &mut WirePort, clocks: &Clocks) -> u64 {
    let now = port.time();
    let order = port.segment_mut().positions(Side::Primary);
    let segment = port.segment();
    let with_clock = order.iter().zip(clocks.devices());
    let with_clock = with_clock.filter(|(_, clock)| clock.width.is_some());
    let devices = with_clock.filter_map(|(id, _)| segment.device(*id));
    let times: Vec<_> = devices.map(|it| it.system_time(now)).collect();
    let first = times.first().copied().unwrap_or(0);
    let all = times.iter().map(|it| it.wrapping_sub(first).cast_signed());
    all.map(i64::unsigned_abs).max().unwrap_or(0)
}

/// Measures at every tenth beat how far the clocks are apart.
struct Watch<'c> {
    clocks: &'c Clocks,
    beats: u64,
    worst: u64,
}

impl Timekeeper<WirePort> for Watch<'_> {
    fn wait_until(&mut self, port: &mut WirePort, time: MonotonicTime) {
        VirtualTime.wait_until(port, time);
        self.beats += 1;
        if self.beats.is_multiple_of(10) {
            self.worst = self.worst.max(apart(port, self.clocks));
        }
    }
}

fn one(wire: &Wire) -> Result<(), Box<dyn Error>> {
    let mut link = Link::new(WirePort::new(wire.segment()?), 1);
    let mut exchange = BlockingExchange::over(&mut link);
    let mut registers = Registers::by(&mut exchange);
    let mut devices = find(&mut registers)?;
    let clocks = clocks::measure(&mut registers, &devices, &clocks::ClockSettings::default())?;
    clocks.set(&mut registers, Epoch::Own)?;
    let aligned = clocks.align(&mut registers, &Bounds::default(), &mut |_| {})?;
    let mut cycle = prepare(&mut registers, &mut devices, clocks.reference())?;
    let delay = worst_delay(&clocks, link.port_mut().segment_mut(), wire);

    let (queue, stop) = (AcyclicQueue::default(), AtomicBool::new(false));
    let mut settings = LoopSettings::every(Duration::from_millis(1))?;
    settings.cycles = Some(10_000);
    let (mut cycles, mut locked_after, mut last) = (0_u64, None, Step::default());
    let mut phase = ClockFollower::new(phase::PhaseSettings::every(MS), |step: &Step| {
        cycles += 1;
        if step.locked {
            locked_after.get_or_insert(cycles);
        }
        last = *step;
    });
    let mut bus = Loop::new(&mut link, &mut cycle, &queue, &stop);
    let mut watch = Watch {
        clocks: &clocks,
        beats: 0,
        worst: 0,
    };
    bus.run_locked(&settings, &mut watch, &mut phase, &mut (), &mut ());
    println!(
        "{:>4} {:>5} {:>7} {:>10.1} {:>8} {:>8} {:>7} {:>8} {:>9}",
        wire.devices,
        wire.ppm,
        wire.jitter_ns,
        delay,
        aligned.frames,
        watch.worst,
        locked_after.unwrap_or(0),
        last.offset_ns,
        last.drift_ppb,
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "devices, oscillators within ppm, jitter of a hop in ns; largest error of a delay in ns; frames"
    );
    println!(
        "until aligned; clocks apart in 10 s of cycles, ns; cycles until the loop was locked; its"
    );
    println!("offset in ns and the drift that it found in ppb");
    for (devices, ppm, jitter_ns) in [
        (12, 20.0, 0),
        (59, 20.0, 0),
        (59, 100.0, 0),
        (59, 100.0, 20),
        (128, 20.0, 0),
        (128, 100.0, 20),
    ] {
        one(&Wire {
            devices,
            ppm,
            jitter_ns,
        })?;
    }
    Ok(())
}
