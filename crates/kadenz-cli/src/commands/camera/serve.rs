//! `kadenz camera serve`.

use std::thread::JoinHandle;
use std::time::Duration;

use clap::Args;
use kadenz::camera::client::{OpenCameraError, OpenOptions};
use kadenz::camera::layout::Layout;
use kadenz::camera::ring::DEFAULT_SLOTS;
use kadenz::camera::server::status::{State, Status};
use kadenz::camera::server::{CameraServer, ServerOptions};
use kadenz::camera::source;
use kadenz::lab::camera::notices::{self, Notices};
use kadenz::lab::stop::Stop;
use kadenz::msg::bus::Bus;
use kadenz::msg::provider;
use kadenz::msg::service::types_on_wire::TypeResponder;
use kadenz::report::document::{Answer, Document, Version};
use kadenz::report::numbers;
use kadenz::rt::tuning::Tuning;
use schemars::JsonSchema;
use serde::Serialize;

use super::SourceOption;
use super::list::state_word;
use crate::commands::interrupt;
use crate::commands::msg::bus;
use crate::options::{Span, StdinOption};
use crate::output::{self, Outcome, Reply};

/// Interval at which the state is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Decode a camera's frames and put the newest into shared memory, where programs open it by name.
///
/// The server converts a layout once, while a program of the same user wants it; --layout publishes one for programs
/// that cannot request it, such as MATLAB. A lost camera is opened again, under the same name.
///
/// Exit codes: 0 ended by Ctrl-C, --duration or the file's end; 2 the camera cannot be opened, gives no frame, or has a
/// smaller picture than a --layout.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz camera serve rtsp://10.0.0.20/stream1 --name front
  kadenz camera serve http://10.0.0.21/video.mjpg --name left --layout gray-column-major
  kadenz camera serve '/dev/video0?size=720p' --name usb
  kadenz camera serve test://1920x1080@30 --duration 10s
  kadenz camera serve rtsp://admin:secret@10.0.0.20/h264 --layout rgb@960x540 --layout gray[640x480+0+0]
  kadenz camera serve rtsp://10.0.0.20/stream1 --name front --publish FRONT_CAMERA  a message for each frame")]
pub(crate) struct Options {
    /// Where the frames come from: rtsp://, http:// (MJPEG), /dev/video0, test://1920x1080@30
    url: String,

    /// The name by which programs open it
    #[arg(long, default_value = "camera")]
    name: String,

    /// Publish this layout whether a program requests it or not (repeatable)
    #[arg(long, value_name = "LAYOUT")]
    layout: Vec<Layout>,

    /// Frames that shared memory holds for each layout: the more, the longer a program may read one without a copy
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SLOTS)]
    slots: usize,

    /// Publish a message on this channel for each new frame, with its place in shared memory (kadenz.camera_frame);
    /// in the first --layout, or rgb
    #[arg(long, value_name = "CHANNEL")]
    publish: Option<String>,

    /// The bus of --publish [default: LCM_DEFAULT_URL, or LCM's own]
    #[arg(long, value_name = "URL", requires = "publish")]
    bus: Option<String>,

    /// How long [default: until Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    #[command(flatten)]
    source: SourceOption,

    #[command(flatten)]
    ends: StdinOption,
}

/// Counts of a camera server.
#[derive(JsonSchema, Serialize)]
pub(super) struct CameraServeReport {
    version: Version<1>,
    #[serde(flatten)]
    status: Status,
    /// Counts of the messages of `--publish`.
    #[serde(skip_serializing_if = "Option::is_none")]
    notices: Option<Notices>,
}

pub(super) fn run(options: &Options) -> anyhow::Result<Reply> {
    anyhow::ensure!(
        (2..=64).contains(&options.slots),
        "`--slots {}` is outside 2 to 64",
        options.slots
    );
    let stop = options.ends.quiet_stop()?;
    let url = options.url.clone();
    let source = options.source.options();
    let server = CameraServer::start(
        Box::new(move || source::open(&url, &source)),
        &ServerOptions {
            layouts: options.layout.clone(),
            slots: options.slots,
            ..ServerOptions::new(&options.name, &source::without_credentials(&options.url))
        },
    )?;
    let publishing = options.publish.as_deref();
    let publishing = publishing.map(|channel| Publishing::start(options, channel));
    let publishing = publishing.transpose()?;
    interrupt::stop_after(options.duration, &stop);
    let status = watch(&server, &stop);
    if let Some(trouble) = no_frame_because(&status) {
        anyhow::bail!("{trouble}");
    }
    Ok(report(options, status, publishing))
}

