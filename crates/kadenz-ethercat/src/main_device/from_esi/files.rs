//! ESI files, read and looked up in.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::device::SubDevice;
use super::{Described, Matched};
use crate::esi::{Esi, EsiError};
use crate::text_file;
use crate::wire::sii::Identity;

/// The longest file that is read; vendors' largest have some ten megabytes.
const LONGEST_FILE: u64 = 64 << 20;
/// Most files of a folder, and most devices of all.
const MOST_FILES: usize = 4096;
const MOST_DEVICES: usize = 65_536;

/// Why files describe nothing.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionsError {
    /// It cannot be read.
    #[error("{}: {source}; name an ESI file, or a folder of them", path.display())]
    File {
        /// Which file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no ESI.
    #[error("{}: {source}", path.display())]
    Esi {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: EsiError,
    },
    /// More than anybody has.
    #[error(
        "{} holds more than {MOST_FILES} files or {MOST_DEVICES} devices; name a folder with those of this \
         segment",
        .0.display()
    )]
    TooMany(PathBuf),
}

/// Devices that files describe. Of two of the same identity the later one counts.
#[derive(Debug, Default)]
pub struct Descriptions {
    devices: Vec<Arc<Described>>,
    passed_over: Vec<DescriptionsError>,
}

impl Descriptions {
    /// Reads a file, or all files of a folder whose names end with `.xml`, in the order of their names.
    /// What in a folder is no ESI is [passed over](Self::passed_over). Waits for the disk, allocates.
    ///
    /// # Errors
    /// [`DescriptionsError`].
    pub fn read(path: &Path) -> Result<Self, DescriptionsError> {
        let unreadable = |source| DescriptionsError::File {
            path: path.to_owned(),
            source,
        };
        let mut read = Self::default();
        if !std::fs::metadata(path).map_err(unreadable)?.is_dir() {
            read.add(&esi(path)?);
            return Ok(read);
        }
        for file in files(path).map_err(unreadable)? {
            match esi(&file) {
                Ok(esi) => read.add(&esi),
                Err(error) => read.passed_over.push(error),
            }
            if read.passed_over.len() > MOST_FILES || read.devices.len() > MOST_DEVICES {
                return Err(DescriptionsError::TooMany(path.to_owned()));
            }
        }
        Ok(read)
    }

    /// The same with the devices of one more file.
    pub fn add(&mut self, esi: &Esi) {
        let described = esi.with_start_up();
        let described = described.map(|(device, start_up)| Described::of(device, start_up));
        self.devices.extend(described.map(Arc::new));
    }

    /// How many devices are described.
    #[must_use]
    pub fn len(&self) -> usize {
        self.devices.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }

    /// Files of a folder that are no ESI, each with the reason.
    #[must_use]
    pub fn passed_over(&self) -> &[DescriptionsError] {
        &self.passed_over
    }

    /// Which of these devices are described, and how.
    #[must_use]
    pub fn matching<'d>(&self, devices: impl IntoIterator<Item = &'d SubDevice>) -> Matched {
        let matched = devices.into_iter().filter_map(|device| {
            let described = self.find(&device.identity)?;
            Some((device.station, described))
        });
        Matched(matched.collect())
    }

    /// What is said of a device: of its revision, or else of the last one before it, since a device of a
    /// later revision takes the place of an earlier one. `None` where only later ones are described.
    #[must_use]
    pub fn find(&self, identity: &Identity) -> Option<Arc<Described>> {
        let kin = self.devices.iter().filter(|it| {
            let its = it.identity();
            its.vendor == identity.vendor
                && its.product == identity.product
                && its.revision <= identity.revision
        });
        // The last of several that are equal.
        kin.max_by_key(|it| it.identity().revision).cloned()
    }
}

fn esi(path: &Path) -> Result<Esi, DescriptionsError> {
    let path = || path.to_owned();
    let text =
        text_file::read(&path(), LONGEST_FILE).map_err(|source| DescriptionsError::File {
            path: path(),
            source,
        })?;
    Esi::read(&text).map_err(|source| DescriptionsError::Esi {
        path: path(),
        source,
    })
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let extension = path.extension().and_then(|it| it.to_str());
        if !extension.is_some_and(|it| it.eq_ignore_ascii_case("xml")) {
            continue;
        }
        if files.len() == MOST_FILES {
            let words = format!("it holds more than {MOST_FILES} files");
            return Err(io::Error::other(words));
        }
        files.push(path);
    }
    files.sort();
    Ok(files)
}
