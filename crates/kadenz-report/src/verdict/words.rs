//! A verdict in words.

use super::{Assumption, MIN_SAMPLES, Standing, Verdict};
use crate::numbers;

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
