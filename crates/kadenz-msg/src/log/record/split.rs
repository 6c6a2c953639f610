//! When a recording goes on in the next file.

use std::time::Duration;

/// When a recording goes on in the next file; by default never. It does so with a message, so that a
/// bus that falls silent makes no empty files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Split {
    /// Once a file is that long, in bytes.
    pub bytes: Option<u64>,
    /// Once a file is that old.
    pub every: Option<Duration>,
}

impl Split {
    /// By length alone.
    #[must_use]
    pub fn at_bytes(bytes: u64) -> Self {
        Self {
            bytes: Some(bytes),
            every: None,
        }
    }

    /// Whether there is more than one file to come.
    #[must_use]
    pub fn is_asked_for(&self) -> bool {
        *self != Self::default()
    }

    /// Whether a file of that length and age is to be the last one no more.
    #[must_use]
    pub fn is_due(&self, length: u64, age: Duration) -> bool {
        self.bytes.is_some_and(|bytes| length >= bytes)
            || self.every.is_some_and(|every| age >= every)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_left_at_its_length_or_its_age_and_else_never() {
        let hour = Duration::from_secs(3600);
        let split = Split {
            bytes: Some(100),
            every: Some(hour),
        };
        assert!(!split.is_due(99, hour - Duration::from_nanos(1)));
        assert!(split.is_due(100, Duration::ZERO));
        assert!(split.is_due(0, hour));
        assert!(!Split::default().is_due(u64::MAX, Duration::MAX));
        assert!(!Split::default().is_asked_for() && Split::at_bytes(1).is_asked_for());
    }
}
