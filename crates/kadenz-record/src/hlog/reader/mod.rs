//! Reads interval logs of every version, from any program.
//!
//! It reads payloads of V0, V1 and V2, compressed or not; logs with and without header, tags and base time; either
//! line break; spaces in place of commas. A last line that was cut off, as a crash leaves it, is skipped and
//! reported by [`IntervalLog::truncated`]. Every other malformed line is an error that names it, after which
//! reading can continue.
//!
//! # Times
//! The rules are HdrHistogram's. A base time is added to the timestamps to make them absolute. Without one,
//! timestamps more than a year before the start time are relative to it, and others are absolute already. Without a
//! start time the first timestamp is the start time. In a log to which a second header was appended, each part has
//! its own start time.
//!
//! # Example
//! ```
//! use kadenz_record::{histogram::Histogram, hlog::reader::IntervalLog};
//!
//! let text = "\
//! #[StartTime: 1441812279.474 (seconds since epoch), Wed Sep 09 08:24:39 PDT 2015]
//! 0.127,1.007,2.769,HISTFAAAAEV42pNpmSzMwMCgyAABTBDKT4GBgdnNYMcCBvsPEBEJISEuATEZMQ4uASkhIR4nrxg9v2lMaxhvMekILGZkKmcCAEf2CsI=
//! 1.134,0.999,0.442,HISTFAAAAEJ42pNpmS";
//! let mut log = IntervalLog::from_reader(text.as_bytes());
//! let mut sum = Histogram::new();
//! for interval in &mut log {
//!     let interval = interval?;
//!     assert_eq!((interval.relative_s, interval.length_s), (0.127, 1.007));
//!     interval.histogram.add_to(&mut sum)?;
//! }
//! assert_eq!((sum.count(), sum.max()), (741, 2_754_559));
//! assert!(log.truncated());
//! # Ok::<(), kadenz_record::hlog::reader::ReadLogError>(())
//! ```

mod encoded;
mod line;
mod times;

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read as _, Take},
    path::{Path, PathBuf},
};

use thiserror::Error;

pub use encoded::Encoded;
pub use line::{Field, MalformedLine};

use line::{Comment, Line, LineReader, RawLine};
use times::Times;

/// How many comments are kept, and how much of each; hostile logs may consist of comments alone.
const MAX_COMMENTS: usize = 1000;
const MAX_COMMENT: usize = 10_000;

/// Why a log cannot be opened.
#[derive(Debug, Error)]
#[error("the interval log {} cannot be opened: {source}", path.display())]
pub struct OpenLogError {
    /// The path of the log file.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

/// Why an interval cannot be read.
#[derive(Debug, Error)]
pub enum ReadLogError {
    /// The log itself cannot be read any further.
    #[error("the interval log cannot be read on after line {line}: {source}")]
    Read {
        /// The last line that was read.
        line: u64,
        /// The system's error.
        source: io::Error,
    },
    /// A line is malformed; the lines after it can be read.
    #[error("line {line} of the interval log: {cause}{}", cause.remedy())]
    Malformed {
        /// The number of the line; the first is 1.
        line: u64,
        /// Why it is malformed.
        cause: MalformedLine,
    },
}

/// One line of a log: an interval and its recorded values.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The tag, which distinguishes series that are recorded side by side in one log.
    pub tag: Option<String>,
    /// When it began: wall time in seconds since 1970, if the log states its start time.
    pub start_s: f64,
    /// When it began, in seconds since the log's start.
    pub relative_s: f64,
    /// How long it was, in seconds.
    pub length_s: f64,
    /// The recorded values, decoded on request.
    pub histogram: Encoded,
}

/// A log being read: an iterator over its intervals. Lines are read one at a time, so that a log
/// of any length takes little memory.
#[derive(Debug)]
pub struct IntervalLog<R> {
    lines: LineReader<R>,
    times: Times,
    comments: Vec<String>,
    /// Whether any line was valid so far.
    recognised: bool,
    truncated: bool,
    failed: bool,
}

/// An interval log of a run folder, read up to the bytes that count.
pub type LogOfRun = IntervalLog<BufReader<Take<File>>>;

impl LogOfRun {
    /// Reads the first so many bytes of a log.
    pub(crate) fn of_first(file: File, bytes: u64) -> Self {
        Self::from_reader(BufReader::with_capacity(1 << 16, file.take(bytes)))
    }
}

impl IntervalLog<BufReader<File>> {
    /// Opens the log at `path`.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenLogError> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|source| OpenLogError {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self::from_reader(BufReader::with_capacity(1 << 16, file)))
    }
}

impl<R: BufRead> IntervalLog<R> {
    /// Reads a log from any source.
    pub fn from_reader(reader: R) -> Self {
        Self {
            lines: LineReader::new(reader),
            times: Times::default(),
            comments: Vec::new(),
            recognised: false,
            truncated: false,
            failed: false,
        }
    }

    /// The comments read so far, without `#`: the first thousand of them, each cut to 10 kB.
    #[must_use]
    pub fn comments(&self) -> &[String] {
        &self.comments
    }

    /// The start time that the log has stated so far: wall time in seconds since 1970.
    #[must_use]
    pub fn start_time_s(&self) -> Option<f64> {
        self.times.stated_start()
    }

    /// Whether the last line was cut off and left out. Known once the last interval has been read.
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// The interval of a line, if it holds one.
    fn take_line(&mut self, raw: &RawLine) -> Result<Option<Interval>, MalformedLine> {
        let interval = match line::parse(&raw.text)? {
            Line::Blank => return Ok(None),
            Line::Comment(comment) if !raw.terminated && !comment.closed => {
                self.truncated = true;
                return Ok(None);
            }
            Line::Comment(comment) => {
                self.take_comment(&comment);
                None
            }
            Line::Legend => None,
            Line::Interval(fields) => {
                let (start_s, relative_s) = self.times.place(fields.timestamp_s);
                Some(Interval {
                    tag: fields.tag,
                    start_s,
                    relative_s,
                    length_s: fields.length_s,
                    histogram: Encoded::new(fields.payload.to_vec(), raw.number),
                })
            }
        };
        self.recognised = true;
        Ok(interval)
    }

    fn take_comment(&mut self, comment: &Comment<'_>) {
        if let Some(start) = comment.start_time_s {
            self.times.start(start);
        }
        if let Some(base) = comment.base_time_s {
            self.times.base(base);
        }
        if self.comments.len() < MAX_COMMENTS {
            let text = &comment.text[..comment.text.len().min(MAX_COMMENT)];
            self.comments
                .push(String::from_utf8_lossy(text).into_owned());
        }
    }
}

impl<R: BufRead> Iterator for IntervalLog<R> {
    type Item = Result<Interval, ReadLogError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            let raw = match self.lines.next() {
                Ok(raw) => raw?,
                Err(source) => {
                    self.failed = true;
                    return Some(Err(ReadLogError::Read {
                        line: self.lines.number(),
                        source,
                    }));
                }
            };
            let taken = if raw.too_long {
                Err(MalformedLine::TooLong)
            } else {
                self.take_line(&raw)
            };
            let (number, terminated) = (raw.number, raw.terminated);
            self.lines.give_back(raw);
            match taken {
                Ok(Some(interval)) => return Some(Ok(interval)),
                Ok(None) => {}
                // A cut line is tolerated only in input that is known to be a log.
                Err(cause) if !terminated && self.recognised && cause.is_cut() => {
                    self.truncated = true;
                }
                Err(cause) => {
                    return Some(Err(ReadLogError::Malformed {
                        line: number,
                        cause,
                    }));
                }
            }
        }
        None
    }
}
