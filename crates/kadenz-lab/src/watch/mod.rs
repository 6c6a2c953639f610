//! How long the threads of a running program wait for a CPU, watched from outside.
//!
//! The kernel counts for every thread how long it ran, how long it was ready to run and waited, and how many time
//! slices it had (`/proc/<pid>/task/<tid>/schedstat`; sched-stats of the kernel's documentation). Read repeatedly, the
//! differences give how long a thread waited in a window of, say, 10 ms, and how many slices it had in it:
//!
//! * `scheduling-delay`: waiting a slice, the mean over one window of one thread. A window with one
//!   slice gives the delay of that one; with more, one long wait hides among short ones.
//! * `waiting`: all the waiting of that window: no wait in it was longer.
//!
//! A wait is counted when it ends, so a wait longer than a window counts, in full, in the window in which the thread
//! ran at last. Not visible: how late a timer was that woke the thread (that is `kadenz hiccup`), threads that began
//! and ended within one window, the last window of a thread, and the program's child processes.

mod observer;

use std::collections::BTreeMap;

pub use observer::{WatchError, WatchPlan, WatchSetup, Watching, prepare};

/// Counts of the kernel for one thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedstat {
    /// Time on a CPU, in nanoseconds.
    pub ran_ns: u64,
    /// Time ready to run and waiting for a CPU, in nanoseconds; a wait counts when it ends.
    pub waited_ns: u64,
    /// How often it got a CPU.
    pub slices: u64,
}

impl Schedstat {
    /// Reads a line of `/proc/<pid>/schedstat`: three numbers.
    ///
    /// ```
    /// use kadenz_lab::watch::Schedstat;
    /// let stat = Schedstat::parse("111035 77252 2\n").expect("three numbers");
    /// assert_eq!((stat.ran_ns, stat.waited_ns, stat.slices), (111_035, 77_252, 2));
    /// assert_eq!(Schedstat::parse("1 2"), None);
    /// ```
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let mut numbers = line.split_ascii_whitespace().map(|word| word.parse().ok());
        let stat = Self {
            ran_ns: numbers.next()??,
            waited_ns: numbers.next()??,
            slices: numbers.next()??,
        };
        numbers.next().is_none().then_some(stat)
    }

    /// Whether these counters can be later ones of the same thread.
    fn follows(self, earlier: Self) -> bool {
        self.ran_ns >= earlier.ran_ns
            && self.waited_ns >= earlier.waited_ns
            && self.slices >= earlier.slices
    }
}

/// One window of one thread in which it got a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The thread's number.
    pub thread: u32,
    /// How long it waited in all; no single wait was longer.
    pub waited_ns: i64,
    /// How often it got a CPU; at least once.
    pub slices: u64,
}

impl Window {
    /// The mean wait per slice; with one slice the wait itself.
    #[must_use]
    pub fn mean_ns(&self) -> i64 {
        let slices = i64::try_from(self.slices).unwrap_or(i64::MAX).max(1);
        self.waited_ns / slices
    }
}

/// Turns readings of all threads of a program into windows. Sans-IO.
///
/// ```
/// use kadenz_lab::watch::{Schedstat, WatchMeter};
/// let stat = |waited_ns, slices| Schedstat { ran_ns: 0, waited_ns, slices };
/// let mut meter = WatchMeter::new(&[(7, stat(100, 1))]);
/// let windows = meter.read(&[(7, stat(400, 4))]);
/// assert_eq!(windows[0].waited_ns, 300);
/// assert_eq!(windows[0].mean_ns(), 100);
/// ```
#[derive(Clone, Debug, Default)]
pub struct WatchMeter {
    /// The counters of each thread up to the end of its last window.
    known: BTreeMap<u32, Schedstat>,
}

impl WatchMeter {
    /// A meter for a program whose threads have the counters of `first`. Later threads are counted from their
    /// beginning.
    #[must_use]
    pub fn new(first: &[(u32, Schedstat)]) -> Self {
        Self {
            known: first.iter().copied().collect(),
        }
    }

