//! The combinations of the house's four measures of tuning, and what they are called.

use std::fmt;
use std::str::FromStr;

/// Which of the measures P, M, C and S are taken together. Named as in H. Yoon, J. Song and J. Lee,
/// "Real-Time Performance Analysis in Linux-Based Robotic Systems" (2009), figures 7 and 8: the
/// letters in this order, or `none`.
///
/// ```
/// use kadenz_record::run::combination::Combination;
///
/// let pmc: Combination = "PMC".parse()?;
/// assert!(pmc.priority && pmc.memory && pmc.shield && !pmc.spin);
/// assert_eq!(Combination::default().to_string(), "none");
/// # Ok::<(), kadenz_record::run::combination::ParseCombinationError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four measures, each taken or not, are what this is"
)]
pub struct Combination {
    /// P: real-time priority.
    pub priority: bool,
    /// M: memory locked.
    pub memory: bool,
    /// C: CPU shielded.
    pub shield: bool,
    /// S: spinning sleep.
    pub spin: bool,
}

/// A word that names no combination.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no combination of measures; write none, or letters of PMCS (P priority, M memory \
     locked, C CPU shielded, S spinning sleep) such as PM or PMCS"
)]
pub struct ParseCombinationError(String);

impl Combination {
    /// The paper's nine, in the order of its columns.
    pub const PAPER: [Self; 9] = [
        Self::of(false, false, false, false),
        Self::of(false, true, false, false),
        Self::of(false, false, true, false),
        Self::of(false, true, true, false),
        Self::of(true, false, false, false),
        Self::of(true, true, false, false),
        Self::of(true, false, true, false),
        Self::of(true, true, true, false),
        Self::of(true, true, true, true),
    ];

    const fn of(priority: bool, memory: bool, shield: bool, spin: bool) -> Self {
        Self {
            priority,
            memory,
            shield,
            spin,
        }
    }

    fn letters(self) -> impl Iterator<Item = char> {
        [
            (self.priority, 'P'),
            (self.memory, 'M'),
            (self.shield, 'C'),
            (self.spin, 'S'),
        ]
        .into_iter()
        .filter_map(|(taken, letter)| taken.then_some(letter))
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters: String = self.letters().collect();
        f.pad(if letters.is_empty() { "none" } else { &letters })
    }
}

impl FromStr for Combination {
    type Err = ParseCombinationError;

    /// Reads the letters in any order, each once, or `none`.
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseCombinationError(word.chars().take(40).collect());
        let mut combination = Self::default();
        if word == "none" {
            return Ok(combination);
        }
        if word.is_empty() {
            return Err(wrong());
        }
        for letter in word.chars() {
            let measure = match letter {
                'P' => &mut combination.priority,
                'M' => &mut combination.memory,
                'C' => &mut combination.shield,
                'S' => &mut combination.spin,
                _ => return Err(wrong()),
            };
            if std::mem::replace(measure, true) {
                return Err(wrong());
            }
        }
        Ok(combination)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_columns_are_named_as_there() {
        let names = Combination::PAPER.map(|cell| cell.to_string());
        let paper = ["none", "M", "C", "MC", "P", "PM", "PC", "PMC", "PMCS"];
        assert_eq!(names, paper);
    }

    #[test]
    fn every_combination_is_read_as_it_is_shown() {
        for bits in 0..16_u8 {
            let taken = |bit: u8| bits & bit != 0;
            let combination = Combination::of(taken(1), taken(2), taken(4), taken(8));
            assert_eq!(combination.to_string().parse(), Ok(combination));
        }
        assert_eq!("SCMP".parse::<Combination>().unwrap().to_string(), "PMCS");
    }

    #[test]
    fn other_words_are_refused() {
        for word in ["", "p", "PP", "NONE", "noneP", "PX", "P M"] {
            assert!(word.parse::<Combination>().is_err(), "{word:?}");
        }
    }
}
