//! `kadenz camera record` and `kadenz camera doctor`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use kadenz::camera::client::{Camera, CameraGroup};
use kadenz::camera::server::is_name;
use kadenz::lab::camera::video_log::VideoLog;
use kadenz::lab::camera::{CameraPlan, experiment};
use kadenz::msg::log::record::{RecordOptions, Recorded};
use kadenz::report::numbers;

use super::ReaderOption;
use crate::commands::outcome::{self, OutcomeOptions};
use crate::options::{Defaults, MeasureOptions, Span};
use crate::output::{Outcome, Reply};

/// Measure how old a camera's frames are when a program has them
///
/// A thread takes each frame as a control loop would, copies it into an array, and records its age then (series
/// `age`) and the parts of that age: network, assembly, decoder's queue, decode, convert, pick-up, hand-over. With
/// --barcode the time that the simulator painted into the picture gives the true latency (series `end-to-end`). With
/// other cameras (--sync-with) it takes sets of frames that were taken at the same time, and records how far apart in
/// time those are (series `skew`).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz camera record rtsp://10.0.0.20/stream1 --duration 1min --deadline 50ms
  kadenz camera record front --layout gray --policy fifo:60            a camera that is served already
  kadenz camera record front --poll 100ms                              a loop slower than the camera
  kadenz camera record front-left --sync-with front-right              a stereo pair, and its skew
  kadenz camera record rtsp://10.0.0.20/stream1 --mcap drive.mcap      a video for Foxglove, too
  kadenz camera record test://1280x720@60 --barcode --duration 10s --json")]
pub(crate) struct Record {
    #[command(flatten)]
    common: Common,

    /// Take sets of frames together with this camera (repeatable)
    #[arg(long, value_name = "URL|NAME")]
    sync_with: Vec<String>,

    /// How far apart in time the frames of a set may be, by when the cameras took them or else by when they arrived
    #[arg(
        long,
        value_name = "SPAN",
        default_value = "5ms",
        requires = "sync_with"
    )]
    tolerance: Span,

    /// Record what the camera sends, still compressed, into this MCAP file, which Foxglove plays
    #[arg(long, value_name = "FILE")]
    mcap: Option<PathBuf>,
}

/// Show where a camera's latency comes from, and what to change
///
/// Measures as `record` does, against a deadline, and shows the budget of a frame's age by layer.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz camera doctor rtsp://10.0.0.20/stream1
  kadenz camera doctor front --deadline 33ms --details
  kadenz camera doctor test://1920x1080@30 --duration 3s")]
pub(crate) struct Doctor {
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    reader: ReaderOption,

    /// How long, from the first frame on
    #[arg(long, value_name = "SPAN", default_value = "10s")]
    duration: Span,

    /// Look for the newest frame at this interval, as a loop with its own rate does [default: take each frame as it
    /// arrives]
    #[arg(long, value_name = "SPAN")]
    poll: Option<Span>,

    /// Read the time that `kadenz camera sim` and test:// paint into each picture
    #[arg(long)]
    barcode: bool,

    #[command(flatten)]
    measure: MeasureOptions,
}

pub(super) fn record(options: &Record) -> anyhow::Result<Reply> {
    let log = options.mcap.as_deref().map(start_log).transpose()?;
    let reply = open_all(options, log.as_ref())
        .and_then(|cameras| measure(cameras, &options.common, &defaults("camera", None)));
    match log.and_then(|log| log.finish()) {
        None => reply,
        Some(recorded) => Ok(with_log(
            reply.unwrap_or_else(|error| Reply::from(Outcome::Kept).and_error(error)),
            &recorded,
        )),
    }
}

