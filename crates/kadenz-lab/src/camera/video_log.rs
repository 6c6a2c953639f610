//! Records the pictures of cameras as they come, still compressed, in a log that Foxglove plays: [`VideoLog`].

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kadenz_camera::server::OpenSource;
use kadenz_camera::source::{Coding, Content, Next, Source, SourceError, Unit};
use kadenz_msg::arrival::{Arrival, MessageInfo, Payload, Stamps};
use kadenz_msg::channel::{Channel, ChannelError};
use kadenz_msg::log::LogError;
use kadenz_msg::log::foxglove::PictureCoding;
use kadenz_msg::log::record::{RecordOptions, Recorded, Recorder};
use kadenz_rt::clock::{ClockPair, MonotonicTime, WallTime};

/// Ending of a channel whose pictures are coded each by itself; others end in [`VIDEO`].
const IMAGE: &str = "/image";
const VIDEO: &str = "/video";

/// A log of what cameras send. H.264 and H.265 go to the channel `NAME/video` as `foxglove.CompressedVideo`, JPEG to
/// `NAME/image` as `foxglove.CompressedImage`.
///
/// The threads that receive never wait for the disk: a picture for which there is no room is counted as dropped.
/// Whatever ends the program, what was flushed stays readable.
#[derive(Clone)]
pub struct VideoLog {
    recorder: Arc<Mutex<Option<Recorder>>>,
}

impl VideoLog {
    /// Makes the file and starts to write.
    ///
    /// # Errors
    /// Where the file cannot be made, or is there already.
    pub fn start(path: &Path, options: &RecordOptions) -> Result<Self, LogError> {
        let describe = |channel: &Channel, _| {
            let name = channel.as_str();
            // The format of a video is in each message.
            let coding = match name.ends_with(IMAGE) {
                true => PictureCoding::Jpeg,
                false => PictureCoding::H264,
            };
            coding.channel(name)
        };
        let recorder = Recorder::start(path, options, Box::new(describe))?;
        Ok(Self {
            recorder: Arc::new(Mutex::new(Some(recorder))),
        })
    }

    /// Returns a source that records what passes through it; `camera` is also the frame of reference of its pictures.
    ///
    /// # Errors
    /// Where the name is too long for a channel.
    pub fn recording(
        &self,
        camera: &str,
        mut open: OpenSource,
    ) -> Result<OpenSource, ChannelError> {
        let channels = [VIDEO, IMAGE].map(|kind| Channel::new(&format!("{camera}{kind}")));
        let [video, image] = channels;
        let (video, image) = (video?, image?);
        let (log, camera) = (self.clone(), camera.to_owned());
        Ok(Box::new(move || {
            Ok(Box::new(Recording {
                source: open()?,
                log: log.clone(),
                video,
                image,
                camera: camera.clone(),
                message: Vec::new(),
            }))
        }))
    }

    /// Writes what waits, ends the file, and returns the counts; `None` where the log was ended before.
    #[must_use]
    pub fn finish(&self) -> Option<Recorded> {
        self.lock().take().map(Recorder::finish)
    }

    /// A panic of another thread leaves the recorder whole.
    fn lock(&self) -> MutexGuard<'_, Option<Recorder>> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A source whose pictures are recorded.
struct Recording {
    source: Box<dyn Source>,
    log: VideoLog,
    video: Channel,
    image: Channel,
    camera: String,
    /// Its memory is reused.
    message: Vec<u8>,
}

impl Source for Recording {
    fn next(&mut self, until: MonotonicTime) -> Result<Next<'_>, SourceError> {
        let Self {
            source,
            log,
            camera,
            message,
            ..
        } = self;
        let next = source.next(until)?;
        let Next::Unit(unit) = &next else {
            return Ok(next);
        };
        let (channel, coding, bytes) = match unit.content {
            Content::Encoded(Coding::H264, bytes) => (&self.video, PictureCoding::H264, bytes),
            Content::Encoded(Coding::H265, bytes) => (&self.video, PictureCoding::H265, bytes),
            Content::Encoded(Coding::Jpeg, bytes) => (&self.image, PictureCoding::Jpeg, bytes),
            Content::Picture(_) => return Err(uncompressed()),
        };
        let taken = taken(unit);
        coding.encode(taken, camera, bytes, message);
        if let Some(recorder) = &mut *log.lock() {
            recorder.take(&Arrival {
                channel: channel.as_str(),
                payload: Payload::Borrowed(message),
                info: MessageInfo {
                    stamps: Stamps {
                        published: Some(taken),
                        kernel: None,
                        taken: unit.arrival,
                    },
                    ..MessageInfo::default()
                },
            });
        }
        Ok(next)
    }

    fn description(&self) -> String {
        self.source.description()
    }
}

/// The wall time at which a picture was taken; without one, at which its first byte came.
fn taken(unit: &Unit<'_>) -> WallTime {
    let pair = ClockPair::read(super::TRIES);
    let (capture, _) = unit.capture.on_this_clock(unit.first_byte, pair);
    let ago_ns = pair.monotonic().since(capture.unwrap_or(unit.first_byte));
    WallTime::from_unix_ns(pair.wall().as_unix_ns().saturating_sub(ago_ns))
}

fn uncompressed() -> SourceError {
    SourceError {
        cause: "its pictures are not compressed, and only what a camera compresses is recorded"
            .to_owned(),
        remedy: "leave the log out, or take a camera that sends H.264, H.265 or JPEG, such as `kadenz camera sim`"
            .to_owned(),
        is_transient: false,
    }
}
