//! A motion as a TOML file: the axes, their programs and accuracy, and what stops them.
//!
//! A file does not depend on a segment: it names devices, which [`Plan::commission`] finds.
//!
//! ```
//! use kadenz_ethercat::motion::file;
//!
//! let plan = file::parse("wave.toml", r#"
//!     cycle_us = 1000
//!     [safety]
//!     lost_cycles = 5
//!     [[axis]]
//!     device = "left knee"
//!     repeat = true
//!     moves = [ { to = 0.4, velocity = 1.0 }, { hold_s = 0.5 }, { to = 0.0, by = "trapezoid" } ]
//!     [[axis]]
//!     position = 7
//!     moves = [ { sine = 0.2, frequency_hz = 0.5, periods = 10 } ]
//! "#)?;
//! assert_eq!(plan.axes.len(), 2);
//! # Ok::<(), kadenz_ethercat::motion::file::FileError>(())
//! ```

mod moves;
mod text;

use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::time::Duration;

use toml::Spanned;

use super::axis::{Control, UnitSettings};
use super::pid::Gains;
use super::plan::{AxisPlan, DeviceRef, Plan};
use super::safety::Policy;
use super::trajectory::Limits;
use crate::control::cyclic::{LoopMode, Overrun};
use crate::text_file::{self, TextFile};
use text::{AxisSection, Cycles, MotionFile};

pub use crate::text_file::FileError;

/// Most axes of a file.
pub(crate) const MAX_AXES: usize = 200;
/// Most moves of an axis.
pub(crate) const MAX_MOVES: usize = 1000;
/// Longest file that Kadenz reads, in bytes.
const MAX: u64 = 4 * 1024 * 1024;

/// Valid cycles, in us.
const CYCLES_US: RangeInclusive<u64> = 50..=1_000_000;
/// Valid times to be enabled, in s.
const ENABLING_S: RangeInclusive<f64> = 0.1..=3600.0;
/// Valid times to brake, in s.
const BRAKING_S: RangeInclusive<f64> = 0.01..=60.0;
/// Valid units, gears and torques.
const POSITIVE: RangeInclusive<f64> = 1e-6..=1e15;

/// Reads a file.
///
/// # Errors
/// [`FileError`].
pub fn read(path: &Path) -> Result<Plan, FileError> {
    let text = text_file::read_named(path, MAX)?;
    parse(&path.display().to_string(), &text)
}

/// Reads a text; `file` is its name in errors.
///
/// # Errors
/// [`FileError`].
pub fn parse(file: &str, text: &str) -> Result<Plan, FileError> {
    let reader = TextFile { file, text };
    let written: MotionFile = reader.toml("docs/ethercat-motion.md has every field")?;
    if written.axis.is_empty() || written.axis.len() > MAX_AXES {
        let cause = format!("it has {} axes", written.axis.len());
        return Err(reader.error(None, cause, "write 1 to 200 tables [[axis]]"));
    }
    let cycle = reader.cycle(&written)?;
    let mut axes: Vec<AxisPlan> = Vec::new();
    for axis in &written.axis {
        let checked = reader.axis(axis)?;
        if axes.iter().any(|it| it.device == checked.device) {
            let cause = format!("another axis has the device {}", checked.device);
            let remedy = "give each axis a drive of its own";
            return Err(reader.error(Some(axis.span()), cause, remedy));
        }
        axes.push(checked);
    }
    Ok(Plan {
        cycle,
        mode: reader.mode(&written, cycle)?,
        overrun: reader.overrun(&written)?,
        safety: reader.safety(&written)?,
        axes,
    })
}

