//! The journal on the disk: locked by its owner, flushed before each change.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::journal::{Change, FILE_NAME, Journal, Owner, line};

/// No journal is longer; a longer one is cut, so that a wild file costs bounded memory.
const LONGEST: u64 = 64 << 20;

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
    pub(super) fn open(folder: &Path) -> io::Result<Opened> {
        make(folder)?;
        let path = folder.join(FILE_NAME);
        loop {
            let mut file = options().create(true).open(&path)?;
            check_owner(&file, &path)?;
            if !crate::os::try_lock(&file)? {
                return Ok(Opened::Held(parse(&mut file)?));
            }
            // Who held it before may have removed it while we waited for nothing.
            if is_still(&file, &path) {
                let journal = parse(&mut file)?;
                return Ok(Opened::Ours(Self { file, path }, journal));
            }
        }
    }

    /// The journal that is there, without making one.
    pub(super) fn find(folder: &Path) -> io::Result<Option<Opened>> {
        match std::fs::symlink_metadata(folder.join(FILE_NAME)) {
            Ok(_) => Self::open(folder).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Begins anew, with the owner's line.
    pub(super) fn begin(&mut self, owner: &Owner) -> io::Result<()> {
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

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // A link would have us write where it points.
        options.mode(0o600).custom_flags(libc::O_NOFOLLOW);
    }
    options
}

fn make(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o755);
    }
    builder.create(folder)
}

/// A journal says what to write as root, so only its own user may have written it.
#[cfg(unix)]
fn check_owner(file: &File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let (theirs, ours) = (file.metadata()?.uid(), crate::os::user());
    if theirs == ours {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "{} belongs to user {theirs}, not to user {ours}",
            path.display()
        ),
    ))
}

#[cfg(not(unix))]
fn check_owner(_file: &File, _path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn is_still(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let same =
        |a: std::fs::Metadata, b: std::fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    match (file.metadata(), std::fs::symlink_metadata(path)) {
        (Ok(ours), Ok(there)) => same(ours, there),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_still(_file: &File, _path: &Path) -> bool {
    true
}

fn parse(file: &mut File) -> io::Result<Journal> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(Journal::parse(&bytes))
}
