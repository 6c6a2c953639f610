use serde::{Deserialize, Serialize};

/// The exact counts of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Values recorded, early ones included.
    pub recorded: u64,
    /// Samples taken but not in the samples file: the ring was full, or the disk.
    pub dropped: u64,
    /// Values below zero.
    pub early: u64,
    /// Values beyond what the histogram holds (one hour), recorded as the highest it holds.
    pub saturated: u64,
    /// Values above the deadline; 0 without one.
    pub misses: u64,
    /// Most misses in a row.
    pub longest_miss_run: u64,
    /// Smallest value, exact; absent when nothing was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<i64>,
    /// Largest value, exact; absent when nothing was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<i64>,
}
