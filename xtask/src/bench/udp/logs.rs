//! Every round trip that each tool wrote down, in ns: percentiles are then taken in one way from all.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// `sockperf --full-log --full-rtt`: some words, then lines of packet, times and microseconds.
pub fn of_sockperf(text: &str) -> Result<Vec<u64>> {
    let (_, rows) = text
        .split_once("rtt(usec)\n")
        .context("sockperf's log has no column rtt(usec)")?;
    let round_trip = |row: &str| {
        let us: f64 = row.rsplit(',').next()?.trim().parse().ok()?;
        (us >= 0.0).then_some((us * 1000.0).round() as u64)
    };
    // A line of dashes ends the table.
    let rows = rows.lines().take_while(|row| !row.starts_with('-'));
    rows.map(|row| round_trip(row).with_context(|| format!("sockperf's log holds `{row}`")))
        .collect()
}

/// `irtt client -o`: those that came back, without the first `warm_up`.
pub fn of_irtt(text: &str, warm_up: usize) -> Result<Vec<u64>> {
    let report: Value = serde_json::from_str(text).context("irtt wrote no JSON")?;
    let trips = report["round_trips"].as_array();
    let trips = trips.context("irtt's JSON holds no round_trips")?;
    let trips = trips.iter().skip(warm_up);
    let came_back = trips.filter(|trip| trip["lost"] == "false");
    came_back
        .map(|trip| {
            let rtt = trip["delay"]["rtt"].as_u64();
            rtt.context("a round trip of irtt's JSON has no delay.rtt")
        })
        .collect()
}

/// `kadenz export --format csv --series rtt`: sequence, two times and the value.
pub fn of_ours(text: &str) -> Result<Vec<u64>> {
    let mut rows = text.lines();
    let head = rows.next().unwrap_or_default();
    ensure!(
        head.ends_with(",value_ns"),
        "`kadenz export` wrote `{head}` and not samples"
    );
    let value = |row: &str| row.rsplit(',').next()?.parse().ok();
    rows.map(|row| value(row).with_context(|| format!("`kadenz export` wrote `{row}`")))
        .collect()
}

/// The percentiles that are compared, by nearest rank; none that rests on less than one round trip
/// beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentiles {
    /// Median, ns.
    pub p50_ns: u64,
    /// ns.
    pub p99_ns: u64,
    /// ns; of fewer than a thousand there is none.
    pub p999_ns: Option<u64>,
    /// How many round trips they rest on.
    pub count: usize,
}

impl Percentiles {
    /// Of these round trips.
    pub fn of(mut values: Vec<u64>) -> Result<Self> {
        let count = values.len();
        ensure!(
            count >= 100,
            "{count} round trips are too few for a p99; take more seconds"
        );
        values.sort_unstable();
        let at = |per_mille: usize| values[(count * per_mille).div_ceil(1000) - 1];
        Ok(Self {
            p50_ns: at(500),
            p99_ns: at(990),
            p999_ns: (count >= 1000).then(|| at(999)),
            count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockperfs_words_are_skipped_and_its_microseconds_exact() {
        let log = "sockperf: a, b\npacket, txTime(sec), rxTime(sec), rtt(usec)\n\
                   0, 2.412061496, 2.412076514, 15.018\n1, 2.4, 2.5, 7.000\n-----\n";
        assert_eq!(of_sockperf(log).expect("whole"), [15_018, 7_000]);
        assert!(of_sockperf("sockperf: nothing").is_err());
        assert!(of_sockperf("rtt(usec)\n1, 2, 3, x\n").is_err());
    }

    #[test]
    fn of_irtt_those_that_came_back_count() {
        let trip = |lost: &str, ns: u64| {
            let ns = if lost == "false" {
                serde_json::json!({ "rtt": ns })
            } else {
                serde_json::json!({})
            };
            serde_json::json!({ "lost": lost, "delay": ns })
        };
        let trips = [trip("false", 9), trip("true", 0), trip("false", 7)];
        let report = serde_json::json!({ "round_trips": trips }).to_string();
        assert_eq!(of_irtt(&report, 0).expect("whole"), [9, 7]);
        assert_eq!(of_irtt(&report, 1).expect("whole"), [7]);
        assert!(of_irtt("{}", 0).is_err());
        let broken = r#"{ "round_trips": [{ "lost": "false", "delay": {} }] }"#;
        assert!(of_irtt(broken, 0).is_err());
    }

    #[test]
    fn ours_are_samples_and_no_buckets() {
        let samples = "sequence,intended_ns,actual_ns,value_ns\n5,100,120,20\n6,200,231,31\n";
        assert_eq!(of_ours(samples).expect("whole"), [20, 31]);
        assert!(of_ours("low_ns,high_ns,count\n1,2,3\n").is_err());
        assert!(of_ours("sequence,value_ns\n1,x\n").is_err());
    }

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let values = (1..=1000).rev().collect();
        let expected = Percentiles {
            p50_ns: 500,
            p99_ns: 990,
            p999_ns: Some(999),
            count: 1000,
        };
        assert_eq!(Percentiles::of(values).expect("enough"), expected);
        let few = Percentiles::of(vec![1; 999]).expect("enough for a p99");
        assert_eq!(few.p999_ns, None);
        assert!(Percentiles::of(vec![1; 99]).is_err());
    }
}
