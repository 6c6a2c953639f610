//! Parsing one line of a log.

use std::fmt;
use std::io::{self, BufRead, Read};

use thiserror::Error;

use crate::hlog::codec::{DecodeError, complete_length};

/// No histogram takes fewer bytes, in any form.
const MIN_PAYLOAD: usize = 16;

/// The fields of an interval's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// When the interval began.
    StartTimestamp,
    /// How long it was.
    IntervalLength,
    /// The largest value of the interval, as the log states it.
    IntervalMax,
    /// The compressed histogram of the interval, in Base64.
    Histogram,
}

impl fmt::Display for Field {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::StartTimestamp => "start timestamp",
            Self::IntervalLength => "interval length",
            Self::IntervalMax => "interval maximum",
            Self::Histogram => "histogram",
        })
    }
}

/// Why a line is malformed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MalformedLine {
    /// It ends too early.
    #[error("it ends before its {0} is complete")]
    Ends(Field),
    /// A field is not a number.
    #[error("its {field} {text:?} is not a number of seconds")]
    Number {
        /// The field that holds no number.
        field: Field,
        /// The text of the field.
        text: String,
    },
    /// There is more text after the histogram.
    #[error("{0:?} stands after its histogram: two lines may have run into one")]
    Extra(String),
    /// The histogram is not Base64.
    #[error("its histogram is not Base64: {0}")]
    Base64(String),
    /// The histogram is damaged or not supported.
    #[error("its histogram cannot be read: {0}")]
    Histogram(#[from] DecodeError),
    /// The line is longer than any valid one.
    #[error("it is longer than any line of an interval log, 80 MB")]
    TooLong,
}

impl MalformedLine {
    /// The remedy, where the cause does not name it.
    pub(super) fn remedy(&self) -> &'static str {
        match self {
            Self::Histogram(DecodeError::DoubleHistogram | DecodeError::Ratio(_)) => "",
            _ => "; fix the line or delete it",
        }
    }

    /// Whether the line could be the beginning of a valid one.
    pub(super) fn is_cut(&self) -> bool {
        matches!(
            self,
            Self::Ends(_) | Self::Histogram(DecodeError::TooShort { .. })
        )
    }
}

pub(super) enum Line<'a> {
    Blank,
    Comment(Comment<'a>),
    Legend,
    Interval(IntervalLine<'a>),
}

pub(super) struct Comment<'a> {
    /// The text after `#`.
    pub(super) text: &'a [u8],
    /// Whether a bracket that was opened is closed.
    pub(super) closed: bool,
    pub(super) start_time_s: Option<f64>,
    pub(super) base_time_s: Option<f64>,
}

/// A line of an interval log that holds a histogram, by its fields.
pub(super) struct IntervalLine<'a> {
    pub(super) tag: Option<String>,
    pub(super) timestamp_s: f64,
    pub(super) length_s: f64,
    /// The histogram, Base64 without padding; complete as far as its first bytes show.
    pub(super) payload: &'a [u8],
}

/// Parses a line, given without its line break.
pub(super) fn parse(line: &[u8]) -> Result<Line<'_>, MalformedLine> {
    let line = trim(line);
    Ok(match line {
        [] => Line::Blank,
        [b'#', text @ ..] => Line::Comment(comment(text)),
        _ if is_legend(line) => Line::Legend,
        _ => Line::Interval(interval(line)?),
    })
}

/// Characters that separate fields, and may be at the ends of a line.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn trim(mut line: &[u8]) -> &[u8] {
    while let Some((_, rest)) = line.split_first().filter(|(first, _)| is_space(**first)) {
        line = rest;
    }
    while let Some((_, rest)) = line.split_last().filter(|(last, _)| is_space(**last)) {
        line = rest;
    }
    line
}

fn is_legend(line: &[u8]) -> bool {
    line.strip_prefix(b"\"")
        .unwrap_or(line)
        .starts_with(b"StartTimestamp")
}

