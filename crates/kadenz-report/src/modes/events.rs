//! Runs of samples above the level, kept by collectors of their heights.
//!
//! The height of a mode above the noise is unknown in advance. So every octave of heights has a collector of its own: a
//! low one is soon full of noise and then holds only the head of the record, a high one holds few events of the whole
//! record. Together they stay within some megabytes.

use super::Point;
use super::baseline::{BLOCK, Levelled, seconds};

/// The lowest level: 2^6 ns, below the resolution of most recording clocks.
const LOWEST: u32 = 6;

/// The highest level: 2^40 ns, 18 minutes.
const HIGHEST: u32 = 40;

/// Events that a collector holds. 24 h of a mode every five seconds are 17,280.
const CAPACITY: usize = 1 << 15;

/// An event of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Event {
    /// First sample, in seconds since the start of the run.
    pub(super) at_s: f64,
    /// The highest sample of a run, the start of a phase: the time from which periods are counted.
    pub(super) mark_s: f64,
    /// Last sample and one interval.
    pub(super) end_s: f64,
    pub(super) height_ns: f64,
    pub(super) samples: u32,
    /// Rise per sample of a ramp; 0 of other events.
    pub(super) slope_ns: f64,
}

/// The content of a collector.
#[derive(Clone, Debug)]
pub(super) struct EventCollection {
    /// Events in order of time.
    pub(super) events: Vec<Event>,
    /// How long it took events, in seconds: until the end of the record, or until it was full.
    pub(super) watched_s: f64,
    /// Minimum height of a sample above the level.
    pub(super) level_ns: f64,
}

/// Collectors an octave apart.
#[derive(Debug)]
pub(super) struct Collectors {
    interval_ns: i64,
    steps: Vec<Collector>,
    /// Collectors below are full.
    lowest: usize,
    /// Time in which there were samples.
    watched_ns: i64,
    last_ns: Option<i64>,
}

#[derive(Debug)]
struct Collector {
    level_ns: i64,
    open: Option<Run>,
    collected: EventCollection,
}

/// A run of samples above a level that may go on.
#[derive(Clone, Copy, Debug)]
struct Run {
    at_ns: i64,
    peak_at_ns: i64,
    last_ns: i64,
    peak: i64,
    samples: u32,
    fit: Fit,
    fit_to_peak: Fit,
}

impl Collectors {
    pub(super) fn new(interval_ns: i64) -> Self {
        let collector = |power: u32| Collector {
            level_ns: 1 << power,
            open: None,
            collected: EventCollection {
                events: Vec::new(),
                watched_s: f64::INFINITY,
                level_ns: 2_f64.powi(power as i32),
            },
        };
        Self {
            interval_ns,
            steps: (LOWEST..=HIGHEST).map(collector).collect(),
            lowest: 0,
            watched_ns: 0,
            last_ns: None,
        }
    }

    /// Takes the samples of a block.
    pub(super) fn take(&mut self, block: &Levelled) {
        self.watch(block);
        let highest = block.points.iter().map(|point| point.value_ns).max();
        let top = highest.map_or(0, |value| value.saturating_sub(block.level));
        for step in &mut self.steps[self.lowest..] {
            if step.level_ns <= top || step.open.is_some() {
                step.take(block, self.interval_ns);
                if step.is_full() && step.collected.watched_s.is_infinite() {
                    step.collected.watched_s = seconds(self.watched_ns);
                }
            }
        }
        while self.steps.get(self.lowest).is_some_and(Collector::is_full) {
            self.lowest += 1;
        }
    }

    /// How long there were samples, in seconds.
    pub(super) fn watched_s(&self) -> f64 {
        seconds(self.watched_ns)
    }

