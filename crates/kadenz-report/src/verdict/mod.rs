//! Deadline and misses: what may be claimed, and what the sample is too small for.

mod binomial;
mod bound;
mod groups;
pub mod messages;
mod output;
pub mod packets;
mod plan;
pub mod wire;
pub(crate) mod words;

pub use bound::{CONFIDENCE, upper_bound};
pub use groups::{Assumption, Block};
pub use output::DeadlineOutput;
pub use plan::Plan;
pub use words::describe;

use schemars::JsonSchema;
use serde::Serialize;

/// Fewer samples than this cannot claim even 99 % (see [`Plan`]), so nothing is claimed from them.
pub const MIN_SAMPLES: u64 = 299;

/// What a series says about its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(into = "DeadlineOutput")]
#[schemars(from = "DeadlineOutput")]
pub struct Verdict {
    /// The limit; a sample above it is a miss.
    pub limit_ns: u64,
    /// Samples judged.
    pub count: u64,
    /// Samples above the limit.
    pub misses: u64,
    /// `misses / count`; 0 without samples.
    pub rate: f64,
    /// One-sided 95 % upper bound of the miss rate; 1 without samples.
    pub upper_bound_95: f64,
    /// What the bound takes for granted of how misses follow each other.
    pub assumption: Assumption,
    /// Most misses in a row; 0 without a miss, and where only a histogram tells of them.
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
    /// No miss, but fewer than [`MIN_SAMPLES`]: too few to claim even 99 %.
    TooFew,
}

impl Verdict {
    /// The verdict on `misses` in `count` samples with at most `longest_run` misses in a row, taken
    /// over `duration_ns` (0 when unknown).
    ///
    /// ```
    /// use kadenz_report::verdict::{Standing, Verdict};
    ///
    /// let verdict = Verdict::new(400_000, 60_000, 0, 0, 60_000_000_000);
    /// assert!(verdict.kept());
    /// assert_eq!(verdict.standing, Standing::Kept);
    /// assert!(verdict.upper_bound_95 < 50e-6);
    /// assert_eq!(Verdict::new(400_000, 100, 0, 0, 0).standing, Standing::TooFew);
    /// ```
    #[must_use]
    pub fn new(limit_ns: u64, count: u64, misses: u64, longest_run: u64, duration_ns: u64) -> Self {
        Self::of_blocks(limit_ns, count, misses, longest_run, duration_ns, &[])
    }

    /// As [`Verdict::new`], with the parts of the run in order of time: its misses are then not taken as
    /// independent, but as grouped as they were.
    #[must_use]
    pub fn of_blocks(
        limit_ns: u64,
        count: u64,
        misses: u64,
        longest_run: u64,
        duration_ns: u64,
        blocks: &[Block],
    ) -> Self {
        let (upper_bound_95, assumption) = groups::bound(count, misses, longest_run, blocks);
        let standing = if misses > 0 {
            Standing::Missed
        } else if count < MIN_SAMPLES {
            Standing::TooFew
        } else {
            Standing::Kept
        };
        let hours = duration_ns as f64 / 3.6e12;
        Self {
            limit_ns,
            count,
            misses,
            rate: if count == 0 {
                0.0
            } else {
                misses as f64 / count as f64
            },
            upper_bound_95,
            assumption,
            longest_run,
            misses_per_hour: (duration_ns > 0).then(|| misses as f64 / hours),
            standing,
        }
    }

    /// True if there were samples and none of them was above the limit.
    #[must_use]
    pub fn kept(&self) -> bool {
        self.count > 0 && self.misses == 0
    }
}
