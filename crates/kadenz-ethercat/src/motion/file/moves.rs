//! An axis's moves, one after another.

use std::ops::Range;

use toml::Spanned;

use super::text::{AxisSection, Move};
use super::{FileError, MAX_MOVES};
use crate::motion::program::{Program, ProgramPiece};
use crate::motion::trajectory::{Limits, Quintic, Sine, Trapezoid};
use crate::text_file::TextFile;

/// Farthest position, in rad: a million turns would overflow the increments of most drives.
const FARTHEST: f64 = 10_000.0;

impl TextFile<'_> {
    pub(super) fn program(
        &self,
        axis: &AxisSection,
        limits: Limits,
        at: &Range<usize>,
    ) -> Result<Program, FileError> {
        let start = axis.start.as_ref().map_or(0.0, |it| *it.get_ref());
        if !(-FARTHEST..=FARTHEST).contains(&start) {
            let cause = format!("{start} rad is too far");
            return Err(self.error(Some(at.clone()), cause, "positions are in rad, up to 10000"));
        }
        if axis.moves.len() > MAX_MOVES {
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
            endless = matches!(piece, ProgramPiece::Sine(Sine { periods: None, .. }));
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
    ) -> Result<ProgramPiece, FileError> {
        let (it, at) = (written.get_ref(), written.span());
        let limits = Limits {
            velocity: it.velocity.unwrap_or(limits.velocity),
            acceleration: it.acceleration.unwrap_or(limits.acceleration),
        };
        let limits = self.validated(limits, at.clone())?;
        match (it.to, it.hold_s, it.sine) {
            (Some(to), None, None) if to.abs() <= FARTHEST => {
                self.refuse_if(it.frequency_hz.is_some() || it.periods.is_some(), &at)?;
                let ways = [("quintic", true), ("trapezoid", false)];
                let words = ("no way is named", "write quintic or trapezoid");
                let is_quintic = it.by.as_ref().map(|by| self.one_of(by, &ways, words));
                Ok(match is_quintic.transpose()?.unwrap_or(true) {
                    true => ProgramPiece::Quintic(Quintic::between(from, to, limits)),
                    false => ProgramPiece::Trapezoid(Trapezoid::between(from, to, limits)),
                })
            }
            (None, Some(seconds), None) if (0.0..=86_400.0).contains(&seconds) => {
                self.refuse_if(it.by.is_some() || it.frequency_hz.is_some(), &at)?;
                Ok(ProgramPiece::Hold(from, seconds))
            }
            (None, None, Some(amplitude)) => self.sine(written, from, amplitude, limits),
            _ => {
                let cause = "a move has one of to (rad), hold_s (up to a day) and sine (rad)";
                Err(self.error(Some(at), cause, "write one of them, within bounds"))
            }
        }
    }

    /// Refuses fields of another kind of move.
    fn refuse_if(&self, there: bool, at: &Range<usize>) -> Result<(), FileError> {
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
    ) -> Result<ProgramPiece, FileError> {
        let (it, at) = (written.get_ref(), written.span());
        self.refuse_if(it.by.is_some(), &at)?;
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
            let remedy = "write { sine = 0.2, frequency_hz = 0.5, periods = 4 }";
            return Err(self.error(Some(at), cause, remedy));
        }
        let needs = sine.limits();
        if needs.velocity > limits.velocity || needs.acceleration > limits.acceleration {
            let cause = format!(
                "this sine needs up to {:.3} rad/s and {:.3} rad/s2, and has {:.3} and {:.3}",
                needs.velocity, needs.acceleration, limits.velocity, limits.acceleration
            );
            return Err(self.error(Some(at), cause, "write a smaller one, or higher limits"));
        }
        Ok(ProgramPiece::Sine(sine))
    }
}
