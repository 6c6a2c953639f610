//! The form that a verdict has in JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Assumption, Standing, Verdict};

/// What a series says about its deadline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DeadlineOutput {
    /// The limit; a sample above it is a miss.
    pub limit_ns: u64,
    /// Samples above the limit.
    pub misses: u64,
    /// Misses by samples.
    #[schemars(range(min = 0, max = 1))]
    pub rate: f64,
    /// One-sided 95 % upper bound of the miss rate (Korn and Graubard; Clopper and Pearson where misses are
    /// taken as independent).
    #[schemars(range(min = 0, max = 1))]
    pub upper_bound_95: f64,
    /// What the bound takes for granted of misses: that each is independent, that they are grouped as in the
    /// blocks of this run, or that they come in rows as long as the longest.
    #[schemars(extend("enum" = ["independent", "blocks", "rows"]))]
    pub bound_assumes: &'static str,
    /// Most misses in a row; `null` where there were misses but only a histogram tells of them.
    pub longest_run: Option<u64>,
    /// Misses per hour of measuring; `null` when the duration is unknown.
    pub misses_per_hour: Option<f64>,
    /// Whether there were samples and none of them was above the limit.
    pub kept: bool,
    /// Whether there are enough samples to claim at least 99 %, or a miss to disprove it.
    pub enough_samples: bool,
}

impl From<Verdict> for DeadlineOutput {
    fn from(verdict: Verdict) -> Self {
        let unknown = verdict.misses > 0 && verdict.longest_run == 0;
        Self {
            limit_ns: verdict.limit_ns,
            misses: verdict.misses,
            rate: verdict.rate,
            upper_bound_95: verdict.upper_bound_95,
            bound_assumes: match verdict.assumption {
                Assumption::Independent => "independent",
                Assumption::Blocks(_) => "blocks",
                Assumption::Rows(_) => "rows",
            },
            longest_run: (!unknown).then_some(verdict.longest_run),
            misses_per_hour: verdict.misses_per_hour,
            kept: verdict.kept(),
            enough_samples: verdict.standing != Standing::TooFew,
        }
    }
}
