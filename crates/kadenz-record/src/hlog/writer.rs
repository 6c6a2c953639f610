//! Writes interval logs.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use base64::Engine;
use thiserror::Error;

use super::BASE64;
use super::codec::Encoder;
use super::reader::{Encoded, ReadLogError};
use crate::histogram::Histogram;

/// Nanoseconds in the unit of the `Interval_Max` column, milliseconds. Readers ignore the column.
const MAX_UNIT_NS: f64 = 1e6;

/// The lines before the first interval: `start_s` is the wall time to which the intervals are relative, in seconds
/// since 1970, and each of `comments` becomes a line `#[...]` of its own, with its line breaks turned into spaces.
/// The first line holds the word `jHiccup`, by which viewers such as HistogramLogAnalyzer recognise the format.
#[must_use]
pub fn header(start_s: f64, comments: &[&str]) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut lines = format!(
        "#[Logged with jHiccup-compatible Kadenz {version}]\n\
         #[Histogram log format version 1.3]\n"
    );
    for comment in comments {
        lines += &format!("#[{}]\n", comment.replace(['\r', '\n'], " "));
    }
    let date = java_date(start_s);
    lines += &format!("#[StartTime: {start_s:.3} (seconds since epoch), {date}]\n");
    // Without it readers guess by the distance to the start time whether timestamps are relative, which is wrong for
    // a start in 1970, as that of a board whose clock has not been set.
    lines += &format!("#[BaseTime: {start_s:.3} (seconds since epoch)]\n");
    lines += "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
              \"Interval_Compressed_Histogram\"\n";
    lines
}

/// The form of Java's `Date.toString`, in UTC.
fn java_date(seconds: f64) -> String {
    let timestamp = jiff::Timestamp::from_millisecond((seconds * 1e3).round() as i64)
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    timestamp.strftime("%a %b %d %H:%M:%S UTC %Y").to_string()
}

/// Why a line cannot be written.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum EncodeLineError {
    /// The tag would end its field.
    #[error(
        "tag {0:?} holds a comma, a space, a tab or a line break, which end a tag: leave them out"
    )]
    Tag(String),
    /// A time that is not a number of seconds.
    #[error("start {start_s} s, length {length_s} s: both must be finite numbers of seconds")]
    Time {
        /// The given start of the interval, in seconds.
        start_s: f64,
        /// The given length of the interval, in seconds.
        length_s: f64,
    },
}

/// Makes the lines of an interval log. Keeps its buffers. For callers that must know exactly what has reached the
/// file; others use [`IntervalLogWriter`].
#[derive(Debug, Default)]
pub struct LineEncoder {
    encoder: Encoder,
    line: String,
}

impl LineEncoder {
    /// An encoder of lines.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One line, line break included: `histogram` holds nanoseconds and was recorded for
    /// `length_s` seconds from `start_s`, counted from the start time in the header.
    ///
    /// # Errors
    /// When the tag or a time does not fit the format.
    pub fn line(
        &mut self,
        tag: Option<&str>,
        start_s: f64,
        length_s: f64,
        histogram: &Histogram,
    ) -> Result<&str, EncodeLineError> {
        self.begin(tag, start_s, length_s, histogram.max())?;
        BASE64.encode_string(self.encoder.compressed(histogram), &mut self.line);
        self.line.push('\n');
        Ok(&self.line)
    }

    /// A line up to its histogram, of which `max_ns` is the largest value.
    fn begin(
        &mut self,
        tag: Option<&str>,
        start_s: f64,
        length_s: f64,
        max_ns: u64,
    ) -> Result<(), EncodeLineError> {
        if !start_s.is_finite() || !length_s.is_finite() {
            return Err(EncodeLineError::Time { start_s, length_s });
        }
        self.line.clear();
        if let Some(tag) = tag {
            if tag.contains([',', ' ', '\t', '\r', '\n']) {
                return Err(EncodeLineError::Tag(tag.to_owned()));
            }
            self.line += &format!("Tag={tag},");
        }
        let max = max_ns as f64 / MAX_UNIT_NS;
        self.line += &format!("{start_s:.3},{length_s:.3},{max:.3},");
        Ok(())
    }
}