    /// Takes the next reading of all threads. A thread that got no CPU since its last window gives none now; its wait
    /// is kept for its next one.
    pub fn read(&mut self, now: &[(u32, Schedstat)]) -> Vec<Window> {
        let mut known = BTreeMap::new();
        let mut windows = Vec::new();
        for &(thread, stat) in now {
            let earlier = self.known.get(&thread).copied().unwrap_or_default();
            // The system reuses numbers of threads, and a new thread counts from zero.
            let earlier = Some(earlier).filter(|earlier| stat.follows(*earlier));
            let earlier = earlier.unwrap_or_default();
            let slices = stat.slices - earlier.slices;
            if slices == 0 {
                known.insert(thread, earlier);
                continue;
            }
            let waited_ns = stat.waited_ns - earlier.waited_ns;
            windows.push(Window {
                thread,
                waited_ns: i64::try_from(waited_ns).unwrap_or(i64::MAX),
                slices,
            });
            known.insert(thread, stat);
        }
        self.known = known;
        windows
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stat(waited_ns: u64, slices: u64) -> Schedstat {
        Schedstat {
            ran_ns: slices * 1000,
            waited_ns,
            slices,
        }
    }

    #[test]
    fn a_long_wait_stands_in_full_where_it_ended() {
        let mut meter = WatchMeter::new(&[(1, stat(0, 1))]);
        // Three windows pass without a CPU; then the wait is counted.
        for _ in 0..3 {
            assert!(meter.read(&[(1, stat(0, 1))]).is_empty());
        }
        let windows = meter.read(&[(1, stat(35_000_000, 2))]);
        assert_eq!(windows[0].waited_ns, 35_000_000);
        assert_eq!(windows[0].mean_ns(), 35_000_000);
    }

    #[test]
    fn waiting_without_a_slice_is_kept_for_the_next_one() {
        // A thread that is moved to another CPU while it waits is counted so.
        let mut meter = WatchMeter::new(&[(1, stat(0, 1))]);
        assert!(meter.read(&[(1, stat(500, 1))]).is_empty());
        assert_eq!(meter.read(&[(1, stat(700, 2))])[0].waited_ns, 700);
    }

    #[test]
    fn a_new_thread_counts_from_its_beginning_and_so_does_a_number_given_again() {
        let mut meter = WatchMeter::new(&[]);
        assert_eq!(meter.read(&[(4, stat(900, 3))])[0].waited_ns, 900);
        assert_eq!(meter.read(&[(4, stat(20, 1))])[0].waited_ns, 20);
        assert!(meter.read(&[]).is_empty());
        assert_eq!(meter.read(&[(4, stat(30, 2))])[0].waited_ns, 30);
    }

    #[test]
    fn the_mean_of_many_slices_hides_one_long_wait_and_the_sum_does_not() {
        let mut meter = WatchMeter::new(&[(1, stat(0, 0))]);
        let window = meter.read(&[(1, stat(10_000_000, 100))])[0];
        assert_eq!(window.mean_ns(), 100_000);
        assert_eq!(window.waited_ns, 10_000_000);
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_refused_without_panic(line in "[0-9 \n\ta-z-]{0,60}") {
            let _ = Schedstat::parse(&line);
        }

        #[test]
        fn what_the_kernel_writes_is_read(ran_ns: u64, waited_ns: u64, slices: u64) {
            let line = format!("{ran_ns} {waited_ns} {slices}\n");
            let expected = Schedstat { ran_ns, waited_ns, slices };
            prop_assert_eq!(Schedstat::parse(&line), Some(expected));
        }

        #[test]
        fn no_waiting_is_lost_or_invented(steps in prop::collection::vec((0u64..5000, 0u64..3), 1..50)) {
            let mut meter = WatchMeter::new(&[(1, Schedstat::default())]);
            let (mut now, mut sum_ns) = (Schedstat::default(), 0);
            for (waited_ns, slices) in steps {
                now.waited_ns += waited_ns;
                now.slices += slices;
                sum_ns += meter.read(&[(1, now)]).iter().map(|window| window.waited_ns).sum::<i64>();
            }
            now.slices += 1;
            sum_ns += meter.read(&[(1, now)])[0].waited_ns;
            prop_assert_eq!(u64::try_from(sum_ns).unwrap(), now.waited_ns);
        }

        #[test]
        fn wild_counters_give_no_panic(readings in prop::collection::vec((0u32..3, any::<u64>(), any::<u64>()), 0..60)) {
            let mut meter = WatchMeter::default();
            for (thread, waited_ns, slices) in readings {
                for window in meter.read(&[(thread, Schedstat { ran_ns: 0, waited_ns, slices })]) {
                    prop_assert!(window.waited_ns >= 0 && window.mean_ns() <= window.waited_ns);
                }
            }
        }
    }
}
