//! A recording of a day: its index takes no more memory than that of an hour, and finds everything.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::fs::File;
use std::io::{self, Seek as _, Write};
use std::sync::Arc;

use kadenz_msg::log::compression::Compression;
use kadenz_msg::log::mcap::{McapOptions, McapReader, McapWriter};
use kadenz_msg::log::{Entry, LogFile, LogReader as _, LogWriter as _, LoggedChannel};
use kadenz_rt::clock::WallTime;

/// The number of chunks of a day at 100 MB/s: full ones, counted by `chunks_grow_with_the_file` beside the writer, and
/// those that a flush ends each second.
const CHUNKS_OF_A_DAY: u32 = 538_000 + 86_400;

/// The memory that the index may take, for any number of chunks: its part in memory, the same once more while it goes
/// to the file, and twice that for a vector's growth.
const MAX_BYTES: u64 = 6 << 20;

fn entry(channels: &[Arc<LoggedChannel>], n: u32) -> Entry {
    Entry {
        channel: Arc::clone(&channels[n as usize % channels.len()]),
        log_time: time(n),
        publish_time: time(n),
        sequence: n,
        payload: vec![n as u8; 8],
    }
}

/// A day's messages at an even rate.
fn time(n: u32) -> WallTime {
    WallTime::from_unix_ns(1_700_000_000_000_000_000 + i64::from(n) * 138_373_000)
}

fn channels() -> Vec<Arc<LoggedChannel>> {
    let channel = |n| Arc::new(LoggedChannel::lcm(&format!("CHANNEL_{n}")));
    (0..10).map(channel).collect()
}

/// One message is a chunk here, so that a day's chunks fit a test.
fn options() -> McapOptions {
    McapOptions {
        compression: Compression::None,
        chunk_bytes: 1,
        longest_chunk_bytes: 1,
        ..McapOptions::default()
    }
}

#[test]
fn a_day_s_index_is_in_bounded_memory_and_finds_every_message() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("day.mcap");
    let mut open = File::options();
    let file = open.read(true).write(true).create_new(true).open(&path);
    let channels = channels();
    let mut writer = Box::new(McapWriter::new(Box::new(file.unwrap()), &options()).unwrap());
    let used = allocation_counter::measure(|| {
        for n in 0..CHUNKS_OF_A_DAY {
            writer.write(&entry(&channels, n)).unwrap();
        }
        assert_eq!(writer.finish().unwrap(), 0);
    });
    assert!(used.bytes_max < MAX_BYTES, "{} bytes", used.bytes_max);

    let mut reader = McapReader::open(File::open(&path).unwrap()).unwrap();
    let info = reader.info().unwrap();
    assert_eq!(info.messages, u64::from(CHUNKS_OF_A_DAY));
    assert_eq!(info.chunks, [(String::new(), u64::from(CHUNKS_OF_A_DAY))]);
    assert!(
        info.channels
            .iter()
            .all(|it| it.messages == u64::from(CHUNKS_OF_A_DAY / 10))
    );
    let mut found = Entry::default();
    for n in [0, 1, 299_999, CHUNKS_OF_A_DAY - 1] {
        reader.seek(time(n)).unwrap();
        assert!(reader.read(&mut found).unwrap());
        assert_eq!((found.sequence, found.log_time), (n, time(n)));
    }
    assert!(!reader.read(&mut found).unwrap());
    assert!(reader.damage().is_none());
}

/// A file that can be written and truncated, and not read.
struct WriteOnly(File);

impl Write for WriteOnly {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl LogFile for WriteOnly {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        LogFile::cut(&mut self.0, length)
    }

    fn read_at(&mut self, _: u64, _: &mut [u8]) -> io::Result<()> {
        // As a file that was opened for writing alone; its position may be anywhere afterwards.
        self.0.rewind()?;
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn to_disk(&mut self) -> io::Result<()> {
        self.0.to_disk()
    }
}

#[test]
fn in_a_file_that_cannot_be_read_the_index_stays_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.mcap");
    let file = WriteOnly(File::create(&path).unwrap());
    let channels = channels();
    let mut writer = Box::new(McapWriter::new(Box::new(file), &options()).unwrap());
    const CHUNKS: u32 = 20_000;
    for n in 0..CHUNKS {
        writer.write(&entry(&channels, n)).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), 0);
    let mut reader = McapReader::open(File::open(&path).unwrap()).unwrap();
    assert_eq!(reader.outline().complete, Some(true));
    let mut found = Entry::default();
    for n in 0..CHUNKS {
        assert!(reader.read(&mut found).unwrap());
        assert_eq!(found.sequence, n);
    }
    assert!(!reader.read(&mut found).unwrap());
}
