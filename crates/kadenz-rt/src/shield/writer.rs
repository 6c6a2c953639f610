//! The journal on the disk: locked by its owner, flushed before each change.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::journal::{Change, FILE_NAME, Journal, Owner, line};
use crate::own_file::{self, Locked, OwnFileError, refused};

/// No journal is longer; a longer one is cut, so that a wild file costs bounded memory.
const MAX: u64 = 64 << 20;

/// The machine's only journal, held by this process until it is closed.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    path: PathBuf,
}

/// Whether the journal could be had.
pub(super) enum Opened {
    /// It is ours; what an owner before left in it.
    Ours(Writer, Journal),
    /// Its owner lives.
    Held(Journal),
}

impl Writer {
    /// Takes the journal in `folder`, making both if they are not there.
    pub(super) fn open(folder: &Path) -> Result<Opened, OwnFileError> {
        own_file::folder(folder)?;
        let path = folder.join(FILE_NAME);
        match own_file::lock(&path)? {
            Locked::Held(mut file) => Ok(Opened::Held(parse(&mut file, &path)?)),
            Locked::Ours(mut file) => {
                let journal = parse(&mut file, &path)?;
                Ok(Opened::Ours(Self { file, path }, journal))
            }
        }
    }

    /// The journal that is there, without making one.
    pub(super) fn find(folder: &Path) -> Result<Option<Opened>, OwnFileError> {
        let path = folder.join(FILE_NAME);
        match std::fs::symlink_metadata(&path) {
            Ok(_) => Self::open(folder).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(refused("look at", &path)(error)),
        }
    }

    /// Begins anew, with the owner's line.
    pub(super) fn begin(&mut self, owner: &Owner) -> Result<(), OwnFileError> {
        self.write_first(owner)
            .map_err(refused("write", &self.path))
    }

    fn write_first(&mut self, owner: &Owner) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&line(owner)?)?;
        self.file.sync_all()
    }

    /// Writes changes down; only then may they be made.
    pub(super) fn append(&mut self, changes: &[Change]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for change in changes {
            bytes.extend(line(change)?);
        }
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(&bytes)?;
        self.file.sync_data()
    }

    /// Everything is put back: the journal goes.
    pub(super) fn close(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

fn parse(file: &mut File, path: &Path) -> Result<Journal, OwnFileError> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))
        .and_then(|_| file.take(MAX).read_to_end(&mut bytes))
        .map_err(refused("read", path))?;
    Ok(Journal::parse(&bytes))
}
