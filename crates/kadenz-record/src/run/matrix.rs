//! The terms of a matrix of tunings, which one crate measures and another reports: the five measures, their
//! combinations, the loads, and the names and labels of its series.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::labels::{LOAD, Labels, TUNING, VALUE, labels};
use super::model::Series;

/// One measure that may make a beat steadier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Measure {
    /// P: a real-time priority.
    #[serde(rename = "P")]
    Priority,
    /// M: memory locked into RAM.
    #[serde(rename = "M")]
    Memory,
    /// C: a CPU shielded from everything else.
    #[serde(rename = "C")]
    Cpu,
    /// S: a sleep that spins for its last stretch.
    #[serde(rename = "S")]
    Spin,
    /// I: idle states held off by PM QoS, `/dev/cpu_dma_latency` at 0 us.
    #[serde(rename = "I")]
    Idle,
}

impl Measure {
    /// All of them, in the order in which a combination's name has them.
    pub const ALL: [Self; 5] = [
        Self::Priority,
        Self::Memory,
        Self::Cpu,
        Self::Spin,
        Self::Idle,
    ];

    /// Its letter in the name of a combination.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::Priority => 'P',
            Self::Memory => 'M',
            Self::Cpu => 'C',
            Self::Spin => 'S',
            Self::Idle => 'I',
        }
    }

    /// The measure in a few words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Priority => "real-time priority",
            Self::Memory => "locked memory",
            Self::Cpu => "a shielded CPU",
            Self::Spin => "a spinning sleep",
            Self::Idle => "idle states held off",
        }
    }

    /// Its cost, as a weight that no sum of cheaper ones reaches: locked memory is only memory, a priority needs a
    /// right, idle states held off cost power and leave every CPU to all threads, a shielded CPU is taken from
    /// them, and a spinning one is also never idle.
    #[must_use]
    pub const fn weight(self) -> u8 {
        match self {
            Self::Memory => 1,
            Self::Priority => 2,
            Self::Idle => 4,
            Self::Cpu => 8,
            Self::Spin => 16,
        }
    }

    /// Whether `run.json` records this measure under that name.
    #[must_use]
    pub fn is_recorded_as(self, name: &str) -> bool {
        match self {
            Self::Priority => name == "policy",
            Self::Memory => name == "memory_lock",
            Self::Cpu => matches!(name, "shield" | "affinity"),
            Self::Spin => name == "sleeper",
            Self::Idle => name == "cpu_dma_latency",
        }
    }
}

/// A combination of measures: a column of the matrix, `none`, `M`, ... `PMCSI`. Named as in figures 7 and 8 of
/// \[Yoon2009\], which have no I.
///
/// ```
/// use kadenz_record::run::matrix::{Combination, Measure};
///
/// let pmc: Combination = "PMC".parse()?;
/// assert!(pmc.has(Measure::Cpu) && !pmc.has(Measure::Spin));
/// assert_eq!(pmc.cost(), 2 + 1 + 8);
/// assert_eq!(Combination::NONE.to_string(), "none");
/// # Ok::<(), kadenz_record::run::matrix::NoCombination>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("pattern" = "^(none|P?M?C?S?I?)$")))]
pub struct Combination(u8);

/// Not the name of a combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a combination of measures; write none, or letters of PMCSI in this order (P priority, M memory \
     locked, C CPU shielded, S spinning sleep, I idle states held off by PM QoS /dev/cpu_dma_latency), \
     such as PM"
)]
pub struct NoCombination;

impl Combination {
    /// The combination without any measure.
    pub const NONE: Self = Self(0);

    /// Yoon's combinations, in the order of its columns.
    pub const YOON2009: [Self; 9] = [
        Self::NONE,
        Self::of(&[Measure::Memory]),
        Self::of(&[Measure::Cpu]),
        Self::of(&[Measure::Memory, Measure::Cpu]),
        Self::of(&[Measure::Priority]),
        Self::of(&[Measure::Priority, Measure::Memory]),
        Self::of(&[Measure::Priority, Measure::Cpu]),
        Self::of(&[Measure::Priority, Measure::Memory, Measure::Cpu]),
        Self::of(&[
            Measure::Priority,
            Measure::Memory,
            Measure::Cpu,
            Measure::Spin,
        ]),
    ];

    /// The combinations measured beside Yoon's where idle states can be held off: I alone, and with the best
    /// combinations of Yoon that run without a spinning sleep. Each has its partner without I in Yoon's nine.
    pub const IDLE: [Self; 3] = [
        Self::of(&[Measure::Idle]),
        Self::of(&[Measure::Priority, Measure::Memory, Measure::Idle]),
        Self::of(&[
            Measure::Priority,
            Measure::Memory,
            Measure::Cpu,
            Measure::Idle,
        ]),
    ];

