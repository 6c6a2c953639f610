//! How long it will take: before the first run by the options, then by the runs that were measured.

use std::time::Duration;

use kadenz_rt::beat::Rate;
use kadenz_rt::units::Span;

/// How long a command measures by its options: `--duration`, or `--count` at a `--rate` or of a `--timeout`; `None`
/// where they do not tell.
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

/// What runs have taken so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    runs: u32,
    took: Duration,
}

impl Pace {
    /// A run has ended.
    pub fn ran(&mut self, took: Duration) {
        self.runs = self.runs.saturating_add(1);
        self.took = self.took.saturating_add(took);
    }

    /// How long so many more take, by the mean; `None` before the first.
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
