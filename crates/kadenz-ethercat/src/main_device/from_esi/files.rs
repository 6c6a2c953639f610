//! ESI files: reading them, and finding devices in them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kadenz_rt::regular_file;

use super::super::device::SubDevice;
use super::{Described, Matched};
use crate::esi::{EncodingError, Esi, EsiError, decode};
use crate::wire::sii::Identity;

/// The longest file that is read; vendors' largest have some ten megabytes.
const MAX_FILE: u64 = 64 << 20;
/// Most files of a folder, most bytes of them, and most devices of all.
const MAX_FILES: usize = 4096;
const MAX_FOLDER: u64 = 256 << 20;
const MAX_DEVICES: usize = 65_536;

/// The reason why files describe no devices.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionsError {
    /// A file or folder cannot be read.
    #[error("{}: {source}; name an ESI file, or a folder of them", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The error that the system returned.
        source: io::Error,
    },
    /// A file is not text.
    #[error("{}: {source}", path.display())]
    Encoding {
        /// The file that was read.
        path: PathBuf,
        /// The error of the encoding.
        source: EncodingError,
    },
    /// A file is not an ESI.
    #[error("{}: {source}", path.display())]
    Esi {
        /// The file that was read.
        path: PathBuf,
        /// The error of the description.
        source: EsiError,
    },
    /// A device of it cannot be read; the others can.
    #[error("{}: {device}: {source}", path.display())]
    Device {
        /// The file that was read.
        path: PathBuf,
        /// The device's short name.
        device: String,
        /// The error of the description.
        source: EsiError,
    },
    /// There are more files or devices than the limits allow.
    #[error(
        "{} holds more than {MAX_FILES} files, {} MiB of them or {MAX_DEVICES} devices; name a folder with \
         those of this segment",
        .0.display(),
        MAX_FOLDER >> 20
    )]
    TooMany(PathBuf),
}

/// The devices of ESI files. Of two of the same identity the later one counts.
#[derive(Debug, Default)]
pub struct Descriptions {
    devices: Vec<DescribedDevice>,
    passed_over: Vec<Arc<DescriptionsError>>,
}

/// A device of a file, or the reason why it cannot be read.
#[derive(Debug)]
struct DescribedDevice {
    identity: Identity,
    described: Result<Arc<Described>, Arc<DescriptionsError>>,
}

impl Descriptions {
    /// Reads a file, or all files of a folder whose names end with `.xml`, in the order of their names. Files
    /// of a folder that are not ESI, and devices of any file that cannot be read, are [passed
    /// over](Self::passed_over). Waits for the disk, allocates.
    ///
    /// # Errors
    /// [`DescriptionsError`].
    pub fn read(path: &Path) -> Result<Self, DescriptionsError> {
        Self::read_within(path, MAX_FOLDER)
    }

    /// Reads at most `longest` bytes of a folder.
    pub(super) fn read_within(path: &Path, longest: u64) -> Result<Self, DescriptionsError> {
        let unreadable = |source| DescriptionsError::File {
            path: path.to_owned(),
            source,
        };
        let mut read = Self::default();
        if !std::fs::metadata(path).map_err(unreadable)?.is_dir() {
            let bytes = bytes(path)?;
            read.add_of(&esi(path, bytes)?, path);
            return Ok(read);
        }
        let mut left = longest;
        for file in files(path).map_err(unreadable)? {
            let too_many = || DescriptionsError::TooMany(path.to_owned());
            let bytes = match bytes(&file) {
                Ok(bytes) => bytes,
                Err(error) => {
                    read.passed_over.push(Arc::new(error));
                    continue;
                }
            };
            left = left.checked_sub(bytes.len() as u64).ok_or_else(too_many)?;
            match esi(&file, bytes) {
                Ok(esi) => read.add_of(&esi, &file),
                Err(error) => read.passed_over.push(Arc::new(error)),
            }
            if read.devices.len() + read.passed_over.len() > MAX_DEVICES {
                return Err(too_many());
            }
        }
        Ok(read)
    }

    /// The same with the devices of one more file.
    pub fn add(&mut self, esi: &Esi) {
        self.add_of(esi, Path::new("ESI"));
    }

    fn add_of(&mut self, esi: &Esi, path: &Path) {
        for device in esi.in_order() {
            let faulty = match device {
                Ok((device, start_up)) => {
                    self.devices.push(DescribedDevice {
                        identity: device.fixed.identity,
                        described: Ok(Arc::new(Described::of(device, start_up))),
                    });
                    continue;
                }
                Err(faulty) => faulty,
            };
            let error = Arc::new(DescriptionsError::Device {
                path: path.to_owned(),
                device: faulty.order.clone(),
                source: faulty.error.clone(),
            });
            self.passed_over.push(Arc::clone(&error));
            self.devices
                .extend(faulty.identity.map(|identity| DescribedDevice {
                    identity,
                    described: Err(error),
                }));
        }
    }

    /// The number of described devices.
    #[must_use]
    pub fn len(&self) -> usize {
        let all = self.devices.iter();
        all.filter(|it| it.described.is_ok()).count()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Files of a folder that are not ESI, and devices that cannot be read, each with the reason.
    #[must_use]
    pub fn passed_over(&self) -> &[Arc<DescriptionsError>] {
        &self.passed_over
    }

    /// The descriptions of these devices, where there are any.
    #[must_use]
    pub fn matching<'d>(&self, devices: impl IntoIterator<Item = &'d SubDevice>) -> Matched {
        let mut matched = Matched::default();
        for device in devices {
            match self.known(&device.identity).map(|it| &it.described) {
                Some(Ok(described)) => matched.0.push((device.station, Arc::clone(described))),
                Some(Err(error)) => matched.1.push((device.station, Arc::clone(error))),
                None => {}
            }
        }
        matched
    }

    /// The description of a device: of its revision, or else of the last one before it, since a device of a
    /// later revision can replace an earlier one. `None` where only later ones are described, or where that
    /// description cannot be read.
    #[must_use]
    pub fn find(&self, identity: &Identity) -> Option<Arc<Described>> {
        let known = self.known(identity)?;
        known.described.as_ref().ok().map(Arc::clone)
    }

    fn known(&self, identity: &Identity) -> Option<&DescribedDevice> {
        let kin = self.devices.iter().filter(|it| {
            let its = it.identity;
            its.vendor == identity.vendor
                && its.product == identity.product
                && its.revision <= identity.revision
        });
        // The last of several that are equal.
        kin.max_by_key(|it| it.identity.revision)
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, DescriptionsError> {
    regular_file::bytes(path, MAX_FILE).map_err(|source| DescriptionsError::File {
        path: path.to_owned(),
        source,
    })
}

fn esi(path: &Path, bytes: Vec<u8>) -> Result<Esi, DescriptionsError> {
    let path = || path.to_owned();
    let text = decode(bytes).map_err(|source| DescriptionsError::Encoding {
        path: path(),
        source,
    })?;
    Esi::without_objects(&text).map_err(|source| DescriptionsError::Esi {
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
        if files.len() == MAX_FILES {
            let words = format!("it holds more than {MAX_FILES} files");
            return Err(io::Error::other(words));
        }
        files.push(path);
    }
    files.sort();
    Ok(files)
}
