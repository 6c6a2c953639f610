//! Where posts of a running loop come from.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use kadenz_ethercat::control::board::{BoardError, Reader};
use kadenz_ethercat::control::cyclic::{Heading, Post};
use kadenz_ethercat::control::desk::{Answer, Layout, Question};
use kadenz_report::numbers;
use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::shared::Viewer;

use super::super::asked::{Desk, nonsense};

/// How long a loop may take to begin, and a reader that is overtaken to come through.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(1);
/// A loop stands still whose last cycle is older than this, or than so many cycles.
const OLD: Duration = Duration::from_secs(1);
const OLD_CYCLES: u64 = 10;

enum Source {
    /// The loop's memory; the second one is asked whether its owner lives.
    Mapped(Reader<Box<Viewer>>, Viewer),
    /// Its desk.
    Asked(Box<Desk>),
}

/// Posts of a loop.
pub(super) struct Posts {
    source: Source,
    name: String,
    bytes: Vec<u8>,
    oldest: Duration,
}

/// A post that was read.
pub(super) struct Seen<'p> {
    pub(super) heading: Heading,
    pub(super) age: Duration,
    /// The whole of it.
    pub(super) bytes: &'p [u8],
}

impl Posts {
    pub(super) fn open(desk: Desk, layout: &Layout) -> anyhow::Result<Self> {
        let name = desk.name.clone();
        let source = match &layout.memory {
            Some(memory) => mapped(memory)?,
            None => Source::Asked(Box::new(desk)),
        };
        if let Source::Mapped(reader, _) = &source {
            anyhow::ensure!(reader.bytes() == layout.catalogue.bytes, nonsense(&name));
        }
        let cycles = Duration::from_nanos(layout.interval_ns.saturating_mul(OLD_CYCLES));
        Ok(Self {
            source,
            name,
            bytes: vec![0; layout.catalogue.bytes],
            oldest: cycles.max(OLD),
        })
    }

    /// Whether the loop's process is gone, or has given its memory up.
    pub(super) fn has_ended(&self) -> bool {
        match &self.source {
            Source::Mapped(_, viewer) => !viewer.owner_lives(),
            Source::Asked(_) => false,
        }
    }

    /// What the loop posted last. An error when that is old.
    pub(super) fn next(&mut self) -> anyhow::Result<Seen<'_>> {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.read() {
                Ok(()) => break,
                Err(Unread::Failed(error)) => return Err(error),
                Err(Unread::Yet(why)) if Instant::now() >= end => {
                    anyhow::bail!("the loop `{}` shows nothing: {why}", self.name)
                }
                Err(Unread::Yet(_)) => std::thread::sleep(LOOK),
            }
        }
        let post = Post::of(&self.bytes).context("what the loop posts makes no sense")?;
        let heading = post.heading;
        let age = clock::now().since(MonotonicTime::from_ns(heading.received_ns));
        let age = Duration::from_nanos(u64::try_from(age).unwrap_or(0));
        anyhow::ensure!(age <= self.oldest, self.stale(&heading, age));
        Ok(Seen {
            heading,
            age,
            bytes: &self.bytes,
        })
    }

    fn read(&mut self) -> Result<(), Unread> {
        match &mut self.source {
            Source::Mapped(reader, _) => match reader.read(&mut self.bytes) {
                Ok(_) => Ok(()),
                Err(why @ (BoardError::Empty | BoardError::Overtaken)) => {
                    Err(Unread::Yet(why.to_string()))
                }
                Err(why) => Err(Unread::Failed(why.into())),
            },
            Source::Asked(desk) => match desk.client.ask(&Question::Post {}) {
                Ok(Answer::Post { bytes, .. }) if bytes.len() == self.bytes.len() => {
                    self.bytes = bytes;
                    Ok(())
                }
                Ok(_) => Err(Unread::Failed(nonsense(&desk.name))),
                Err(kadenz_ethercat::control::desk::ClientError::Refused(why)) => {
                    Err(Unread::Yet(why))
                }
                Err(error) => Err(Unread::Failed(error.into())),
            },
        }
    }

    fn stale(&self, heading: &Heading, age: Duration) -> String {
        let what = match self.has_ended() {
            true => "has ended",
            false => "stands still",
        };
        format!(
            "the loop `{}` {what}: its last cycle, number {}, is {} old; `kadenz ethercat stats {}` tells \
             how it runs",
            self.name,
            heading.number,
            numbers::span(age.as_nanos() as f64),
            self.name,
        )
    }
}

/// Why nothing was read.
enum Unread {
    /// It may work later.
    Yet(String),
    Failed(anyhow::Error),
}

/// Maps a loop's memory. There is no board on it before the loop's first cycle.
fn mapped(memory: &str) -> anyhow::Result<Source> {
    let end = Instant::now() + PATIENCE;
    loop {
        match Reader::of(Box::new(Viewer::open(memory)?)) {
            Ok(reader) => return Ok(Source::Mapped(reader, Viewer::open(memory)?)),
            Err(BoardError::Foreign) if Instant::now() < end => std::thread::sleep(LOOK),
            Err(error) => return Err(anyhow::Error::new(error).context(memory.to_owned())),
        }
    }
}
