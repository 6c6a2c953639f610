//! Bags of ROS 2: a folder with `metadata.yaml` and files of MCAP or SQLite; only read.

#[cfg(feature = "rosbag2-sqlite")]
mod sqlite;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::merge::Merged;
use super::{LogError, LogReader};

/// The longest `metadata.yaml`.
const MAX_METADATA: u64 = 1 << 24;

/// Opens the folder of a bag: all its files as one log.
///
/// # Errors
/// If there is none of them, or one cannot be read.
pub(crate) fn open(folder: &Path) -> Result<Box<dyn LogReader>, LogError> {
    let mut files = listed(folder)?;
    if files.is_empty() {
        files = found(folder)?;
    }
    let mut readers = Vec::new();
    for file in &files {
        readers.push(open_file(file)?);
    }
    match readers.len() {
        0 => Err(LogError::NoLog {
            path: folder.to_owned(),
        }),
        1 => Ok(readers.remove(0)),
        _ => Ok(Box::new(Merged::new(readers))),
    }
}

fn open_file(file: &Path) -> Result<Box<dyn LogReader>, LogError> {
    if file.is_dir() {
        return Err(LogError::NoLog {
            path: file.to_owned(),
        });
    }
    if file.extension().is_some_and(|it| it == "zstd") {
        return Err(LogError::Unsupported {
            what: format!("{}, which is compressed as a whole,", file.display()),
            remedy: "decompress the bag's files with `zstd -d` first",
        });
    }
    super::open(file)
}

/// The files that `metadata.yaml` names; none where there is no such file.
fn listed(folder: &Path) -> Result<Vec<PathBuf>, LogError> {
    let path = folder.join("metadata.yaml");
    let Ok(facts) = std::fs::metadata(&path) else {
        return Ok(Vec::new());
    };
    if facts.len() > MAX_METADATA {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&path).map_err(LogError::at(&path))?;
    let mut seen = HashSet::new();
    Ok(relative_paths(&text)
        .filter(|name| seen.insert(*name))
        .map(|name| folder.join(name))
        .collect())
}

/// The list under `relative_file_paths`; names that lead out of the folder are left out.
fn relative_paths(yaml: &str) -> impl Iterator<Item = &str> {
    yaml.lines()
        .skip_while(|line| line.trim() != "relative_file_paths:")
        .skip(1)
        .map_while(|line| line.trim().strip_prefix("- "))
        .map(|name| name.trim().trim_matches(['"', '\'']))
        // Old bags name their folder as well.
        .map(|name| name.rsplit('/').next().unwrap_or(name))
        .filter(|name| !name.is_empty() && *name != "..")
}

/// The files that look like a bag's, by name.
fn found(folder: &Path) -> Result<Vec<PathBuf>, LogError> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(LogError::at(folder))? {
        let path = entry.map_err(LogError::at(folder))?.path();
        let ending = path.extension().and_then(|it| it.to_str());
        if matches!(ending, Some("mcap" | "db3")) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Opens one SQLite file of a bag.
///
/// # Errors
/// If it cannot be read, or Kadenz was built without the feature `rosbag2-sqlite`.
#[cfg(feature = "rosbag2-sqlite")]
pub(crate) fn open_sqlite(file: &Path) -> Result<Box<dyn LogReader>, LogError> {
    Ok(Box::new(sqlite::SqliteReader::open(file)?))
}

/// Returns an error: this needs the feature `rosbag2-sqlite`.
///
/// # Errors
/// Always.
#[cfg(not(feature = "rosbag2-sqlite"))]
pub(crate) fn open_sqlite(file: &Path) -> Result<Box<dyn LogReader>, LogError> {
    Err(LogError::Unsupported {
        what: format!("{}, a bag in SQLite,", file.display()),
        remedy: "build with the feature `rosbag2-sqlite`, or turn it into MCAP with `ros2 bag convert`",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_bag_are_those_its_metadata_names_and_none_outside() {
        let yaml = "a:\n  relative_file_paths:\n    - bag_0.mcap\n    - \"bag/bag_1.mcap\"\n    - ../../etc/shadow\n  ros_distro: x\n";
        let names: Vec<&str> = relative_paths(yaml).collect();
        assert_eq!(names, ["bag_0.mcap", "bag_1.mcap", "shadow"]);
    }
}
