//! How many samples a claim needs, asked before measuring.

use super::bound::{CONFIDENCE, upper_bound};
use crate::numbers;
use crate::statistics::Percent;

/// How many samples carry a claim such as "99.99 % of wake-ups keep the deadline".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The share of samples that is to keep the deadline.
    pub claim: Percent,
    /// Misses that may be seen without giving the claim up.
    pub misses_allowed: u64,
    /// Samples needed.
    pub samples: u64,
}

impl Plan {
    /// The smallest number of samples that carries `claim` at 95 % confidence although
    /// `misses_allowed` misses are seen.
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
