//! The other programs that make load.

use std::fmt;
use std::str::FromStr;

/// Another program that makes load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignProgram {
    /// `stress-ng`, for every kind.
    StressNg,
    /// `hackbench` of rt-tests, for [`LoadKind::Processes`](crate::load::LoadKind::Processes).
    Hackbench,
}

impl ForeignProgram {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::StressNg, Self::Hackbench];

    /// Its name, as it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StressNg => "stress-ng",
            Self::Hackbench => "hackbench",
        }
    }
}

impl fmt::Display for ForeignProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a program that makes load; write stress-ng or hackbench")]
pub struct ParseForeignProgramError(String);

impl FromStr for ForeignProgram {
    type Err = ParseForeignProgramError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|program| program.name() == word);
        found.ok_or_else(|| ParseForeignProgramError(word.to_owned()))
    }
}
