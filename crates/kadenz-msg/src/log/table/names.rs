//! Names of the files of tables.

use std::collections::HashSet;
use std::path::Path;

use super::TableFormat;

impl TableFormat {
    /// The format by the ending of a file's name; `None` for other endings.
    #[must_use]
    pub fn of(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()? {
            "csv" => Some(Self::Csv),
            #[cfg(feature = "parquet")]
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }

    /// The ending of its files' names, without the point.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            #[cfg(feature = "parquet")]
            Self::Parquet => "parquet",
        }
    }
}

/// The longest part of a file's name that comes from a channel or a type.
const MAX: usize = 100;

/// Names the files of a folder with a table for each channel.
///
/// ```
/// use kadenz_msg::log::table::{TableFormat, TableNames};
///
/// let mut names = TableNames::new(TableFormat::Csv);
/// assert_eq!(names.file("ARM_LEFT.pose", "robot.pose_t"), "ARM_LEFT.pose.csv");
/// assert_eq!(names.file("../../etc/x", "robot.pose_t"), "_._.._etc_x.csv");
/// assert_eq!(names.file("arm_left.POSE", "robot.pose_t"), "arm_left.POSE-robot.pose_t.csv");
/// ```
#[derive(Debug, Clone)]
pub struct TableNames {
    format: TableFormat,
    /// In lower case: file systems that ignore case would use one file for two names.
    taken: HashSet<String>,
}

impl TableNames {
    /// No name is taken yet.
    #[must_use]
    pub fn new(format: TableFormat) -> Self {
        Self {
            format,
            taken: HashSet::new(),
        }
    }

    /// A name that leads out of no folder and is not hidden: letters, digits, `-`, `_` and points not at its start,
    /// whatever the channel's name is; then the type and a number, if the name is taken. Allocates.
    pub fn file(&mut self, channel: &str, of_type: &str) -> String {
        let first = plain(channel);
        let typed = format!("{first}-{}", plain(of_type));
        let numbered = (2_u32..).map(|number| format!("{typed}-{number}"));
        let mut names = [first, typed.clone()].into_iter().chain(numbered);
        let free = names.find(|name| self.taken.insert(name.to_ascii_lowercase()));
        format!("{}.{}", free.unwrap_or(typed), self.format.ending())
    }
}

fn plain(name: &str) -> String {
    let signs = name.chars().take(MAX).enumerate().map(|(at, sign)| {
        let plain = sign.is_ascii_alphanumeric() || "-_".contains(sign);
        if plain || (sign == '.' && at > 0) {
            sign
        } else {
            '_'
        }
    });
    signs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_channel_s_name_leads_out_of_the_folder_or_hides_its_file() {
        let mut names = TableNames::new(TableFormat::Csv);
        let mut named = |channel: &str| names.file(channel, "a.b_t");
        assert_eq!(named("ARM_LEFT.pose-1"), "ARM_LEFT.pose-1.csv");
        assert_eq!(named("../../etc/x"), "_._.._etc_x.csv");
        assert_eq!(named("/abs\n\u{202e}"), "_abs__.csv");
        assert_eq!(named("arm_left.POSE-1"), "arm_left.POSE-1-a.b_t.csv");
        assert_eq!(named("ARM_LEFT.pose-1"), "ARM_LEFT.pose-1-a.b_t-2.csv");
        assert_eq!(named(&"x".repeat(999)).len(), 104);
    }

    #[test]
    fn a_format_is_that_of_its_ending() {
        let format = TableFormat::of(Path::new("pose.csv"));
        assert_eq!(format.map(TableFormat::ending), Some("csv"));
        for other in ["pose", "pose.CSV", "pose.mcap"] {
            assert_eq!(TableFormat::of(Path::new(other)), None, "{other}");
        }
    }
}