    /// A stretch without samples is not counted as searched time.
    fn watch(&mut self, block: &Levelled) {
        let (Some(first), Some(last)) = (block.points.first(), block.points.last()) else {
            return;
        };
        let longest = self.interval_ns.saturating_mul(BLOCK as i64);
        let begun = first.at_ns.saturating_sub(self.interval_ns);
        let before = self
            .last_ns
            .filter(|before| first.at_ns.saturating_sub(*before) <= longest);
        let watched = last.at_ns.saturating_sub(before.unwrap_or(begun));
        self.watched_ns = self.watched_ns.saturating_add(watched);
        self.last_ns = Some(last.at_ns);
    }

    /// The collected events, from the lowest level to the highest.
    pub(super) fn finish(self) -> Vec<EventCollection> {
        let (interval_ns, watched_s) = (self.interval_ns, self.watched_s());
        let close = |mut step: Collector| {
            step.close(interval_ns);
            step.collected.watched_s = step.collected.watched_s.min(watched_s);
            step.collected
        };
        self.steps.into_iter().map(close).collect()
    }
}

impl Collector {
    fn is_full(&self) -> bool {
        self.collected.events.len() >= CAPACITY
    }

    fn take(&mut self, block: &Levelled, interval_ns: i64) {
        for &point in &block.points {
            let height = point.value_ns.saturating_sub(block.level);
            if height < self.level_ns {
                self.close(interval_ns);
                continue;
            }
            let torn = self.open.as_ref().is_some_and(|run| {
                let apart = point.at_ns.saturating_sub(run.last_ns);
                apart > interval_ns.saturating_mul(BLOCK as i64)
            });
            if torn {
                self.close(interval_ns);
            }
            if self.is_full() {
                return;
            }
            match &mut self.open {
                Some(run) => run.take(point, height),
                None => self.open = Some(Run::new(point, height)),
            }
        }
    }

    fn close(&mut self, interval_ns: i64) {
        let Some(run) = self.open.take() else {
            return;
        };
        if self.is_full() {
            return;
        }
        self.collected.events.push(run.event(interval_ns));
    }
}

impl Run {
    fn new(point: Point, height: i64) -> Self {
        let mut fit = Fit::default();
        fit.take(height as f64);
        Self {
            at_ns: point.at_ns,
            peak_at_ns: point.at_ns,
            last_ns: point.at_ns,
            peak: height,
            samples: 1,
            fit,
            fit_to_peak: fit,
        }
    }

    fn take(&mut self, point: Point, height: i64) {
        self.samples = self.samples.saturating_add(1);
        self.last_ns = point.at_ns;
        self.fit.take(height as f64);
        // Samples after the peak are the fall, or noise: no part of a ramp.
        if height > self.peak {
            self.peak = height;
            self.peak_at_ns = point.at_ns;
            self.fit_to_peak = self.fit;
        }
    }

    fn event(&self, interval_ns: i64) -> Event {
        Event {
            at_s: seconds(self.at_ns),
            mark_s: seconds(self.peak_at_ns),
            end_s: seconds(self.last_ns.saturating_add(interval_ns)),
            height_ns: self.peak as f64,
            samples: self.samples,
            slope_ns: self.fit_to_peak.slope().unwrap_or(0.0),
        }
    }
}

impl Event {
    /// Number of samples: a ramp counts from the point at which its line leaves the level, because the first of them
    /// may be hidden in the noise.
    pub(super) fn length(&self) -> f64 {
        if self.slope_ns > 0.0 {
            (self.height_ns / self.slope_ns).max(1.0)
        } else {
            f64::from(self.samples)
        }
    }
}

/// Fewest samples that make a ramp: fewer rise by chance too often.
const MIN: u32 = 4;

/// Least share of steps that rise.
const RISES: f64 = 0.7;

/// Least correlation of height and place.
const CORRELATION: f64 = 0.9;

/// A line through the heights of a run, taken one by one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fit {
    samples: u32,
    rises: u32,
    last: f64,
    sum_h: f64,
    sum_hh: f64,
    sum_ih: f64,
}

impl Fit {
    pub(super) fn take(&mut self, height: f64) {
        let place = f64::from(self.samples);
        self.rises += u32::from(self.samples > 0 && height > self.last);
        self.samples += 1;
        self.last = height;
        self.sum_h += height;
        self.sum_hh += height * height;
        self.sum_ih += place * height;
    }

