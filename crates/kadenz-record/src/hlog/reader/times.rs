//! Computing times from timestamps.

/// Timestamps this far below the start time are relative to it.
const A_YEAR_S: f64 = 365.0 * 24.0 * 3600.0;

/// The times that a log has stated so far, and those that follow from them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    /// The first stated start time.
    stated: Option<f64>,
    /// The origin of relative times: the first start time, stated or deduced.
    first: Option<f64>,
    /// The latest start time.
    start: Option<f64>,
    base: Base,
}

#[derive(Clone, Copy, Debug, Default)]
enum Base {
    #[default]
    Unknown,
    Stated(f64),
    Deduced(f64),
}

impl Times {
    /// Enters a start time of the log.
    pub(super) fn start(&mut self, seconds: f64) {
        self.stated.get_or_insert(seconds);
        self.first.get_or_insert(seconds);
        self.start = Some(seconds);
        if let Base::Deduced(_) = self.base {
            self.base = Base::Unknown;
        }
    }

    /// Enters a base time of the log.
    pub(super) fn base(&mut self, seconds: f64) {
        self.base = Base::Stated(seconds);
    }

    pub(super) fn stated_start(&self) -> Option<f64> {
        self.stated
    }

    /// The absolute time of a timestamp, and the time since the log's start.
    pub(super) fn place(&mut self, timestamp: f64) -> (f64, f64) {
        let base = match (self.base, self.start) {
            (Base::Stated(base) | Base::Deduced(base), _) => base,
            (Base::Unknown, Some(start)) if timestamp < start - A_YEAR_S => start,
            (Base::Unknown, _) => 0.0,
        };
        if let Base::Unknown = self.base {
            self.base = Base::Deduced(base);
        }
        let absolute = timestamp + base;
        self.start.get_or_insert(absolute);
        let first = *self.first.get_or_insert(absolute);
        // In this order a relative timestamp keeps all its digits.
        (absolute, timestamp + (base - first))
    }
}

#[cfg(test)]
mod tests {
    use super::Times;

    const START: f64 = 1_441_812_279.5;

    #[test]
    fn relative_timestamps_count_from_the_start_time() {
        let mut times = Times::default();
        times.start(START);
        assert_eq!(times.place(0.25), (START + 0.25, 0.25));
    }

    #[test]
    fn timestamps_within_a_year_of_the_start_time_are_absolute() {
        let mut times = Times::default();
        times.start(START);
        assert_eq!(times.place(START + 2.0), (START + 2.0, 2.0));
        let mut times = Times::default();
        times.start(START);
        let earlier = START - 364.0 * 24.0 * 3600.0;
        assert_eq!(times.place(earlier), (earlier, earlier - START));
    }

    #[test]
    fn the_first_timestamp_decides_for_those_that_follow() {
        let mut times = Times::default();
        times.start(40_000_000.0);
        assert_eq!(times.place(1.0), (40_000_001.0, 1.0));
        assert_eq!(times.place(39_000_000.0), (79_000_000.0, 39_000_000.0));
    }

    #[test]
    fn a_base_time_is_added() {
        let mut times = Times::default();
        times.start(START);
        times.base(START - 156.0);
        assert_eq!(times.place(1.0), (START - 155.0, -155.0));
        let mut times = Times::default();
        times.base(1000.0);
        assert_eq!(times.place(1.0), (1001.0, 0.0));
    }

    #[test]
    fn without_a_start_time_the_first_timestamp_is_it() {
        let mut times = Times::default();
        assert_eq!(times.place(17.0), (17.0, 0.0));
        assert_eq!(times.place(18.5), (18.5, 1.5));
        assert_eq!(times.stated_start(), None);
    }

    #[test]
    fn a_second_header_gives_its_part_its_own_start() {
        let mut times = Times::default();
        times.start(START);
        times.place(0.0);
        times.start(START + 100.0);
        assert_eq!(times.place(1.0), (START + 101.0, 101.0));
        assert_eq!(times.stated_start(), Some(START));
    }
}
