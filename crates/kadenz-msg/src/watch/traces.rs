//! The last values of each number in a message.

use std::collections::{BTreeMap, VecDeque};

/// The last values of each numeric member of a channel's messages, by its path.
///
/// ```
/// use kadenz_msg::watch::Traces;
///
/// let mut traces = Traces::new(60, 256);
/// traces.note([("pose.x", 1.0), ("pose.y", 2.0)]);
/// traces.note([("pose.x", 3.0), ("pose.y", 2.0)]);
/// let x = traces.get("pose.x").expect("it was noted");
/// assert_eq!((x.last(), x.to_string().as_str()), (Some(3.0), "▁█"));
/// ```
#[derive(Debug, Clone)]
pub struct Traces {
    values: usize,
    most: usize,
    rows: BTreeMap<String, Sparkline>,
}

impl Traces {
    /// Returns traces of at most that many values of at most that many members; further members are not kept.
    #[must_use]
    pub fn new(values: usize, most: usize) -> Self {
        Self {
            values,
            most,
            rows: BTreeMap::new(),
        }
    }

    /// Notes the numbers of one message.
    pub fn note<P: AsRef<str>>(&mut self, leaves: impl IntoIterator<Item = (P, f64)>) {
        for (path, value) in leaves {
            let path = path.as_ref();
            if let Some(row) = self.rows.get_mut(path) {
                row.push(value);
            } else if self.rows.len() < self.most {
                let mut row = Sparkline::new(self.values);
                row.push(value);
                self.rows.insert(path.to_owned(), row);
            }
        }
    }

    /// The values of one member.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Sparkline> {
        self.rows.get(path)
    }
}

// A row of values as a small picture.

/// The last values of a series, oldest first, at most as many as it was made for.
///
/// ```
/// use kadenz_msg::watch::Sparkline;
///
/// let mut sparkline = Sparkline::new(4);
/// for value in [9.0, 0.0, 5.0, 10.0, f64::NAN] {
///     sparkline.push(value);
/// }
/// assert_eq!(sparkline.to_string(), "▁▅█ ");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Sparkline {
    values: VecDeque<f64>,
    most: usize,
}

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

impl Sparkline {
    /// Returns a series of at most so many values.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            values: VecDeque::new(),
            most,
        }
    }

    /// Adds the newest value; the oldest makes room.
    pub fn push(&mut self, value: f64) {
        if self.values.len() >= self.most {
            self.values.pop_front();
        }
        if self.most > 0 {
            self.values.push_back(value);
        }
    }

    /// The values, oldest first.
    pub fn values(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        self.values.iter().copied()
    }

    /// The newest value; `None` before the first.
    #[must_use]
    pub fn last(&self) -> Option<f64> {
        self.values.back().copied()
    }

    /// Returns the smallest and the largest number among them.
    #[must_use]
    pub(crate) fn range(&self) -> Option<(f64, f64)> {
        let numbers = self.values().filter(|it| it.is_finite());
        numbers.fold(None, |range, it| match range {
            None => Some((it, it)),
            Some((low, high)) => Some((it.min(low), it.max(high))),
        })
    }
}

/// A bar for each value, from the smallest to the largest; a space for what is not a number, and bars of
/// half height where all are alike.
impl std::fmt::Display for Sparkline {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::fmt::Write as _;
        let Some((low, high)) = self.range() else {
            return Ok(());
        };
        for value in self.values() {
            formatter.write_char(match value {
                _ if !value.is_finite() => ' ',
                _ if low == high => BARS[3],
                _ => bar((value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0)),
            })?;
        }
        Ok(())
    }
}

/// The bar of a height from 0 to 1.
fn bar(height: f64) -> char {
    let at = (height * (BARS.len() - 1) as f64).round();
    BARS[(at as usize).min(BARS.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_members_are_not_kept() {
        let mut traces = Traces::new(2, 2);
        for _ in 0..3 {
            traces.note([("a", 1.0), ("b", 2.0), ("c", 3.0)]);
        }
        assert!(traces.get("a").is_some_and(|it| it.values().len() == 2));
        assert!(traces.get("c").is_none());
    }
}

#[cfg(test)]
mod spark_tests {
    use super::*;

    fn drawn(values: &[f64]) -> String {
        let mut sparkline = Sparkline::new(values.len());
        for value in values {
            sparkline.push(*value);
        }
        sparkline.to_string()
    }

    #[test]
    fn bars_span_the_range_of_the_values() {
        assert_eq!(drawn(&[-1.0, 0.0, 1.0]), "▁▅█");
        assert_eq!(drawn(&[2.0, 2.0]), "▄▄");
        assert_eq!(drawn(&[f64::NAN]), "");
        assert_eq!(drawn(&[f64::INFINITY, 1.0, 2.0]), " ▁█");
        assert_eq!(drawn(&[f64::MIN, 0.0, f64::MAX]), "▁▅█");
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut sparkline = Sparkline::new(2);
        for value in [1.0, 2.0, 3.0] {
            sparkline.push(value);
        }
        assert_eq!(sparkline.values().collect::<Vec<_>>(), [2.0, 3.0]);
        assert_eq!(sparkline.range(), Some((2.0, 3.0)));
        let mut none = Sparkline::new(0);
        none.push(1.0);
        assert_eq!(none.last(), None);
    }
}