impl TextFile<'_> {
    fn cycle(&self, written: &MotionFile) -> Result<Duration, FileError> {
        let Some(cycle) = &written.cycle_us else {
            return Ok(Duration::from_millis(1));
        };
        if !CYCLES_US.contains(cycle.get_ref()) {
            let cause = format!("{} us is not a valid cycle", cycle.get_ref());
            return Err(self.error(Some(cycle.span()), cause, "write 50 to 1000000"));
        }
        Ok(Duration::from_micros(*cycle.get_ref()))
    }

    fn mode(&self, written: &MotionFile, cycle: Duration) -> Result<LoopMode, FileError> {
        let words = ("there is no mode", "write pipelined or synchronous");
        let is_synchronous = match &written.mode {
            None => false,
            Some(it) => self.one_of(it, &[("pipelined", false), ("synchronous", true)], words)?,
        };
        let Some(us) = &written.wait_us else {
            return Ok(match is_synchronous {
                false => LoopMode::Pipelined,
                true => LoopMode::Synchronous { wait: cycle / 2 },
            });
        };
        if !is_synchronous {
            let cause = "a pipelined loop waits for nothing";
            let remedy = "remove wait_us, or write mode = \"synchronous\"";
            return Err(self.error(Some(us.span()), cause, remedy));
        }
        let wait = Duration::from_micros(*us.get_ref());
        if wait.is_zero() || wait >= cycle {
            let cause = format!("answers cannot be waited for {} us", us.get_ref());
            let remedy = "write more than 0 and less than the cycle";
            return Err(self.error(Some(us.span()), cause, remedy));
        }
        Ok(LoopMode::Synchronous { wait })
    }

    fn overrun(&self, written: &MotionFile) -> Result<Overrun, FileError> {
        let Some(word) = &written.overrun else {
            return Ok(Overrun::default());
        };
        word.get_ref().parse().map_err(|_| {
            let cause = format!(
                "nothing that is done about an overrun is named \"{}\"",
                word.get_ref()
            );
            let words = "write catch-up, skip, relative or stop";
            self.error(Some(word.span()), cause, words)
        })
    }

    fn safety(&self, written: &MotionFile) -> Result<Policy, FileError> {
        let (default, safety) = (Policy::default(), &written.safety);
        let (enabling, braking) = ((ENABLING_S, "to wait for drives"), (BRAKING_S, "to brake"));
        let cycles = |written: &Option<Spanned<Cycles>>, default| match written {
            None => Ok(default),
            Some(cycles) => match cycles.get_ref() {
                Cycles::Number(number) => Ok(Some(*number)),
                Cycles::Word(word) if word == "any" => Ok(None),
                Cycles::Word(word) => {
                    let cause = format!("\"{word}\" is not a valid number of cycles");
                    Err(self.error(Some(cycles.span()), cause, "write a number, or \"any\""))
                }
            },
        };
        Ok(Policy {
            lost: cycles(&safety.lost_cycles, default.lost)?,
            late: cycles(&safety.late_cycles, default.late)?,
            stop_on_fault: safety.stop_on_fault.unwrap_or(default.stop_on_fault),
            enabling: self.span(&safety.enabling_s, default.enabling, enabling)?,
            braking: self.span(&safety.braking_s, default.braking, braking)?,
        })
    }

    /// Seconds within a range; `what` names them in an error.
    fn span(
        &self,
        written: &Option<Spanned<f64>>,
        default: Duration,
        (range, what): (RangeInclusive<f64>, &str),
    ) -> Result<Duration, FileError> {
        let Some(seconds) = written else {
            return Ok(default);
        };
        if !range.contains(seconds.get_ref()) {
            let cause = format!("{} s is not a valid time {what}", seconds.get_ref());
            let remedy = format!("write {} to {}", range.start(), range.end());
            return Err(self.error(Some(seconds.span()), cause, remedy));
        }
        Ok(Duration::from_secs_f64(*seconds.get_ref()))
    }

    fn axis(&self, written: &Spanned<AxisSection>) -> Result<AxisPlan, FileError> {
        let (axis, at) = (written.get_ref(), written.span());
        let device = match (&axis.device, &axis.position) {
            (Some(name), None) => DeviceRef::Name(name.get_ref().clone()),
            (None, Some(position)) => DeviceRef::Position(*position.get_ref()),
            _ => {
                let cause = "an axis has either a device or a position";
                let remedy = "write device = \"its name\" or position = its place, from 0";
                return Err(self.error(Some(at), cause, remedy));
            }
        };
        let limits = self.limits(axis)?;
        let control = self.control(axis)?;
        Ok(AxisPlan {
            device,
            control,
            stated: self.stated(axis)?,
            gains: self.gains(axis, control, &at)?,
            limits,
            program: self.program(axis, limits, &at)?,
        })
    }

    fn stated(&self, axis: &AxisSection) -> Result<UnitSettings, FileError> {
        let positive = |written: &Option<Spanned<f64>>, what: &str| {
            let Some(number) = written else {
                return Ok(None);
            };
            if POSITIVE.contains(number.get_ref()) {
                return Ok(Some(*number.get_ref()));
            }
            let cause = format!("{} is not a valid {what}", number.get_ref());
            let remedy = "write a number above 0; reverse = true turns the joint round";
            Err(self.error(Some(number.span()), cause, remedy))
        };
        let velocity = "number of units for a turn a second";
        Ok(UnitSettings {
            increments: positive(&axis.increments_per_turn, "number of increments a turn")?,
            velocity: positive(&axis.velocity_per_turn, velocity)?,
            gear: positive(&axis.gear, "gear ratio")?,
            rated: positive(&axis.rated_torque, "torque in N m")?,
            reverse: axis.reverse,
        })
    }

    fn control(&self, axis: &AxisSection) -> Result<Control, FileError> {
        let Some(word) = &axis.control else {
            return Ok(Control::Position);
        };
        let controls = [
            ("position", Control::Position),
            ("velocity", Control::Velocity),
            ("torque", Control::Torque),
        ];
        let words = ("there is no control", "write position, velocity or torque");
        self.one_of(word, &controls, words)
    }

    fn gains(
        &self,
        axis: &AxisSection,
        control: Control,
        at: &Range<usize>,
    ) -> Result<Gains, FileError> {
        let Some(written) = &axis.gains else {
            if control == Control::Position {
                return Ok(Gains::default());
            }
            let cause = "velocity and torque need a regulator of position";
            let remedy = "write gains = { proportional = ... }, or control = \"position\"";
            return Err(self.error(Some(at.clone()), cause, remedy));
        };
        let it = written.get_ref();
        let gains = Gains {
            proportional: it.proportional,
            integral: it.integral,
            derivative: it.derivative,
            filter: it.filter_ms / 1000.0,
            limit: it.limit,
        };
        if gains.is_valid() {
            return Ok(gains);
        }
        let cause = "no regulator has such gains";
        let remedy = "write finite numbers from 0 on";
        Err(self.error(Some(written.span()), cause, remedy))
    }

    fn limits(&self, axis: &AxisSection) -> Result<Limits, FileError> {
        let default = Limits::default();
        let Some(written) = &axis.limits else {
            return Ok(default);
        };
        let it = written.get_ref();
        let limits = Limits {
            velocity: it.velocity.unwrap_or(default.velocity),
            acceleration: it.acceleration.unwrap_or(default.acceleration),
        };
        self.validated(limits, written.span())
    }

    fn validated(&self, limits: Limits, at: Range<usize>) -> Result<Limits, FileError> {
        if limits.is_valid() {
            return Ok(limits);
        }
        let cause = "no axis moves within such limits";
        let remedy = "write a velocity (rad/s) and an acceleration (rad/s2) above 0";
        Err(self.error(Some(at), cause, remedy))
    }
}

#[cfg(test)]
mod tests;
