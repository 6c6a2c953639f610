//! Large sequential writes: Yoon's `dd if=/dev/zero of=bigfile bs=1024000 count=1024`, again
//! and again.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::Arc;

use super::options::{LoadOptions, StartLoadError};
use super::place::Place;
use super::rates::{Counter, Tally};
use super::workers::{Site, Trouble, Workers};
use super::{Generator, LoadKind};
use crate::stop::Stop;

/// `bs=1024000`.
const BLOCK: usize = 1_024_000;

/// Threads that write a file each. The files have no name, so nothing is left of them whatever
/// ends the process.
pub(super) struct Writers {
    place: Place,
    threads: usize,
    fsync: bool,
    written: Tally,
    trouble: Trouble,
    _workers: Workers,
}

impl Writers {
    pub(super) fn start(options: &LoadOptions, site: &Site) -> Result<Self, StartLoadError> {
        let threads = options.threads.unwrap_or(1);
        let place = Place::choose(options, threads as u64)?;
        let (written, trouble) = (Tally::new(threads), Trouble::default());
        let block: Arc<[u8]> = vec![0; BLOCK].into();
        let mut workers = Workers::new(site);
        for thread in 0..threads {
            let file = tempfile::tempfile_in(&place.dir);
            let mut writer = Writer {
                file: file.map_err(|error| StartLoadError::Folder {
                    dir: place.dir.clone(),
                    error,
                })?,
                size: place.size,
                fsync: options.fsync,
                block: block.clone(),
                thread,
                written: written.clone(),
            };
            let (dir, trouble) = (place.dir.clone(), trouble.clone());
            let work = move |stop: &Stop| {
                while !stop.requested() {
                    if let Err(error) = writer.fill(stop) {
                        let dir = dir.display();
                        trouble.note(|| format!("cannot write in {dir}: {error}"));
                    }
                }
            };
            workers
                .spawn(&format!("disk-{thread}"), work)
                .map_err(|error| StartLoadError::Thread {
                    kind: LoadKind::Disk,
                    error,
                })?;
        }
        Ok(Self {
            place,
            threads,
            fsync: options.fsync,
            written,
            trouble,
            _workers: workers,
        })
    }
}

struct Writer {
    file: File,
    size: u64,
    fsync: bool,
    block: Arc<[u8]>,
    thread: usize,
    written: Tally,
}

impl Writer {
    /// One round of `dd`: the file is emptied and written from its start.
    fn fill(&mut self, stop: &Stop) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        let mut left = self.size;
        while left > 0 && !stop.requested() {
            let length = usize::try_from(left).map_or(BLOCK, |left| left.min(BLOCK));
            self.file.write_all(&self.block[..length])?;
            self.written.add(self.thread, length as u64);
            left -= length as u64;
        }
        if self.fsync && !stop.requested() {
            self.file.sync_data()?;
        }
        Ok(())
    }
}

impl Generator for Writers {
    fn asked(&self) -> String {
        let size = self.place.size as f64 / 1e6;
        let files = match self.threads {
            1 => format!("one file of {size:.0} MB"),
            files => format!("{files} files of {size:.0} MB each"),
        };
        let fsync = match self.fsync {
            true => ", brought to the disk each time",
            false => "",
        };
        format!(
            "{files} in {}, written again and again{fsync}",
            self.place.words()
        )
    }

    fn counters(&self) -> Vec<Counter> {
        let mut counters = vec![Counter::bytes("written", &self.written)];
        let device = self.place.file_system.as_ref().map(|it| it.device.clone());
        if let Some(device) = device.filter(|device| sectors_written(device).is_some()) {
            let bytes = move || sectors_written(&device).unwrap_or(0) * SECTOR;
            counters.push(Counter::from_fn("reached the disk", "MB/s", 1e6, bytes));
        }
        counters
    }

    fn trouble(&self) -> &Trouble {
        &self.trouble
    }
}

/// The kernel counts these, whatever the disk's own are.
const SECTOR: u64 = 512;

/// Sectors that anybody has written to a block device. Source: the kernel's
/// `Documentation/block/stat.rst`.
fn sectors_written(device: &str) -> Option<u64> {
    let path = format!("/sys/dev/block/{device}/stat");
    let text = std::fs::read_to_string(path).ok()?;
    text.split_whitespace().nth(6)?.parse().ok()
}
