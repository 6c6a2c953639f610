//! From what is written to what can be played.

use std::ops::Range;
use std::time::Duration;

use toml::Spanned;

use super::text::{Axis, Cycles, File, Move};
use super::{FileError, MOST_AXES, MOST_MOVES};
use crate::control::cyclic::{Mode, Overrun};
use crate::motion::axis::Control;
use crate::motion::pid::Gains;
use crate::motion::plan::{AxisPlan, Plan, Which};
use crate::motion::program::{Piece, Program};
use crate::motion::safety::Policy;
use crate::motion::trajectory::{Limits, Quintic, Sine, Trapezoid};

/// Cycles that make sense, in us.
const CYCLES_US: std::ops::RangeInclusive<u64> = 50..=1_000_000;
/// Farthest position, in rad: a million turns would overflow the increments of most drives.
const FARTHEST: f64 = 10_000.0;

pub(super) fn plan(file: &str, text: &str) -> Result<Plan, FileError> {
    let reader = Reader { file, text };
    let written: File = toml::from_str(text).map_err(|error| {
        let cause = error.message().trim().replace('\n', " ");
        reader.error(
            error.span(),
            cause,
            "docs/ethercat-motion.md has every field",
        )
    })?;
    if written.axis.is_empty() || written.axis.len() > MOST_AXES {
        let cause = format!("it has {} axes", written.axis.len());
        return Err(reader.error(None, cause, "write 1 to 200 tables [[axis]]"));
    }
    let cycle = reader.cycle(&written)?;
    let mut axes: Vec<AxisPlan> = Vec::new();
    for axis in &written.axis {
        let checked = reader.axis(axis)?;
        if axes.iter().any(|it| it.device == checked.device) {
            let cause = format!("another axis has the device {}", checked.device);
            return Err(reader.error(
                Some(axis.span()),
                cause,
                "give each axis a drive of its own",
            ));
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

/// Where errors are.
struct Reader<'t> {
    file: &'t str,
    text: &'t str,
}

impl Reader<'_> {
    fn error(
        &self,
        at: Option<Range<usize>>,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> FileError {
        let before = at.and_then(|it| self.text.as_bytes().get(..it.start));
        FileError {
            file: self.file.to_owned(),
            line: before.map(|it| it.iter().filter(|byte| **byte == b'\n').count() + 1),
            cause: cause.into(),
            remedy: remedy.into(),
        }
    }

    fn cycle(&self, written: &File) -> Result<Duration, FileError> {
        let Some(cycle) = &written.cycle_us else {
            return Ok(Duration::from_millis(1));
        };
        if !CYCLES_US.contains(cycle.get_ref()) {
            let cause = format!("{} us is no cycle", cycle.get_ref());
            return Err(self.error(Some(cycle.span()), cause, "write 50 to 1000000"));
        }
        Ok(Duration::from_micros(*cycle.get_ref()))
    }

    fn mode(&self, written: &File, cycle: Duration) -> Result<Mode, FileError> {
        let word = written.mode.as_ref();
        let wait = written.wait_us.as_ref();
        match (word.map(|it| it.get_ref().as_str()), wait) {
            (None | Some("pipelined"), None) => Ok(Mode::Pipelined),
            (None | Some("pipelined"), Some(wait)) => {
                let cause = "a pipelined loop waits for nothing";
                Err(self.error(
                    Some(wait.span()),
                    cause,
                    "remove wait_us, or write mode = \"synchronous\"",
                ))
            }
            (Some("synchronous"), None) => Ok(Mode::Synchronous { wait: cycle / 2 }),
            (Some("synchronous"), Some(us)) => {
                let wait = Duration::from_micros(*us.get_ref());
                if wait.is_zero() || wait >= cycle {
                    let cause = format!("answers cannot be waited for {} us", us.get_ref());
                    return Err(self.error(
                        Some(us.span()),
                        cause,
                        "write more than 0 and less than the cycle",
                    ));
                }
                Ok(Mode::Synchronous { wait })
            }
            (Some(other), _) => {
                let cause = format!("there is no mode \"{other}\"");
                Err(self.error(
                    word.map(Spanned::span),
                    cause,
                    "write pipelined or synchronous",
                ))
            }
        }
    }

    fn overrun(&self, written: &File) -> Result<Overrun, FileError> {
        let Some(word) = &written.overrun else {
            return Ok(Overrun::default());
        };
        match word.get_ref().as_str() {
            "catch-up" => Ok(Overrun::CatchUp),
            "skip" => Ok(Overrun::Skip),
            "relative" => Ok(Overrun::Relative),
            "stop" => Ok(Overrun::Stop),
            other => {
                let cause = format!("nothing that is done about an overrun is named \"{other}\"");
                Err(self.error(
                    Some(word.span()),
                    cause,
                    "write catch-up, skip, relative or stop",
                ))
            }
        }
    }

    fn safety(&self, written: &File) -> Result<Policy, FileError> {
        let default = Policy::default();
        let cycles = |written: &Option<Spanned<Cycles>>, default| match written {
            None => Ok(default),
            Some(cycles) => match cycles.get_ref() {
                Cycles::Number(number) => Ok(Some(*number)),
                Cycles::Word(word) if word == "any" => Ok(None),
                Cycles::Word(word) => {
                    let cause = format!("\"{word}\" is no number of cycles");
                    Err(self.error(Some(cycles.span()), cause, "write a number, or \"any\""))
                }
            },
        };
        Ok(Policy {
            lost: cycles(&written.safety.lost_cycles, default.lost)?,
            late: cycles(&written.safety.late_cycles, default.late)?,
            stop_on_fault: written
                .safety
                .stop_on_fault
                .unwrap_or(default.stop_on_fault),
        })
    }

    fn axis(&self, written: &Spanned<Axis>) -> Result<AxisPlan, FileError> {
        let (axis, at) = (written.get_ref(), written.span());
        let device = match (&axis.device, &axis.position) {
            (Some(name), None) => Which::Name(name.get_ref().clone()),
            (None, Some(position)) => Which::Position(*position.get_ref()),
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
            gains: self.gains(axis, control, &at)?,
            limits,
            program: self.program(axis, limits, &at)?,
        })
    }

    fn control(&self, axis: &Axis) -> Result<Control, FileError> {
        let Some(word) = &axis.control else {
            return Ok(Control::Position);
        };
        match word.get_ref().as_str() {
            "position" => Ok(Control::Position),
            "velocity" => Ok(Control::Velocity),
            "torque" => Ok(Control::Torque),
            other => {
                let cause = format!("there is no control \"{other}\"");
                Err(self.error(
                    Some(word.span()),
                    cause,
                    "write position, velocity or torque",
                ))
            }
        }
    }

    fn gains(&self, axis: &Axis, control: Control, at: &Range<usize>) -> Result<Gains, FileError> {
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
        if gains.make_sense() {
            return Ok(gains);
        }
        let cause = "no regulator has such gains";
        Err(self.error(
            Some(written.span()),
            cause,
            "write finite numbers from 0 on",
        ))
    }

    fn limits(&self, axis: &Axis) -> Result<Limits, FileError> {
        let default = Limits::default();
        let Some(written) = &axis.limits else {
            return Ok(default);
        };
        let limits = Limits {
            velocity: written.get_ref().velocity.unwrap_or(default.velocity),
            acceleration: written
                .get_ref()
                .acceleration
                .unwrap_or(default.acceleration),
        };
        self.sensible(limits, written.span())
    }

    fn sensible(&self, limits: Limits, at: Range<usize>) -> Result<Limits, FileError> {
        if limits.make_sense() {
            return Ok(limits);
        }
        let cause = "no axis moves within such limits";
        Err(self.error(
            Some(at),
            cause,
            "write a velocity (rad/s) and an acceleration (rad/s2) above 0",
        ))
    }

    fn program(
        &self,
        axis: &Axis,
        limits: Limits,
        at: &Range<usize>,
    ) -> Result<Program, FileError> {
        let start = axis.start.as_ref().map_or(0.0, |it| *it.get_ref());
        if !(-FARTHEST..=FARTHEST).contains(&start) {
            let cause = format!("{start} rad is too far");
            return Err(self.error(Some(at.clone()), cause, "positions are in rad, up to 10000"));
        }
        if axis.moves.len() > MOST_MOVES {
            let cause = format!("it has {} moves", axis.moves.len());
            return Err(self.error(Some(at.clone()), cause, "write 1000 at most"));
        }
        let mut position = start;
        let mut pieces = Vec::new();
        let mut endless = false;
        for written in &axis.moves {
            if endless {
                let cause = "the move before never ends";
                let remedy = "write periods = a number there, or remove what follows";
                return Err(self.error(Some(written.span()), cause, remedy));
            }
            let piece = self.piece(written, position, limits)?;
            endless = matches!(piece, Piece::Sine(Sine { periods: None, .. }));
            if let Some(to) = written.get_ref().to {
                position = to;
            }
            pieces.push(piece);
        }
        if axis.repeat && (position - start).abs() > 1e-9 {
            let cause =
                format!("it is to repeat, begins at {start} rad and ends at {position} rad");
            let remedy = format!("add {{ to = {start} }} as its last move");
            return Err(self.error(Some(at.clone()), cause, remedy));
        }
        Ok(Program::new(start, pieces, axis.repeat))
    }

    fn piece(
        &self,
        written: &Spanned<Move>,
        from: f64,
        limits: Limits,
    ) -> Result<Piece, FileError> {
        let (it, at) = (written.get_ref(), written.span());
        let limits = Limits {
            velocity: it.velocity.unwrap_or(limits.velocity),
            acceleration: it.acceleration.unwrap_or(limits.acceleration),
        };
        let limits = self.sensible(limits, at.clone())?;
        match (it.to, it.hold_s, it.sine) {
            (Some(to), None, None) if to.abs() <= FARTHEST => {
                self.strangers(it.frequency_hz.is_some() || it.periods.is_some(), &at)?;
                match it.by.as_ref().map(|it| it.get_ref().as_str()) {
                    None | Some("quintic") => {
                        Ok(Piece::Quintic(Quintic::between(from, to, limits)))
                    }
                    Some("trapezoid") => Ok(Piece::Trapezoid(Trapezoid::between(from, to, limits))),
                    Some(other) => {
                        let cause = format!("no way is named \"{other}\"");
                        Err(self.error(
                            it.by.as_ref().map(Spanned::span),
                            cause,
                            "write quintic or trapezoid",
                        ))
                    }
                }
            }
            (None, Some(seconds), None) if (0.0..=86_400.0).contains(&seconds) => {
                self.strangers(it.by.is_some() || it.frequency_hz.is_some(), &at)?;
                Ok(Piece::Hold(from, seconds))
            }
            (None, None, Some(amplitude)) => self.sine(written, from, amplitude, limits),
            _ => {
                let cause = "a move has one of to (rad), hold_s (up to a day) and sine (rad)";
                Err(self.error(Some(at), cause, "write one of them, within bounds"))
            }
        }
    }

    /// Fields of another kind of move.
    fn strangers(&self, there: bool, at: &Range<usize>) -> Result<(), FileError> {
        if !there {
            return Ok(());
        }
        let cause = "by is for to; frequency_hz and periods are for sine";
        Err(self.error(Some(at.clone()), cause, "remove what does not belong there"))
    }

    fn sine(
        &self,
        written: &Spanned<Move>,
        middle: f64,
        amplitude: f64,
        limits: Limits,
    ) -> Result<Piece, FileError> {
        let (it, at) = (written.get_ref(), written.span());
        self.strangers(it.by.is_some(), &at)?;
        let sine = Sine {
            middle,
            amplitude,
            frequency: it.frequency_hz.unwrap_or(0.0),
            periods: it.periods,
        };
        let good =
            sine.frequency.is_finite() && sine.frequency > 0.0 && amplitude.abs() <= FARTHEST;
        if !good || sine.periods.is_some_and(|it| it < 2) {
            let cause = "a sine has an amplitude (rad), a frequency above 0, and 2 periods or more";
            return Err(self.error(
                Some(at),
                cause,
                "write { sine = 0.2, frequency_hz = 0.5, periods = 4 }",
            ));
        }
        let needs = sine.limits();
        if needs.velocity > limits.velocity || needs.acceleration > limits.acceleration {
            let cause = format!(
                "this sine needs up to {:.3} rad/s and {:.3} rad/s2, and has {:.3} and {:.3}",
                needs.velocity, needs.acceleration, limits.velocity, limits.acceleration
            );
            return Err(self.error(Some(at), cause, "write a smaller one, or higher limits"));
        }
        Ok(Piece::Sine(sine))
    }
}
