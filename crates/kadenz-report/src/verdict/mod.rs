//! Deadline and misses: what may be claimed, and what the sample is too small for.

/// What a series says about its deadline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// The limit; a sample above it is a miss.
    pub limit_ns: u64,
    /// Samples judged.
    pub count: u64,
    /// Samples above the limit.
    pub misses: u64,
    /// `misses / count`; 0 without samples.
    pub rate: f64,
    /// One-sided 95 % upper bound of the miss rate (Clopper and Pearson); 1 without samples.
    pub upper_bound_95: f64,
    /// Most misses in a row.
    pub longest_run: u64,
    /// Misses per hour of measuring; absent when the duration is unknown.
    pub misses_per_hour: Option<f64>,
    /// What this allows to say.
    pub standing: Standing,
}

/// What may be said of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No sample above the limit, and enough samples to say so.
    Kept,
    /// At least one sample above the limit.
    Missed,
    /// No miss, but too few samples to claim even 99 %.
    TooFew,
}

impl Verdict {
    /// True if there were samples and none of them was above the limit.
    #[must_use]
    pub fn kept(&self) -> bool {
        self.count > 0 && self.misses == 0
    }
}
