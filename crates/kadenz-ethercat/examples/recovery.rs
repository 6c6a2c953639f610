//! Measures how long a humanoid of 59 devices takes to recover from a fault: without set-ups, with its 50 drives set
//! up for positions, and for velocities with clocks and pulses. The example runs in virtual time, so that it prints
//! the same on every machine.
#![allow(clippy::print_stdout, reason = "an example prints for its user")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kadenz_ethercat::control::inline_loop::InlineLoop;
use kadenz_ethercat::control::supervisor::{DeviceTable, SegmentSupervisor};
use kadenz_ethercat::main_device::bring_up::{find, prepare};
use kadenz_ethercat::main_device::clocks::{self, Bounds, Clocks, Epoch};
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Exchange as _, Registers};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::motion::axis::Control;
use kadenz_ethercat::motion::{self, as_commissioned};
use kadenz_ethercat::port::Side;
use kadenz_ethercat::sim::WirePort;
use kadenz_ethercat::sim::fault::{Fault, FrameFault, WireFault};
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_ethercat::sim::{End, Segment};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const DEVICES: usize = 59;
const MS: Duration = Duration::from_millis(1);
const CYCLE_NS: u32 = 1_000_000;
/// How long a device is without power, and a cable cut.
const DOWN: Duration = Duration::from_millis(500);

/// What the supervisor sets devices up with on their way up.
#[derive(Clone, Copy)]
enum SetUp {
    Nothing,
    Positions,
    VelocitiesAndPulses,
}

/// A loop, its supervisor and a segment, all in one thread.
struct Rig {
    inline_loop: InlineLoop<WirePort>,
    supervisor: SegmentSupervisor,
    device_table: Arc<DeviceTable>,
    /// Cycles that were incomplete since the last reading.
    broken: Arc<AtomicU32>,
}

impl Rig {
    /// Waits until all devices were in OP for a second.
    fn in_op(set_up: SetUp) -> Result<Self> {
        let mut link = Link::new(WirePort::new(humanoid(DEVICES).build()?), 1);
        let mut exchange = BlockingExchange::over(&mut link);
        let mut registers = Registers::by(&mut exchange);
        let mut devices = find(&mut registers)?;
        let control = match set_up {
            SetUp::Nothing => None,
            SetUp::Positions => Some(Control::Position),
            SetUp::VelocitiesAndPulses => Some(Control::Velocity),
        };
        let mut drives = Vec::new();
        if let Some(control) = control {
            let mut plan = motion::demo(&mut registers, &mut devices)?;
            plan.axes.iter_mut().for_each(|it| it.control = control);
            let runners = plan.commission(&mut registers, &mut devices)?;
            drives = motion::setups(&mut registers, &mut devices, &runners, plan.cycle)?;
        }
        let clocks = match set_up {
            SetUp::VelocitiesAndPulses => Some(pulsing(&mut registers, &devices)?),
            _ => None,
        };
        let reference = clocks.as_ref().and_then(Clocks::reference);
        let cycle = prepare(&mut registers, &mut devices, reference)?;
        let layout = cycle.layout().clone();
        let mut inline_loop = InlineLoop::new(link, cycle, MS);
        let broken = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&broken);
        inline_loop.after_beat(move |_, _, outcome| {
            counted.fetch_add(u32::from(!outcome.is_whole()), Ordering::Relaxed);
        });
        let supervisor = SegmentSupervisor::new(devices, &layout, inline_loop.health());
        let supervisor = supervisor.with_setup(as_commissioned(drives, clocks));
        let mut rig = Self {
            device_table: supervisor.device_table(),
            inline_loop,
            supervisor,
            broken,
        };
        rig.until_well()?;
        rig.run(MS * 1_000)?;
        Ok(rig)
    }

    fn step(&mut self) -> Result<()> {
        let pause = self.supervisor.step(&mut self.inline_loop)?;
        self.inline_loop.pause(pause);
        Ok(())
    }

    fn run(&mut self, span: Duration) -> Result<()> {
        let end = self.inline_loop.now() + span;
        while self.inline_loop.now() < end {
            self.step()?;
        }
        Ok(())
    }

    /// Waits until all devices are in OP and a cycle is complete; returns how long that took, in ms.
    fn until_well(&mut self) -> Result<i64> {
        let start = self.inline_loop.now();
        loop {
            self.step()?;
            let took = self.inline_loop.now().since(start);
            if self.device_table.is_well() && self.inline_loop.health().snapshot().is_whole {
                return Ok(took / 1_000_000);
            }
            if took > 60_000_000_000 {
                return Err("after a minute not all are in OP".into());
            }
        }
    }

    fn segment(&mut self) -> &mut Segment {
        self.inline_loop.link_mut().port_mut().segment_mut()
    }

    fn inject(&mut self, fault: Fault) {
        let now = self.inline_loop.link_mut().port_mut().time();
        self.segment().inject(fault, now);
    }

    /// Switches devices off and on again; returns how long the recovery took, in ms.
    fn after_power(&mut self, positions: impl IntoIterator<Item = usize>) -> Result<i64> {
        let all = self.segment().positions(Side::Primary);
        for position in positions {
            let fault = WireFault::PowerCycle(all[position], DOWN.as_nanos() as u64);
            self.inject(Fault::Wire(fault));
        }
        self.run(DOWN)?;
        self.until_well()
    }

    /// Cuts and heals the cable before a device; returns how long the recovery took, in ms.
    fn after_cut(&mut self, position: usize) -> Result<i64> {
        let device = self.segment().positions(Side::Primary)[position];
        let cable = self.segment().cable_at(End::Device(device, 0));
        let cable = cable.ok_or("it has no cable")?;
        self.inject(Fault::Wire(WireFault::Flap(cable, DOWN.as_nanos() as u64)));
        self.run(DOWN)?;
        self.until_well()
    }

    /// How many cycles were incomplete because of one frame, at most in 20 tries.
    fn after_frame(&mut self, fault: FrameFault) -> Result<u32> {
        let mut most = 0;
        for _ in 0..20 {
            self.broken.store(0, Ordering::Relaxed);
            self.inject(Fault::Frame(fault));
            self.run(MS * 200)?;
            most = most.max(self.broken.load(Ordering::Relaxed));
        }
        Ok(most)
    }
}

