//! `kadenz camera bench`.

use clap::{Arg, ArgGroup, Args, ValueEnum};
use kadenz::camera::client::{Camera, OpenOptions};
use kadenz::camera::layout::{Channels, Layout};
use kadenz::camera::picture::Size;
use kadenz::camera::sim::{CameraSim, Options as SimOptions, Protocol};
use kadenz::lab::camera::CameraPlan;
use kadenz::lab::camera::hand_over::{self, Method};
use kadenz::report::document::{Answer, Document, Table, Version};
use kadenz::report::numbers;
use kadenz::rt::beat::Rate;
use schemars::JsonSchema;
use serde::Serialize;

use super::record;
use crate::options::{MeasureOptions, Span, Steps, waiting};
use crate::output::Reply;

/// Measure the cost of handing a frame over, and the latency from a camera to an array
///
/// Without --source, measures what the hand-over costs the thread that wants the frame, in the five ways of
/// [Enner2017b] (docs/bibliography.md) and two of Kadenz, gray and colour, 480p to 4K, beside the published figures.
/// With --source, measures the true latency from a simulated camera to an array (series `end-to-end`), by the time
/// painted into its pictures. With --cameras, measures which share of the interval between frames the newest frames of
/// several cameras cost the thread that wants them. Options of a run, such as --deadline, --policy and --out, need
/// --source.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("cameras or a source").args(["source", "cameras"])))]
#[command(mut_args(with_source))]
#[command(after_help = "\
Examples:
  kadenz camera bench                                                    the table of [Enner2017b]
  kadenz camera bench --size 1080p --json
  kadenz camera bench --cameras 2 --size 4K --duration 10s               of 33 ms, while both are served here
  kadenz camera bench --source rtsp-sim --size 1080p --fps 30 --duration 10s --json")]
pub(crate) struct Options {
    /// Measure the latency from a simulated camera instead
    #[arg(long, value_name = "SOURCE")]
    source: Option<SourceKind>,

    /// Measure this many test patterns at once instead, served by threads of this process
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=16))]
    cameras: Option<u16>,

    /// Size of the frames [default: 480p, 720p, 1080p and 4K; 1080p with --source, 4K with --cameras]
    #[arg(long, value_name = "SIZE")]
    size: Option<Size>,

    /// Pictures per second of each camera
    #[arg(long, visible_alias = "fps", value_name = "RATE", default_value = "30Hz", requires = "cameras or a source", value_parser = rate)]
    rate: Rate,

    /// How long to measure each way, or the camera
    #[arg(long, value_name = "SPAN", default_value = "1s")]
    duration: Span,

    /// The layout of the frames, with --source
    #[arg(
        long,
        value_name = "LAYOUT",
        default_value = "rgb-column-major",
        requires = "source"
    )]
    layout: Layout,

    #[command(flatten)]
    measure: MeasureOptions,
}

/// Options of a measured run, which only `--source` makes.
const RUN_OPTIONS: [&str; 16] = [
    "out",
    "details",
    "interval",
    "samples",
    "no_samples",
    "deadline",
    "policy",
    "sleeper",
    "spin_margin",
    "cpus",
    "shield",
    "lock",
    "no_lock",
    "cpu_dma_latency",
    "timer_slack",
    "require",
];

/// Refuses the options of a run where there is none.
fn with_source(option: Arg) -> Arg {
    match RUN_OPTIONS.contains(&option.get_id().as_str()) {
        // `requires` does not hold beside an option that conflicts with the source.
        true => option.requires("source").conflicts_with("cameras"),
        false => option,
    }
}

