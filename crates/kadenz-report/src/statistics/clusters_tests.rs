use kadenz_record::histogram::SignedHistogram;
use proptest::prelude::*;

use super::super::distribution::distribution;
use super::*;

/// xorshift64* (Vigna 2016): enough for test signals, the same on every machine.
struct Xorshift(u64);

impl Xorshift {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Sum of twelve uniforms: mean 0, deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

fn clusters(values: impl IntoIterator<Item = f64>, interval_ns: u64) -> Vec<Cluster> {
    let mut histogram = SignedHistogram::new();
    values
        .into_iter()
        .for_each(|value| histogram.record(value as i64));
    early_clusters(&distribution(&histogram), Some(interval_ns))
}

/// Simulates Sticha's explanation of figure 4.2: a one-shot timer, late by about 110 us
/// each time, is set again a millisecond shorter once a whole millisecond has been lost.
fn ros_like_jitter(interval_ns: f64, noise: &mut Xorshift) -> Vec<f64> {
    let (mut intended, mut last) = (0.0, 0.0);
    let mut jitter = Vec::new();
    for _ in 0..50_000 {
        intended += interval_ns;
        let delay = 110_000.0 + 20_000.0 * noise.normal();
        let lost: f64 = last + interval_ns + delay - intended;
        let caught_up = if lost >= 1e6 { 1e6 } else { 0.0 };
        let actual = last + interval_ns - caught_up + delay;
        jitter.push(actual - last - interval_ns);
        last = actual;
    }
    jitter
}

#[test]
fn the_ros_timer_is_found_at_any_frequency() {
    for interval in [1_000_000, 10_000_000, 100_000_000] {
        let jitter = ros_like_jitter(interval as f64, &mut Xorshift(7));
        let found = clusters(jitter, interval);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!((found[0].share - 0.11).abs() < 0.02, "{found:?}");
        assert!((found[0].centre_ns + 890_000).abs() < 20_000, "{found:?}");
        assert!(
            found[0].low_ns > -1_000_000 && found[0].high_ns < -700_000,
            "{found:?}"
        );
    }
}

#[test]
fn two_clusters_are_separated() {
    let mut noise = Xorshift(3);
    let found = clusters(
        (0..20_000).map(|i| 10_000.0 * noise.normal() - [0.0, 400e3, 0.0, 900e3, 0.0][i % 5]),
        1_000_000,
    );
    let centres: Vec<i64> = found
        .iter()
        .map(|c| (c.centre_ns as f64 / 1e5).round() as i64)
        .collect();
    assert_eq!(centres, [-9, -4], "{found:?}");
}

#[test]
fn signals_of_two_values_are_seen() {
    let found = clusters(
        (0..1000).map(|i| if i % 8 == 0 { -950e3 } else { 135e3 }),
        1_000_000,
    );
    assert_eq!(found.len(), 1);
    assert!((found[0].share - 0.125).abs() < 1e-9);
}

#[test]
fn clean_signals_are_silent() {
    let mut noise = Xorshift(11);
    let mut quiet = |name: &str, sample: &mut dyn FnMut(&mut Xorshift, usize) -> f64| {
        let values: Vec<f64> = (0..50_000).map(|i| sample(&mut noise, i)).collect();
        assert_eq!(clusters(values, 1_000_000), [], "{name}");
    };
    quiet("normal", &mut |n, _| 30e3 * n.normal());
    quiet("wide normal", &mut |n, _| 300e3 * n.normal());
    quiet("uniform", &mut |n, _| 500e3 * (n.uniform() - 0.5));
    quiet("heavy tails", &mut |n, _| {
        5e3 * n.normal() / n.uniform().max(1e-3)
    });
    quiet("whole microseconds", &mut |n, _| {
        (8.0 * n.normal()).round() * 1e3
    });
    quiet("clock of 10 us", &mut |n, _| {
        (20.0 * n.normal()).round() * 1e4
    });
    quiet("two modes of lateness", &mut |n, i| {
        30e3 * f64::from((i % 3) as u32) - 30e3 + 2e3 * n.normal()
    });
    quiet("late cluster", &mut |n, i| {
        10e3 * n.normal() + if i % 9 == 0 { 900e3 } else { 0.0 }
    });
    quiet("a stall now and then", &mut |n, i| {
        10e3 * n.normal() + [3e6, -1e6, -1e6, -1e6].get(i % 2000).unwrap_or(&0.0)
    });
    quiet("constant", &mut |_, _| 0.0);
    quiet("constant and early", &mut |_, _| -500e3);
}

#[test]
fn a_handful_of_values_makes_no_cluster() {
    assert_eq!(
        clusters(
            (0..40).map(|i| if i % 8 == 0 { -950e3 } else { 135e3 }),
            1_000_000
        ),
        []
    );
}

proptest! {
    #[test]
    fn shares_stay_within_the_whole(
        values in prop::collection::vec(-2_000_000_i64..2_000_000, 0..2000),
    ) {
        let found = clusters(values.iter().map(|&value| value as f64), 1_000_000);
        prop_assert!(found.iter().map(|cluster| cluster.share).sum::<f64>() < 1.0);
        for cluster in found {
            prop_assert!(cluster.low_ns <= cluster.centre_ns);
            prop_assert!(cluster.centre_ns <= cluster.high_ns);
            prop_assert!(cluster.centre_ns < 0);
        }
    }
}
