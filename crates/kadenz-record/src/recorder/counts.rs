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

impl Counts {
    /// Adds the counts of another part of a recording. A row of misses does not continue from one part to the next,
    /// because time lies between them.
    ///
    /// # Real-time safety
    /// Real-time safe: a few additions.
    pub fn add(&mut self, part: &Self) {
        self.recorded += part.recorded;
        self.dropped += part.dropped;
        self.early += part.early;
        self.saturated += part.saturated;
        self.misses += part.misses;
        self.longest_miss_run = self.longest_miss_run.max(part.longest_miss_run);
        self.min_ns = [self.min_ns, part.min_ns].into_iter().flatten().min();
        self.max_ns = self.max_ns.max(part.max_ns);
    }
}
