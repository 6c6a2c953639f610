//! The plan of all axes, which does not depend on the place of their drives; a plan without a file; and the set-up
//! that the supervisor gives to drives that come back.

use std::fmt;
use std::time::Duration;

use kadenz_rt::beat::IntervalError;

use super::axis::{CommissionError, Control, DriveSetup, UnitSettings, commission, is_drive};
use super::axis_runner::AxisRunner;
use super::pid::Gains;
use super::program::{Program, ProgramPiece};
use super::safety::Policy;
use super::trajectory::{Limits, Quintic, Sine};
use crate::control::cyclic::{LoopMode, LoopSettings, Overrun};
use crate::control::supervisor::Setup;
use crate::main_device::clocks::{ClockError, Clocks};
use crate::main_device::configure::ConfigureError;
use crate::main_device::device::SubDevice;
use crate::main_device::exchange::Registers;
use crate::main_device::mailbox::MailError;
use crate::main_device::sdo::SdoError;

/// A device, by its name or its position.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DeviceRef {
    /// The device of that name, long or short, in its SII; the name must be unique.
    Name(String),
    /// The device at that position, from 0.
    Position(u16),
}

impl fmt::Display for DeviceRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "\"{name}\""),
            Self::Position(position) => write!(f, "at position {position}"),
        }
    }
}

/// The plan of one axis: its drive, its regulator and its program.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisPlan {
    /// The device that drives the axis.
    pub device: DeviceRef,
    /// The kind of the drive's set-point.
    pub control: Control,
    /// Properties of the drive and its joint that the drive does not state.
    pub stated: UnitSettings,
    /// The regulator, where the control has one.
    pub gains: Gains,
    /// Limits of the way to the start of the program.
    pub limits: Limits,
    /// The trajectory that the axis follows.
    pub program: Program,
}

/// The plan of all axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Time between two beats.
    pub cycle: Duration,
    /// When the loop reads the answers.
    pub mode: LoopMode,
    /// How the loop treats missed beats.
    pub overrun: Overrun,
    /// What stops all axes.
    pub safety: Policy,
    /// The plans of all axes; their order numbers the axes.
    pub axes: Vec<AxisPlan>,
}

/// Why a plan does not fit a segment.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The segment has no such device.
    #[error("no device is {which}; there are {there}")]
    NoDevice {
        /// The name or position.
        which: DeviceRef,
        /// Names of the devices that there are.
        there: String,
    },
    /// The segment has several such devices.
    #[error("{count} devices are named {which}; write their positions, such as {first}")]
    Several {
        /// The device as the plan names it.
        which: DeviceRef,
        /// Number of matching devices.
        count: usize,
        /// Position of the first.
        first: u16,
    },
    /// Two axes have one device.
    #[error("two axes are moved by device {0}; an axis has a drive of its own")]
    Twice(u16),
    /// A program goes further than the drive can count.
    #[error(
        "device {position} ({name}) counts up to {most:.3} rad, and is to go to {farthest:.3} rad; write a program that stays within"
    )]
    TooFar {
        /// Its device's position.
        position: u16,
        /// The name of the device.
        name: String,
        /// How far the drive can count, in rad.
        most: f64,
        /// How far the program goes, in rad.
        farthest: f64,
    },
    /// A device cannot be an axis.
    #[error("device {position} ({name}): {source}")]
    Commission {
        /// The position of the device, from 0.
        position: u16,
        /// The name of the device.
        name: String,
        /// What failed while the axis was commissioned.
        source: CommissionError,
    },
}

impl Plan {
    /// Settings of the loop that plays the plan; its shutdown_cycles are as long as axes need to come to rest
    /// ([`Policy::shutdown_cycles`]).
    ///
    /// # Errors
    /// [`IntervalError`] for an invalid cycle.
    pub fn settings(&self) -> Result<LoopSettings, IntervalError> {
        let every = LoopSettings::every(self.cycle)?;
        Ok(LoopSettings {
            mode: self.mode,
            overrun: self.overrun,
            shutdown_cycles: self.safety.shutdown_cycles(self.cycle),
            ..every
        })
    }

    /// The same with each program played once.
    #[must_use]
    pub fn once(mut self) -> Self {
        for axis in &mut self.axes {
            axis.program = axis.program.once();
        }
        self
    }

    /// Makes the drives axes: they must be in PREOP, and the layout of their process data not yet made. Waits,
    /// allocates.
    ///
    /// # Errors
    /// [`PlanError`]: the first device that cannot be an axis.
    pub fn commission(
        &self,
        registers: &mut Registers<'_>,
        devices: &mut [SubDevice],
    ) -> Result<Vec<AxisRunner>, PlanError> {
        let mut taken = Vec::new();
        let mut runners = Vec::new();
        for axis in &self.axes {
            let place = find(&axis.device, devices)?;
            let device = &mut devices[place];
            if taken.contains(&place) {
                return Err(PlanError::Twice(device.position.0));
            }
            taken.push(place);
            runners.push(axis.runner(registers, device, self.cycle)?);
        }
        Ok(runners)
    }
}

impl AxisPlan {
    fn runner(
        &self,
        registers: &mut Registers<'_>,
        device: &mut SubDevice,
        cycle: Duration,
    ) -> Result<AxisRunner, PlanError> {
        let made = commission(registers, device, self.control, &self.stated, cycle);
        let made = made.map_err(because(device))?;
        let (position, name) = (device.position.0, device.called());
        let (most, farthest) = (made.scale().farthest(), self.program.farthest());
        if farthest > most {
            return Err(PlanError::TooFar {
                position,
                name,
                most,
                farthest,
            });
        }
        let program = self.program.clone();
        Ok(AxisRunner::new(made, program, self.limits, self.gains).named(name))
    }
}

