//! Finds groups of early wake-ups apart from the rest.
//!
//! A timer that catches up by firing early keeps its average and ruins a control loop: the ROS
//! cyclic timer fired 12 % of the time about 0.9 ms early at 1 kHz. The mean does not show it, and
//! percentiles from the upper end do not either.
//!
//! The values between the 0.05th and the 99.95th percentile are counted in linear bins, smoothed, and split wherever
//! the density falls below a tenth of both neighbouring peaks. The part with the most values is the main group; parts
//! before it are early clusters if they are numerous enough, early enough, and far from the main group by its own
//! measure.

use super::distribution::{count, value_at_rank};
use super::{Cluster, SignedBucket};

/// A cluster holds at least this share of all values ...
const MIN_SHARE: f64 = 0.005;
/// ... and at least this many of them.
const MIN_COUNT: u64 = 10;
/// Fewer values than this make no distribution.
const MIN_VALUES: u64 = 100;
/// Share that is cut off at either end before binning: a few outliers must not stretch the bins.
const TRIMMED: f64 = 0.0005;
/// Most bins. Values in coarse steps get fewer, so that each step is not taken for a cluster.
const MAX_BINS: usize = 256;
/// Two peaks belong together unless the density between them falls below this share of both.
const VALLEY: f64 = 0.1;
/// A cluster is early by this share of the expected interval ...
const EARLY_SHARE: f64 = 0.05;
/// ... or by this much, whichever is less.
const EARLY_NS: f64 = 100_000.0;
/// A cluster is away from the main group by this many of its interquartile ranges.
const AWAY: f64 = 4.0;

/// The clusters of early values among ascending `buckets`, earliest first; empty where there are none.
/// `expected_interval_ns` determines how early a cluster must be.
#[must_use]
pub fn early_clusters(buckets: &[SignedBucket], expected_interval_ns: Option<u64>) -> Vec<Cluster> {
    let total = count(buckets);
    if total < MIN_VALUES || buckets.first().is_none_or(|bucket| bucket.low_ns >= 0) {
        return Vec::new();
    }
    let Some(bins) = DensityBins::new(buckets, total) else {
        return Vec::new();
    };
    let groups = bins.groups(buckets);
    let Some(main) = groups
        .iter()
        .max_by_key(|group| (group.count, group.centre_ns))
    else {
        return Vec::new();
    };
    let share_of_interval =
        expected_interval_ns.map_or(f64::INFINITY, |ns| EARLY_SHARE * ns as f64);
    let early = EARLY_NS.min(share_of_interval);
    let away = AWAY * main.spread_ns as f64;
    groups
        .iter()
        .filter(|group| group.count >= MIN_COUNT)
        .filter(|group| group.count as f64 >= MIN_SHARE * total as f64)
        .filter(|group| (group.centre_ns as f64) < -early)
        .filter(|group| main.centre_ns as f64 - group.centre_ns as f64 > away)
        .filter(|group| group.centre_ns < main.centre_ns)
        .map(|group| Cluster {
            share: group.count as f64 / total as f64,
            centre_ns: group.centre_ns,
            low_ns: group.low_ns,
            high_ns: group.high_ns,
        })
        .collect()
}

/// A part of the distribution between two valleys.
struct DensityPeak {
    count: u64,
    centre_ns: i64,
    spread_ns: i64,
    low_ns: i64,
    high_ns: i64,
}

/// The density over linear bins of equal width.
struct DensityBins {
    start_ns: f64,
    width_ns: f64,
    density: Vec<f64>,
}

impl DensityBins {
    /// Absent when all but a few values are equal.
    fn new(buckets: &[SignedBucket], total: u64) -> Option<Self> {
        let trimmed = (TRIMMED * total as f64) as u64;
        let low = value_at_rank(buckets, trimmed + 1)?;
        let high = value_at_rank(buckets, total - trimmed)?;
        let within: Vec<&SignedBucket> = buckets
            .iter()
            .filter(|b| (low..=high).contains(&b.high_ns))
            .collect();
        if high <= low || within.len() < 2 {
            return None;
        }
        let number = (within.len() / 4).clamp(8, MAX_BINS);
        let width_ns = (high as f64 - low as f64) / (number - 1) as f64;
        let start_ns = low as f64 - width_ns / 2.0;
        let mut density = vec![0.0; number];
        for bucket in within {
            spread(&mut density, bucket, start_ns, width_ns);
        }
        Some(Self {
            start_ns,
            width_ns,
            density: smooth(&smooth(&density)),
        })
    }

