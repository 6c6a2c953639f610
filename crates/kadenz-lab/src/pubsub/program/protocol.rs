//! The lines between `kadenz msg latency` and a probe: a program that publishes or subscribes by the
//! client of its own middleware (docs/messages-probes.md). Sans-IO.
//!
//! A probe reads [`Settings`] and then [`Order`]s from its standard input, and writes [`Line`]s to its
//! standard output.

use std::fmt;

use super::super::probe::Probe;
use super::super::publisher::{PublishPlan, Published};

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// A line of a probe is not longer, without its end.
pub const MAX_LINE: usize = 1024;

/// No time is larger: 146 years of a clock that counts from the start of the machine.
const MAX_TIME_NS: i64 = 1 << 62;

/// What a probe is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// To publish on the beat.
    Publisher,
    /// To stamp what comes.
    Subscriber,
}

impl fmt::Display for Role {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Publisher => "publisher",
            Self::Subscriber => "subscriber",
        })
    }
}

/// The first line to a probe: words of `name=value`.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// What it is to do.
    pub role: Role,
    /// Where both sides meet, in the words of the middleware.
    pub url: &'a str,
    /// Channel or topic.
    pub channel: &'a str,
    /// What is published.
    pub publish: &'a PublishPlan,
    /// How many messages may wait for a subscriber.
    pub queue: usize,
}

impl fmt::Display for Settings<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PublishPlan {
            run,
            interval,
            warm_up,
            count,
            message_bytes,
        } = self.publish;
        write!(
            to,
            "kadenz-probe version={VERSION} role={} url={} channel={} queue={} run={run} interval_ns={} \
             warm_up={warm_up} count={count} bytes={message_bytes}",
            self.role,
            self.url,
            self.channel,
            self.queue,
            interval.as_duration().as_nanos(),
        )
    }
}

/// A line to a probe after its settings. The end of its standard input says [`Order::End`], too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// To a publisher: every subscriber has received a greeting, keep the beat.
    Begin,
    /// Nothing more is wanted.
    End,
}

impl Order {
    /// The line, with its end.
    #[must_use]
    pub const fn line(self) -> &'static str {
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
    Message {
        /// What it said.
        probe: Probe,
        /// When it was decoded.
        received_ns: i64,
    },
    /// `foreign`: what came was not of this measurement.
    Foreign,
    /// `published COUNT REFUSED`: what the publisher did, when it has ended.
    Published(Published),
    /// `note TEXT`: what belongs into the run as a warning.
    Note(String),
    /// `error TEXT`: why it cannot do its work.
    Error(String),
}

/// A line that is none of the protocol's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadLine {
    /// It says something else.
    #[error("wrote {0:?} to its standard output, which is not a line of the probe protocol")]
    Unknown(String),
    /// It does not end.
    #[error("wrote a line of more than {MAX_LINE} bytes to its standard output")]
    Long,
    /// Its times are of another clock.
    #[error(
        "it wrote a message whose times are not of CLOCK_MONOTONIC, or not of this measurement"
    )]
    Clock,
}

/// How much of a bad line is shown.
const SHOWN: usize = 100;

impl Line {
    /// Reads a line, without its end. `run` is the measurement that messages belong to.
    ///
    /// # Errors
    /// [`BadLine::Unknown`] where it is none, or its numbers are no times.
    pub fn parse(line: &[u8], run: i64) -> Result<Self, BadLine> {
        let text = String::from_utf8_lossy(line);
        let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
        let parsed = match word {
            "ready" => Some(Self::Ready(rest.trim().to_owned())),
            "note" => Some(Self::Note(rest.trim().to_owned())),
            "error" => Some(Self::Error(rest.trim().to_owned())),
            "heard" if rest.is_empty() => Some(Self::Heard),
            "foreign" if rest.is_empty() => Some(Self::Foreign),
            "message" => Self::message(rest, run),
            "published" => Self::published(rest),
            _ => None,
        };
        parsed.ok_or_else(|| BadLine::Unknown(text.chars().take(SHOWN).collect()))
    }

    fn message(rest: &str, run: i64) -> Option<Self> {
        let mut words = rest.split(' ');
        let mut number = || words.next()?.parse::<i64>().ok();
        let sequence = number()?;
        let mut time = || number().filter(|it| (-1..MAX_TIME_NS).contains(it));
        let (intended_ns, sent_ns, before_ns, received_ns) = (time()?, time()?, time()?, time()?);
        let damaged = match words.next() {
            None => false,
            Some("damaged") => true,
            Some(_) => return None,
        };
        let probe = Probe {
            run,
            sequence,
            intended_ns,
            sent_ns,
            before_ns,
            padding: 0,
            damaged,
        };
        let is_whole = words.next().is_none();
        is_whole.then_some(Self::Message { probe, received_ns })
    }

    fn published(rest: &str) -> Option<Self> {
        let (published, refused) = rest.split_once(' ')?;
        let published = Published {
            published: published.parse().ok()?,
            refused: refused.parse().ok()?,
        };
        (published.refused <= published.published).then_some(Self::Published(published))
    }
}

/// Parts what a probe writes into lines, however the pipe cuts it.
#[derive(Debug, Default)]
pub struct Lines {
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
}

impl Lines {
    /// Takes bytes, and hands each line that they end to `take`, which may refuse it.
    ///
    /// # Errors
    /// What `take` says, or [`BadLine::Long`].
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
                read.push(Line::parse(line, 7)?);
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
        let probe = Probe {
            run: 7,
            sequence: 3,
            intended_ns: 10,
            sent_ns: 20,
            before_ns: -1,
            ..Probe::default()
        };
        let received_ns = 30;
        assert_eq!(whole[2], Line::Message { probe, received_ns });
        assert!(matches!(&whole[3], Line::Message { probe, .. } if probe.damaged));
        let published = Published {
            published: 5,
            refused: 1,
        };
        assert_eq!(whole[5], Line::Published(published));
    }

    #[test]
    fn what_is_no_line_is_refused_and_shown() {
        for bad in [
            "",
            "hello",
            "ready2",
            "message 1 2 3 4",
            "message 1 2 3 4 5 6",
            "message 1 2 3 4 5 damaged 6",
            "message 1 -2 3 4 5",
            "message 1 2 3 4 4611686018427387904",
            "message 1 2 3 4 99999999999999999999",
            "published 1 2",
            "published 1",
            "heard twice",
        ] {
            let error = Line::parse(bad.as_bytes(), 7).unwrap_err();
            assert_eq!(error, BadLine::Unknown(bad.to_owned()));
        }
        let long = vec![b'x'; MAX_LINE + 1];
        assert_eq!(lines(&long, 10), Err(BadLine::Long));
        assert!(
            matches!(Line::parse(&long, 7), Err(BadLine::Unknown(shown)) if shown.len() == SHOWN)
        );
    }

    #[test]
    fn a_probe_is_told_everything_in_one_line() {
        let publish = PublishPlan {
            run: 9,
            interval: std::time::Duration::from_millis(1).try_into().unwrap(),
            warm_up: 20,
            count: 1000,
            message_bytes: 200,
        };
        let settings = Settings {
            role: Role::Publisher,
            url: "udpm://239.255.76.67:7667?ttl=0",
            channel: "ARM",
            publish: &publish,
            queue: 30,
        };
        assert_eq!(
            settings.to_string(),
            "kadenz-probe version=1 role=publisher url=udpm://239.255.76.67:7667?ttl=0 channel=ARM queue=30 run=9 \
             interval_ns=1000000 warm_up=20 count=1000 bytes=200"
        );
    }
}
