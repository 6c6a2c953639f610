use crate::host::{ReadFactError, Root};

const PATH: &str = "/proc/net/softnet_stat";

/// Frames between the driver and the sockets since boot, all CPUs together. Source: the kernel's
/// `softnet_seq_show` (net/core/net-procfs.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SoftnetCounters {
    /// Frames handled.
    pub processed: u64,
    /// Frames that found a full backlog (`net.core.netdev_max_backlog`).
    pub dropped: u64,
    /// How often a CPU stopped with frames left, its budget or its time being used up
    /// (`net.core.netdev_budget`, `net.core.netdev_budget_usecs`): a latency, not a loss.
    pub squeezed: u64,
}

impl SoftnetCounters {
    /// The counters of the machine under `root`.
    ///
    /// # Errors
    /// When the system does not tell, or tells something unknown.
    pub fn read(root: &Root) -> Result<Self, ReadFactError> {
        let text = root.read(PATH)?;
        Self::parse(&text)
            .ok_or_else(|| ReadFactError::strange(PATH, &text, "lines of hexadecimal numbers"))
    }

    /// Out of the text of `/proc/net/softnet_stat`: a line a CPU, its first three numbers in
    /// hexadecimal. `None` where it is something else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut all = None;
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let mut number = || u64::from_str_radix(words.next()?, 16).ok();
            let cpu = Self {
                processed: number()?,
                dropped: number()?,
                squeezed: number()?,
            };
            all = Some(all.map_or(cpu, |all: Self| all.and(cpu)));
        }
        all
    }

    fn and(self, other: Self) -> Self {
        Self {
            processed: self.processed.saturating_add(other.processed),
            dropped: self.dropped.saturating_add(other.dropped),
            squeezed: self.squeezed.saturating_add(other.squeezed),
        }
    }

    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            processed: self.processed.saturating_sub(earlier.processed),
            dropped: self.dropped.saturating_sub(earlier.dropped),
            squeezed: self.squeezed.saturating_sub(earlier.squeezed),
        }
    }
}
