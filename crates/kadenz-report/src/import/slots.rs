//! Groups samples into intervals: a slot of time is closed when the first sample after it comes.

use kadenz_record::histogram::SignedHistogram;

use super::StoreError;

const SECOND_NS: i64 = 1_000_000_000;
/// Maximum number of slots of one length (55 h of seconds); then slots become twice as long, so that a log of years
/// stays readable.
const SLOTS_OF_A_LENGTH: u64 = 200_000;

/// The destination of closed slots: start and length in seconds, and the recorded values.
pub(super) type Append<'a> = dyn FnMut(f64, f64, &SignedHistogram) -> Result<(), StoreError> + 'a;

/// The slot that is being filled.
pub(super) struct Slots {
    start_ns: i64,
    length_ns: i64,
    histogram: SignedHistogram,
    closed: u64,
    strays: u64,
}

impl Slots {
    pub(super) fn new() -> Self {
        Self {
            start_ns: 0,
            length_ns: SECOND_NS,
            histogram: SignedHistogram::new(),
            closed: 0,
            strays: 0,
        }
    }

    /// Records a value at a time since the start of the run. Empty slots are left out; a value from
    /// before the open slot goes into it, and is counted as a stray.
    pub(super) fn record(
        &mut self,
        time_ns: i64,
        value_ns: i64,
        append: &mut Append<'_>,
    ) -> Result<(), StoreError> {
        let since_start = time_ns.saturating_sub(self.start_ns);
        let outside = !(0..self.length_ns).contains(&since_start);
        if outside && (since_start > 0 || (self.closed == 0 && self.histogram.is_empty())) {
            self.flush(append)?;
            self.start_ns = time_ns
                .div_euclid(self.length_ns)
                .saturating_mul(self.length_ns);
        } else if outside {
            self.strays += 1;
        }
        self.histogram.record(value_ns);
        Ok(())
    }

    /// Closes the open slot.
    pub(super) fn flush(&mut self, append: &mut Append<'_>) -> Result<(), StoreError> {
        if self.histogram.is_empty() {
            return Ok(());
        }
        let seconds = |ns: i64| ns as f64 / SECOND_NS as f64;
        append(
            seconds(self.start_ns),
            seconds(self.length_ns),
            &self.histogram,
        )?;
        self.histogram.reset();
        self.closed += 1;
        if self.closed.is_multiple_of(SLOTS_OF_A_LENGTH) {
            self.length_ns = self.length_ns.saturating_mul(2);
        }
        Ok(())
    }

    /// How many values came after values of a later slot.
    pub(super) fn strays(&self) -> u64 {
        self.strays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots_of(times: &[i64]) -> (Vec<(f64, f64, u64)>, u64) {
        let mut closed = Vec::new();
        let mut append = |start: f64, length: f64, histogram: &SignedHistogram| {
            closed.push((start, length, histogram.count()));
            Ok(())
        };
        let mut slots = Slots::new();
        for &time in times {
            slots.record(time, 1000, &mut append).unwrap();
        }
        slots.flush(&mut append).unwrap();
        let strays = slots.strays();
        (closed, strays)
    }

    #[test]
    fn a_slot_holds_a_second_and_empty_ones_are_left_out() {
        let (closed, strays) = slots_of(&[0, 999_999_999, 1_000_000_000, 7_500_000_000]);
        assert_eq!(closed, [(0.0, 1.0, 2), (1.0, 1.0, 1), (7.0, 1.0, 1)]);
        assert_eq!(strays, 0);
    }

    #[test]
    fn a_value_from_before_goes_into_the_open_slot() {
        let (closed, strays) = slots_of(&[3_000_000_000, 100, 3_100_000_000]);
        assert_eq!((closed, strays), (vec![(3.0, 1.0, 3)], 1));
    }

    #[test]
    fn no_time_is_too_far() {
        let (closed, _) = slots_of(&[i64::MIN, 0, i64::MAX]);
        assert_eq!(closed.len(), 3);
    }

    #[test]
    fn long_logs_get_longer_slots() {
        let times: Vec<i64> = (0..200_010).map(|second| second * SECOND_NS).collect();
        let (closed, _) = slots_of(&times);
        assert_eq!(closed.len(), 200_005);
        assert_eq!(closed.last(), Some(&(200_008.0, 2.0, 2)));
    }
}
