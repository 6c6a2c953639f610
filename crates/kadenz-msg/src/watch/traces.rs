//! The last values of each number in a message.

use std::collections::BTreeMap;

use super::Spark;

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
    rows: BTreeMap<String, Spark>,
}

impl Traces {
    /// So many values of at most so many members; of further ones nothing is kept.
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
                let mut row = Spark::new(self.values);
                row.push(value);
                self.rows.insert(path.to_owned(), row);
            }
        }
    }

    /// The values of one member.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Spark> {
        self.rows.get(path)
    }
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
