//! The interval log of one series: a line an interval, held in memory while the disk accepts none.

use std::io;
use std::time::Duration;

use super::EARLY_TAG;
use super::journal::Journal;
use crate::histogram::SignedHistogram;
use crate::hlog::writer::LineEncoder;
use crate::samples::writer::{SampleEncoder, WriteSamplesError};
use crate::samples::{Sample, SampleConsumer};

/// Most bytes of lines that are held for a disk that accepts none; beyond it intervals are merged.
const MAX_HELD: usize = 1 << 20;

/// The interval log of one series.
pub(super) struct IntervalFile {
    journal: Journal,
    lines: LineEncoder,
    /// Lines that wait to be written.
    held: String,
    /// The merged intervals, once lines could no longer be held one by one.
    merged: Option<Merged>,
}

struct Merged {
    start: Duration,
    end: Duration,
    histogram: SignedHistogram,
}

impl IntervalFile {
    /// A log whose `header` is the first thing to be written.
    pub(super) fn new(journal: Journal, header: String) -> Self {
        Self {
            journal,
            lines: LineEncoder::new(),
            held: header,
            merged: None,
        }
    }

    /// Writes an interval, and any lines held before it. After an error it holds the interval.
    pub(super) fn append(
        &mut self,
        start: Duration,
        end: Duration,
        histogram: &SignedHistogram,
    ) -> io::Result<()> {
        if let Some(merged) = &mut self.merged {
            merged.end = end;
            merged.histogram.add(histogram);
        } else if self.held.len() > MAX_HELD {
            self.merged = Some(Merged {
                start,
                end,
                histogram: histogram.clone(),
            });
        } else {
            self.hold(start, end, histogram)?;
        }
        self.flush()
    }

    /// Writes the held lines.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.write_held()?;
        if let Some(merged) = self.merged.take() {
            self.hold(merged.start, merged.end, &merged.histogram)?;
            self.write_held()?;
        }
        Ok(())
    }

    /// Writes the held lines, and waits until everything is on the disk.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.flush()?;
        self.journal.sync()
    }

    fn write_held(&mut self) -> io::Result<()> {
        self.journal.append(self.held.as_bytes())?;
        self.held.clear();
        Ok(())
    }

    /// The lines of one interval: the late values always, the early ones if there are any.
    fn hold(
        &mut self,
        start: Duration,
        end: Duration,
        histogram: &SignedHistogram,
    ) -> io::Result<()> {
        let start_s = start.as_secs_f64();
        let length_s = end.saturating_sub(start).as_secs_f64();
        let early = (!histogram.early.is_empty()).then_some((Some(EARLY_TAG), &histogram.early));
        for (tag, part) in [(None, &histogram.late)].into_iter().chain(early) {
            let line = self.lines.line(tag, start_s, length_s, part);
            self.held.push_str(line.map_err(io::Error::other)?);
        }
        Ok(())
    }
}

// The samples of one series: from the ring into batches, held in memory while the disk accepts none.

/// Samples that are written as a batch before the interval is over.
const BATCH: usize = 16_384;
/// Samples that are held for a disk that accepts none: 32 MiB. Beyond it they are dropped and counted.
const MAX_HELD_SAMPLES: usize = 1 << 20;

/// The samples of one series.
pub(super) struct SampleFile {
    journal: Journal,
    encoder: SampleEncoder,
    ring: SampleConsumer,
    held: Vec<Sample>,
    /// Encoded but not yet in the file.
    encoded: Vec<u8>,
    /// The number of encoded samples.
    encoded_samples: u64,
    /// Samples dropped here, because the disk accepted none for too long.
    dropped: u64,
    /// Whether the end of the stream was encoded.
    ended: bool,
}

/// The result of emptying a ring.
pub(super) struct Drained {
    /// How full it was, 0 to 1.
    pub(super) fullness: f64,
    /// The result of writing, if there was enough to write.
    pub(super) written: Option<io::Result<()>>,
    /// Samples for which memory had no room.
    pub(super) dropped: u64,
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

