//! The times of samples: their own, or, where they have none, from their order.

use kadenz_record::samples::Sample;

use super::Point;

/// Number of samples of one time after which they are taken to have none: more than the number of devices that answer
/// one beat.
const UNDECIDED: usize = 8192;

/// Assumed duration of a sample without time and interval.
const UNKNOWN_NS: u64 = 1_000_000;

/// Makes points of samples. Some imports know only the order of theirs, and give all the same time; equal times of the
/// first few do not prove that, so they are held back.
#[derive(Debug)]
pub(crate) struct Timing {
    interval_ns: u64,
    /// Absent until it is known.
    timed: Option<bool>,
    undecided: Vec<Sample>,
}

impl Timing {
    pub(crate) fn new(interval_ns: Option<u64>) -> Self {
        Self {
            interval_ns: interval_ns.unwrap_or(UNKNOWN_NS),
            timed: None,
            undecided: Vec::new(),
        }
    }

    /// Takes the next samples.
    pub(crate) fn take(&mut self, samples: &[Sample], give: &mut impl FnMut(Point)) {
        if self.timed.is_none() {
            let first = self.undecided.first().or(samples.first());
            let differs = |it: &Sample| first.is_some_and(|one| one.intended_ns != it.intended_ns);
            if samples.iter().any(differs) {
                self.decide(true, give);
            } else if self.undecided.len() + samples.len() >= UNDECIDED {
                self.decide(false, give);
            } else {
                self.undecided.extend(samples);
                return;
            }
        }
        let timed = self.timed == Some(true);
        samples.iter().for_each(|it| give(self.point(it, timed)));
    }

    /// Returns the held points, and whether the samples have times; absent where there were none.
    pub(crate) fn finish(mut self, give: &mut impl FnMut(Point)) -> Option<bool> {
        if !self.undecided.is_empty() {
            // A single sample may well have been at the start of the run.
            self.decide(self.undecided.len() == 1, give);
        }
        self.timed
    }

    fn decide(&mut self, timed: bool, give: &mut impl FnMut(Point)) {
        self.timed = Some(timed);
        let held = std::mem::take(&mut self.undecided);
        held.iter().for_each(|it| give(self.point(it, timed)));
    }

    fn point(&self, sample: &Sample, timed: bool) -> Point {
        let at_ns = if timed {
            sample.intended_ns
        } else {
            let at_ns = sample.sequence.saturating_mul(self.interval_ns);
            i64::try_from(at_ns).unwrap_or(i64::MAX)
        };
        Point {
            at_ns,
            value_ns: sample.value_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes samples at these times, this many at once, and returns the points.
    fn times(intended: &[i64], at_once: usize) -> (Vec<i64>, Option<bool>) {
        let sample = |(index, &intended_ns): (usize, &i64)| Sample {
            sequence: index as u64,
            intended_ns,
            ..Sample::default()
        };
        let samples: Vec<Sample> = intended.iter().enumerate().map(sample).collect();
        let mut given = Vec::new();
        let mut give = |point: Point| given.push(point.at_ns);
        let mut timing = Timing::new(Some(10));
        for chunk in samples.chunks(at_once) {
            timing.take(chunk, &mut give);
        }
        let timed = timing.finish(&mut give);
        (given, timed)
    }

    #[test]
    fn a_first_batch_of_one_time_decides_nothing() {
        let intended = [7, 7, 7, 1007, 1007, 2007];
        for at_once in 1..=6 {
            assert_eq!(times(&intended, at_once), (intended.to_vec(), Some(true)));
        }
    }

    #[test]
    fn samples_of_one_time_are_one_interval_apart() {
        for at_once in [1, 2, 4] {
            assert_eq!(times(&[5; 4], at_once), (vec![0, 10, 20, 30], Some(false)));
        }
        let many = times(&[0; UNDECIDED + 3], 100);
        assert_eq!((many.0.len(), many.1), (UNDECIDED + 3, Some(false)));
        assert_eq!(many.0[UNDECIDED], 10 * UNDECIDED as i64);
    }

    #[test]
    fn a_single_sample_is_believed_and_none_says_nothing() {
        assert_eq!(times(&[5], 1), (vec![5], Some(true)));
        assert_eq!(times(&[], 1), (Vec::new(), None));
    }
}
