//! The shape of a mode's occurrence: many of them overlaid.

use super::{Mode, Point};

/// Bins across the picture, at most.
const MAX_BINS: usize = 60;

/// Values that are kept per bin: with more, occurrences in between are left out.
const MAX_VALUES: usize = 1024;

/// An occurrence is shown as if it lasted this many samples at least, so that it is visible.
const MIN: f64 = 4.0;

/// Values around the occurrences of a mode: from one length of an occurrence before its start to one
/// after its end, or one period.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    /// Median and 90th percentile of each bin, in nanoseconds; bins are equally wide.
    pub(crate) bins: Vec<(i64, i64)>,
    /// How long all bins are, in seconds.
    pub(crate) span_s: f64,
}

/// Overlays occurrences as the samples stream by.
#[derive(Debug)]
pub(crate) struct Shaper {
    /// Starts of the pictures, ascending: each occurrence has its own, because a mode may stray.
    froms_s: Vec<f64>,
    span_s: f64,
    /// Half an interval keeps rounding from moving a sample into the bin before.
    half_s: f64,
    bins: Vec<Vec<i64>>,
}

impl Shaper {
    /// Makes a shaper from the starts of occurrences; absent where the picture would have a single bin.
    pub(crate) fn new(mode: &Mode, starts_s: &[f64]) -> Option<Self> {
        // Not every series has an interval, but every mode has a duration and a number of samples.
        let interval_s = mode.duration_s / mode.samples.max(1) as f64;
        let length_s = mode.duration_s.max(MIN * interval_s);
        let span_s = (3.0 * length_s).min(mode.period_s);
        let samples = span_s / interval_s;
        if !samples.is_finite() || samples < 2.0 {
            return None;
        }
        let count = (samples.round() as usize).min(MAX_BINS);
        let values = starts_s.len() as f64 * samples / count as f64;
        let stride = (values / MAX_VALUES as f64).ceil().max(1.0) as usize;
        let before_s = length_s.min(span_s / 3.0);
        let starts = starts_s.iter().step_by(stride);
        Some(Self {
            froms_s: starts.map(|start_s| start_s - before_s).collect(),
            span_s,
            half_s: interval_s / 2.0,
            bins: vec![Vec::new(); count],
        })
    }

    pub(crate) fn take(&mut self, point: Point) {
        let at_s = point.at_ns as f64 / 1e9 + self.half_s;
        let begun = self.froms_s.partition_point(|from_s| *from_s <= at_s);
        let Some(from_s) = begun.checked_sub(1).map(|it| self.froms_s[it]) else {
            return;
        };
        let place = ((at_s - from_s) / self.span_s * self.bins.len() as f64) as usize;
        if let Some(bin) = self.bins.get_mut(place).filter(|it| it.len() < MAX_VALUES) {
            bin.push(point.value_ns);
        }
    }

    /// The shape; absent if a bin got no value.
    pub(crate) fn finish(self) -> Option<Shape> {
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
    use crate::testing::mode_of;

    fn ramp(stray_s: f64) -> Mode {
        Mode {
            stray_s,
            first_s: 1.23,
            occurrences: 20,
            expected: 20,
            ..mode_of(ModeKind::Ramp, 5.0, 10)
        }
    }

    /// 100 Hz with a ramp of ten samples from 100 ns to 1 us at each of these places.
    fn drawn(mode: &Mode, starts: &[i64]) -> Option<Shape> {
        let starts_s: Vec<f64> = starts.iter().map(|it| *it as f64 / 100.0).collect();
        let mut shaper = Shaper::new(mode, &starts_s)?;
        for index in 0..10_000_i64 {
            let place = starts.iter().map(|start| index - start + 1);
            let place = place.filter(|it| (1..=10).contains(it)).max();
            shaper.take(Point {
                at_ns: index * 10_000_000,
                value_ns: 100 * place.unwrap_or(0),
            });
        }
        shaper.finish()
    }

    fn expected() -> Vec<(i64, i64)> {
        let mut expected = vec![(0, 0); 30];
        (0..10).for_each(|place| {
            let value = 100 * (place as i64 + 1);
            expected[10 + place] = (value, value);
        });
        expected
    }

    #[test]
    fn a_ramp_keeps_its_shape() {
        let starts: Vec<i64> = (0..20).map(|index| 123 + 500 * index).collect();
        let shape = drawn(&ramp(0.0), &starts).unwrap();
        assert_eq!(shape.bins, expected());
        assert!((shape.span_s - 0.3).abs() < 1e-9);
    }

    #[test]
    fn a_ramp_that_strays_keeps_its_shape_too() {
        // Each comes up to 20 samples, twice its length, beside its place; deviations add up.
        let mut start = 123;
        let starts = (0..19).map(|index| {
            start += 500 + (index * 7919) % 41 - 20;
            start
        });
        let shape = drawn(&ramp(0.2), &starts.collect::<Vec<_>>()).unwrap();
        assert_eq!(shape.bins, expected());
    }

    #[test]
    fn what_never_came_has_no_shape() {
        assert_eq!(drawn(&ramp(0.0), &[]), None);
        assert_eq!(drawn(&ramp(0.0), &[20_000]), None);
    }
}
