//! The machine as the checks see it.

use crate::host::{self, HostFacts, Root};

/// A root and what was read from it once for all checks.
pub struct Machine<'a> {
    /// Where files are read.
    pub root: &'a Root,
    /// The host facts.
    pub facts: HostFacts,
    /// CPUs online; empty when not known.
    pub cpus: Vec<u32>,
}

impl<'a> Machine<'a> {
    /// Reads what several checks need.
    #[must_use]
    pub fn read(root: &'a Root) -> Self {
        Self {
            root,
            facts: host::facts_at(root),
            cpus: host::online_cpus(root),
        }
    }

    /// The kernel's version as (major, minor), from its release.
    #[must_use]
    pub fn kernel_version(&self) -> Option<(u32, u32)> {
        let release = self.facts.kernel.as_deref()?;
        let mut parts = release.split(|c: char| !c.is_ascii_digit());
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    }
}
