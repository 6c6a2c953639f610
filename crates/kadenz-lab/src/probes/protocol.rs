//! The lines between Kadenz and a probe: a program that publishes, subscribes or sets timers by a library of its
//! own (docs/messages-probes.md). Sans-IO.
//!
//! A probe reads a line of settings and then orders from its standard input, and writes [`Line`]s to its standard
//! output.

use std::fmt;

/// The version of the protocol.
pub(crate) const VERSION: u32 = 1;

/// Maximum length of a line of a probe, without its end.
pub const MAX_LINE: usize = 1024;

/// Upper limit of a time: 36 years of a clock that counts from the start of the machine.
const MAX_TIME_NS: i64 = 1 << 60;

/// The task of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeRole {
    /// To publish on the beat.
    Publisher,
    /// To stamp the messages that come.
    Subscriber,
    /// To set a one-shot timer repeatedly.
    OneShot,
    /// To let a timer keep a rate.
    Cyclic,
}

impl fmt::Display for ProbeRole {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Publisher => "publisher",
            Self::Subscriber => "subscriber",
            Self::OneShot => "oneshot",
            Self::Cyclic => "cyclic",
        })
    }
}

/// The first line to a probe: its role, and further words of `name=value`.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    role: ProbeRole,
    words: Vec<(&'static str, String)>,
}

impl Settings {
    /// Settings with nothing but the role.
    #[must_use]
    pub(crate) fn new(role: ProbeRole) -> Self {
        Self {
            role,
            words: Vec::new(),
        }
    }

    /// Adds one word. A value holds no blank.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.words.push((name, value.to_string()));
        self
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "kadenz-probe version={VERSION} role={}", self.role)?;
        let mut words = self.words.iter();
        words.try_for_each(|(name, value)| write!(to, " {name}={value}"))
    }
}

/// A line to a probe after its settings. The end of its standard input means [`Order::End`], too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// To a publisher: every subscriber has received a greeting, keep the beat. To a timer: begin.
    Begin,
    /// No further lines are needed.
    End,
}

impl Order {
    /// The line, with its end.
    #[must_use]
    pub(crate) const fn line(self) -> &'static str {
        match self {
            Self::Begin => "begin\n",
            Self::End => "end\n",
        }
    }
}

/// A line of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// `ready NAME`: it has opened what it needs; the name of the middleware and its version.
    Ready(String),
    /// `heard`: a greeting of this measurement came.
    Heard,
    /// `message SEQUENCE INTENDED_NS SENT_NS BEFORE_NS RECEIVED_NS [damaged]`: what the message said, and
    /// when the probe had decoded it.
    Message(MessageTimes),
    /// `foreign`: a message of another measurement came.
    Foreign,
    /// `published COUNT REFUSED`: the publisher's counts, when it has ended.
    Published {
        /// Messages that were due, refused ones included, without those for warming up; after the order to end only
        /// those until then.
        published: u64,
        /// Of these, messages that the middleware did not take.
        refused: u64,
    },
    /// `timer START_NS END_NS REPORTED_NS`: a one-shot timer was set, fired, and reported its lateness.
    Timer {
        /// When it was set.
        start_ns: i64,
        /// When it called back.
        end_ns: i64,
        /// The lateness that it reported itself.
        reported_ns: i64,
    },
    /// `ignored START_NS END_NS`: a one-shot timer was set and never fired.
    Ignored {
        /// When it was set.
        start_ns: i64,
        /// When the probe gave it up.
        end_ns: i64,
    },
    /// `started AT_NS`: a cyclic timer was started.
    Started(i64),
    /// `woke AT_NS`: it called back.
    Woke(i64),
    /// `note TEXT`: a warning for the run.
    Note(String),
    /// `error TEXT`: why the probe cannot do its work.
    Error(String),
}

/// Content of a message, and when it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageTimes {
    /// The number that the message carries.
    pub sequence: i64,
    /// The time of its beat, in nanoseconds.
    pub intended_ns: i64,
    /// When it was published.
    pub sent_ns: i64,
    /// How long publishing the message before took; below zero if there was none.
    pub before_ns: i64,
    /// When it was decoded.
    pub received_ns: i64,
    /// Whether its content differs from what was sent.
    pub damaged: bool,
}

/// Why a line is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadLine {
    /// It is not a line of the protocol.
    #[error("wrote {0:?} to its standard output, which is not a line of the probe protocol")]
    Unknown(String),
    /// It is too long.
    #[error("wrote a line of more than {MAX_LINE} bytes to its standard output")]
    Long,
    /// Its times are of another clock.
    #[error(
        "it wrote a message whose times are not of CLOCK_MONOTONIC, or not of this measurement"
    )]
    Clock,
}

/// Bytes of a bad line that are shown.
const SHOWN: usize = 100;

impl Line {
    /// Reads a line, without its end.
    ///
    /// # Errors
    /// [`BadLine::Unknown`] where it is not a line of the protocol, or its numbers are not times.
    pub fn parse(line: &[u8]) -> Result<Self, BadLine> {
        let text = String::from_utf8_lossy(line);
        let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
        let parsed = match word {
            "ready" => Some(Self::Ready(rest.trim().to_owned())),
            "note" => Some(Self::Note(rest.trim().to_owned())),
            "error" => Some(Self::Error(rest.trim().to_owned())),
            "heard" if rest.is_empty() => Some(Self::Heard),
            "foreign" if rest.is_empty() => Some(Self::Foreign),
            "message" => Self::message(rest),
            "published" => Self::published(rest),
            "timer" => numbers(rest).map(|[start_ns, end_ns, reported_ns]| Self::Timer {
                start_ns,
                end_ns,
                reported_ns,
            }),
            "ignored" => numbers(rest).map(|[start_ns, end_ns]| Self::Ignored { start_ns, end_ns }),
            "started" => numbers(rest).map(|[at_ns]| Self::Started(at_ns)),
            "woke" => numbers(rest).map(|[at_ns]| Self::Woke(at_ns)),
            _ => None,
        };
        parsed.ok_or_else(|| BadLine::Unknown(text.chars().take(SHOWN).collect()))
    }

