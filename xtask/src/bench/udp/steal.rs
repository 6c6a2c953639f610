//! Time that a hypervisor gave to others: the eighth number of `/proc/stat`'s first line, proc(5).

/// Ticks since boot, over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    all: u64,
    stolen: u64,
}

impl Times {
    /// Of this moment; zeroes where the system does not tell.
    pub fn now() -> Self {
        Self::read(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn read(text: &str) -> Self {
        let words = text.lines().next().unwrap_or_default().split_whitespace();
        let ticks: Vec<u64> = words.skip(1).filter_map(|it| it.parse().ok()).collect();
        // The two after it are the guests' time, which is in the first two already.
        Self {
            all: ticks.iter().take(8).sum(),
            stolen: ticks.get(7).copied().unwrap_or(0),
        }
    }

    /// The share of the time between that was stolen.
    pub fn stolen_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        self.stolen.saturating_sub(before.stolen) as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_all_cpus_and_guests_count_once() {
        let before = Times::read("cpu  100 0 100 800 0 0 0 0 50 0\ncpu0 1 1\n");
        let after = Times::read("cpu  150 0 120 820 0 0 0 10 90 0\n");
        assert_eq!(after.stolen_since(before), 0.1);
        assert_eq!(Times::read(""), Times::default());
        assert_eq!(Times::default().stolen_since(Times::default()), 0.0);
    }
}
