//! Cuts a stream into lines of bounded length.

use std::io::{self, BufRead, Read};

/// The longest line read: the largest layout there is, uncompressed, in Base64.
const MAX_LINE: u64 = 80 << 20;

/// One line without its line break.
#[derive(Debug)]
pub(super) struct RawLine {
    pub(super) text: Vec<u8>,
    /// The first line is 1.
    pub(super) number: u64,
    /// Whether a line break ended it.
    pub(super) terminated: bool,
    /// Whether it was too long to be kept.
    pub(super) too_long: bool,
}

#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: R,
    number: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            number: 0,
            buffer: Vec::new(),
        }
    }

    /// How many lines have been read.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next line; [`Lines::give_back`] its memory.
    pub(super) fn next(&mut self) -> io::Result<Option<RawLine>> {
        let mut text = std::mem::take(&mut self.buffer);
        text.clear();
        let mut limited = self.reader.by_ref().take(MAX_LINE);
        if limited.read_until(b'\n', &mut text)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        let mut terminated = text.pop_if(|last| *last == b'\n').is_some();
        let too_long = !terminated && text.len() as u64 == MAX_LINE;
        if too_long {
            terminated = self.reader.skip_until(b'\n')? > 0;
        }
        if self.number == 1 && text.starts_with(b"\xef\xbb\xbf") {
            text.drain(..3);
        }
        Ok(Some(RawLine {
            text,
            number: self.number,
            terminated,
            too_long,
        }))
    }

    pub(super) fn give_back(&mut self, line: RawLine) {
        self.buffer = line.text;
    }
}