    fn groups(&self, buckets: &[SignedBucket]) -> Vec<DensityPeak> {
        let valleys = self.valleys();
        let mut groups = Vec::new();
        let mut rest = buckets;
        for valley in valleys {
            let border = self.start_ns + (valley as f64 + 0.5) * self.width_ns;
            let end = rest.partition_point(|bucket| (bucket.high_ns as f64) < border);
            groups.extend(group(&rest[..end]));
            rest = &rest[end..];
        }
        groups.extend(group(rest));
        groups
    }

    /// The bins at which the distribution is split, ascending.
    fn valleys(&self) -> Vec<usize> {
        let mut peaks = self.peaks();
        loop {
            let parted = |pair: &[usize]| {
                let valley = self.lowest_between(pair[0], pair[1]);
                let smaller = self.density[pair[0]].min(self.density[pair[1]]);
                self.density[valley] / smaller
            };
            let shallowest = peaks
                .windows(2)
                .enumerate()
                .map(|(index, pair)| (index, parted(pair)))
                .max_by(|a, b| a.1.total_cmp(&b.1));
            match shallowest {
                Some((index, depth)) if depth > VALLEY => {
                    let right_is_smaller =
                        self.density[peaks[index + 1]] < self.density[peaks[index]];
                    peaks.remove(index + usize::from(right_is_smaller));
                }
                _ => break,
            }
        }
        peaks
            .windows(2)
            .map(|pair| self.lowest_between(pair[0], pair[1]))
            .collect()
    }

    /// Local maxima; the first bin of a plateau.
    fn peaks(&self) -> Vec<usize> {
        let at = |index: Option<usize>| index.and_then(|i| self.density.get(i)).copied();
        (0..self.density.len())
            .filter(|&index| {
                let here = self.density[index];
                let before = at(index.checked_sub(1)).unwrap_or(0.0);
                let mut after = self.density[index + 1..].iter().copied();
                here > before && after.find(|&next| next != here).unwrap_or(0.0) < here
            })
            .collect()
    }

    /// The emptiest bin between two, the middle one of several.
    fn lowest_between(&self, left: usize, right: usize) -> usize {
        let least = self.density[left..=right]
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min);
        let emptiest: Vec<usize> = (left..=right)
            .filter(|&index| self.density[index] <= least)
            .collect();
        emptiest[emptiest.len() / 2]
    }
}

/// Counts a bucket into the bins it covers, evenly.
fn spread(density: &mut [f64], bucket: &SignedBucket, start_ns: f64, width_ns: f64) {
    let bin =
        |ns: i64| (((ns as f64 - start_ns) / width_ns).max(0.0) as usize).min(density.len() - 1);
    let (first, last) = (bin(bucket.low_ns), bin(bucket.high_ns));
    let each = bucket.count as f64 / (last - first + 1) as f64;
    density[first..=last]
        .iter_mut()
        .for_each(|count| *count += each);
}

fn smooth(density: &[f64]) -> Vec<f64> {
    let at = |index: Option<usize>| index.and_then(|i| density.get(i)).copied().unwrap_or(0.0);
    (0..density.len())
        .map(|i| 0.25 * at(i.checked_sub(1)) + 0.5 * density[i] + 0.25 * at(Some(i + 1)))
        .collect()
}

fn group(buckets: &[SignedBucket]) -> Option<DensityPeak> {
    let (first, last) = (buckets.first()?, buckets.last()?);
    let count = count(buckets);
    let at = |share: f64| value_at_rank(buckets, ((share * count as f64).ceil() as u64).max(1));
    Some(DensityPeak {
        count,
        centre_ns: at(0.5)?,
        spread_ns: at(0.75)? - at(0.25)?,
        low_ns: first.low_ns,
        high_ns: last.high_ns,
    })
}

#[cfg(test)]
#[path = "clusters_tests.rs"]
mod tests;
