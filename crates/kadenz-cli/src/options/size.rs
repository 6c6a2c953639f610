//! Sizes with their unit: `200B`, `512MiB`, `100MB`.

use std::fmt;
use std::str::FromStr;

use anyhow::Context as _;

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

const UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

impl Size {
    /// For what lies in memory; `name` is the option's, for the error.
    pub(crate) fn in_memory(self, name: &str) -> anyhow::Result<usize> {
        let bytes = usize::try_from(self.0).ok().filter(|_| self.0 < 1 << 40);
        bytes.with_context(|| format!("{name} {self} is more than a memory holds"))
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let end = text
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(text.len());
        let unit = text[end..].trim();
        let known = UNITS.iter().find(|(name, _)| *name == unit);
        let number: Option<f64> = text[..end].parse().ok();
        let (Some((_, scale)), Some(number)) = (known, number) else {
            let names: Vec<&str> = UNITS.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "`{text}` is no size; write a number with one of {}, for example 1GiB",
                names.join(", ")
            ));
        };
        let bytes = number * *scale as f64;
        if bytes > i64::MAX as f64 {
            return Err(format!("`{text}` is larger than any disk"));
        }
        Ok(Self(bytes.round() as u64))
    }
}

/// In the unit that leaves a whole number, as [`FromStr`] reads it.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = UNITS[..5]
            .iter()
            .rev()
            .find(|(_, unit)| self.0 >= *unit && self.0.is_multiple_of(*unit));
        let (name, unit) = whole.copied().unwrap_or(("B", 1));
        write!(f, "{}{name}", self.0 / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let bytes = |text: &str| text.parse::<Size>().unwrap().0;
        assert_eq!(bytes("1GiB"), 1 << 30);
        assert_eq!(bytes("1.5kB"), 1500);
        assert_eq!(bytes("10 MB"), 10_000_000);
        assert_eq!(bytes("200B"), 200);
    }

    #[test]
    fn a_size_is_read_as_it_is_shown() {
        for text in ["0B", "200B", "1500B", "64kB", "2MB"] {
            assert_eq!(text.parse::<Size>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn nonsense_is_refused_with_an_example() {
        for text in [
            "",
            "1",
            "GiB",
            "-1GiB",
            "1..2MB",
            "1gib",
            "9999999999999999TB",
        ] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
        let error = "1024".parse::<Size>().unwrap_err();
        assert!(error.contains("1GiB"), "{error}");
    }
}
