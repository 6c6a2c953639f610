//! Sources of the images of a running loop.

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

/// Source of a loop's images.
enum ImageSource {
    /// The loop's shared memory; the second viewer shows whether its owner lives.
    Mapped(Reader<Box<Viewer>>, Viewer),
    /// Its control socket.
    Asked(Box<RunningLoop>),
}

/// Images of a running loop.
pub(super) struct Images {
    source: ImageSource,
    name: String,
    bytes: Vec<u8>,
    oldest: Duration,
}

/// Process image of one cycle.
pub(super) struct ImageSnapshot<'p> {
    pub(super) header: ImageHeader,
    pub(super) age: Duration,
    /// The whole image.
    pub(super) bytes: &'p [u8],
}

impl Images {
    /// Opens the images of a loop, which stands still once its last cycle is older than `oldest`.
    pub(super) fn open(
        running: RunningLoop,
        layout: &ProcessImageLayout,
        oldest: Option<Duration>,
    ) -> anyhow::Result<Self> {
        let name = running.name.clone();
        let source = match &layout.memory {
            Some(memory) => mapped(memory)?,
            None => ImageSource::Asked(Box::new(running)),
        };
        if let ImageSource::Mapped(reader, _) = &source {
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

    /// Whether no further image will come: the loop reports its end, or its process is gone. A control socket reports
    /// it with its answer.
    pub(super) fn has_ended(&self) -> bool {
        match &self.source {
            ImageSource::Mapped(reader, viewer) => reader.has_ended() || !viewer.owner_lives(),
            ImageSource::Asked(_) => false,
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
                Err(NoImage::Ended) => return Ok(None),
                Err(NoImage::Failed(error)) => return Err(error),
                Err(NoImage::Yet(why)) if Instant::now() >= end => {
                    anyhow::bail!("the loop `{}` shows nothing: {why}", self.name)
                }
                Err(NoImage::Yet(_)) => std::thread::sleep(POLL_INTERVAL),
            }
        }
        let image = CycleImage::of(&self.bytes).context("the loop's process image is invalid")?;
        let header = image.header;
        let age = clock::now().since(MonotonicTime::from_ns(header.received_ns));
        let age = Duration::from_nanos(u64::try_from(age).unwrap_or(0));
        if age > self.oldest {
            // The loop may have ended since the last look.
            anyhow::ensure!(self.has_ended(), self.stale(&header, age));
            return Ok(None);
        }
        Ok(Some(ImageSnapshot {
            header,
            age,
            bytes: &self.bytes,
        }))
    }

    fn read(&mut self) -> Result<(), NoImage> {
        match &mut self.source {
            ImageSource::Mapped(reader, _) => match reader.read(&mut self.bytes) {
                Ok(_) => Ok(()),
                Err(why @ (ProcessImageError::Empty | ProcessImageError::Overtaken)) => {
                    Err(NoImage::Yet(why.to_string()))
                }
                Err(why) => Err(NoImage::Failed(why.into())),
            },
            ImageSource::Asked(running) => match running.client.process_image() {
                Ok(published) if published.ended => Err(NoImage::Ended),
                Ok(published) if published.bytes.len() == self.bytes.len() => {
                    self.bytes = published.bytes;
                    Ok(())
                }
                Ok(_) => Err(NoImage::Failed(other_layout(&self.name))),
                Err(ClientError::Refused(why)) => Err(NoImage::Yet(why)),
                // The control socket ends with the loop.
                Err(ClientError::Ended | ClientError::NoLoop(_)) => Err(NoImage::Ended),
                Err(error) => Err(NoImage::Failed(error.into())),
            },
        }
    }

    fn stale(&self, header: &ImageHeader, age: Duration) -> String {
        format!(
            "the loop `{}` stands still: its last cycle, number {}, is {} old; `kadenz ethercat stats {}` shows how \
             it runs",
            self.name,
            header.number,
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

/// Why a read gave no image.
enum NoImage {
    /// No further image will come.
    Ended,
    /// A later read may succeed.
    Yet(String),
    Failed(anyhow::Error),
}

/// Maps a loop's memory. It holds no process image before the loop's first cycle.
fn mapped(memory: &str) -> anyhow::Result<ImageSource> {
    let end = Instant::now() + ANSWER_TIMEOUT;
    loop {
        match Reader::of(Box::new(Viewer::open(memory)?)) {
            Ok(reader) => return Ok(ImageSource::Mapped(reader, Viewer::open(memory)?)),
            Err(ProcessImageError::Foreign) if Instant::now() < end => {
                std::thread::sleep(POLL_INTERVAL);
            }
            Err(error) => return Err(anyhow::Error::new(error).context(memory.to_owned())),
        }
    }
}