fn open_all(options: &Record, log: Option<&VideoLog>) -> anyhow::Result<CameraGroup> {
    let first = &options.common.reader;
    let others = options.sync_with.iter().map(|camera| ReaderOption {
        camera: camera.clone(),
        ..first.clone()
    });
    let mut cameras = Vec::new();
    for reader in std::iter::once(first.clone()).chain(others) {
        cameras.push(match log {
            Some(log) => open_logged(&reader, log, cameras.len())?,
            None => reader.open()?,
        });
    }
    Ok(CameraGroup::new(cameras, options.tolerance.0))
}

fn start_log(path: &Path) -> anyhow::Result<VideoLog> {
    VideoLog::start(path, &RecordOptions::default()).with_context(|| {
        format!(
            "--mcap {} cannot be made; name a file that is not there yet, in a folder where you may write",
            path.display()
        )
    })
}

/// Opens a camera and records its pictures: the first camera as `camera`, the second as `camera-2`.
fn open_logged(reader: &ReaderOption, log: &VideoLog, before: usize) -> anyhow::Result<Camera> {
    anyhow::ensure!(
        !is_name(&reader.camera),
        "--mcap records what the camera sends, which does not reach programs that open `{}` by name; give its URL",
        reader.camera
    );
    let name = match before {
        0 => "camera".to_owned(),
        before => format!("camera-{}", before + 1),
    };
    reader.open_through(|open| Ok(log.recording(&name, open)?))
}

/// A reply, with notes on what the log holds and what it lacks; removes a log without a picture.
fn with_log(reply: Reply, recorded: &Recorded) -> Reply {
    let mut reply = reply.complaints(recorded.trouble.clone());
    for file in &recorded.files {
        if recorded.written() == 0 {
            let _ = std::fs::remove_file(file);
        } else {
            let pictures = numbers::counted(recorded.written(), "picture");
            reply = reply.note(format!("{pictures} in {}", file.display()));
        }
    }
    match recorded.dropped() {
        0 => reply,
        dropped => {
            let dropped = numbers::counted(dropped, "picture");
            reply
                .complain(format!("{dropped} dropped: the disk is too slow, or full"))
                .with(Outcome::Missed)
        }
    }
}

pub(super) fn doctor(options: &Doctor) -> anyhow::Result<Reply> {
    // A budget needs a limit: two frames at 30 Hz, unless one is stated.
    let deadline = Duration::from_micros(66_667);
    let camera = options.common.reader.open()?;
    let defaults = defaults("camera-doctor", Some(deadline));
    measure(camera.into(), &options.common, &defaults)
}

fn measure(cameras: CameraGroup, options: &Common, defaults: &Defaults) -> anyhow::Result<Reply> {
    let plan = CameraPlan {
        duration: options.duration.0,
        poll: options.poll.map(|it| it.0),
        barcode: options.barcode,
        advise: defaults.deadline.is_some(),
    };
    take(cameras, &options.measure, defaults, &plan)
}

/// Defaults of these commands: histograms alone, and a deadline where the user states none.
pub(super) fn defaults(experiment: &'static str, deadline: Option<Duration>) -> Defaults {
    Defaults {
        samples: false,
        deadline,
        ..Defaults::of(experiment)
    }
}

/// Takes frames of open cameras, and reports the outcome.
pub(super) fn take(
    cameras: CameraGroup,
    measure: &MeasureOptions,
    defaults: &Defaults,
    plan: &CameraPlan,
) -> anyhow::Result<Reply> {
    let mut measuring = measure.measuring(defaults)?;
    let session = &mut measuring.session;
    session.set("duration", Span(plan.duration).to_string());
    if let Some(camera) = cameras.cameras().next() {
        session.set("layout", camera.layout().to_string());
    }
    if cameras.cameras().len() > 1 {
        session.set("tolerance", Span(cameras.tolerance()).to_string());
    }
    let stop = measure.stop()?;
    let folder = measuring.session.out.clone();
    outcome::measured("taking frames", Some(plan.duration), &folder, |progress| {
        experiment(cameras, plan, &measuring, &stop, progress)
    })?;
    outcome::report_run(OutcomeOptions::of(&folder, measure))
}
