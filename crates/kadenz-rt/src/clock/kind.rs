use std::fmt;
use std::str::FromStr;

/// The clocks a measurement can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ClockKind {
    /// `CLOCK_MONOTONIC`: slewed by NTP, never stepped; the clock sleepers sleep against.
    #[default]
    Monotonic,
    /// `CLOCK_MONOTONIC_RAW`: the bare oscillator, not slewed.
    MonotonicRaw,
    /// The processor's time stamp counter, where it is invariant.
    Tsc,
}

impl ClockKind {
    /// Every kind, in the order help texts show them.
    pub const ALL: [Self; 3] = [Self::Monotonic, Self::MonotonicRaw, Self::Tsc];

    /// The word users write.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Monotonic => "monotonic",
            Self::MonotonicRaw => "monotonic-raw",
            Self::Tsc => "tsc",
        }
    }
}

impl fmt::Display for ClockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that names no clock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no clock; write monotonic, monotonic-raw or tsc")]
pub struct ParseClockKindError(String);

impl FromStr for ClockKind {
    type Err = ParseClockKindError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == word);
        found.ok_or_else(|| ParseClockKindError(word.to_owned()))
    }
}
