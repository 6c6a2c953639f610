//! `kadenz camera sim`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use kadenz::camera::barcode::Painter;
use kadenz::camera::picture::Size;
use kadenz::camera::sim::{CameraSim, Options as SimOptions, Protocol, Script};
use kadenz::report::document::{Answer, Document, Version};
use kadenz::report::numbers;
use kadenz::rt::beat::Rate;
use kadenz::rt::regular_file;
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::interrupt;
use crate::options::{Span, StdinOption, waiting};
use crate::output::{self, Reply};

/// Simulate a camera: RTSP or MJPEG with the number and the time painted into each picture, and scripted faults.
///
/// `kadenz camera record URL --barcode` reads the painted time, and so measures the true latency from camera to
/// array, also of a camera that films the screen. Listens on the loopback address by default.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz camera sim                                     H.264 1080p at 30 Hz, rtsp://127.0.0.1:8554/camera
  kadenz camera sim --protocol http --size 720p --rate 60Hz
  kadenz camera sim --script faults.toml                stalls, losses, reboots at stated times
  kadenz camera sim --faults 5min --seed 7              random ones, equal for equal seeds")]
pub(crate) struct Options {
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8554")]
    listen: SocketAddr,

    /// Protocol that serves the pictures
    #[arg(long, value_name = "PROTOCOL", default_value = "rtsp")]
    protocol: ProtocolOption,

    /// Size of the pictures: 480p, 720p, 1080p, 4K or as 1280x960
    #[arg(long, value_name = "SIZE", default_value = "1080p")]
    size: Size,

    /// Pictures per second
    #[arg(long, value_name = "RATE", default_value = "30Hz")]
    rate: Rate,

    /// Pictures from one key frame to the next
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3000))]
    keys_every: u32,

    /// Encode each picture when it is due rather than a loop of ten seconds in advance: needs a CPU of its own
    #[arg(long)]
    live: bool,

    /// Faults and their times: a TOML file (docs/camera.md)
    #[arg(long, value_name = "FILE", conflicts_with = "faults")]
    script: Option<PathBuf>,

    /// Inject random faults for this long: jitter, loss, stalls, drops, reboots, other sizes, a wrong clock
    #[arg(long, value_name = "SPAN")]
    faults: Option<Span>,

    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// How long [default: until Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    #[command(flatten)]
    ends: StdinOption,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProtocolOption {
    /// H.264 by RTSP; the client chooses TCP or UDP
    Rtsp,
    /// JPEG as multipart by HTTP
    Http,
}

/// Counts of a simulated camera.
#[derive(JsonSchema, Serialize)]
pub(super) struct Simulated {
    version: Version<1>,
    url: String,
    /// Pictures sent to any client, as far back as the log goes.
    sent: usize,
}

pub(super) fn run(options: &Options) -> anyhow::Result<Reply> {
    let plan = plan(options)?;
    let stop = options.ends.quiet_stop()?;
    let camera = waiting("encoding the pictures", || CameraSim::start(plan))?;
    output::note(&format!(
        "{} ({} at {})",
        camera.url(),
        options.size,
        options.rate
    ));
    interrupt::stop_after(options.duration, &stop);
    stop.wait(Duration::MAX);
    Ok(Reply::summary(Simulated {
        version: Version,
        url: camera.url(),
        sent: camera.log().len(),
    }))
}

/// The longest script, in bytes.
const MAX_SCRIPT: u64 = 16 << 20;

fn plan(options: &Options) -> anyhow::Result<SimOptions> {
    let script = match (&options.script, options.faults) {
        (Some(file), _) => {
            let text = regular_file::text(file, MAX_SCRIPT).map_err(|error| {
                let remedy = regular_file::remedy(&error);
                anyhow::anyhow!("cannot read {}: {error}; {remedy}", file.display())
            })?;
            Script::from_toml(&text).with_context(|| file.display().to_string())?
        }
        (None, Some(span)) => Script::random(options.seed, span.0, &smaller(options.size)),
        (None, None) => Script::default(),
    };
    let defaults = SimOptions::default();
    Ok(SimOptions {
        bind: options.listen,
        protocol: match options.protocol {
            ProtocolOption::Rtsp => Protocol::Rtsp,
            ProtocolOption::Http => Protocol::Http,
        },
        size: options.size,
        rate: options.rate,
        keys_every: options.keys_every,
        loop_frames: defaults.loop_frames.filter(|_| !options.live),
        script,
        seed: options.seed,
        ..defaults
    })
}

/// The sizes to which pictures change at random: a half and three quarters, as far as they are large enough for the
/// code.
fn smaller(size: Size) -> Vec<Size> {
    let part = |quarters: u32| {
        let side = |pixels: u32| (pixels * quarters / 4) & !1;
        let part = Size::new(side(size.width), side(size.height)).ok()?;
        Painter::new(part).ok().map(|_| part)
    };
    [2, 3].into_iter().filter_map(part).collect()
}

impl Answer for Simulated {
    fn document(&self) -> Document {
        format!(
            "{} pictures were sent from {}",
            numbers::thousands(self.sent as u64),
            self.url
        )
        .into()
    }
}