/// Ends the messages; the reply names what failed beside the frames that came.
fn report(options: &Options, status: Status, publishing: Option<Publishing>) -> Reply {
    let unfit = status.size.and_then(|size| {
        let mut layouts = options.layout.iter();
        layouts.find_map(|layout| layout.output_size(size).err())
    });
    let has_failed = status.state == State::Failed;
    let lost = has_failed.then(|| status.trouble.clone().unwrap_or_default());
    let (notices, unpublished) = match publishing.map(Publishing::end).transpose() {
        Ok(notices) => (notices, None),
        Err(error) => (None, Some(error)),
    };
    let trouble = notices.as_ref().and_then(|it| it.trouble.clone());
    // Publishing in such a layout fails for the same reason.
    let unfit = unfit.map(anyhow::Error::from).or(unpublished);
    let failed = [lost.map(anyhow::Error::msg), unfit];
    let has_failed = failed.iter().any(Option::is_some);
    let failed = failed.iter().flatten().map(|error| format!("{error:#}"));
    let reply = Reply::summary(CameraServeReport {
        version: Version,
        status,
        notices,
    });
    let reply = reply.complaints(trouble.into_iter().chain(failed));
    reply.with(Outcome::Kept.or_incomplete(has_failed))
}

/// Why the camera never gave a frame; `None` where it did, or where no attempt has failed.
fn no_frame_because(status: &Status) -> Option<&str> {
    if status.counts.frames > 0 {
        return None;
    }
    let trouble = status.trouble.as_deref();
    match status.state {
        State::Failed => Some(trouble.unwrap_or_default()),
        State::Ended => trouble,
        _ => trouble.filter(|_| status.description.is_empty()),
    }
}

/// A thread that publishes a message for each new frame.
struct Publishing {
    stop: Stop,
    thread: JoinHandle<Result<Notices, OpenCameraError>>,
    /// Answers questions for the type of the messages.
    _responder: TypeResponder,
}

impl Publishing {
    fn start(options: &Options, channel: &str) -> anyhow::Result<Self> {
        let url = options.bus.clone().unwrap_or_else(provider::default_url);
        let bus = Bus::over(&url, bus::open(&url)?);
        let mut publisher = bus.publisher(channel)?;
        let responder = bus.serve_types(Tuning::default())?;
        let name = options.name.clone();
        let layout = options.layout.first().copied();
        let layout = layout.unwrap_or(OpenOptions::default().layout);
        let stop = Stop::default();
        let ending = stop.clone();
        let thread = std::thread::Builder::new().name("camera-publish".to_owned());
        let thread =
            thread.spawn(move || notices::publish(&name, layout, &mut publisher, &ending))?;
        Ok(Self {
            stop,
            thread,
            _responder: responder,
        })
    }

    fn end(self) -> anyhow::Result<Notices> {
        self.stop.request();
        let ended = self.thread.join();
        let ended = ended.map_err(|_| anyhow::anyhow!("the thread that publishes panicked"))?;
        Ok(ended?)
    }
}

/// Reports changes of the camera's state until the end; returns the last status.
fn watch(server: &CameraServer, stop: &Stop) -> Status {
    let mut said = None;
    let mut troubled = None;
    loop {
        let status = server.status();
        if said != Some(status.state) {
            said = Some(status.state);
            output::note(&line(&status));
        }
        if status.trouble != troubled {
            if let Some(trouble) = &status.trouble {
                output::note(&format!("{}: {trouble}", status.name));
            }
            troubled.clone_from(&status.trouble);
        }
        if stop.requested() || server.has_ended() {
            return status;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn line(status: &Status) -> String {
    let what = match status.description.is_empty() {
        true => &status.url,
        false => &status.description,
    };
    let hint = match status.state {
        State::Running => format!("; `kadenz camera show {}` shows it", status.name),
        _ => String::new(),
    };
    format!(
        "{}: {} ({what}){hint}",
        status.name,
        state_word(status.state)
    )
}

impl Answer for CameraServeReport {
    fn document(&self) -> Document {
        let counts = &self.status.counts;
        let notices = self.notices.as_ref().map_or_else(String::new, |it| {
            format!("; {} published", numbers::counted(it.published, "message"))
        });
        let each = [
            (counts.missed, "missed"),
            (counts.skipped, "skipped"),
            (counts.duplicated, "duplicated"),
            (counts.reconnects, "lost and opened again"),
        ];
        let texts = each.map(|(count, word)| format!("{} {word}", numbers::thousands(count)));
        let frames = numbers::thousands(counts.frames);
        format!(
            "{frames} frames of {}; {}{notices}",
            self.status.url,
            texts.join(", ")
        )
        .into()
    }
}
