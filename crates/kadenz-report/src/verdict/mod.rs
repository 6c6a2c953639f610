//! Deadline and misses: the claims that the sample supports.

mod bound;
mod groups;
pub mod messages;
pub mod packets;
pub mod wire;

use schemars::JsonSchema;
use serde::Serialize;

use crate::numbers;
use crate::statistics::Percent;

pub use bound::{CONFIDENCE, upper_bound};
pub use groups::{Assumption, Block};

/// Fewer samples than this cannot claim even 99 % (see [`Plan`]), so nothing is claimed from them.
pub const MIN_SAMPLES: u64 = 299;

/// The verdict on a series and its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(into = "DeadlineOutput")]
#[schemars(from = "DeadlineOutput")]
pub struct Verdict {
    /// The limit; a sample above it is a miss.
    pub limit_ns: u64,
    /// Samples that were compared with the limit.
    pub count: u64,
    /// Samples above the limit.
    pub misses: u64,
    /// `misses / count`; 0 without samples.
    pub rate: f64,
    /// One-sided 95 % upper bound of the miss rate; 1 without samples.
    pub upper_bound_95: f64,
    /// The assumption of the bound on how misses follow each other.
    pub assumption: Assumption,
    /// Most misses in a row; 0 without a miss, and where only a histogram has them.
    pub longest_run: u64,
    /// Misses per hour of measuring; absent when the duration is unknown.
    pub misses_per_hour: Option<f64>,
    /// Whether the deadline was kept.
    pub standing: Standing,
}

/// Whether a deadline was kept, as far as the sample shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// No sample above the limit, and enough samples to say so.
    Kept,
    /// At least one sample above the limit.
    Missed,
    /// No sample above the limit, but values of the run were lost: each of them may have missed.
    ValuesLost(Loss),
    /// No miss, but fewer than [`MIN_SAMPLES`]: too few to claim even 99 %.
    TooFew,
}

/// Whether values of a run were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// They were.
    Certain,
    /// They may have been.
    Possible,
}

impl Loss {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Certain => "values were lost",
            Self::Possible => "values may have been lost",
        }
    }
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

    /// As [`Verdict::new`], with the parts of the run in order of time: its misses are then not assumed independent,
    /// but grouped as they were.
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

    /// The same verdict where values of the run were lost.
    pub(crate) fn with_loss(mut self, loss: Loss) -> Self {
        if self.misses == 0 {
            self.standing = Standing::ValuesLost(loss);
        }
        self
    }

    /// True if there were samples, none of them was above the limit, and no value was lost: by another program, or as a
    /// packet or message beyond what the run allows.
    #[must_use]
    pub fn kept(&self) -> bool {
        self.count > 0 && self.misses == 0 && !matches!(self.standing, Standing::ValuesLost(_))
    }

    /// Most misses in a row; `None` where only a histogram has them.
    pub(crate) fn known_run(&self) -> Option<u64> {
        (self.misses == 0 || self.longest_run > 0).then_some(self.longest_run)
    }
}

/// The verdict on a series and its deadline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct DeadlineOutput {
    /// The limit; a sample above it is a miss.
    limit_ns: u64,
    /// Samples above the limit.
    misses: u64,
    /// Misses divided by samples.
    #[schemars(range(min = 0, max = 1))]
    rate: f64,
    /// One-sided 95 % upper bound of the miss rate (Korn and Graubard; Clopper and Pearson where misses are assumed
    /// independent).
    #[schemars(range(min = 0, max = 1))]
    upper_bound_95: f64,
    /// The assumption of the bound on misses: that each is independent, that they are grouped as in the
    /// blocks of this run, or that they come in rows as long as the longest.
    #[schemars(extend("enum" = ["independent", "blocks", "rows"]))]
    bound_assumes: &'static str,
    /// Most misses in a row; `null` where there were misses but only a histogram has them.
    longest_run: Option<u64>,
    /// Misses per hour of measuring; `null` when the duration is unknown.
    misses_per_hour: Option<f64>,
    /// Whether there were samples, none of them was above the limit, and none was lost: no value of an imported run, and
    /// no packet or message beyond what the run allows.
    kept: bool,
    /// Whether there are enough samples to claim at least 99 %, or a miss to disprove it.
    enough_samples: bool,
}

impl From<Verdict> for DeadlineOutput {
    fn from(verdict: Verdict) -> Self {
        Self {
            limit_ns: verdict.limit_ns,
            misses: verdict.misses,
            rate: verdict.rate,
            upper_bound_95: verdict.upper_bound_95,
            bound_assumes: match verdict.assumption {
                Assumption::Independent => "independent",
                Assumption::Blocks(_) => "blocks",
                Assumption::Rows(_) | Assumption::Together(_) => "rows",
            },
            longest_run: verdict.known_run(),
            misses_per_hour: verdict.misses_per_hour,
            kept: verdict.kept(),
            enough_samples: verdict.misses > 0 || verdict.count >= MIN_SAMPLES,
        }
    }
}

