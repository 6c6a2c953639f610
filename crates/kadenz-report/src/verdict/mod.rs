//! Deadline and misses: what may be claimed, and what the sample is too small for.

mod bound;
mod groups;
pub mod messages;
pub mod packets;
mod plan;
pub mod wire;

use schemars::JsonSchema;
use serde::Serialize;

use crate::numbers;

pub use bound::{CONFIDENCE, upper_bound};
pub use groups::{Assumption, Block};
pub use plan::Plan;

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
    pub(crate) fn of_blocks(
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

/// The counting half of a verdict: "0 misses in 60,000, so fewer than 50 in a million at 95 %
/// confidence".
///
/// ```
/// use kadenz_report::verdict::{Verdict, describe};
///
/// let verdict = Verdict::new(400_000, 60_000, 312, 4, 60_000_000_000);
/// assert_eq!(
///     describe(&verdict),
///     "312 misses in 60,000 (0.52 %), at most 4 in a row; fewer than 6.3 in a thousand at 95 % \
///      confidence, taking 4 in a row as one event"
/// );
/// ```
#[must_use]
pub fn describe(verdict: &Verdict) -> String {
    let count = numbers::thousands(verdict.count);
    let bound = numbers::in_a_million(verdict.upper_bound_95);
    match verdict.standing {
        Standing::Kept => {
            format!(
                "0 misses in {count}, so {}",
                bounded(verdict.upper_bound_95, verdict.assumption)
            )
        }
        Standing::TooFew => format!(
            "0 misses in {count}, which allows up to {bound}; {MIN_SAMPLES} samples without a \
             miss claim 99 %"
        ),
        Standing::Missed => {
            let misses = if verdict.misses == 1 {
                "miss"
            } else {
                "misses"
            };
            let share = numbers::percentage(verdict.rate);
            let number = numbers::thousands(verdict.misses);
            let run = match verdict.longest_run {
                0 | 1 => String::new(),
                run => format!(", at most {} in a row", numbers::thousands(run)),
            };
            format!(
                "{number} {misses} in {count} ({share}){run}; {}",
                bounded(verdict.upper_bound_95, verdict.assumption)
            )
        }
    }
}

/// "fewer than 5.8 in a thousand at 95 % confidence, by the spread over 60 parts of the run".
pub(crate) fn bounded(bound: f64, assumption: Assumption) -> String {
    let bound = numbers::in_a_million(bound);
    if bound == "all" {
        return "no bound below all of them can be told".to_owned();
    }
    format!("fewer than {bound} at 95 % confidence, {assumption}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nearly_all_were_missed_no_bound_is_claimed() {
        let told = describe(&Verdict::new(400_000, 6_000, 5_999, 5_999, 0));
        assert!(
            told.ends_with("; no bound below all of them can be told"),
            "{told}"
        );
    }
}
