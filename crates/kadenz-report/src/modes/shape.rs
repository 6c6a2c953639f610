//! What an occurrence of a mode looks like: many of them laid over each other.

use super::{Mode, Point};

/// Bins across the picture, at most.
const MOST_BINS: usize = 60;

/// Values that are kept of a bin: of more, the occurrences in between are left out.
const MOST_VALUES: usize = 1024;

/// An occurrence is shown as if it lasted so many samples at least, to be seen among others.
const SHORTEST: f64 = 4.0;

/// Values around the occurrences of a mode: from one length of an occurrence before its start to one
/// after its end, or one period.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    /// Median and 90th percentile of each bin, in nanoseconds; bins are equally wide.
    pub(crate) bins: Vec<(i64, i64)>,
    /// How long all bins are, in seconds.
    pub(crate) span_s: f64,
}

/// Lays occurrences over each other as the samples stream by.
#[derive(Debug)]
pub(super) struct Shaper {
    /// Start of the first picture.
    from_s: f64,
    period_s: f64,
    span_s: f64,
    /// Half an interval keeps rounding from moving a sample into the bin before.
    half_s: f64,
    /// Every how manieth occurrence is taken.
    stride: u64,
    bins: Vec<Vec<i64>>,
}

impl Shaper {
    /// Begins; absent for a mode that strays by more than the picture shows.
    pub(super) fn new(mode: &Mode) -> Option<Self> {
        // Not every series says its interval, but every mode how many of them it lasts.
        let interval_s = mode.duration_s / mode.samples.max(1) as f64;
        let length_s = mode.duration_s.max(SHORTEST * interval_s);
        let span_s = (3.0 * length_s).min(mode.period_s);
        let samples = span_s / interval_s;
        if mode.stray_s > length_s || !samples.is_finite() || samples < 2.0 {
            return None;
        }
        let count = (samples.round() as usize).min(MOST_BINS);
        let values = mode.occurrences as f64 * samples / count as f64;
        Some(Self {
            from_s: mode.first_s - length_s.min(span_s / 3.0),
            period_s: mode.period_s,
            span_s,
            half_s: interval_s / 2.0,
            stride: (values / MOST_VALUES as f64).ceil().max(1.0) as u64,
            bins: vec![Vec::new(); count],
        })
    }

    pub(super) fn take(&mut self, point: Point) {
        let since_s = point.at_ns as f64 / 1e9 + self.half_s - self.from_s;
        if since_s < 0.0 {
            return;
        }
        let occurrence = (since_s / self.period_s).floor();
        let within = (since_s - occurrence * self.period_s) / self.span_s;
        let place = (within * self.bins.len() as f64) as usize;
        if !(occurrence as u64).is_multiple_of(self.stride) {
            return;
        }
        if let Some(bin) = self.bins.get_mut(place).filter(|it| it.len() < MOST_VALUES) {
            bin.push(point.value_ns);
        }
    }

    /// The shape; absent if a bin got no value.
    pub(super) fn finish(self) -> Option<Shape> {
        let quantiles = |mut values: Vec<i64>| {
            values.sort_unstable();
            let at = |share: usize| values.get(values.len() * share / 10).copied();
            Some((at(5)?, at(9)?))
        };
        let bins = self.bins.into_iter().map(quantiles);
        Some(Shape {
            bins: bins.collect::<Option<_>>()?,
            span_s: self.span_s,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::ModeKind;

    fn ramp(stray_s: f64) -> Mode {
        Mode {
            kind: ModeKind::Ramp,
            period_s: 5.0,
            stray_s,
            duration_s: 0.1,
            samples: 10,
            height_ns: 1_000,
            peak_ns: 1_000,
            first_s: 1.23,
            occurrences: 20,
            expected: 20,
            confidence: 1.0,
        }
    }

    #[test]
    fn a_ramp_keeps_its_shape() {
        let mut shaper = Shaper::new(&ramp(0.0)).unwrap();
        for index in 0..10_000_i64 {
            let place = index % 500 - 122;
            let value_ns = if (1..=10).contains(&place) {
                100 * place
            } else {
                0
            };
            shaper.take(Point {
                at_ns: index * 10_000_000,
                value_ns,
            });
        }
        let shape = shaper.finish().unwrap();
        let medians: Vec<i64> = shape.bins.iter().map(|it| it.0).collect();
        let mut expected = vec![0; 30];
        (0..10).for_each(|place| expected[10 + place] = 100 * (place as i64 + 1));
        assert_eq!(medians, expected);
        assert!((shape.span_s - 0.3).abs() < 1e-9);
    }

    #[test]
    fn what_strays_beyond_the_picture_has_no_shape() {
        assert!(Shaper::new(&ramp(0.2)).is_none());
        assert_eq!(Shaper::new(&ramp(0.0)).unwrap().finish(), None);
    }
}