/// The answer without a sample.
pub(crate) const NOTHING_READ: &str = "nothing could be read";

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
        Standing::ValuesLost(loss) => {
            format!("{}; of the others 0 misses in {count}", loss.words())
        }
        Standing::TooFew if verdict.count == 0 => NOTHING_READ.to_owned(),
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
        return "the sample gives no bound on the rate".to_owned();
    }
    format!("fewer than {bound} at 95 % confidence, {assumption}")
}

/// The number of samples for a claim such as "99.99 % of wake-ups keep the deadline".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The share of samples that must keep the deadline.
    pub claim: Percent,
    /// Misses that the claim permits.
    pub misses_allowed: u64,
    /// Samples that the claim needs, with `misses_allowed` misses among them.
    pub samples: u64,
}

impl Plan {
    /// The smallest number of samples that supports `claim` at 95 % confidence with `misses_allowed` misses.
    ///
    /// ```
    /// use kadenz_report::verdict::Plan;
    ///
    /// let plan = Plan::new("99.99".parse()?, 0);
    /// assert_eq!(plan.samples, 29_956);
    /// assert_eq!(
    ///     plan.sentence(Some(1_000_000)),
    ///     "To claim 99.99 % at 95 % confidence you need 29,956 samples without a miss: \
    ///      30 s at 1 kHz."
    /// );
    /// # Ok::<(), kadenz_report::statistics::ParsePercentError>(())
    /// ```
    #[must_use]
    pub fn new(claim: Percent, misses_allowed: u64) -> Self {
        let allowed_rate = claim.complement();
        let carries = |samples: u64| upper_bound(misses_allowed, samples) <= allowed_rate;
        let guess = ((1.0 - CONFIDENCE).ln() / (-allowed_rate).ln_1p()).ceil() as u64;
        let mut enough = guess.max(misses_allowed + 1);
        while !carries(enough) {
            enough = enough.saturating_mul(2);
        }
        let mut short = misses_allowed;
        while enough - short > 1 {
            let middle = short.midpoint(enough);
            if carries(middle) {
                enough = middle;
            } else {
                short = middle;
            }
        }
        Self {
            claim,
            misses_allowed,
            samples: enough,
        }
    }

    /// How long that takes at one sample every `interval_ns`, in nanoseconds.
    #[must_use]
    pub fn duration_ns(&self, interval_ns: u64) -> u128 {
        u128::from(self.samples) * u128::from(interval_ns)
    }

    /// The plan in words, with the time it takes where the interval is known.
    #[must_use]
    pub fn sentence(&self, interval_ns: Option<u64>) -> String {
        let samples = numbers::thousands(self.samples);
        let misses = match self.misses_allowed {
            0 => "without a miss".to_owned(),
            1 => "with at most 1 miss".to_owned(),
            more => format!("with at most {} misses", numbers::thousands(more)),
        };
        let time = interval_ns.map_or_else(String::new, |interval| {
            let duration = numbers::span(self.duration_ns(interval) as f64);
            format!(": {duration} at {}", numbers::rate(interval))
        });
        let claim = self.claim;
        format!("To claim {claim} % at 95 % confidence you need {samples} samples {misses}{time}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nearly_all_were_missed_no_bound_is_claimed() {
        let text = describe(&Verdict::new(400_000, 6_000, 5_999, 5_999, 0));
        assert!(
            text.ends_with("; the sample gives no bound on the rate"),
            "{text}"
        );
    }

    #[test]
    fn without_a_sample_nothing_is_counted() {
        let text = describe(&Verdict::new(400_000, 0, 0, 0, 0));
        assert_eq!(text, "nothing could be read");
    }

    #[test]
    fn the_smallest_number_that_carries_the_claim_is_found() {
        for claim in ["50", "99", "99.9", "99.999", "99.99999"] {
            let claim: Percent = claim.parse().unwrap();
            for misses in [0, 1, 7] {
                let plan = Plan::new(claim, misses);
                assert!(
                    upper_bound(misses, plan.samples) <= claim.complement(),
                    "{plan:?}"
                );
                assert!(
                    upper_bound(misses, plan.samples - 1) > claim.complement(),
                    "{plan:?}"
                );
            }
        }
    }

    /// ln(0.05) / ln(1 - p), rounded up: the textbook's "success run" numbers.
    #[test]
    fn known_numbers_are_met() {
        for (claim, samples) in [("99", 299), ("99.9", 2_995), ("99.99", 29_956)] {
            assert_eq!(Plan::new(claim.parse().unwrap(), 0).samples, samples);
        }
    }
}
