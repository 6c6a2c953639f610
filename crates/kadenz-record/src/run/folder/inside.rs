//! Checks of the names in a `run.json` from any source, and opening its files only inside the run folder.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use super::error::OpenRunError;
use super::writer::{check_name, is_plain};
use crate::run::labels;
use crate::run::model::{Run, Series};

/// Most series of a run: a measurement of 1,024 devices has a few more than a thousand. A larger run is neither
/// written nor read.
pub const MAX_SERIES: usize = 2048;
/// Longest name of a file of a series.
const MAX_FILE_NAME: usize = 128;
/// Length to which a refused name is cut in an error.
const SHOWN: usize = 60;

/// Checks everything in a `run.json` that becomes a path: the names of series, after which exports name files, and
/// the names of files. No two series share a name or a file.
pub(super) fn check(run: &Run, path: &Path) -> Result<(), OpenRunError> {
    if run.series.len() > MAX_SERIES {
        return Err(OpenRunError::TooLarge {
            path: path.to_owned(),
            has: format!("{} series", run.series.len()),
            limit: format!("{MAX_SERIES} series"),
        });
    }
    check_names(&run.series).map_err(|cause| OpenRunError::Malformed {
        path: path.to_owned(),
        cause,
    })
}

fn check_names(all: &[Series]) -> Result<(), String> {
    let (mut names, mut files) = (BTreeSet::new(), BTreeSet::new());
    for series in all {
        if check_name(&series.name).is_err() {
            return Err(format!("{} cannot name a series", shown(&series.name)));
        }
        if !names.insert(series.name.to_ascii_lowercase()) {
            return Err(format!("two series have the name {}", shown(&series.name)));
        }
        if !labels::fit(&series.labels) {
            return Err(format!(
                "the labels of series {} are too many or too long",
                shown(&series.name)
            ));
        }
        let of_series = [&series.files.hlog, &series.files.samples];
        for file in of_series.into_iter().flatten() {
            if !is_plain(file, MAX_FILE_NAME) {
                return Err(format!("{} names no file of a run folder", shown(file)));
            }
            if !files.insert(file.to_ascii_lowercase()) {
                return Err(format!("two series have the file {}", shown(file)));
            }
        }
    }
    Ok(())
}

fn shown(name: &str) -> String {
    format!("{:?}", name.chars().take(SHOWN).collect::<String>())
}

/// Opens a file of a run folder for reading: a regular file, and a symbolic link only where it leads to
/// one inside the folder.
pub(super) fn open(dir: &Path, name: &str) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), dir, name)
}

/// The same as [`open`] with other options.
///
/// The checks come before the file is opened, because opening a pipe waits for its other end, and once more after
/// it. A process that may write into the folder can still put a pipe there in between.
pub(super) fn open_with(options: &OpenOptions, dir: &Path, name: &str) -> io::Result<File> {
    let path = dir.join(name);
    if fs::symlink_metadata(&path)?.is_symlink() {
        // The empty path, as in "this folder", is invalid for the system.
        let folder = fs::canonicalize(Path::new(".").join(dir))?;
        if !fs::canonicalize(&path)?.starts_with(folder) {
            let cause = "it is a symbolic link that leads out of the run folder";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, cause));
        }
    }
    check_regular(&fs::metadata(&path)?)?;
    let file = options.open(&path)?;
    check_regular(&file.metadata()?)?;
    Ok(file)
}

fn check_regular(found: &fs::Metadata) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let cause = "it is not a regular file";
    Err(io::Error::new(io::ErrorKind::InvalidInput, cause))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use super::*;
    use crate::run::model::SeriesFiles;

    fn refusal(series: Vec<Series>) -> Option<String> {
        let run = Run {
            series,
            ..Run::default()
        };
        let refused = check(&run, Path::new("run.json")).err();
        refused.map(|error| error.to_string())
    }

    fn series(name: &str, hlog: &str) -> Series {
        Series {
            name: name.to_owned(),
            files: SeriesFiles {
                hlog: Some(hlog.to_owned()),
                ..SeriesFiles::default()
            },
            ..Series::default()
        }
    }

    #[test]
    fn names_and_files_stay_inside_the_folder() {
        let long = "x".repeat(300);
        let outside = [
            "",
            ".",
            "..",
            "../x",
            "/abs/x",
            "a/b",
            "a\\b",
            "c:x",
            "a\0b",
            "a\n",
            "-x",
            "\u{202e}x",
            &long,
        ];
        assert_eq!(refusal(vec![series("wakeup", "wakeup.hlog")]), None);
        for bad in outside {
            let name = refusal(vec![series(bad, "wakeup.hlog")]).unwrap();
            assert!(name.contains("cannot name a series"), "{name}");
            let file = refusal(vec![series("wakeup", bad)]).unwrap();
            assert!(file.contains("names no file of a run folder"), "{file}");
            assert!(
                name.len() < 250 && !name.contains(char::is_control),
                "{name}"
            );
        }
    }

    #[test]
    fn no_two_series_share_a_name_or_a_file() {
        let name = refusal(vec![series("a", "a.hlog"), series("A", "b.hlog")]).unwrap();
        assert!(name.contains("two series have the name"), "{name}");
        let file = refusal(vec![series("a", "a.hlog"), series("b", "a.hlog")]).unwrap();
        assert!(file.contains("two series have the file"), "{file}");
    }

    #[test]
    fn labels_have_bounds() {
        let labelled = |count: usize, name: usize, text: usize| {
            let label = |n: usize| (format!("{n:0name$}"), "x".repeat(text));
            refusal(vec![Series {
                labels: (0..count).map(label).collect(),
                ..series("a", "a.hlog")
            }])
        };
        assert_eq!(labelled(8, 64, 128), None);
        for (count, name, text) in [(9, 64, 128), (8, 65, 128), (8, 64, 129)] {
            let error = labelled(count, name, text).unwrap();
            assert!(error.contains("too many or too long"), "{error}");
        }
    }

    #[test]
    fn too_many_series_name_the_limit() {
        let many = |count: usize| (0..count).map(|n| series(&n.to_string(), &format!("{n}.hlog")));
        assert_eq!(refusal(many(MAX_SERIES).collect()), None);
        let error = refusal(many(MAX_SERIES + 1).collect()).unwrap();
        assert!(
            error.contains("2049 series") && error.contains("2048 series"),
            "{error}"
        );
    }

    #[cfg(unix)]
    fn folder_with_file() -> (tempfile::TempDir, std::path::PathBuf) {
        let parent = tempfile::tempdir().unwrap();
        let run = parent.path().join("run");
        fs::create_dir(&run).unwrap();
        fs::write(run.join("a.hlog"), "inside").unwrap();
        fs::write(parent.path().join("foreign"), "outside").unwrap();
        (parent, run)
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed_inside_the_folder_only() {
        use std::os::unix::fs::symlink;

        let (_parent, run) = folder_with_file();
        symlink("a.hlog", run.join("inside")).unwrap();
        symlink("../foreign", run.join("outside")).unwrap();
        assert!(open(&run, "inside").is_ok());
        let error = open(&run, "outside").unwrap_err().to_string();
        assert!(error.contains("leads out of the run folder"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn what_is_not_a_regular_file_is_not_opened() {
        let (_parent, run) = folder_with_file();
        fs::create_dir(run.join("folder")).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(run.join("socket")).unwrap();
        for other in ["folder", "socket"] {
            let error = open(&run, other).unwrap_err().to_string();
            assert!(error.contains("not a regular file"), "{other}: {error}");
        }
        drop(socket);
    }
}
