//! Files that were made to take more memory, time or disk than their length allows.

use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use allocation_counter::measure;

use super::records::PutRecord as _;
use super::{MAGIC, McapReader, op};
use crate::log::compression::Compression;
use crate::log::{Damage, Entry, Limits, LogError, LogReader as _, MAX_CHUNK_BYTES, Source};

/// A file that is put together record by record.
struct ForgedFile {
    bytes: Vec<u8>,
    chunks: Vec<Vec<u8>>,
}

impl ForgedFile {
    fn new() -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.record(op::HEADER, |content| {
            content.put_counted(b"");
            content.put_counted(b"forger");
        });
        let chunks = Vec::new();
        Self { bytes, chunks }
    }

    /// Appends a chunk of messages of channel 0 at those times, each with a payload, and an index record of
    /// it.
    fn chunk(&mut self, messages: &[(i64, &[u8])]) -> &mut Self {
        let mut records = Vec::new();
        records.record(op::CHANNEL, |content| {
            content.put_u16(0);
            content.put_u16(0);
            content.put_counted(b"POSE");
            content.put_counted(b"lcm");
            content.put_counted(b"");
        });
        for (time, payload) in messages {
            records.record(op::MESSAGE, |content| {
                content.put_u16(0);
                content.put_u32(0);
                content.put_time(*time);
                content.put_time(*time);
                content.extend_from_slice(payload);
            });
        }
        let times = messages.iter().map(|(time, _)| *time);
        let span = times.fold((i64::MAX, 0), |(from, to), it| (from.min(it), to.max(it)));
        self.records(span, &records)
    }

    fn records(&mut self, span: (i64, i64), records: &[u8]) -> &mut Self {
        let begin = self.bytes.len();
        self.bytes.record(op::CHUNK, |content| {
            content.put_time(span.0);
            content.put_time(span.1);
            content.put_u64(records.len() as u64);
            content.put_u32(0);
            content.put_counted(b"lz4");
            let mut packed = Vec::new();
            Compression::Lz4.compress(records, &mut packed).unwrap();
            content.put_u64(packed.len() as u64);
            content.extend_from_slice(&packed);
        });
        self.index(span, begin, (self.bytes.len() - begin) as u64)
    }

    fn index(&mut self, span: (i64, i64), offset: usize, length: u64) -> &mut Self {
        let mut record = Vec::new();
        record.record(op::CHUNK_INDEX, |content| {
            content.put_time(span.0);
            content.put_time(span.1);
            content.put_u64(offset as u64);
            content.put_u64(length);
            content.put_u32(0);
            content.put_u64(0);
            content.put_counted(b"lz4");
            content.put_u64(0);
            content.put_u64(0);
        });
        self.chunks.push(record);
        self
    }

    /// Returns the end of a file whose summary begins at that offset.
    fn end(&self, offset: u64) -> Vec<u8> {
        let mut end = self.chunks.concat();
        end.record(op::FOOTER, |content| {
            content.put_u64(offset);
            content.put_u64(0);
            content.put_u32(0);
        });
        end.extend_from_slice(MAGIC);
        end
    }

    fn finish(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes.record(op::DATA_END, |content| content.put_u32(0));
        bytes.extend(self.end(bytes.len() as u64));
        bytes
    }
}

fn read_all<S: Source>(reader: &mut McapReader<S>) -> Result<u64, LogError> {
    let (mut messages, mut entry) = (0, Entry::default());
    while reader.read(&mut entry)? {
        messages += 1;
    }
    Ok(messages)
}

#[test]
fn a_chunk_that_the_index_names_a_thousand_times_is_read_once() {
    let mut forged = ForgedFile::new();
    forged
        .chunk(&[(1, b"one"), (2, b"two")])
        .chunk(&[(3, b"x")]);
    let named = forged.chunks[0].clone();
    forged.chunks.extend(vec![named; 999]);
    let bytes = forged.finish();
    let mut reader = McapReader::open(Cursor::new(&bytes[..])).unwrap();
    assert_eq!(read_all(&mut reader).unwrap(), 3);
    assert_eq!(reader.info().unwrap().messages, 3);
}

#[test]
fn chunks_that_share_a_byte_in_the_index_are_read_once() {
    let mut forged = ForgedFile::new();
    forged.chunk(&[(1, b"one")]).chunk(&[(3, b"x")]);
    let begin = forged.bytes.len();
    forged.chunk(&[(4, b"y")]);
    forged.chunks.pop();
    let end = forged.bytes.len() as u64;
    forged.index((4, 4), begin - 1, end - begin as u64 + 1);
    let bytes = forged.finish();
    let mut reader = McapReader::open(Cursor::new(&bytes[..])).unwrap();
    assert_eq!(read_all(&mut reader).unwrap(), 3);
    assert_eq!(reader.damage(), Damage::default());
}