    /// The combination of these measures.
    const fn of(measures: &[Measure]) -> Self {
        let mut bits = 0;
        let mut place = 0;
        while place < measures.len() {
            bits |= measures[place].weight();
            place += 1;
        }
        Self(bits)
    }

    /// All combinations: those of Yoon first, in its order, the others after by their cost.
    pub fn all() -> impl Iterator<Item = Self> {
        let others = (0..32).map(Self).filter(|c| !Self::YOON2009.contains(c));
        Self::YOON2009.into_iter().chain(others)
    }

    /// Whether a measure is in it.
    #[must_use]
    pub fn has(self, measure: Measure) -> bool {
        self.0 & measure.weight() != 0
    }

    /// The same with one measure more.
    #[must_use]
    pub fn with(self, measure: Measure) -> Self {
        Self(self.0 | measure.weight())
    }

    /// The same without one measure.
    #[must_use]
    pub fn without(self, measure: Measure) -> Self {
        Self(self.0 & !measure.weight())
    }

    /// Its measures, in the order of its name.
    pub fn measures(self) -> impl Iterator<Item = Measure> {
        Measure::ALL.into_iter().filter(move |&m| self.has(m))
    }

    /// The sum of its measures' costs; no two combinations cost the same.
    #[must_use]
    pub fn cost(self) -> u8 {
        self.0
    }

    /// Its measures in words: "real-time priority, locked memory and a shielded CPU", "no tuning".
    #[must_use]
    pub fn words(self) -> String {
        let words: Vec<&str> = self.measures().map(Measure::words).collect();
        match words.split_last() {
            None => "no tuning".to_owned(),
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
        }
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NONE {
            return f.pad("none");
        }
        f.pad(&self.measures().map(Measure::letter).collect::<String>())
    }
}

impl From<Combination> for String {
    fn from(combination: Combination) -> Self {
        combination.to_string()
    }
}

impl TryFrom<String> for Combination {
    type Error = NoCombination;

    fn try_from(name: String) -> Result<Self, NoCombination> {
        name.parse()
    }
}

impl FromStr for Combination {
    type Err = NoCombination;

    fn from_str(name: &str) -> Result<Self, NoCombination> {
        Self::all()
            .find(|combination| combination.to_string() == name)
            .ok_or(NoCombination)
    }
}

/// What else the machine had to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Load {
    /// No load beside the measurement.
    #[serde(rename = "none")]
    Unloaded,
    /// As much as it can.
    #[serde(rename = "heavy")]
    Heavy,
}

impl Load {
    /// Both, in the order of Yoon's figures.
    pub const ALL: [Self; 2] = [Self::Unloaded, Self::Heavy];

    /// The beginning of the names of its series; also its name in their label and in the parameter `loads`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unloaded => "unloaded",
            Self::Heavy => "heavy",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// As the end of a sentence: "without load".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Unloaded => "without load",
            Self::Heavy => "under heavy load",
        }
    }
}

/// The content of a series of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Wake-ups against the beat.
    Lateness,
    /// Control periods less the expected interval.
    Jitter,
}

impl Content {
    /// Both, lateness first.
    pub const ALL: [Self; 2] = [Self::Lateness, Self::Jitter];

    /// The label `value` of its series.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lateness => "lateness",
            Self::Jitter => "jitter",
        }
    }
}

const JITTER: &str = "-jitter";

/// The name of a series of the matrix: `heavy-PMC`, `heavy-PMC-jitter`.
///
/// ```
/// use kadenz_record::run::matrix::{Content, Load, name_of};
///
/// let name = name_of(Load::Heavy, "PMC".parse()?, Content::Jitter);
/// assert_eq!(name, "heavy-PMC-jitter");
/// # Ok::<(), kadenz_record::run::matrix::NoCombination>(())
/// ```
#[must_use]
pub fn name_of(load: Load, combination: Combination, content: Content) -> String {
    let jitter = match content {
        Content::Lateness => "",
        Content::Jitter => JITTER,
    };
    format!("{}-{combination}{jitter}", load.name())
}

