//! A motion without a file: every drive moves a little.

use std::time::Duration;

use super::axis::{Control, Stated, is_drive};
use super::pid::Gains;
use super::plan::{AxisPlan, Plan, Which};
use super::program::{Program, ProgramPiece};
use super::safety::Policy;
use super::trajectory::{Limits, Quintic, Sine};
use crate::control::cyclic::{LoopMode, Overrun};
use crate::main_device::device::SubDevice;
use crate::main_device::exchange::Registers;
use crate::main_device::sdo::SdoError;

/// Cycle of Yoon's robot.
const CYCLE: Duration = Duration::from_millis(1);
/// How far each joint goes, in rad.
const AMPLITUDE: f64 = 0.2;

/// Slowly there and back.
const LIMITS: Limits = Limits {
    velocity: 1.0,
    acceleration: 1.5,
};

/// A plan in which every drive that is found goes to and fro by 0.2 rad about 0: a quintic there and back,
/// then two periods of a sine of half a hertz, again and again. For virtual segments: it knows nothing of a
/// robot's limits. Asks each device whether it is a drive; waits, allocates.
///
/// # Errors
/// [`SdoError`] when a device does not answer.
pub fn demo(registers: &mut Registers<'_>, devices: &mut [SubDevice]) -> Result<Plan, SdoError> {
    let mut axes = Vec::new();
    for device in devices {
        if is_drive(registers, device)? {
            axes.push(AxisPlan {
                device: Which::Position(device.position.0),
                control: Control::Position,
                stated: Stated::default(),
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