    /// Empties the ring. If a whole batch has come together, it writes the batch.
    pub(super) fn drain(&mut self) -> Drained {
        let waiting = self.ring.len();
        let room = MAX_HELD_SAMPLES.saturating_sub(self.held.len());
        let taken = self.ring.drain_into(&mut self.held, room.min(waiting));
        for _ in taken..waiting {
            self.ring.pop();
        }
        let dropped = (waiting - taken) as u64;
        self.dropped += dropped;
        Drained {
            fullness: waiting as f64 / self.ring.capacity() as f64,
            written: (self.held.len() >= BATCH).then(|| self.flush()),
            dropped,
        }
    }

    /// Writes the held samples.
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::run::disk::{Disk, sim::SmallDisk};
    use crate::samples::{ring, writer::SamplesHeader};

    fn interval(values: std::ops::Range<i64>) -> SignedHistogram {
        let mut histogram = SignedHistogram::new();
        values.for_each(|value| histogram.record(value));
        histogram
    }

    fn log(disk: &SmallDisk, path: &Path) -> IntervalFile {
        IntervalFile::new(
            Journal::new(disk.create(path).expect("creates")),
            "head\n".to_owned(),
        )
    }

    fn starts(path: &Path) -> Vec<String> {
        let text = std::fs::read_to_string(path).expect("reads");
        text.lines()
            .map(|line| line.split(",HIST").next().unwrap_or("").to_owned())
            .collect()
    }

    #[test]
    fn a_full_disk_holds_lines_and_writes_them_when_there_is_room() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.hlog");
        let disk = SmallDisk::with_room(30);
        let mut log = log(&disk, &path);
        let second = Duration::from_secs;
        assert!(log.append(second(0), second(1), &interval(-3..5)).is_err());
        assert!(log.append(second(1), second(2), &interval(0..5)).is_err());
        assert!(starts(&path).is_empty(), "no part of a line stays");
        disk.add_room(1 << 20);
        log.append(second(2), second(3), &interval(0..5))
            .expect("room");
        let expected = [
            "head",
            "0.000,1.000,0.000",
            "Tag=early,0.000,1.000,0.000",
            "1.000,1.000,0.000",
            "2.000,1.000,0.000",
        ];
        assert_eq!(starts(&path), expected);
    }

    #[test]
    fn samples_for_which_memory_has_no_room_are_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = SmallDisk::with_room(0);
        let file = disk.create(&folder.path().join("a.samples.arrow"));
        let encoder = SampleEncoder::new(&SamplesHeader::default()).expect("a header");
        let (mut producer, consumer) = ring(8);
        let mut file = SampleFile::new(Journal::new(file.expect("creates")), encoder, consumer);
        file.held.resize(MAX_HELD_SAMPLES - 1, Sample::default());
        let pushed = (0..5).all(|_| producer.push(Sample::default()));
        assert!(pushed, "the ring has room");
        let drained = file.drain();
        assert_eq!((drained.dropped, file.dropped()), (4, 4));
        assert!(drained.written.is_some_and(|it| it.is_err()));
    }

    #[test]
    fn a_disk_that_stays_full_merges_intervals_and_fills_no_memory() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.hlog");
        let disk = SmallDisk::with_room(0);
        let mut log = log(&disk, &path);
        let second = Duration::from_secs;
        log.held.extend(std::iter::repeat_n("#\n", MAX_HELD / 2));
        for n in 0..1000 {
            assert!(
                log.append(second(n), second(n + 1), &interval(0..5))
                    .is_err()
            );
        }
        assert!(log.held.len() <= MAX_HELD + 10);
        disk.add_room(2 << 20);
        log.flush().expect("room");
        assert_eq!(
            starts(&path).last().map(String::as_str),
            Some("0.000,1000.000,0.000")
        );
    }
}
