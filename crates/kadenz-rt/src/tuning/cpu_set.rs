use std::fmt;
use std::str::FromStr;

/// CPUs that fit into a set.
const MAX_CPUS: usize = 1024;

/// A set of CPUs, written as the kernel writes it: `0,2-3`.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct CpuSet {
    mask: [u64; MAX_CPUS / 64],
}

/// Why a text names no CPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid set of CPUs; write numbers below 1024 and ranges, for example 0,2-3")]
pub struct ParseCpuSetError(String);

impl CpuSet {
    /// CPUs that fit into a set: their numbers are below this.
    pub const MAX: usize = MAX_CPUS;

    /// The set of one CPU.
    ///
    /// # Panics
    /// When `cpu` is 1024 or above.
    #[must_use]
    pub fn single(cpu: usize) -> Self {
        let mut set = Self::default();
        set.insert(cpu);
        set
    }

    /// Adds a CPU.
    ///
    /// # Panics
    /// When `cpu` is 1024 or above.
    pub fn insert(&mut self, cpu: usize) {
        assert!(
            cpu < MAX_CPUS,
            "CPU {cpu} is above the highest one a set can hold, {}",
            MAX_CPUS - 1
        );
        self.mask[cpu / 64] |= 1 << (cpu % 64);
    }

    /// Whether a CPU is in the set.
    #[must_use]
    pub fn contains(&self, cpu: usize) -> bool {
        cpu < MAX_CPUS && self.mask[cpu / 64] & (1 << (cpu % 64)) != 0
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..MAX_CPUS).filter(|cpu| self.contains(*cpu))
    }

    /// How many CPUs are in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.mask
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mask.iter().all(|word| *word == 0)
    }

    /// The CPUs of this set that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut mask = self.mask;
        for (word, gone) in mask.iter_mut().zip(other.mask) {
            *word &= !gone;
        }
        Self { mask }
    }

    #[cfg(target_os = "linux")]
    pub(crate) const fn from_mask(mask: [u64; MAX_CPUS / 64]) -> Self {
        Self { mask }
    }

    #[cfg(target_os = "linux")]
    pub(crate) const fn as_mask(&self) -> &[u64; MAX_CPUS / 64] {
        &self.mask
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        let mut set = Self::default();
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}

impl FromStr for CpuSet {
    type Err = ParseCpuSetError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let malformed = || ParseCpuSetError(word.to_owned());
        let mut set = Self::default();
        for part in word.trim().split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: usize = first.trim().parse().map_err(|_| malformed())?;
            let last: usize = last.trim().parse().map_err(|_| malformed())?;
            if first > last || last >= MAX_CPUS {
                return Err(malformed());
            }
            (first..=last).for_each(|cpu| set.insert(cpu));
        }
        Ok(set)
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            match last - first {
                0 => write!(f, "{separator}{first}")?,
                _ => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuSet({self})")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sets_are_read_and_shown_as_the_kernel_writes_them() {
        for word in ["0", "0-1", "0,2-3", "5,7,9-1023"] {
            assert_eq!(word.parse::<CpuSet>().unwrap().to_string(), word);
        }
        assert_eq!("3,1,2".parse::<CpuSet>().unwrap().to_string(), "1-3");
        assert_eq!(CpuSet::default().to_string(), "");
    }

    #[test]
    fn words_that_are_not_sets_are_refused() {
        for word in ["", ",", "a", "3-1", "1024", "0-", "-1", "0,,1"] {
            assert!(word.parse::<CpuSet>().is_err(), "{word}");
        }
    }

    proptest! {
        #[test]
        fn a_set_survives_its_own_words(cpus in proptest::collection::btree_set(0_usize..MAX_CPUS, 1..40)) {
            let set: CpuSet = cpus.iter().copied().collect();
            prop_assert_eq!(set.len(), cpus.len());
            prop_assert_eq!(&set.to_string().parse::<CpuSet>().unwrap(), &set);
            prop_assert!(set.iter().eq(cpus));
            prop_assert!(set.without(&set).is_empty());
        }
    }
}