fn because(device: &SubDevice) -> impl FnOnce(CommissionError) -> PlanError {
    let (position, name) = (device.position.0, device.called());
    move |source| PlanError::Commission {
        position,
        name,
        source,
    }
}

/// The place of a device in the list.
fn find(which: &DeviceRef, devices: &[SubDevice]) -> Result<usize, PlanError> {
    let is_it = |it: &SubDevice| match which {
        DeviceRef::Name(wanted) => it.called() == *wanted || it.name == *wanted,
        DeviceRef::Position(position) => it.position.0 == *position,
    };
    let found = devices.iter().enumerate().filter(|it| is_it(it.1));
    let found: Vec<_> = found.collect();
    match found[..] {
        [(place, _)] => Ok(place),
        [] => Err(PlanError::NoDevice {
            which: which.clone(),
            there: shown(devices),
        }),
        [(_, first), ..] => Err(PlanError::Several {
            which: which.clone(),
            count: found.len(),
            first: first.position.0,
        }),
    }
}

/// Most names that an error lists.
const MAX_NAMES: usize = 80;

fn shown(devices: &[SubDevice]) -> String {
    let names = devices.iter().take(MAX_NAMES);
    let names: Vec<_> = names
        .map(|it| format!("{} {}", it.position.0, it.called()))
        .collect();
    names.join(", ")
}

/// Cycle of the robot of \[Yoon2009\].
const CYCLE: Duration = Duration::from_millis(1);
/// How far each joint goes, in rad.
const AMPLITUDE: f64 = 0.2;

/// Slow moves there and back.
const LIMITS: Limits = Limits {
    velocity: 1.0,
    acceleration: 1.5,
};

/// A plan in which every drive goes back and forth by 0.2 rad about 0: a quintic there and back, then two periods of a
/// sine of half a hertz, again and again. For virtual segments: it ignores the limits of a robot. Reads from each
/// device whether it is a drive; waits, allocates.
///
/// # Errors
/// [`SdoError`] when a device does not answer.
pub fn demo(registers: &mut Registers<'_>, devices: &mut [SubDevice]) -> Result<Plan, SdoError> {
    let mut axes = Vec::new();
    for device in devices {
        if is_drive(registers, device)? {
            axes.push(AxisPlan {
                device: DeviceRef::Position(device.position.0),
                control: Control::Position,
                stated: UnitSettings::default(),
                gains: Gains::default(),
                limits: LIMITS,
                program: program(),
            });
        }
    }
    Ok(Plan {
        cycle: CYCLE,
        mode: LoopMode::Pipelined,
        overrun: Overrun::Skip,
        safety: Policy::default(),
        axes,
    })
}

fn program() -> Program {
    let there = ProgramPiece::Quintic(Quintic::between(0.0, AMPLITUDE, LIMITS));
    let back = ProgramPiece::Quintic(Quintic::between(AMPLITUDE, 0.0, LIMITS));
    let sine = ProgramPiece::Sine(Sine {
        middle: 0.0,
        amplitude: AMPLITUDE,
        frequency: 0.5,
        periods: Some(2),
    });
    Program::new(
        0.0,
        vec![there, ProgramPiece::Hold(AMPLITUDE, 0.2), back, sine],
        true,
    )
}

/// Returns how the drives of all axes were commissioned, for [`as_commissioned`]. Call it after
/// [`Plan::commission`](Plan::commission), before the loop runs. Waits, allocates.
///
/// # Errors
/// [`PlanError::Commission`]: the first drive that does not answer.
pub fn setups(
    registers: &mut Registers<'_>,
    devices: &mut [SubDevice],
    runners: &[AxisRunner],
    cycle: Duration,
) -> Result<Vec<DriveSetup>, PlanError> {
    let mut all = Vec::new();
    for runner in runners {
        let device = &mut devices[runner.axis().device()];
        let kept = DriveSetup::of(registers, device, runner.axis(), cycle);
        all.push(kept.map_err(because(device))?);
    }
    Ok(all)
}

/// For [`SegmentSupervisor::with_setup`](crate::control::supervisor::SegmentSupervisor::with_setup): gives a drive on
/// its way up its commissioned settings again, and any device its clock's settings where clocks were aligned, and its
/// pulses where they were [started](Clocks::pulse). A drive that comes back with another mapping or other units does
/// not go to OP.
#[must_use]
pub fn as_commissioned(drives: Vec<DriveSetup>, clocks: Option<Clocks>) -> Setup {
    Box::new(move |device, registers| {
        if let Some(drive) = drives.iter().find(|it| it.station() == device.station) {
            drive
                .restore(registers, device)
                .map_err(into_configure_error)?;
        }
        let Some(clocks) = &clocks else {
            return Ok(());
        };
        let mut all = clocks.devices().iter();
        let Some(clock) = all.find(|it| it.station == device.station) else {
            return Ok(());
        };
        let set = clocks.set_again(registers, clock.position);
        set.map_err(|error| match error {
            ClockError::Exchange(error) => error.into(),
            other => ConfigureError::Setup(other.into()),
        })
    })
}

fn into_configure_error(error: CommissionError) -> ConfigureError {
    match error {
        // The end of the loop must remain visible as such.
        CommissionError::Sdo(SdoError::Mail(MailError::Exchange(error))) => error.into(),
        CommissionError::Sdo(error) => error.into(),
        CommissionError::Configure(error) => error,
        other => ConfigureError::Setup(other.into()),
    }
}
