//! A file on a disk that fails by a given function, for tests of these failures.

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use super::LogFile;

/// A call to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileCall {
    /// Write that many bytes.
    Write(usize),
    /// Cut the file to that many bytes.
    Cut(u64),
    /// Read that many bytes.
    Read(usize),
}

/// The disk's response to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The disk does what the call asks, at once.
    None,
    /// The disk does it after this time.
    Stall(Duration),
    /// The disk writes at most that many bytes, at least one; reads and cuts succeed.
    Short(usize),
    /// The disk does nothing and returns an error: [`io::ErrorKind::Interrupted`] as after a signal,
    /// `StorageFull`, or `Other` as from a broken disk.
    Error(io::ErrorKind),
    /// As an error, but a part was written before: that many bytes.
    Torn(usize, io::ErrorKind),
}

/// Returns the fault of each call; it may wait itself, which is a stall until a test has seen enough.
pub type Faults = Box<dyn FnMut(FileCall) -> Fault + Send>;

/// A file with faults.
///
/// ```
/// use kadenz_msg::log::mcap::{McapWriter, McapOptions};
/// use kadenz_msg::log::{FileCall, Entry, Fault, FaultyFile, LogWriter as _, SmallDisk};
///
/// let disk = SmallDisk::with_room(1 << 20);
/// // A signal comes before every other write, and no write is longer than seven bytes.
/// let mut calls = 0;
/// let faults = Box::new(move |_: FileCall| {
///     calls += 1;
///     if calls % 2 == 0 { Fault::Error(std::io::ErrorKind::Interrupted) } else { Fault::Short(7) }
/// });
/// let file = Box::new(FaultyFile::new(Box::new(disk.clone()), faults));
/// let mut writer = McapWriter::new(file, &McapOptions::default())?;
/// writer.write(&Entry::default())?;
/// assert_eq!(Box::new(writer).finish()?, 0);
/// assert!(disk.contents().ends_with(b"\x89MCAP0\r\n"));
/// # Ok::<(), kadenz_msg::log::LogError>(())
/// ```
pub struct FaultyFile {
    file: Box<dyn LogFile>,
    faults: Faults,
}

impl FaultyFile {
    /// Wraps a file, which gets the calls without a fault.
    #[must_use]
    pub fn new(file: Box<dyn LogFile>, faults: Faults) -> Self {
        Self { file, faults }
    }

    /// Returns the number of bytes to write, and the error afterwards; a stall waits within.
    fn ask(&mut self, asked: FileCall) -> (usize, io::Result<()>) {
        match (self.faults)(asked) {
            Fault::None => (usize::MAX, Ok(())),
            Fault::Stall(time) => {
                thread::sleep(time);
                (usize::MAX, Ok(()))
            }
            Fault::Short(bytes) => (bytes.max(1), Ok(())),
            Fault::Error(kind) => (0, Err(kind.into())),
            Fault::Torn(bytes, kind) => (bytes, Err(kind.into())),
        }
    }
}

show_fields!(FaultyFile: );

impl Write for FaultyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (most, result) = self.ask(FileCall::Write(bytes.len()));
        let part = &bytes[..most.min(bytes.len())];
        if result.is_err() {
            self.file.write_all(part)?;
        }
        result?;
        self.file.write(part)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl LogFile for FaultyFile {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.ask(FileCall::Cut(length)).1?;
        self.file.cut(length)
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.ask(FileCall::Read(into.len())).1?;
        self.file.read_at(offset, into)
    }

    fn to_disk(&mut self) -> io::Result<()> {
        self.file.to_disk()
    }
}