/// The labels of a series of the matrix.
///
/// ```
/// use kadenz_record::run::matrix::{Content, Load, labels_of, of_series};
/// use kadenz_record::run::model::Series;
///
/// let labels = labels_of(Load::Heavy, "PMC".parse()?, Content::Jitter);
/// assert_eq!(labels["tuning"], "PMC");
/// let series = Series { labels, ..Series::default() };
/// assert_eq!(of_series(&series), Some((Load::Heavy, "PMC".parse()?, Content::Jitter)));
/// # Ok::<(), kadenz_record::run::matrix::NoCombination>(())
/// ```
#[must_use]
pub fn labels_of(load: Load, combination: Combination, content: Content) -> Labels {
    labels([
        (LOAD, load.name()),
        (TUNING, &combination.to_string()),
        (VALUE, content.name()),
    ])
}

/// Load, combination and content by the labels of a series. Absent for a series that is not of a
/// matrix.
#[must_use]
pub fn of_series(series: &Series) -> Option<(Load, Combination, Content)> {
    let load = Load::named(series.label(LOAD)?)?;
    let combination = series.label(TUNING)?.parse().ok()?;
    let value = series.label(VALUE)?;
    let content = Content::ALL.into_iter().find(|it| it.name() == value)?;
    Some((load, combination, content))
}

/// The labels of a series of a matrix from its name. Absent for a series that is not of a matrix.
pub(super) fn labels_of_name(name: &str) -> Option<Labels> {
    let (load, rest) = name.split_once('-')?;
    let (combination, content) = match rest.strip_suffix(JITTER) {
        Some(combination) => (combination, Content::Jitter),
        None => (rest, Content::Lateness),
    };
    Some(labels_of(
        Load::named(load)?,
        combination.parse().ok()?,
        content,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_are_of_no_matrix_are_none() {
        let of = |load, tuning, value| {
            let labels = labels([(LOAD, load), (TUNING, tuning), (VALUE, value)]);
            of_series(&Series {
                labels,
                ..Series::default()
            })
        };
        assert!(of("heavy", "PM", "jitter").is_some());
        for (load, tuning, value) in [
            ("light", "PM", "jitter"),
            ("heavy", "MP", "jitter"),
            ("heavy", "PM", "rtt"),
        ] {
            assert_eq!(of(load, tuning, value), None);
        }
        assert_eq!(of_series(&Series::default()), None);
    }

    #[test]
    fn names_are_those_of_yoon2009_and_lead_back() {
        let names: Vec<String> = Combination::YOON2009
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            names,
            ["none", "M", "C", "MC", "P", "PM", "PC", "PMC", "PMCS"]
        );
        assert_eq!(Combination::all().count(), 32);
        for combination in Combination::all() {
            assert_eq!(combination.to_string().parse(), Ok(combination));
        }
        for wrong in ["", "MP", "IP", "PP", "p", "PMCSX", "None", "P-"] {
            assert_eq!(wrong.parse::<Combination>(), Err(NoCombination), "{wrong}");
        }
    }

    /// The contribution of I is computed from a pair of cells that differ in I alone.
    #[test]
    fn each_default_combination_with_idle_states_held_off_has_its_partner() {
        let names = Combination::IDLE.map(|it| it.to_string());
        assert_eq!(names, ["I", "PMI", "PMCI"]);
        for combination in Combination::IDLE {
            let mut partners = Combination::YOON2009.iter();
            assert!(partners.any(|it| it.with(Measure::Idle) == combination));
        }
        assert!(!Combination::YOON2009.iter().any(|it| it.has(Measure::Idle)));
    }

    #[test]
    fn a_measure_costs_more_than_all_cheaper_ones_together() {
        let mut weights: Vec<u8> = Measure::ALL.iter().map(|m| m.weight()).collect();
        weights.sort_unstable();
        for (place, weight) in weights.iter().enumerate() {
            assert!(*weight > weights[..place].iter().sum());
        }
    }

    #[test]
    fn names_without_labels_are_understood() {
        for (load, content) in [
            (Load::Heavy, Content::Jitter),
            (Load::Unloaded, Content::Lateness),
        ] {
            for combination in Combination::all() {
                let named = labels_of_name(&name_of(load, combination, content));
                assert_eq!(named, Some(labels_of(load, combination, content)));
            }
        }
        for other in [
            "floor",
            "heavy",
            "light-PM",
            "heavy-",
            "heavy-PM-",
            "heavy--jitter",
        ] {
            assert_eq!(labels_of_name(other), None, "{other}");
        }
    }

    #[test]
    fn words_read_as_a_list() {
        let words = |name: &str| name.parse::<Combination>().unwrap().words();
        assert_eq!(words("none"), "no tuning");
        assert_eq!(words("M"), "locked memory");
        assert_eq!(
            words("PMC"),
            "real-time priority, locked memory and a shielded CPU"
        );
    }
}
