//! Statistics of a model's round trips.

use std::collections::BTreeMap;

use kadenz::lab::testbed::Picos;
use kadenz::lab::testbed::model::RoundTrip;
use schemars::JsonSchema;
use serde::Serialize;

/// Percentiles, printed where the sample supports them.
const PERCENTS: [(&str, f64); 5] = [
    ("50", 50.0),
    ("90", 90.0),
    ("99", 99.0),
    ("99.9", 99.9),
    ("99.99", 99.99),
];

/// Statistics of round trips, in nanoseconds, exact.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Figures {
    pub(super) asked: u64,
    pub(super) lost: u64,
    #[schemars(range(min = 0.0))]
    pub(super) min_ns: Option<f64>,
    #[schemars(range(min = 0.0))]
    pub(super) max_ns: Option<f64>,
    /// Nearest rank; null where no value lies beyond it.
    #[schemars(extend("required" = ["50", "90", "99", "99.9", "99.99"]))]
    pub(super) percentiles: BTreeMap<&'static str, Option<f64>>,
}

impl Figures {
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a RoundTrip> + Clone) -> Self {
        let mut times: Vec<Picos> = all.clone().filter_map(RoundTrip::time).collect();
        times.sort();
        let asked = all.count() as u64;
        Self {
            asked,
            lost: asked - times.len() as u64,
            min_ns: times.first().map(|time| time.as_ns_f64()),
            max_ns: times.last().map(|time| time.as_ns_f64()),
            percentiles: PERCENTS
                .iter()
                .map(|(percent, value)| (*percent, percentile(&times, *value)))
                .collect(),
        }
    }
}

/// The nearest rank, of a sample that has at least one value beyond it.
fn percentile(sorted: &[Picos], percent: f64) -> Option<f64> {
    let count = sorted.len() as f64;
    if count * (1.0 - percent / 100.0) < 1.0 - 1e-9 {
        return None;
    }
    let rank = (count * percent / 100.0 - 1e-9).ceil().max(1.0) as usize;
    sorted.get(rank - 1).map(|time| time.as_ns_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_appears_where_a_value_lies_beyond_it() {
        let sample: Vec<Picos> = (1..=100).map(Picos::from_ns).collect();
        assert_eq!(percentile(&sample, 50.0), Some(50.0));
        assert_eq!(percentile(&sample, 99.0), Some(99.0));
        assert_eq!(percentile(&sample, 99.9), None);
        assert_eq!(percentile(&[], 50.0), None);
    }
}
