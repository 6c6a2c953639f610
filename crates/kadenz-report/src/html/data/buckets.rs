//! The histogram, in as many points as a page can carry.

use serde::Serialize;

use crate::statistics::SignedBucket;

/// Buckets that hold something, ascending, as columns.
#[derive(Debug, Default, Serialize)]
pub(in crate::html) struct Buckets {
    low: Vec<i64>,
    high: Vec<i64>,
    count: Vec<u64>,
}

/// The histogram in at most `most` buckets: neighbours are joined until they fit, sparse tails
/// keep their buckets as they are.
pub(in crate::html) fn buckets(all: &[SignedBucket], most: usize) -> Buckets {
    let mut joined = all.to_vec();
    for bits in (1..=10).rev() {
        if joined.len() <= most {
            break;
        }
        joined = join(all, bits);
    }
    Buckets {
        low: joined.iter().map(|b| b.low_ns).collect(),
        high: joined.iter().map(|b| b.high_ns).collect(),
        count: joined.iter().map(|b| b.count).collect(),
    }
}

/// Joins neighbours that agree in sign, power of two and so many bits below it.
fn join(all: &[SignedBucket], bits: u32) -> Vec<SignedBucket> {
    let cell = |value: i64| {
        let magnitude = value.unsigned_abs();
        let shift = magnitude.checked_ilog2().unwrap_or(0).saturating_sub(bits);
        (value < 0, shift, magnitude >> shift)
    };
    let mut joined: Vec<SignedBucket> = Vec::new();
    for bucket in all {
        match joined.last_mut() {
            Some(last) if cell(last.low_ns) == cell(bucket.low_ns) => {
                last.high_ns = bucket.high_ns;
                last.count += bucket.count;
            }
            _ => joined.push(*bucket),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_buckets_keep_every_count_and_the_tail() {
        let mut all: Vec<SignedBucket> = (1024..9000)
            .map(|v| SignedBucket {
                low_ns: v,
                high_ns: v,
                count: 2,
            })
            .collect();
        all.push(SignedBucket {
            low_ns: 17_170_000,
            high_ns: 17_186_000,
            count: 1,
        });
        let few = buckets(&all, 1000);
        assert!(few.low.len() <= 1000);
        assert_eq!(few.count.iter().sum::<u64>(), 7976 * 2 + 1);
        assert_eq!(few.low.last(), Some(&17_170_000));
    }
}