/// Parses `30Hz`, or `30` as camera makers write it.
fn rate(text: &str) -> Result<Rate, String> {
    let digits = text.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    let text = if digits {
        format!("{text}Hz")
    } else {
        text.to_owned()
    };
    text.parse().map_err(|error| format!("{error}"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SourceKind {
    /// H.264 by RTSP over TCP
    RtspSim,
    /// MJPEG by HTTP
    HttpSim,
}

/// Cost of handing a frame over to the thread that wants it.
#[derive(JsonSchema, Serialize)]
pub(super) struct HandOvers {
    version: Version<1>,
    hand_overs: Vec<HandOver>,
}

#[derive(JsonSchema, Serialize)]
struct HandOver {
    /// Number of cameras whose frames are handed over at once.
    cameras: u16,
    /// `480p`, or as 1280x960.
    size: String,
    /// 1 gray, 3 colour.
    channels: usize,
    method: &'static str,
    frames: usize,
    p50_ns: u64,
    /// Null where fewer than 100 frames were handed over.
    p99_ns: Option<u64>,
    max_ns: u64,
    /// Figure that [Enner2017b] published for MATLAB 2017b and Java on an Intel NUC6i7KYK.
    published_ns: Option<u64>,
    /// Frames per second of the slowest camera during the measurement, with --cameras.
    rate_hz: Option<f64>,
    /// Intervals left out because a frame was overwritten before it was taken, with --cameras.
    overwritten: Option<u64>,
    /// Share of the interval between frames that the p99, else the maximum, takes, in percent, with --cameras.
    budget_percent: Option<f64>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    match (options.source, options.cameras) {
        (Some(kind), _) => from_camera(options, kind),
        (None, Some(cameras)) => at_once(options, cameras).map(Reply::from),
        (None, None) => compare_ways(options).map(Reply::from),
    }
}

fn from_camera(options: &Options, kind: SourceKind) -> anyhow::Result<Reply> {
    let [_, _, (_, full_hd), _] = Size::NAMED;
    let sim = SimOptions {
        protocol: match kind {
            SourceKind::RtspSim => Protocol::Rtsp,
            SourceKind::HttpSim => Protocol::Http,
        },
        size: options.size.unwrap_or(full_hd),
        rate: options.rate,
        ..SimOptions::default()
    };
    let sim = waiting("encoding the pictures", || CameraSim::start(sim))?;
    let open = OpenOptions {
        layout: options.layout,
        ..OpenOptions::default()
    };
    let camera = waiting("waiting for the first frame", || {
        Camera::open_with(&sim.url(), &open)
    })?;
    record::take(
        camera.into(),
        &options.measure,
        &record::defaults("camera-bench", None),
        &CameraPlan {
            duration: options.duration.0,
            poll: None,
            barcode: true,
            advise: false,
        },
    )
}

fn compare_ways(options: &Options) -> anyhow::Result<HandOvers> {
    let sizes = match options.size {
        Some(size) => vec![size],
        None => Size::NAMED.map(|(_, size)| size).into(),
    };
    let steps = Steps::new("handing frames over", sizes.len() * 2 * Method::ALL.len());
    let stop = options.measure.stop()?;
    let mut hand_overs = Vec::new();
    for channels in [Channels::Gray, Channels::Rgb] {
        for &size in &sizes {
            for method in Method::ALL {
                if stop.requested() {
                    continue;
                }
                let times = hand_over::measure(method, size, channels, options.duration.0)?;
                hand_overs.push(HandOver::new(size, channels, method, &times));
                steps.done(hand_overs.len());
            }
        }
    }
    drop(steps);
    Ok(HandOvers {
        version: Version,
        hand_overs,
    })
}

fn at_once(options: &Options, cameras: u16) -> anyhow::Result<HandOvers> {
    let [.., (_, ultra_hd)] = Size::NAMED;
    let size = options.size.unwrap_or(ultra_hd);
    let interval_ns = options.rate.interval().as_duration().as_nanos() as f64;
    let steps = Steps::new("taking frames of cameras at once", 2);
    let stop = options.measure.stop()?;
    let mut hand_overs = Vec::new();
    for channels in [Channels::Gray, Channels::Rgb] {
        let plan = hand_over::AtOncePlan {
            cameras: usize::from(cameras),
            size,
            rate: options.rate,
            channels,
            span: options.duration.0,
        };
        let taken = hand_over::at_once(&plan, &stop)?;
        let methods = [
            (Method::SharedInto, &taken.copies),
            (Method::SharedView, &taken.views),
        ];
        // A stop may come before the first frame.
        let measured = methods.into_iter().filter(|(_, times)| !times.is_empty());
        hand_overs.extend(measured.map(|(method, times)| {
            let alone = HandOver::new(size, channels, method, times);
            let worst_ns = alone.p99_ns.unwrap_or(alone.max_ns) as f64;
            HandOver {
                cameras,
                rate_hz: Some(taken.rate_hz),
                overwritten: Some(taken.overwritten),
                budget_percent: Some(100.0 * worst_ns / interval_ns),
                published_ns: None,
                ..alone
            }
        }));
        steps.done(hand_overs.len() / 2);
    }
    drop(steps);
    anyhow::ensure!(
        !hand_overs.is_empty(),
        "nothing was measured: it was ended before the first frame"
    );
    Ok(HandOvers {
        version: Version,
        hand_overs,
    })
}

fn name_of(size: Size) -> String {
    let named = Size::NAMED.iter().find(|(_, it)| *it == size);
    named.map_or_else(|| size.to_string(), |(name, _)| (*name).to_owned())
}

impl HandOver {
    fn new(size: Size, channels: Channels, method: Method, times: &[u64]) -> Self {
        let published = method.published(size, channels);
        let at = |share: f64| times[((times.len() as f64 * share) as usize).min(times.len() - 1)];
        Self {
            cameras: 1,
            rate_hz: None,
            overwritten: None,
            budget_percent: None,
            size: name_of(size),
            channels: channels.count(),
            method: method.name(),
            frames: times.len(),
            p50_ns: at(0.5),
            p99_ns: (times.len() >= 100).then(|| at(0.99)),
            max_ns: at(1.0),
            published_ns: published.and_then(|it| u64::try_from(it.as_nanos()).ok()),
        }
    }
}

impl Answer for HandOvers {
    fn document(&self) -> Document {
        let rows = self.hand_overs.iter().map(|it| {
            let ns = |ns: u64| numbers::span(ns as f64);
            vec![
                it.size.clone(),
                if it.channels == 1 { "gray" } else { "colour" }.to_owned(),
                it.method.to_owned(),
                ns(it.p50_ns),
                it.p99_ns.map_or_else(String::new, ns),
                ns(it.max_ns),
                match it.budget_percent {
                    Some(percent) => format!("{percent:.2} %"),
                    None => it.published_ns.map_or_else(String::new, ns),
                },
            ]
        });
        let rates = self.hand_overs.iter().filter_map(|it| it.rate_hz);
        let least_hz = rates.fold(f64::INFINITY, f64::min);
        let together = self.hand_overs.first().filter(|it| it.rate_hz.is_some());
        let (last, sentence) = match together {
            None => (
                "Enner2017b",
                "Cost for the thread that wants a frame; the budget at 30 Hz is 33 ms.".to_owned(),
            ),
            Some(it) => (
                "of the interval",
                format!(
                    "Cost for the thread that wants the newest frame of each of {} cameras; they gave {least_hz:.1} frames a second.",
                    it.cameras
                ),
            ),
        };
        let header = ["size", "", "method", "50 %", "99 %", "max", last];
        Document::new()
            .table(Table::new(&header, 3, rows.collect()))
            .sentence(sentence)
    }
}
