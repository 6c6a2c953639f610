//! Finds the messages of a stream in a file, and reads no further than the end of the file.

use std::io::{Read, Seek, SeekFrom};

use super::ReadSamplesError;
use crate::samples::wire::{self, ArrowMessage, CONTINUATION, MAX_METADATA};

/// Most bytes that are read at a time; a chunk of a column is smaller still.
const MAX_READ: u64 = MAX_METADATA;

/// The content of the stream at an offset.
pub(super) enum Step {
    Message {
        content: ArrowMessage,
        body: u64,
        next: u64,
    },
    End,
    CutOff,
}

/// Reads the message at `at`.
pub(super) fn step<R: Read + Seek>(
    source: &mut RandomAccessReader<R>,
    at: u64,
    metadata: &mut Vec<u8>,
) -> Result<Step, ReadSamplesError> {
    let Some(prefix) = source.words_at::<8>(at)? else {
        return Ok(Step::CutOff);
    };
    let [first, second] = [&prefix[..4], &prefix[4..]]
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    // Streams from before Arrow 0.15 have no continuation mark.
    let (length, start) = if first == CONTINUATION {
        (second, at + 8)
    } else {
        (first, at + 4)
    };
    if length == 0 {
        // A file system leaves a tail of zeros for bytes that never reached the disk.
        return Ok(if start == source.len {
            Step::End
        } else {
            Step::CutOff
        });
    }
    let damaged = |cause| ReadSamplesError::Damaged { offset: at, cause };
    let length = u64::from(length);
    if length > MAX_METADATA {
        return Err(damaged(format!(
            "a message with {length} bytes of metadata"
        )));
    }
    if !source.holds(start, length) {
        return Ok(Step::CutOff);
    }
    source.read_at(start, length, metadata)?;
    let (body_length, content) = wire::parse(metadata).map_err(damaged)?;
    let body = start + length;
    if !source.holds(body, body_length) {
        return Ok(Step::CutOff);
    }
    Ok(Step::Message {
        content,
        body,
        next: body + body_length,
    })
}

/// A reader that knows its length and its position, so that it seeks only where it must.
#[derive(Debug)]
pub(super) struct RandomAccessReader<R> {
    reader: R,
    pub(super) len: u64,
    position: u64,
}

impl<R: Read + Seek> RandomAccessReader<R> {
    pub(super) fn new(mut reader: R) -> Result<Self, ReadSamplesError> {
        let fail = |source| ReadSamplesError::Io { offset: 0, source };
        let len = reader.seek(SeekFrom::End(0)).map_err(fail)?;
        Ok(Self {
            reader,
            len,
            position: len,
        })
    }

    fn holds(&self, offset: u64, length: u64) -> bool {
        offset
            .checked_add(length)
            .is_some_and(|end| end <= self.len)
    }

    /// The `N` bytes at `offset`; `None` if the file ends before.
    fn words_at<const N: usize>(
        &mut self,
        offset: u64,
    ) -> Result<Option<[u8; N]>, ReadSamplesError> {
        if !self.holds(offset, N as u64) {
            return Ok(None);
        }
        let mut bytes = [0; N];
        self.fill(offset, &mut bytes)?;
        Ok(Some(bytes))
    }

    /// Reads `length` bytes, which the caller has found to be small and inside the file.
    pub(super) fn read_at(
        &mut self,
        offset: u64,
        length: u64,
        into: &mut Vec<u8>,
    ) -> Result<(), ReadSamplesError> {
        debug_assert!(self.holds(offset, length) && length <= MAX_READ);
        into.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
        self.fill(offset, into)
    }

    fn fill(&mut self, offset: u64, into: &mut [u8]) -> Result<(), ReadSamplesError> {
        let fail = |source| ReadSamplesError::Io { offset, source };
        if self.position != offset {
            self.reader.seek(SeekFrom::Start(offset)).map_err(fail)?;
        }
        self.position = u64::MAX;
        self.reader.read_exact(into).map_err(fail)?;
        self.position = offset + into.len() as u64;
        Ok(())
    }
}