/// Small chunks that stay in memory until the end, each read behind a large one.
#[test]
fn a_large_chunk_s_memory_is_not_kept_for_small_ones() {
    const LARGE: usize = 24 << 20;
    let large = vec![0; LARGE];
    let mut forged = ForgedFile::new();
    for round in 0..8 {
        forged.chunk(&[(2 * round, &large)]);
        forged.chunk(&[(2 * round + 1, b"small"), (1000 + round, b"last")]);
    }
    let bytes = forged.finish();
    let mut reader = McapReader::open(Cursor::new(&bytes[..])).unwrap();
    reader.set_limits(Limits { expansion: 1000 });
    let mut messages = 0;
    let counted = measure(|| messages = read_all(&mut reader).unwrap());
    assert_eq!(messages, 24);
    assert!(counted.bytes_max < 4 * LARGE as u64, "{counted:?}");
}

#[test]
fn what_comes_out_of_a_log_is_held_against_its_length_and_the_limit() {
    let large = vec![0; 9 << 20];
    let mut forged = ForgedFile::new();
    forged.chunk(&[(1, &large)]).chunk(&[(2, &large)]);
    let bytes = forged.finish();
    let mut reader = McapReader::open(Cursor::new(&bytes[..])).unwrap();
    for _ in 0..2 {
        let error = read_all(&mut reader).unwrap_err();
        assert!(matches!(error, LogError::Expands { .. }), "{error}");
        assert!(error.to_string().contains("--max-expansion"), "{error}");
        reader.seek(crate::log::WallTime::from_unix_ns(0)).unwrap();
    }
    reader.set_limits(Limits { expansion: 1000 });
    assert_eq!(read_all(&mut reader).unwrap(), 2);
}

#[test]
fn descriptions_take_bounded_memory_over_all_chunks() {
    let mut forged = ForgedFile::new();
    let text = vec![b' '; 10 << 20];
    for number in 1..=9 {
        let mut records = Vec::new();
        records.record(op::SCHEMA, |content| {
            content.put_u16(number);
            content.put_counted(b"name");
            content.put_counted(b"lcm");
            content.put_counted(&text);
        });
        forged.records((number.into(), number.into()), &records);
    }
    let bytes = forged.finish();
    let mut reader = McapReader::open(Cursor::new(&bytes[..])).unwrap();
    reader.set_limits(Limits { expansion: 1000 });
    let counted = measure(|| {
        read_all(&mut reader).unwrap();
    });
    assert_eq!(reader.damage().places, 6);
    assert!(counted.bytes_max < 64 << 20, "{counted:?}");
}

#[test]
fn a_flipped_bit_in_a_chunk_s_length_costs_that_chunk_alone() {
    let mut forged = ForgedFile::new();
    let mut begins = Vec::new();
    for n in 0..2000 {
        begins.push(forged.bytes.len());
        let noise =
            (0..1500).map(|k: u32| ((n * 1500 + k).wrapping_mul(2_654_435_761) >> 13) as u8);
        forged.chunk(&[(n.into(), &noise.collect::<Vec<u8>>())]);
    }
    assert!(forged.bytes.len() > 1 << 20);
    // The third byte of its length: 1 MiB more, which the file has.
    forged.bytes[begins[3] + 1 + 2] ^= 0x10;
    let bytes = &forged.bytes;
    let mut reader = McapReader::open(Cursor::new(&bytes[..])).unwrap();
    assert_eq!(read_all(&mut reader).unwrap(), 1999);
    assert_eq!(reader.damage().places, 1);
}

/// A file that begins and ends with some bytes and has zeros between; counts what is read.
struct Sparse {
    begin: Vec<u8>,
    end: Vec<u8>,
    length: u64,
    at: u64,
    read: Arc<AtomicU64>,
}

impl Read for Sparse {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let ends_at = self.length - self.end.len() as u64;
        let part = if self.at >= ends_at {
            self.end.get((self.at - ends_at) as usize..).unwrap_or(&[])
        } else {
            self.begin.get(self.at as usize..).unwrap_or(&[])
        };
        let count = match part.len() {
            0 => into.len().min(ends_at.saturating_sub(self.at) as usize),
            some => some.min(into.len()),
        };
        into[..count].fill(0);
        into[..count.min(part.len())].copy_from_slice(&part[..count.min(part.len())]);
        self.at += count as u64;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl Seek for Sparse {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::End(by) => self.length.saturating_add_signed(by),
            SeekFrom::Current(by) => self.at.saturating_add_signed(by),
        };
        Ok(self.at)
    }
}

#[test]
fn a_chunk_that_claims_60_gib_of_a_file_that_has_them_is_not_read() {
    const GIB_60: u64 = 60 << 30;
    let mut forged = ForgedFile::new();
    forged.chunk(&[(1, b"one")]);
    let begin = forged.bytes.len();
    forged.index((2, 2), begin, GIB_60);
    let start = begin as u64 + GIB_60;
    let end = forged.end(start);
    let read = Arc::new(AtomicU64::new(0));
    let source = Sparse {
        length: start + end.len() as u64,
        begin: forged.bytes.clone(),
        end,
        at: 0,
        read: Arc::clone(&read),
    };
    let mut reader = McapReader::open(source).unwrap();
    assert_eq!(read_all(&mut reader).unwrap(), 1);
    let damage = Damage {
        places: 1,
        skipped_bytes: GIB_60,
    };
    assert_eq!(reader.damage(), damage);
    assert!(read.load(Ordering::Relaxed) < MAX_CHUNK_BYTES / 64);
}