/// Why an interval was not appended.
#[derive(Debug, Error)]
pub enum AppendError {
    /// The line does not fit the format; nothing was written.
    #[error(transparent)]
    Line(#[from] EncodeLineError),
    /// The histogram of another log cannot be read; nothing was written.
    #[error(transparent)]
    Histogram(#[from] ReadLogError),
    /// The log could not be written to; its last line may be incomplete.
    #[error("the interval log cannot be written: {0}; free space or fix the file's permissions")]
    Write(#[from] io::Error),
}

/// Appends intervals to a log, one line each, and flushes every line: whatever kills the process, all lines except
/// the one being written stay readable.
///
/// ```
/// use kadenz_record::{histogram::Histogram, hlog::writer::IntervalLogWriter};
///
/// let mut lateness = Histogram::new();
/// lateness.record(52_000);
/// let mut log = IntervalLogWriter::new(Vec::new(), 1_441_812_279.474)?;
/// log.append(None, 0.0, 1.0, &lateness)?;
/// let text = String::from_utf8(log.into_inner())?;
/// assert!(text.contains("(seconds since epoch), Wed Sep 09 15:24:39 UTC 2015]"));
/// assert!(text.lines().last().unwrap().starts_with("0.000,1.000,0.052,HISTFAAAA"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct IntervalLogWriter<W> {
    sink: W,
    lines: LineEncoder,
}

impl IntervalLogWriter<File> {
    /// Makes a new log at `path`, which must not exist yet; `start_s` is the wall time from which
    /// intervals count, in seconds since 1970.
    ///
    /// # Errors
    /// When the file cannot be made or written.
    pub fn create(path: &Path, start_s: f64) -> io::Result<Self> {
        Self::new(File::create_new(path)?, start_s)
    }
}

impl<W: Write> IntervalLogWriter<W> {
    /// Starts a log in `sink` by writing the header. The sink should not buffer.
    ///
    /// # Errors
    /// When the sink cannot be written.
    pub fn new(mut sink: W, start_s: f64) -> io::Result<Self> {
        sink.write_all(header(start_s, &[]).as_bytes())?;
        sink.flush()?;
        Ok(Self {
            sink,
            lines: LineEncoder::new(),
        })
    }

    /// Appends the histogram of one interval that began `start_s` seconds after the log's start
    /// and lasted `length_s`. Values are nanoseconds.
    ///
    /// # Errors
    /// When the line does not fit the format, or the sink cannot be written.
    pub fn append(
        &mut self,
        tag: Option<&str>,
        start_s: f64,
        length_s: f64,
        histogram: &Histogram,
    ) -> Result<(), AppendError> {
        let line = self.lines.line(tag, start_s, length_s, histogram)?;
        self.sink.write_all(line.as_bytes())?;
        Ok(self.sink.flush()?)
    }

    /// As [`IntervalLogWriter::append`], but of a histogram that another log holds and whose largest value is
    /// `max_ns`. A payload in the form that Kadenz writes, V2 and compressed, is copied as it is, which costs
    /// nothing; other payloads are encoded again.
    ///
    /// # Errors
    /// As [`IntervalLogWriter::append`], and when the histogram has to be decoded and cannot.
    pub fn append_encoded(
        &mut self,
        tag: Option<&str>,
        start_s: f64,
        length_s: f64,
        max_ns: u64,
        histogram: &Encoded,
    ) -> Result<(), AppendError> {
        let Some(payload) = histogram.as_written() else {
            return self.append(tag, start_s, length_s, &histogram.decode()?);
        };
        self.lines.begin(tag, start_s, length_s, max_ns)?;
        self.lines.line += payload;
        // The reader removes the padding, and not every library can do without it.
        let padding = payload.len().wrapping_neg() % 4;
        self.lines.line.extend(std::iter::repeat_n('=', padding));
        self.lines.line.push('\n');
        self.sink.write_all(self.lines.line.as_bytes())?;
        Ok(self.sink.flush()?)
    }

    /// The sink, with the whole log in it.
    pub fn into_inner(self) -> W {
        self.sink
    }
}
