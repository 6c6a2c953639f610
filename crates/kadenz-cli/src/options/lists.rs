//! Lists of CPUs, as `taskset -c` takes them: `0,2-3`.

use std::str::FromStr;

use kadenz_rt::tuning::{CpuSet, ParseCpuSetError};

/// CPUs by number, ascending, each once; at least one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuList(CpuSet);

impl CpuList {
    /// As kadenz-rt takes them.
    pub(crate) fn set(&self) -> CpuSet {
        self.0.clone()
    }

    /// One by one.
    pub(crate) fn to_vec(&self) -> Vec<usize> {
        self.0.iter().collect()
    }
}

impl FromStr for CpuList {
    type Err = ParseCpuSetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}
