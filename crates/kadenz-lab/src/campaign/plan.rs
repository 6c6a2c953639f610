//! Which runs there are, in which order, and how long they will take: estimated from the options before the first run,
//! and from the measured runs afterwards.

use std::fmt;
use std::time::Duration;

use kadenz_rt::beat::Rate;
use kadenz_rt::units::Span;

/// A checked plan of a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The name of the campaign.
    pub name: String,
    /// The words of the command, without the program's name.
    pub command: Vec<String>,
    /// How often each combination is measured.
    pub rounds: u32,
    /// What varies, in the order of the file.
    pub parameters: Vec<Parameter>,
}

/// An option that varies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, without the dashes.
    pub key: String,
    /// Its values, no two the same.
    pub values: Vec<Value>,
}

/// A value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Whether an option without a value is given.
    Flag(bool),
    /// As it stands behind the option.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(given) => write!(f, "{given}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// One run of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlannedRun {
    /// From 1, in the order in which they are measured.
    pub number: usize,
    /// The round that it belongs to, from 1.
    pub round: u32,
    /// The place of its combination, from 0.
    pub combination: usize,
}

impl Plan {
    /// How many combinations of values there are.
    #[must_use]
    pub fn combinations(&self) -> usize {
        self.parameters.iter().map(|it| it.values.len()).product()
    }

    /// How many runs there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count_checked().unwrap_or(usize::MAX)
    }

    pub(super) fn count_checked(&self) -> Option<usize> {
        let rounds = usize::try_from(self.rounds).ok()?;
        let mut values = self.parameters.iter().map(|it| it.values.len());
        values.try_fold(rounds, usize::checked_mul)
    }

    /// All runs in order: in each round every combination once, each round beginning with another.
    pub fn runs(&self) -> impl Iterator<Item = PlannedRun> + use<> {
        let all = self.combinations().max(1);
        let round = move |round: u32| {
            let before = usize::try_from(round).unwrap_or(0);
            (0..all).map(move |place| PlannedRun {
                number: before * all + place + 1,
                round: round + 1,
                combination: (place + before) % all,
            })
        };
        (0..self.rounds).flat_map(round)
    }

    /// The values of a combination, one of each parameter; the last parameter changes first.
    #[must_use]
    pub fn values(&self, combination: usize) -> Vec<&Value> {
        let mut rest = combination;
        let mut values = Vec::new();
        for parameter in self.parameters.iter().rev() {
            let count = parameter.values.len().max(1);
            values.extend(parameter.values.get(rest % count));
            rest /= count;
        }
        values.reverse();
        values
    }

    /// The words of the command under a combination.
    #[must_use]
    pub fn words(&self, combination: usize) -> Vec<String> {
        let mut words = self.command.clone();
        words.extend(self.options(combination));
        words
    }

    /// The options that a combination adds to the command.
    #[must_use]
    pub fn options(&self, combination: usize) -> Vec<String> {
        let mut words = Vec::new();
        for (parameter, value) in self.parameters.iter().zip(self.values(combination)) {
            let option = format!("--{}", parameter.key);
            match value {
                Value::Flag(false) => {}
                Value::Flag(true) => words.push(option),
                // A value behind it would be taken for another option.
                Value::Text(text) if text.starts_with('-') => {
                    words.push(format!("{option}={text}"));
                }
                Value::Text(text) => words.extend([option, text.clone()]),
            }
        }
        words
    }

    /// A selection of combinations in which every value of every parameter occurs. Their number grows with the
    /// sum of the parameters' values, not with the product.
    #[must_use]
    pub fn every_value_once(&self) -> Vec<usize> {
        let mut weight = 1;
        let mut all = vec![0];
        for parameter in self.parameters.iter().rev() {
            all.extend((1..parameter.values.len()).map(|place| place * weight));
            weight *= parameter.values.len();
        }
        all
    }

    /// Returns how long all runs measure according to their options; `None` where one gives no duration. The runs take
    /// longer: each is set up, and its folder written.
    #[must_use]
    pub fn measuring_time(&self) -> Option<std::time::Duration> {
        let mut all = 0..self.combinations();
        let round = all.try_fold(std::time::Duration::ZERO, |sum, combination| {
            sum.checked_add(measuring_time(&self.words(combination))?)
        });
        round?.checked_mul(self.rounds)
    }

    /// Describes how another plan differs from this one; `None` where both are the same.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<String> {
        let was = |what: &str, then: String, now: String| {
            (then != now).then(|| format!("`{what}` was {then} and is {now} now"))
        };
        was("name", self.name.clone(), other.name.clone())
            .or_else(|| was("command", self.command.join(" "), other.command.join(" ")))
            .or_else(|| was("rounds", self.rounds.to_string(), other.rounds.to_string()))
            .or_else(|| was("vary", self.vary(), other.vary()))
            .or_else(|| (self != other).then(|| "its words are split in another way".to_owned()))
    }

    fn vary(&self) -> String {
        let parameters = self.parameters.iter().map(|parameter| {
            let values = parameter.values.iter().map(ToString::to_string);
            let values: Vec<String> = values.collect();
            format!("{} = {}", parameter.key, values.join(", "))
        });
        let parameters: Vec<String> = parameters.collect();
        match parameters.is_empty() {
            true => "nothing".to_owned(),
            false => parameters.join("; "),
        }
    }

    /// The name as a folder name that every file system takes: `ROS timers` as `ros-timers`.
    #[must_use]
    pub fn folder_name(&self) -> String {
        let plain = |it: char| {
            let it = it.to_ascii_lowercase();
            if it.is_ascii_alphanumeric() { it } else { '-' }
        };
        let plain: String = self.name.chars().map(plain).collect();
        let parts = plain.split('-').filter(|it| !it.is_empty());
        parts.collect::<Vec<_>>().join("-")
    }
}