fn comment(text: &[u8]) -> Comment<'_> {
    let time = |name: &[u8]| {
        let rest = text.strip_prefix(name)?.trim_ascii_start();
        let end = rest
            .iter()
            .position(|byte| b" ,]\t".contains(byte))
            .unwrap_or(rest.len());
        number(&rest[..end]).filter(|seconds| seconds.is_finite())
    };
    Comment {
        text,
        closed: !text.starts_with(b"[") || text.ends_with(b"]"),
        start_time_s: time(b"[StartTime:"),
        base_time_s: time(b"[BaseTime:"),
    }
}

fn interval(line: &[u8]) -> Result<IntervalLine<'_>, MalformedLine> {
    let mut fields = line
        .split(|byte| is_space(*byte) || *byte == b',')
        .filter(|field| !field.is_empty())
        .peekable();
    let tag = fields
        .next_if(|field| field.starts_with(b"Tag="))
        .map(|field| String::from_utf8_lossy(&field[4..]).into_owned());
    let mut seconds = |field| {
        let text = fields.next().ok_or(MalformedLine::Ends(field))?;
        match number(text) {
            Some(seconds) if seconds.is_finite() || field == Field::IntervalMax => Ok(seconds),
            _ if fields.peek().is_none() && is_beginning(text) => Err(MalformedLine::Ends(field)),
            _ => Err(MalformedLine::Number {
                field,
                text: excerpt(text),
            }),
        }
    };
    let timestamp_s = seconds(Field::StartTimestamp)?;
    let length_s = seconds(Field::IntervalLength)?;
    // The maximum follows from the histogram; its column only has to exist.
    seconds(Field::IntervalMax)?;
    let payload = fields.next().ok_or(MalformedLine::Ends(Field::Histogram))?;
    let payload = without_padding(payload);
    if let Some(extra) = fields.next() {
        return Err(MalformedLine::Extra(excerpt(extra)));
    }
    check_whole(payload)?;
    Ok(IntervalLine {
        tag,
        timestamp_s,
        length_s,
        payload,
    })
}

/// Padding carries no information, and a cut-off line may lack it.
fn without_padding(base64: &[u8]) -> &[u8] {
    let end = base64.iter().rposition(|byte| *byte != b'=');
    &base64[..end.map_or(0, |last| last + 1)]
}

fn number(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether more characters could complete it to a number, a tag or a legend.
fn is_beginning(text: &[u8]) -> bool {
    b"Tag=".starts_with(text)
        || b"\"StartTimestamp\"".starts_with(text)
        || text.iter().all(|byte| b"0123456789+-.eE".contains(byte))
}

/// Finds, without decoding it, a histogram that is shorter than its first bytes state, or text that is not
/// a histogram.
fn check_whole(payload: &[u8]) -> Result<(), MalformedLine> {
    let mut start = Vec::with_capacity(9);
    // Whole groups of characters, up to three.
    super::super::decode(&payload[..payload.len().min(12) / 4 * 4], &mut start)?;
    let have = super::super::decoded_length(payload);
    let need = match start.len() {
        ..8 => MIN_PAYLOAD,
        _ => complete_length(&start)?,
    };
    if have < need {
        return Err(DecodeError::TooShort { have, need }.into());
    }
    Ok(())
}

/// A part of `text` long enough to find it.
fn excerpt(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(40)]).into_owned()
}

// Cutting a stream into lines of bounded length.

/// The longest line that is read: the largest possible layout, uncompressed, in Base64.
const MAX_LINE: u64 = 80 << 20;

/// One line without its line break.
#[derive(Debug)]
pub(super) struct RawLine {
    pub(super) text: Vec<u8>,
    /// Its number; the first line is 1.
    pub(super) number: u64,
    /// Whether a line break ended it.
    pub(super) terminated: bool,
    /// Whether the line was too long to keep.
    pub(super) too_long: bool,
}

/// Reads lines of bounded length, and counts them.
#[derive(Debug)]
pub(super) struct LineReader<R> {
    reader: R,
    number: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> LineReader<R> {
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

    /// Reads the next line; return its memory by [`LineReader::give_back`].
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