    /// Rise per sample; absent if the run is not a ramp.
    pub(super) fn slope(&self) -> Option<f64> {
        if self.samples < MIN || f64::from(self.rises) < RISES * f64::from(self.samples - 1) {
            return None;
        }
        let n = f64::from(self.samples);
        // Sums of 0..n and of their squares.
        let (sum_i, sum_ii) = (n * (n - 1.0) / 2.0, n * (n - 1.0) * (2.0 * n - 1.0) / 6.0);
        let across = n * self.sum_ih - sum_i * self.sum_h;
        let (places, heights) = (
            n * sum_ii - sum_i * sum_i,
            n * self.sum_hh - self.sum_h * self.sum_h,
        );
        let correlation = across / (places * heights).sqrt();
        (correlation >= CORRELATION).then_some(across / places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(values: &[i64]) -> Vec<EventCollection> {
        let mut collectors = Collectors::new(1_000_000);
        let point = |(index, &value_ns): (usize, &i64)| Point {
            at_ns: index as i64 * 1_000_000,
            value_ns,
        };
        let points: Vec<Point> = values.iter().enumerate().map(point).collect();
        for block in points.chunks(BLOCK) {
            collectors.take(&Levelled {
                points: block.to_vec(),
                level: 0,
            });
        }
        collectors.finish()
    }

    #[test]
    fn a_run_is_one_event_at_every_level_it_reaches() {
        let steps = collected(&[0, 100, 300, 200, 0, 70]);
        let counts: Vec<usize> = steps.iter().map(|step| step.events.len()).collect();
        assert_eq!(counts[..4], [2, 1, 1, 0]);
        let first = steps[0].events[0];
        assert_eq!(
            (first.at_s, first.mark_s, first.end_s),
            (0.001, 0.002, 0.004)
        );
        assert_eq!((first.height_ns, first.samples), (300.0, 3));
        assert_eq!(steps[2].events[0].samples, 1);
    }

    #[test]
    fn a_ramp_is_as_long_as_its_line_though_its_start_is_hidden() {
        let values: Vec<i64> = (1..=10).map(|i| 15_000 * i).chain([0]).collect();
        let steps = collected(&values);
        // 2^15 ns hides the first two samples.
        let event = steps[15 - 6].events[0];
        assert_eq!(event.samples, 8);
        assert!((event.length() - 10.0).abs() < 1e-9, "{event:?}");
    }

    #[test]
    fn a_full_collector_says_how_long_it_took_events() {
        let values: Vec<i64> = (0..4 * CAPACITY as i64).map(|i| 70 * (i % 2)).collect();
        let steps = collected(&values);
        assert_eq!(steps[0].events.len(), CAPACITY);
        assert!(steps[0].watched_s < 2.01 * CAPACITY as f64 * 1e-3);
        assert!(
            steps[1].events.is_empty()
                && (steps[1].watched_s - 4.0 * CAPACITY as f64 * 1e-3).abs() < 1e-9
        );
    }

    fn slope(heights: &[f64]) -> Option<f64> {
        let mut fit = Fit::default();
        heights.iter().for_each(|&height| fit.take(height));
        fit.slope()
    }

    #[test]
    fn a_line_is_a_ramp_and_a_plateau_is_none() {
        let line: Vec<f64> = (1..=10).map(|i| 15.0 * f64::from(i)).collect();
        assert!((slope(&line).unwrap() - 15.0).abs() < 1e-9);
        assert_eq!(slope(&[4.0; 10]), None);
        assert_eq!(slope(&[1.0, 90.0, 91.0, 92.0, 91.5, 91.0, 92.0]), None);
        assert_eq!(slope(&[1.0, 2.0, 3.0]), None);
        assert_eq!(slope(&[9.0, 7.0, 5.0, 3.0, 1.0]), None);
    }
}