/// How long a command measures by its options: `--duration`, or `--count` with a `--rate` or a `--timeout`; `None`
/// where they give no duration.
///
/// ```
/// use std::time::Duration;
/// use kadenz_lab::campaign::measuring_time;
///
/// let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
/// let time = measuring_time(&words("timer cyclic --rate 1kHz --count 2000"));
/// assert_eq!(time, Some(Duration::from_secs(2)));
/// assert_eq!(measuring_time(&words("hiccup")), None);
/// ```
#[must_use]
pub fn measuring_time(words: &[String]) -> Option<Duration> {
    if let Some(duration) = option(words, "duration") {
        return Some(duration.parse::<Span>().ok()?.0);
    }
    let count: u32 = option(words, "count")?.parse().ok()?;
    let each = match (option(words, "rate"), option(words, "timeout")) {
        (Some(rate), _) => rate.parse::<Rate>().ok()?.interval().as_duration(),
        (None, Some(timeout)) => timeout.parse::<Span>().ok()?.0,
        (None, None) => return None,
    };
    each.checked_mul(count)
}

/// The value of an option, the last where it is given more than once.
fn option<'a>(words: &'a [String], name: &str) -> Option<&'a str> {
    let name = format!("--{name}");
    let value = |(place, word): (usize, &'a String)| {
        let rest = word.strip_prefix(&name)?;
        match rest.strip_prefix('=') {
            Some(value) => Some(value),
            None if rest.is_empty() => words.get(place + 1).map(String::as_str),
            None => None,
        }
    };
    words.iter().enumerate().filter_map(value).next_back()
}

/// The mean time of the runs so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    runs: u32,
    took: Duration,
}

impl Pace {
    /// Adds the time of a run that has ended.
    pub fn ran(&mut self, took: Duration) {
        self.runs = self.runs.saturating_add(1);
        self.took = self.took.saturating_add(took);
    }

    /// How long this many more runs take, by the mean; `None` before the first.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kadenz_lab::campaign::Pace;
    ///
    /// let mut pace = Pace::default();
    /// assert_eq!(pace.left(10), None);
    /// pace.ran(Duration::from_secs(1));
    /// pace.ran(Duration::from_secs(3));
    /// assert_eq!(pace.left(10), Some(Duration::from_secs(20)));
    /// ```
    #[must_use]
    pub fn left(&self, runs: usize) -> Option<Duration> {
        let mean = self.took.checked_div(self.runs)?;
        mean.checked_mul(u32::try_from(runs).ok()?)
    }
}

#[cfg(test)]
mod tests;