fn pulsing(registers: &mut Registers<'_>, devices: &[SubDevice]) -> Result<Clocks> {
    let mut clocks = clocks::measure(registers, devices, &clocks::ClockSettings::default())?;
    clocks.set(registers, Epoch::Own)?;
    clocks.align(registers, &Bounds::default(), &mut |_| {})?;
    let wanted = clocks::pulses_by_sii(devices, &clocks, CYCLE_NS, 0);
    clocks.pulse(registers, wanted, MS * 100)?;
    Ok(clocks)
}

/// The fault's name, and the measurement of it.
type Row = (&'static str, fn(&mut Rig) -> Result<i64>);

const ROWS: [Row; 7] = [
    ("one device power-cycled, at the end", |rig| {
        rig.after_power([DEVICES - 1])
    }),
    ("one in the middle of a limb", |rig| rig.after_power([30])),
    ("the first", |rig| rig.after_power([0])),
    ("all 59 power-cycled", |rig| rig.after_power(0..DEVICES)),
    ("cable cut and healed, before the 1st device", |rig| {
        rig.after_cut(0)
    }),
    ("before the 11th", |rig| rig.after_cut(10)),
    ("before the 41st", |rig| rig.after_cut(40)),
];

const FRAMES: [(&str, FrameFault); 6] = [
    ("lost", FrameFault::Lose { after: None }),
    ("5 ms late", FrameFault::Delay { ns: 5_000_000 }),
    ("damaged", FrameFault::Corrupt { after: None }),
    ("cut short", FrameFault::Truncate { length: 40 }),
    ("twice", FrameFault::Duplicate { ns: 10_000 }),
    ("with a wrong working counter", FrameFault::Skew { by: -1 }),
];

fn main() -> Result<()> {
    let mut rigs = Vec::new();
    for set_up in [SetUp::Nothing, SetUp::Positions, SetUp::VelocitiesAndPulses] {
        rigs.push(Rig::in_op(set_up)?);
    }
    println!("| what | no set-ups, ms | drives by position, ms | by velocity with SYNC0, ms |");
    println!("|---|---|---|---|");
    for (what, measure) in ROWS {
        let took: Result<Vec<_>> = rigs.iter_mut().map(measure).collect();
        let took: Vec<_> = took?.iter().map(i64::to_string).collect();
        println!("| {what} | {} |", took.join(" | "));
    }
    println!("\n| one frame is | cycles that were not whole, at most |\n|---|---|");
    for (what, fault) in FRAMES {
        println!("| {what} | {} |", rigs[0].after_frame(fault)?);
    }
    Ok(())
}
