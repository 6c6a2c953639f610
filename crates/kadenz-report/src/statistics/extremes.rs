//! The highest and lowest samples, with their place.

use super::Extreme;

/// How many extremes are kept at either end, as Sticha's test suites list them.
pub const EXTREMES: usize = 10;

/// Keeps the ten highest and the ten lowest values of a stream, in constant memory.
///
/// ```
/// use kadenz_report::statistics::Extremes;
///
/// let mut extremes = Extremes::default();
/// extremes.extend(0, &[30, -5, 70]);
/// let highest = extremes.highest();
/// assert_eq!((highest[0].index, highest[0].value_ns), (2, 70));
/// assert_eq!(extremes.lowest()[0].value_ns, -5);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extremes {
    /// Descending.
    highest: Vec<Extreme>,
    /// Ascending.
    lowest: Vec<Extreme>,
}

impl Extremes {
    /// Takes values whose first has the index `first`. Of equal values the earliest are kept.
    pub fn extend(&mut self, first: u64, values: &[i64]) {
        let (mut ceiling, mut floor) = self.gates();
        for (offset, &value_ns) in values.iter().enumerate() {
            if value_ns > ceiling || value_ns < floor {
                self.insert(Extreme {
                    index: first + offset as u64,
                    value_ns,
                });
                (ceiling, floor) = self.gates();
            }
        }
    }

    /// The ten highest, highest first.
    #[must_use]
    pub fn highest(&self) -> &[Extreme] {
        &self.highest
    }

    /// The ten lowest, lowest first.
    #[must_use]
    pub fn lowest(&self) -> &[Extreme] {
        &self.lowest
    }

    /// A value must be above the first or below the second to be kept. Until ten are kept, the
    /// gates overlap and let everything through.
    fn gates(&self) -> (i64, i64) {
        let full = self.highest.len() == EXTREMES;
        match (self.highest.last(), self.lowest.last()) {
            (Some(high), Some(low)) if full => (high.value_ns, low.value_ns),
            _ => (i64::MIN, i64::MAX),
        }
    }

    fn insert(&mut self, new: Extreme) {
        let at = self
            .highest
            .partition_point(|kept| kept.value_ns >= new.value_ns);
        self.highest.insert(at, new);
        self.highest.truncate(EXTREMES);
        let at = self
            .lowest
            .partition_point(|kept| kept.value_ns <= new.value_ns);
        self.lowest.insert(at, new);
        self.lowest.truncate(EXTREMES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn extremes_equal_a_sort(values in prop::collection::vec(-50_i64..50, 0..200)) {
            let mut extremes = Extremes::default();
            let mut first = 0;
            for chunk in values.chunks(13) {
                extremes.extend(first, chunk);
                first += chunk.len() as u64;
            }
            let mut sorted: Vec<Extreme> = values
                .iter()
                .enumerate()
                .map(|(index, &value_ns)| Extreme { index: index as u64, value_ns })
                .collect();
            sorted.sort_by_key(|extreme| (extreme.value_ns, extreme.index));
            let lowest: Vec<Extreme> = sorted.iter().copied().take(EXTREMES).collect();
            sorted.sort_by_key(|extreme| (-extreme.value_ns, extreme.index));
            let highest: Vec<Extreme> = sorted.into_iter().take(EXTREMES).collect();
            prop_assert_eq!(extremes.lowest(), lowest);
            prop_assert_eq!(extremes.highest(), highest);
        }
    }
}
