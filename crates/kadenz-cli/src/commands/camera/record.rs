//! `kadenz camera record` and `kadenz camera doctor`.

use std::time::Duration;

use clap::Args;
use kadenz_camera::client::Camera;
use kadenz_lab::camera::{CameraPlan, experiment};
use kadenz_record::run::camera::{AGE, END_TO_END};

use super::ReaderOption;
use crate::commands::outcome::{self, Telling};
use crate::options::{Defaults, MeasureOptions, Progress, Span};
use crate::output::Outcome;

/// How old are a camera's frames when a program has them?
///
/// A thread takes each frame as a control loop would, copies it into an array, and records how old it is then (series
/// `age`) and where that comes from: network, assembly, decoder's queue, decode, convert, pick-up, hand-over. With
/// --barcode the time that the simulator painted into the picture gives the true latency (series `end-to-end`).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz camera record rtsp://10.0.0.20/stream1 --duration 1min --deadline 50ms
  kadenz camera record front --layout gray --policy fifo:60            a camera that is served already
  kadenz camera record front --poll 100ms                              a loop slower than the camera
  kadenz camera record test://1280x720@60 --barcode --duration 10s --json")]
pub(crate) struct Record {
    #[command(flatten)]
    common: Common,
}

/// Where does a camera's latency come from, and what should be changed?
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

    /// Look for the newest frame that often, as a loop of its own rate does [default: take each as it comes]
    #[arg(long, value_name = "SPAN")]
    poll: Option<Span>,

    /// Read the time that `kadenz camera sim` and test:// paint into each picture
    #[arg(long)]
    barcode: bool,

    #[command(flatten)]
    measure: MeasureOptions,
}

pub(super) fn record(options: &Record) -> anyhow::Result<Outcome> {
    measure(&options.common, "camera", None)
}

pub(super) fn doctor(options: &Doctor) -> anyhow::Result<Outcome> {
    // A budget needs a limit: two frames at 30 Hz, unless one is stated.
    let deadline = Duration::from_micros(66_667);
    measure(&options.common, "camera-doctor", Some(deadline))
}

fn measure(
    options: &Common,
    experiment: &'static str,
    deadline: Option<Duration>,
) -> anyhow::Result<Outcome> {
    let taking = Taking {
        experiment,
        duration: options.duration,
        poll: options.poll,
        barcode: options.barcode,
        deadline,
        advise: deadline.is_some(),
    };
    take(options.reader.open()?, &options.measure, &taking)
}

/// What is taken of a camera that is open.
pub(super) struct Taking {
    /// As `run.json` names it.
    pub(super) experiment: &'static str,
    pub(super) duration: Span,
    pub(super) poll: Option<Span>,
    pub(super) barcode: bool,
    /// Where none is stated.
    pub(super) deadline: Option<Duration>,
    pub(super) advise: bool,
}

/// Takes frames, and tells what came of it.
pub(super) fn take(
    camera: Camera,
    measure: &MeasureOptions,
    taking: &Taking,
) -> anyhow::Result<Outcome> {
    let mut measuring = measure.measuring(&Defaults {
        samples: false,
        deadline: taking.deadline,
        ..Defaults::of(taking.experiment)
    })?;
    let plan = CameraPlan {
        duration: taking.duration.0,
        poll: taking.poll.map(|it| it.0),
        barcode: taking.barcode,
        advise: taking.advise,
    };
    let session = &mut measuring.session;
    session.set("duration", taking.duration.to_string());
    session.set("layout", camera.layout().to_string());
    let stop = measure.stop()?;
    let folder = measuring.session.out.clone();
    {
        let mut progress = Progress::new("taking frames", Some(plan.duration));
        experiment(camera, &plan, &measuring, &stop, &mut progress)?;
    }
    outcome::tell(&Telling {
        deciding: Some(&[AGE, END_TO_END]),
        ..Telling::of(&folder, measure)
    })
}
