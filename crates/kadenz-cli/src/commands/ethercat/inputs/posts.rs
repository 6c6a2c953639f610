//! Sources of the posts of a running loop.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use kadenz::ethercat::control::cyclic::{CycleImage, ImageHeader};
use kadenz::ethercat::control::process_image::{ProcessImageError, Reader};
use kadenz::ethercat::running_loop::control_socket::{ClientError, ProcessImageLayout};
use kadenz::report::numbers;
use kadenz::rt::clock::{self, MonotonicTime};
use kadenz::rt::shared::Viewer;

use crate::commands::ethercat::running_loop::RunningLoop;

/// How long to wait until the loop begins, and until a read succeeds that the loop keeps overwriting.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// A loop stands still if its last cycle is older than this, or than this many cycles.
const OLD: Duration = Duration::from_secs(1);
const OLD_CYCLES: u64 = 10;

/// Source of a loop's posts.
enum PostSource {
    /// The loop's shared memory; the second viewer shows whether its owner lives.
    Mapped(Reader<Box<Viewer>>, Viewer),
    /// Its control socket.
    Asked(Box<RunningLoop>),
}

/// Posts of a running loop.
pub(super) struct Posts {
    source: PostSource,
    name: String,
    bytes: Vec<u8>,
    oldest: Duration,
}

/// Process image of one cycle.
pub(super) struct ImageSnapshot<'p> {
    pub(super) heading: ImageHeader,
    pub(super) age: Duration,
    /// The whole image.
    pub(super) bytes: &'p [u8],
}

impl Posts {
    /// Opens the posts of a loop, which stands still once its last cycle is older than `oldest`.
    pub(super) fn open(
        running: RunningLoop,
        layout: &ProcessImageLayout,
        oldest: Option<Duration>,
    ) -> anyhow::Result<Self> {
        let name = running.name.clone();
        let source = match &layout.memory {
            Some(memory) => mapped(memory)?,
            None => PostSource::Asked(Box::new(running)),
        };
        if let PostSource::Mapped(reader, _) = &source {
            anyhow::ensure!(
                reader.bytes() == layout.catalogue.bytes,
                other_layout(&name)
            );
        }
        let cycles = Duration::from_nanos(layout.interval_ns.saturating_mul(OLD_CYCLES));
        Ok(Self {
            source,
            name,
            bytes: vec![0; layout.catalogue.bytes],
            oldest: oldest.unwrap_or(cycles.max(OLD)),
        })
    }

    /// Whether no further post will come: the loop reports its end, or its process is gone. A control socket reports
    /// it with its answer.
    pub(super) fn has_ended(&self) -> bool {
        match &self.source {
            PostSource::Mapped(reader, viewer) => reader.has_ended() || !viewer.owner_lives(),
            PostSource::Asked(_) => false,
        }
    }

    /// The loop's latest process image; `None` where the loop has ended; an error where the image is old.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<ImageSnapshot<'_>>> {
        let end = Instant::now() + ANSWER_TIMEOUT;
        loop {
            if self.has_ended() {
                return Ok(None);
            }
            match self.read() {
                Ok(()) => break,
                Err(Unread::Ended) => return Ok(None),
                Err(Unread::Failed(error)) => return Err(error),
                Err(Unread::Yet(why)) if Instant::now() >= end => {
                    anyhow::bail!("the loop `{}` shows nothing: {why}", self.name)
                }
                Err(Unread::Yet(_)) => std::thread::sleep(POLL_INTERVAL),
            }
        }
        let post = CycleImage::of(&self.bytes).context("the loop's post is invalid")?;
        let heading = post.heading;
        let age = clock::now().since(MonotonicTime::from_ns(heading.received_ns));
        let age = Duration::from_nanos(u64::try_from(age).unwrap_or(0));
        if age > self.oldest {
            // The loop may have ended since the last look.
            anyhow::ensure!(self.has_ended(), self.stale(&heading, age));
            return Ok(None);
        }
        Ok(Some(ImageSnapshot {
            heading,
            age,
            bytes: &self.bytes,
        }))
    }

    fn read(&mut self) -> Result<(), Unread> {
        match &mut self.source {
            PostSource::Mapped(reader, _) => match reader.read(&mut self.bytes) {
                Ok(_) => Ok(()),
                Err(why @ (ProcessImageError::Empty | ProcessImageError::Overtaken)) => {
                    Err(Unread::Yet(why.to_string()))
                }
                Err(why) => Err(Unread::Failed(why.into())),
            },
            PostSource::Asked(running) => match running.client.process_image() {
                Ok(posted) if posted.ended => Err(Unread::Ended),
                Ok(posted) if posted.bytes.len() == self.bytes.len() => {
                    self.bytes = posted.bytes;
                    Ok(())
                }
                Ok(_) => Err(Unread::Failed(other_layout(&self.name))),
                Err(ClientError::Refused(why)) => Err(Unread::Yet(why)),
                // The control socket ends with the loop.
                Err(ClientError::Ended | ClientError::NoLoop(_)) => Err(Unread::Ended),
                Err(error) => Err(Unread::Failed(error.into())),
            },
        }
    }

    fn stale(&self, heading: &ImageHeader, age: Duration) -> String {
        format!(
            "the loop `{}` stands still: its last cycle, number {}, is {} old; `kadenz ethercat stats {}` shows how \
             it runs",
            self.name,
            heading.number,
            numbers::span(age.as_nanos() as f64),
            self.name,
        )
    }
}

fn other_layout(name: &str) -> anyhow::Error {
    anyhow::anyhow!(
        "the process image of {name} is of another length than its layout says; is it of another version of Kadenz?"
    )
}

/// Why a read gave no post.
enum Unread {
    /// No further post will come.
    Ended,
    /// A later read may succeed.
    Yet(String),
    Failed(anyhow::Error),
}

/// Maps a loop's memory. It holds no process image before the loop's first cycle.
fn mapped(memory: &str) -> anyhow::Result<PostSource> {
    let end = Instant::now() + ANSWER_TIMEOUT;
    loop {
        match Reader::of(Box::new(Viewer::open(memory)?)) {
            Ok(reader) => return Ok(PostSource::Mapped(reader, Viewer::open(memory)?)),
            Err(ProcessImageError::Foreign) if Instant::now() < end => {
                std::thread::sleep(POLL_INTERVAL);
            }
            Err(error) => return Err(anyhow::Error::new(error).context(memory.to_owned())),
        }
    }
}
