//! The kinds of load.

use std::fmt;
use std::str::FromStr;

/// A kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoadKind {
    /// Busy CPUs.
    Cpu,
    /// Large sequential writes.
    Disk,
    /// Scheduling: messages between many threads, and short-lived processes.
    Processes,
    /// A flood of datagrams on the loopback.
    Network,
    /// Metadata of a file tree.
    Files,
    /// Memory bandwidth and page faults.
    Memory,
    /// Timer interrupts and wake-ups across CPUs.
    Timer,
    /// Disk, processes, network and files together: Yoon's figure 5.
    Heavy,
}

impl LoadKind {
    /// Every kind, in the order in which they are listed.
    pub const ALL: [Self; 8] = [
        Self::Cpu,
        Self::Disk,
        Self::Processes,
        Self::Network,
        Self::Files,
        Self::Memory,
        Self::Timer,
        Self::Heavy,
    ];

    /// As users write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Disk => "disk",
            Self::Processes => "processes",
            Self::Network => "network",
            Self::Files => "files",
            Self::Memory => "memory",
            Self::Timer => "timer",
            Self::Heavy => "heavy",
        }
    }

    /// The kinds that this one is made of: itself, but for the combination.
    ///
    /// ```
    /// use kadenz_lab::load::LoadKind;
    ///
    /// assert_eq!(LoadKind::Cpu.parts(), [LoadKind::Cpu]);
    /// assert_eq!(LoadKind::Heavy.parts().len(), 4);
    /// ```
    #[must_use]
    pub const fn parts(self) -> &'static [Self] {
        match self {
            Self::Cpu => &[Self::Cpu],
            Self::Disk => &[Self::Disk],
            Self::Processes => &[Self::Processes],
            Self::Network => &[Self::Network],
            Self::Files => &[Self::Files],
            Self::Memory => &[Self::Memory],
            Self::Timer => &[Self::Timer],
            Self::Heavy => &[Self::Disk, Self::Processes, Self::Network, Self::Files],
        }
    }
}

impl fmt::Display for LoadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no load; write cpu, disk, processes, network, files, memory, timer, or heavy for \
     disk, processes, network and files together"
)]
pub struct ParseLoadKindError(String);

impl FromStr for LoadKind {
    type Err = ParseLoadKindError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == word);
        found.ok_or_else(|| ParseLoadKindError(word.to_owned()))
    }
}

/// The single kinds that `kinds` name, each once, in the order of their first mention.
pub(super) fn parts_of(kinds: &[LoadKind]) -> Vec<LoadKind> {
    let mut parts = Vec::new();
    for part in kinds.iter().flat_map(|kind| kind.parts()) {
        if !parts.contains(part) {
            parts.push(*part);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_read_as_it_is_written() {
        for kind in LoadKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let error = "disc".parse::<LoadKind>().unwrap_err();
        assert!(error.to_string().contains("disk"), "{error}");
    }

    #[test]
    fn a_kind_that_is_named_twice_is_started_once() {
        let parts = parts_of(&[LoadKind::Network, LoadKind::Heavy, LoadKind::Disk]);
        assert_eq!(
            parts,
            [
                LoadKind::Network,
                LoadKind::Disk,
                LoadKind::Processes,
                LoadKind::Files
            ]
        );
    }
}
