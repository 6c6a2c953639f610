//! Takes a folder for a run, so that no other run is written into it.

use std::io;
use std::path::{Path, PathBuf};

use super::error::{AddSeriesError, CreateRunError};
use super::inside::MAX_SERIES;
use super::manifest::RUN_JSON;
use crate::run::disk::Disk;
use crate::run::labels::{self, Labels};
use crate::run::model::{Run, Series};

/// Longest name of a series: its files need room for their endings.
const MAX_NAME: usize = 100;

/// Makes the folder if need be, and creates an empty `run.json` in it, which succeeds for one
/// caller alone.
pub(super) fn claim(disk: &dyn Disk, dir: &Path) -> Result<PathBuf, CreateRunError> {
    if dir.exists() && !dir.is_dir() {
        return Err(CreateRunError::NotAFolder {
            path: dir.to_owned(),
        });
    }
    let unwritable = |source| CreateRunError::Unwritable {
        path: dir.to_owned(),
        source,
    };
    std::fs::create_dir_all(dir).map_err(unwritable)?;
    let run_json = dir.join(RUN_JSON);
    if run_json.exists() {
        return Err(CreateRunError::HoldsRun {
            path: dir.to_owned(),
        });
    }
    if std::fs::read_dir(dir).map_err(unwritable)?.next().is_some() {
        return Err(CreateRunError::NotEmpty {
            path: dir.to_owned(),
        });
    }
    match disk.create(&run_json) {
        Ok(_) => Ok(run_json),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(CreateRunError::HoldsRun {
                path: dir.to_owned(),
            })
        }
        Err(error) => Err(unwritable(error)),
    }
}

/// Whether a series may bear this name: it becomes a file name on every system.
pub(super) fn check_name(name: &str) -> Result<(), AddSeriesError> {
    if is_plain(name, MAX_NAME) {
        Ok(())
    } else {
        Err(AddSeriesError::BadName {
            name: name.to_owned(),
        })
    }
}

/// Whether a series of this name and with these labels may be added to a run.
pub(super) fn check_new(run: &Run, name: &str, labels: &Labels) -> Result<(), AddSeriesError> {
    check_name(name)?;
    if !labels::fit(labels) {
        return Err(AddSeriesError::Labels {
            name: name.to_owned(),
        });
    }
    if run.series.len() >= MAX_SERIES {
        return Err(AddSeriesError::TooMany { limit: MAX_SERIES });
    }
    let taken = |it: &Series| it.name.eq_ignore_ascii_case(name);
    if run.series.iter().any(taken) {
        return Err(AddSeriesError::Duplicate {
            name: name.to_owned(),
        });
    }
    Ok(())
}

/// Whether a name of up to `longest` bytes names a file in the same folder on every system.
pub(super) fn is_plain(name: &str, longest: usize) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !name.is_empty()
        && name.len() <= longest
        && !name.starts_with(['.', '-'])
        && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn names_become_file_names() {
        for good in ["wakeup", "timer.1kHz_fifo-80", "0"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        let long = "x".repeat(101);
        for bad in [
            "", ".", "..", ".hidden", "-x", "a/b", "a\\b", "a b", "ä", "a\0", &long,
        ] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
