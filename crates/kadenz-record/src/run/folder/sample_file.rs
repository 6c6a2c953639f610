//! The samples of one series: out of the ring, held while the disk takes none, into batches.

use std::io;

use super::journal::Journal;
use crate::samples::writer::{SampleEncoder, WriteSamplesError};
use crate::samples::{Sample, SampleConsumer};

/// Samples that make a batch before the interval is over.
const BATCH: usize = 16_384;
/// Samples that are held for a disk that takes none: 32 MiB. Beyond it they are dropped, counted.
const MAX_HELD: usize = 1 << 20;

/// The samples of one series.
pub(super) struct SampleFile {
    journal: Journal,
    encoder: SampleEncoder,
    ring: SampleConsumer,
    held: Vec<Sample>,
    /// Encoded but not yet in the file.
    encoded: Vec<u8>,
    /// How many samples that is.
    encoded_samples: u64,
    /// Samples dropped here, because the disk took none for too long.
    dropped: u64,
    /// Whether the end of the stream was encoded.
    ended: bool,
}

impl SampleFile {
    /// A file whose header is the first thing to be written.
    pub(super) fn new(journal: Journal, mut encoder: SampleEncoder, ring: SampleConsumer) -> Self {
        let encoded = encoder.take();
        Self {
            journal,
            encoder,
            ring,
            held: Vec::with_capacity(2 * BATCH),
            encoded,
            encoded_samples: 0,
            dropped: 0,
            ended: false,
        }
    }

    /// Empties the ring; how full it was, 0 to 1. Where a whole batch has come together it is
    /// written; how that went.
    pub(super) fn drain(&mut self) -> (f64, Option<io::Result<()>>) {
        let waiting = self.ring.len();
        let room = MAX_HELD.saturating_sub(self.held.len());
        let taken = self.ring.drain_into(&mut self.held, room.min(waiting));
        for _ in taken..waiting {
            self.ring.pop();
            self.dropped += 1;
        }
        let written = (self.held.len() >= BATCH).then(|| self.flush());
        (waiting as f64 / self.ring.capacity() as f64, written)
    }

    /// Writes what is held.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let mut done = 0;
        let mut written = self.write_encoded();
        while written.is_ok() && done < self.held.len() {
            let batch = &self.held[done..self.held.len().min(done + BATCH)];
            done += batch.len();
            self.encoded_samples = batch.len() as u64;
            written = self.encoder.encode(batch).map_err(as_io);
            self.encoded = self.encoder.take();
            written = written.and_then(|()| self.write_encoded());
        }
        self.held.drain(..done);
        written
    }

    /// Ends the stream.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.flush()?;
        if !self.ended {
            self.ended = true;
            self.encoder.end().map_err(as_io)?;
            self.encoded = self.encoder.take();
        }
        self.write_encoded()?;
        self.journal.sync()
    }

    fn write_encoded(&mut self) -> io::Result<()> {
        self.journal.append(&self.encoded)?;
        self.encoded.clear();
        self.encoded_samples = 0;
        Ok(())
    }

    /// Samples that found no room in the ring or, later, in memory.
    pub(super) fn dropped(&self) -> u64 {
        self.ring.dropped().saturating_add(self.dropped)
    }

    /// Samples that wait to be written.
    pub(super) fn waiting(&self) -> u64 {
        self.encoded_samples + self.held.len() as u64
    }
}

fn as_io(error: WriteSamplesError) -> io::Error {
    match error {
        WriteSamplesError::Io { source } => source,
        WriteSamplesError::Encode { source } => io::Error::other(source),
    }
}