    fn message(rest: &str) -> Option<Self> {
        let (rest, damaged) = match rest.strip_suffix(" damaged") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let [sequence, intended_ns, sent_ns, before_ns, received_ns] = numbers(rest)?;
        Some(Self::Message(MessageTimes {
            sequence,
            intended_ns,
            sent_ns,
            before_ns,
            received_ns,
            damaged,
        }))
    }

    fn published(rest: &str) -> Option<Self> {
        let [published, refused] = numbers(rest)?.map(|it| u64::try_from(it).ok());
        let (published, refused) = (published?, refused?);
        (refused <= published).then_some(Self::Published { published, refused })
    }
}

/// Parses N numbers, one blank between two, each within the limits of a time.
fn numbers<const N: usize>(text: &str) -> Option<[i64; N]> {
    let mut words = text.split(' ');
    let mut all = [0; N];
    for number in &mut all {
        let word = words.next()?.parse::<i64>().ok()?;
        *number = Some(word).filter(|it| (-MAX_TIME_NS..MAX_TIME_NS).contains(it))?;
    }
    words.next().is_none().then_some(all)
}

/// Splits a probe's output into lines, however the pipe cuts it.
#[derive(Debug, Default)]
pub struct Lines {
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
}

impl Lines {
    /// Takes bytes, and hands each line that they end to `take`, which may refuse it.
    ///
    /// # Errors
    /// The error of `take`, or [`BadLine::Long`].
    pub fn push(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), BadLine>,
    ) -> Result<(), BadLine> {
        for part in bytes.split_inclusive(|it| *it == b'\n') {
            let (text, ends) = match part.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (part, false),
            };
            if self.begun.len() + text.len() > MAX_LINE {
                return Err(BadLine::Long);
            }
            self.begun.extend_from_slice(text);
            if ends {
                let line = std::mem::take(&mut self.begun);
                take(line.strip_suffix(b"\r").unwrap_or(&line))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
mod tests {
    use super::*;

    fn lines(bytes: &[u8], at_once: usize) -> Result<Vec<Line>, BadLine> {
        let (mut lines, mut read) = (Lines::default(), Vec::new());
        for part in bytes.chunks(at_once) {
            lines.push(part, |line| {
                read.push(Line::parse(line)?);
                Ok(())
            })?;
        }
        Ok(read)
    }

    #[test]
    fn lines_are_the_same_however_the_pipe_cuts_them() {
        let text = b"ready liblcm 1.3.1\nheard\r\nmessage 3 10 20 -1 30\nmessage 4 11 21 5 31 damaged\nforeign\n\
                     published 5 1\nnote slow\nerror no bus\n";
        let whole = lines(text, 1 << 16).unwrap();
        assert_eq!(whole.len(), 8);
        for at_once in 1..40 {
            assert_eq!(lines(text, at_once).unwrap(), whole);
        }
        let times = MessageTimes {
            sequence: 3,
            intended_ns: 10,
            sent_ns: 20,
            before_ns: -1,
            received_ns: 30,
            damaged: false,
        };
        assert_eq!(whole[2], Line::Message(times));
        assert!(matches!(&whole[3], Line::Message(times) if times.damaged));
        let (published, refused) = (5, 1);
        assert_eq!(whole[5], Line::Published { published, refused });
    }

    #[test]
    fn timers_have_lines_of_their_own() {
        let read = lines(
            b"timer 10 1020 -5\nignored 10 2000\nstarted 7\nwoke 1007\n",
            100,
        )
        .unwrap();
        let timer = Line::Timer {
            start_ns: 10,
            end_ns: 1020,
            reported_ns: -5,
        };
        let (start_ns, end_ns) = (10, 2000);
        let ignored = Line::Ignored { start_ns, end_ns };
        assert_eq!(read, [timer, ignored, Line::Started(7), Line::Woke(1007)]);
    }

    #[test]
    fn what_is_not_a_line_is_refused_and_shown() {
        for bad in [
            "",
            "hello",
            "ready2",
            "message 1 2 3 4",
            "message 1 2 3 4 5 6",
            "message 1 2 3 4 5 damaged 6",
            "message 1 2 3 4 4611686018427387904",
            "message 1 2 3 4 99999999999999999999",
            "published 1 2",
            "published 1",
            "published -1 -2",
            "timer 1 2",
            "woke",
            "woke  1",
            "ignored",
            "ignored 1",
            "heard twice",
        ] {
            let error = Line::parse(bad.as_bytes()).unwrap_err();
            assert_eq!(error, BadLine::Unknown(bad.to_owned()));
        }
        let long = vec![b'x'; MAX_LINE + 1];
        assert_eq!(lines(&long, 10), Err(BadLine::Long));
        assert!(matches!(Line::parse(&long), Err(BadLine::Unknown(shown)) if shown.len() == SHOWN));
    }

    #[test]
    fn a_probe_gets_all_settings_in_one_line() {
        let settings = Settings::new(ProbeRole::OneShot)
            .with("interval_ns", 1_000_000)
            .with("count", 5);
        assert_eq!(
            settings.to_string(),
            "kadenz-probe version=1 role=oneshot interval_ns=1000000 count=5"
        );
    }
}
