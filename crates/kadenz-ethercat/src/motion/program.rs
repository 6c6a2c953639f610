//! Programs of axes: sequences of trajectories.

use super::trajectory::{Point, Quintic, Sine, Trajectory, Trapezoid};

/// A piece of a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ProgramPiece {
    /// A way with a smooth acceleration.
    Quintic(Quintic),
    /// A way at the limits of acceleration and velocity.
    Trapezoid(Trapezoid),
    /// A sine, back and forth.
    Sine(Sine),
    /// Rest at a position (rad) for so many seconds.
    Hold(f64, f64),
}

impl ProgramPiece {
    /// The greatest distance from 0, in rad.
    fn farthest(&self) -> f64 {
        match self {
            Self::Sine(it) => it.middle.abs() + it.amplitude.abs(),
            // These stay between their ends; a trajectory without an end stays where it is.
            Self::Quintic(_) | Self::Trapezoid(_) | Self::Hold(..) => {
                let end = Some(self.duration()).filter(|it| it.is_finite());
                let ends = [0.0, end.unwrap_or(0.0)].map(|it| self.at(it).position.abs());
                ends[0].max(ends[1])
            }
        }
    }
}

impl Trajectory for ProgramPiece {
    fn at(&self, seconds: f64) -> Point {
        match self {
            Self::Quintic(it) => it.at(seconds),
            Self::Trapezoid(it) => it.at(seconds),
            Self::Sine(it) => it.at(seconds),
            Self::Hold(position, _) => Point::at_rest(*position),
        }
    }

    fn duration(&self) -> f64 {
        match self {
            Self::Quintic(it) => it.duration(),
            Self::Trapezoid(it) => it.duration(),
            Self::Sine(it) => it.duration(),
            Self::Hold(_, seconds) => seconds.max(0.0),
        }
    }
}

/// Pieces, each from rest to rest, one after another; a repeating program plays them again and again.
///
/// ```
/// use kadenz_ethercat::motion::program::{ProgramPiece, Program};
/// use kadenz_ethercat::motion::trajectory::{Limits, Quintic, Trajectory};
///
/// let limits = Limits { velocity: 1.0, acceleration: 10.0 };
/// let there = ProgramPiece::Quintic(Quintic::between(0.0, 1.0, limits));
/// let back = ProgramPiece::Quintic(Quintic::between(1.0, 0.0, limits));
/// let program = Program::new(0.0, vec![there, ProgramPiece::Hold(1.0, 0.5), back], true);
/// assert_eq!(program.at(2.0).position, 1.0);
/// assert_eq!(program.at(4.25).position, 0.0);
/// ```
///
/// # Real-time safety
/// [`Program::new`] and [`Program::once`] allocate; the rest is arithmetic.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    start: f64,
    pieces: Vec<ProgramPiece>,
    /// When each piece begins, in s.
    begins: Vec<f64>,
    duration: f64,
    repeat: bool,
}

impl Program {
    /// Creates a program that begins at a position.
    #[must_use]
    pub fn new(start: f64, pieces: Vec<ProgramPiece>, repeat: bool) -> Self {
        let mut duration = 0.0;
        let begin = |piece: &ProgramPiece| {
            let begin = duration;
            duration += piece.duration();
            begin
        };
        let begins = pieces.iter().map(begin).collect();
        Self {
            start,
            begins,
            duration,
            repeat: repeat && duration > 0.0,
            pieces,
        }
    }

    /// The same without repetition.
    #[must_use]
    pub fn once(&self) -> Self {
        Self {
            repeat: false,
            ..self.clone()
        }
    }

    /// Where it begins, in rad.
    #[must_use]
    pub(crate) const fn start(&self) -> f64 {
        self.start
    }

    /// The greatest distance from 0 that it goes to, in rad.
    #[must_use]
    pub(crate) fn farthest(&self) -> f64 {
        let pieces = self.pieces.iter().map(ProgramPiece::farthest);
        pieces.fold(self.start.abs(), f64::max)
    }
}

/// A call takes as long as the logarithm of the number of pieces.
impl Trajectory for Program {
    fn at(&self, seconds: f64) -> Point {
        let seconds = if self.repeat && self.duration.is_finite() {
            seconds.max(0.0) % self.duration
        } else {
            seconds.max(0.0)
        };
        // The last piece that has begun; pieces without duration are over.
        let begun = self.begins.partition_point(|it| *it <= seconds);
        let place = begun.saturating_sub(1);
        match self.pieces.get(place) {
            Some(piece) => {
                let into = seconds - self.begins[place];
                piece.at(into.min(piece.duration()))
            }
            None => Point::at_rest(self.start),
        }
    }

    fn duration(&self) -> f64 {
        if self.repeat {
            f64::INFINITY
        } else {
            self.duration
        }
    }
}
