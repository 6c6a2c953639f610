//! How much CPU time the machine had, and how much of it the hypervisor took.

use super::{ReadFactError, Root};

const PATH: &str = "/proc/stat";

/// CPU time since boot, in ticks of all CPUs together. Source: `proc_stat(5)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Ticks in which the hypervisor ran another guest although this machine had work to do.
    pub stolen: u64,
    /// All ticks, idle ones included.
    pub all: u64,
}

impl CpuTime {
    /// CPU time of the machine under `root`.
    ///
    /// # Errors
    /// When the system does not report it, or reports something unknown.
    pub fn read(root: &Root) -> Result<Self, ReadFactError> {
        let text = root.read(PATH)?;
        let line = text.lines().next().unwrap_or("");
        let words = line.split_whitespace().skip(1);
        let ticks: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time is part of user time.
        let ticks = ticks
            .get(..8)
            .ok_or_else(|| ReadFactError::strange(PATH, line, "a line cpu with eight numbers"))?;
        Ok(Self {
            stolen: ticks[7],
            all: ticks.iter().fold(0, |sum, n| n.saturating_add(sum)),
        })
    }

    /// The ticks that have passed since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            stolen: self.stolen.saturating_sub(earlier.stolen),
            all: self.all.saturating_sub(earlier.all),
        }
    }

    /// The stolen part, in percent.
    #[must_use]
    pub fn stolen_percent(self) -> f64 {
        self.stolen as f64 / self.all.max(1) as f64 * 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_reported() {
        let at = |stolen, all| CpuTime { stolen, all };
        let meanwhile = at(30_913, 3_600_000).since(at(28_904, 3_500_000));
        assert_eq!(meanwhile, at(2009, 100_000));
        assert!((meanwhile.stolen_percent() - 2.009).abs() < 1e-9);
        assert_eq!(at(0, 0).stolen_percent(), 0.0);
    }
}
