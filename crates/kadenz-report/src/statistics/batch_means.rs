//! The error of a sum of correlated values: overlapping batch means.
//!
//! Latency comes in spells: a daemon wakes, a cache is cold, a minute is bad. A variance of values that are assumed
//! independent is then far too small. Here it is computed from the sums of all batches of consecutive values, wrapping
//! around the end, to which a circular block bootstrap converges. A batch is at least the square root of the number of
//! values long, and longer where the correlation between the values requires it. Batches of correlated values still
//! give too small a variance; where the sum of the covariances is larger, that is used.
//!
//! Sources: M. S. Meketon and B. Schmeiser, "Overlapping batch means: something for nothing?",
//! Winter Simulation Conference (1984), also for the degrees of freedom; D. N. Politis and
//! J. P. Romano, "A circular block-resampling procedure for stationary data" (1992); length of a
//! batch after D. N. Politis and H. White, "Automatic block-length selection for the dependent
//! bootstrap", Econometric Reviews 23 (2004), corrected by A. Patton, D. N. Politis and H. White,
//! Econometric Reviews 28 (2009).

/// With fewer values than this their correlation cannot be estimated.
pub(crate) const MIN_VALUES: usize = 8;
/// With fewer batches than this in a series, its values change too slowly to estimate a variance.
const MIN_BATCHES: f64 = 2.5;
/// Minimum length of a series, as a multiple of the time for which its values stay correlated.
const MIN_MEMORIES: usize = 6;

/// The error of a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// Standard deviation of the sum.
    pub(crate) deviation: f64,
    /// Degrees of freedom of that deviation.
    pub(crate) degrees: u32,
}

/// The spread of the sum of `deviations`: values less their mean, in order of time. Absent where
/// they are too few, or change too slowly.
pub(crate) fn spread(deviations: &[f64]) -> Option<Spread> {
    let number = deviations.len();
    if number < MIN_VALUES {
        return None;
    }
    let memory = Memory::new(deviations);
    let length = memory.batch_length(deviations.len());
    let batches = number as f64 / length as f64;
    if batches < MIN_BATCHES || memory.lags * MIN_MEMORIES > number {
        return None;
    }
    let at = |place: usize| deviations[place % number];
    let mut sum: f64 = deviations[..length].iter().sum();
    let mut squares = 0.0;
    for start in 0..number {
        squares += sum * sum;
        sum += at(start + length) - at(start);
    }
    let of_batches = squares / length as f64;
    let variance = of_batches.max(memory.variance * number as f64) / (1.0 - 1.0 / batches);
    Some(Spread {
        deviation: variance.sqrt(),
        degrees: ((1.5 * (batches - 1.0)) as u32).max(1),
    })
}

/// The correlation in a series.
struct Memory {
    /// The last lag at which its values are correlated beyond chance.
    lags: usize,
    /// Sum of its covariances at all lags: by how much each value adds to the variance of the sum.
    variance: f64,
    /// Sum of its covariances times their lags.
    slope: f64,
}

impl Memory {
    fn new(deviations: &[f64]) -> Self {
        let number = deviations.len() as f64;
        let insignificant = (number.log10().sqrt().ceil() as usize).max(5);
        let most = number.sqrt().ceil() as usize + insignificant;
        let most = most.max(deviations.len() / 4).min(deviations.len() - 1);
        let covariance = |lag: usize| {
            let pairs = deviations.iter().zip(&deviations[lag..]);
            pairs.map(|(early, late)| early * late).sum::<f64>() / number
        };
        let covariances: Vec<f64> = (0..=most).map(covariance).collect();
        let band = 2.0 * (number.log10() / number).sqrt() * covariances[0];
        let dies = |lag: usize| {
            let mut after = covariances.iter().skip(lag + 1).take(insignificant);
            after.all(|covariance| covariance.abs() <= band)
        };
        let lags = (0..most).find(|&lag| dies(lag)).unwrap_or(most);
        let window = (2 * lags).min(most);
        let mut memory = Self {
            lags,
            variance: covariances[0],
            slope: 0.0,
        };
        for (lag, covariance) in covariances.iter().enumerate().take(window + 1).skip(1) {
            let weight = (2.0 * (1.0 - lag as f64 / window as f64)).min(1.0);
            memory.slope += 2.0 * weight * lag as f64 * covariance;
            memory.variance += 2.0 * weight * covariance;
        }
        memory
    }

    /// Consecutive values that make a batch: the number that minimises the error of the variance, but no less than the
    /// square root of their number, because a short series hides its correlations.
    fn batch_length(&self, number: usize) -> usize {
        let least = (number as f64).sqrt().ceil();
        if self.variance <= 0.0 {
            return least as usize;
        }
        let optimal = (1.5 * (self.slope / self.variance).powi(2) * number as f64).cbrt();
        optimal.clamp(least, number as f64).ceil() as usize
    }
}
