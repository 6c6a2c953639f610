//! How old is a frame when a program has it, and where does its age come from?
//!
//! A thread does what a control loop would do: it takes each frame, or polls for the newest one at a rate of its own,
//! and copies it into an existing array. Everything before that (network, assembly, decoder's queue, decoding,
//! conversion) stands in the frame's own stamps. Where the frames come from the [simulator](kadenz_camera::sim), the
//! time that it painted into the picture gives the true latency from camera to array. With several cameras it takes
//! sets of simultaneous frames; the series then describe the first camera's frames and the skew of the sets.

pub mod hand_over;
pub mod notices;
mod series;
pub mod video_log;

use std::sync::mpsc;
use std::time::Duration;

use kadenz_camera::barcode::{self, Gray, ReadError};
use kadenz_camera::client::{Camera, CameraGroup, OpenCameraError};
use kadenz_camera::layout::{Channels, Order};
use kadenz_camera::ring::{CaptureClock, FrameInfo, Shape};
use kadenz_camera::server::status::{State, Status};
use kadenz_record::run::camera as names;
use kadenz_record::run::model::{Run, Warning};
use kadenz_rt::clock::{self, MonotonicTime};

use crate::measuring::{ExperimentError, Measuring};
use crate::measuring_threads::{self, LoopContext, Member, Watch};
use crate::session::{self, Ongoing};
use crate::stop::Stop;
use series::FrameSeries;

/// How long the reader waits for a frame before it checks for a stop request.
const STOP_INTERVAL: Duration = Duration::from_millis(100);
/// Readings of two clocks, of which the closest pair counts.
const TRIES: u32 = 3;

/// What an experiment with cameras measures.
#[derive(Debug, Clone)]
pub struct CameraPlan {
    /// How long the reader takes frames, from the first one on.
    pub duration: Duration,
    /// How often the reader polls for the newest frame; without it, the reader takes each frame as it comes.
    pub poll: Option<Duration>,
    /// Whether the reader reads the time that the simulator painted into each picture.
    pub barcode: bool,
    /// Whether the run says which layer takes most of a frame's age, and what shortens it.
    pub advise: bool,
}

/// Takes frames of a camera, or sets of several, and returns the completed run.
///
/// # Errors
/// [`ExperimentError`]; a camera that falls silent is not an error but a warning in the run.
pub fn experiment(
    cameras: impl Into<CameraGroup>,
    plan: &CameraPlan,
    measuring: &Measuring,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<Run, ExperimentError> {
    let cameras: CameraGroup = cameras.into();
    let mut run = session::begin(&measuring.session)?;
    let series = FrameSeries::add(&mut run, measuring, plan, cameras.cameras().len())?;
    let ongoing = measuring.start(run)?;
    let before = first_status(&cameras);
    let (member, counted) = member(cameras, plan, measuring, series);
    let ended_by = measuring_threads::work(&ongoing, vec![member], stop, watch)?;
    let (reader, after) = counted
        .recv()
        .map_err(|_| measuring_threads::MeasuringThreadError::Lost)?;
    note(&ongoing, &reader, (before.as_ref(), after.as_ref()), plan);
    Ok(ongoing.finish(ended_by)?)
}

/// What the reading thread returns.
type ReaderResult = mpsc::Receiver<(Reader, Option<Status>)>;

fn first_status(cameras: &CameraGroup) -> Option<Status> {
    cameras.cameras().next()?.status()
}

fn member(
    cameras: CameraGroup,
    plan: &CameraPlan,
    measuring: &Measuring,
    series: FrameSeries,
) -> (Member, ReaderResult) {
    let (sender, counted) = mpsc::sync_channel(1);
    let plan = plan.clone();
    let mut reader = Reader {
        arrays: cameras
            .cameras()
            .map(|camera| vec![0; camera.ring().shape().bytes()])
            .collect(),
        cameras,
        luma: Vec::new(),
        codes: barcode::Reader::new(),
        series,
        counted: FrameCounts::default(),
        previous: None,
    };
    let others = FrameSeries::others(&plan, reader.arrays.len());
    let names = FrameSeries::ALL
        .into_iter()
        .chain(others.into_iter().flatten());
    let names: Vec<&str> = names.map(|(name, _)| name).collect();
    let work = move |context: &mut LoopContext<'_>| {
        reader.read(&plan, context);
        let status = first_status(&reader.cameras);
        // The receiver outlives this thread: it finishes the run with what is sent.
        let _ = sender.send((reader, status));
    };
    (measuring.member(&names, work), counted)
}

/// What the reader counted.
#[derive(Debug, Default)]
struct FrameCounts {
    received: u64,
    passed_over: u64,
    unreadable: u64,
    /// Frames that belong to no set, counted before the first set was taken.
    unmatched_before: u64,
    torn: u64,
    overwritten: u64,
    by_camera_clock: bool,
    /// How long no frame had come at the end, where the camera was lost then.
    silent_at_end: Option<Duration>,
    /// Total time of each layer.
    layers_ns: [u64; LAYERS.len()],
}

/// The layers of a frame's age, and what shortens each. The index of a layer in [`FrameSeries::ALL`] is one more than
/// here.
const LAYERS: [(&str, &str); 7] = [
    (
        "the way from the camera",
        "lower the camera's bit rate, wire it, and set its clock, on which this figure rests",
    ),
    (
        "the assembly of a frame from its packets",
        "lower the camera's bit rate or size, or give it a faster link",
    ),
    (
        "waiting for the decoder",
        "lower the camera's rate or size, or build with the feature `ffmpeg`: decoding is slower than the camera",
    ),
    (
        "decoding",
        "lower the camera's size, or build with the feature `ffmpeg`, whose decoder uses several CPUs",
    ),
    (
        "conversion",
        "request less: `--layout gray`, a region, or a size such as rgb@960x540",
    ),
    (
        "the reader's waking",
        "give the reader a real-time priority: `--policy fifo:60`; with --poll it is the reader's own interval",
    ),
    (
        "copying",
        "look at frames where they lie (`Frame::pixels`), or request a smaller layout",
    ),
];

/// The thread that takes frames as a control loop would.
struct Reader {
    cameras: CameraGroup,
    /// An array for each camera.
    arrays: Vec<Vec<u8>>,
    luma: Vec<u8>,
    codes: barcode::Reader,
    series: FrameSeries,
    counted: FrameCounts,
    /// The first camera's previous frame: its count in its ring, and its stamps.
    previous: Option<(u64, FrameInfo)>,
}

/// The first camera's frame, once the set is in the arrays.
struct TakenFrame {
    info: FrameInfo,
    shape: Shape,
    count: u64,
    seen: MonotonicTime,
    copied: MonotonicTime,
    /// Time from the earliest to the latest frame of the set.
    skew: Duration,
}

impl Reader {
    fn read(&mut self, plan: &CameraPlan, context: &mut LoopContext<'_>) {
        let end = context.start + plan.duration;
        let mut looks_at = context.start;
        self.counted.unmatched_before = self.cameras.unmatched();
        while context.clock.now() < end && !context.stop.requested() {
            if let Some(poll) = plan.poll {
                looks_at = looks_at + poll;
                context.sleeper.sleep_until(looks_at);
            }
            let Some(taken) = self.take(plan) else {
                continue;
            };
            // The newest frame may be the one that was taken before.
            let known = self.previous.map(|(_, before)| before.published);
            if known == Some(taken.info.published) {
                continue;
            }
            self.record(&taken, context.origin);
            if plan.barcode {
                self.read_barcode(&taken, context.origin);
            }
            self.previous = Some((taken.count, taken.info));
        }
        self.record_outage(context.clock.now().min(end), context.origin);
    }

    /// Records the age of the newest frame where the camera is lost at the end: no later frame would count that time.
    fn record_outage(&mut self, end: MonotonicTime, origin: MonotonicTime) {
        let is_lost = |status: Status| !matches!(status.state, State::Running | State::Ended);
        let is_lost = first_status(&self.cameras).is_none_or(is_lost);
        let Some((_, last)) = self.previous.filter(|_| is_lost) else {
            return;
        };
        let end = end.max(last.published);
        let sequence = last.number + 1;
        let [age, .., gap] = &mut self.series.recorders[..] else {
            return;
        };
        FrameSeries::record(age, sequence, origin, (last.begin(), end));
        FrameSeries::record(gap, sequence, origin, (last.published, end));
        self.counted.silent_at_end = Some(end.remaining(last.published));
    }

    /// Takes the next frames, or the newest, into the arrays.
    fn take(&mut self, plan: &CameraPlan) -> Option<TakenFrame> {
        let set = match plan.poll {
            None => self.cameras.next(STOP_INTERVAL),
            Some(_) => self.cameras.latest(Duration::MAX),
        };
        let set = set.ok()?;
        let seen = clock::now();
        for (frame, array) in set.frames().zip(&mut self.arrays) {
            array.resize(frame.shape().bytes(), 0);
        }
        if set.copy_to(&mut self.arrays).is_err() {
            self.counted.overwritten += 1;
            return None;
        }
        let copied = clock::now();
        let first = set.frames().next()?;
        Some(TakenFrame {
            info: *first.info(),
            shape: first.shape(),
            count: first.count(),
            seen,
            copied,
            skew: set.skew(),
        })
    }

    fn record(&mut self, taken: &TakenFrame, origin: MonotonicTime) {
        let info = &taken.info;
        self.counted.received += 1;
        self.counted.by_camera_clock |= info.capture_clock == CaptureClock::Camera;
        let sequence = info.number;
        let decodes_at = info.decoded - Duration::from_nanos(info.decode_ns);
        let spans = [
            Some((info.begin(), taken.copied)),
            info.capture.map(|capture| (capture, info.first_byte)),
            Some((info.first_byte, info.arrival)),
            Some((info.arrival, decodes_at)),
            Some((decodes_at, info.decoded)),
            Some((info.decoded, info.published)),
            Some((info.published, taken.seen)),
            Some((taken.seen, taken.copied)),
            self.previous
                .map(|(_, before)| (before.published, info.published)),
        ];
        for (place, span) in spans.into_iter().enumerate() {
            let Some(span) = span else {
                continue;
            };
            FrameSeries::record(&mut self.series.recorders[place], sequence, origin, span);
            if let Some(layer) = place
                .checked_sub(1)
                .and_then(|it| self.counted.layers_ns.get_mut(it))
            {
                *layer += u64::try_from(span.1.since(span.0)).unwrap_or(0);
            }
        }
        if let Some(recorder) = &mut self.series.skew {
            let skew = (taken.copied - taken.skew, taken.copied);
            FrameSeries::record(recorder, sequence, origin, skew);
        }
        if let Some((count, before)) = self.previous {
            if info.missed > before.missed {
                let gap = (before.published, info.published);
                let recorder = &mut self.series.recorders[spans.len()];
                FrameSeries::record(recorder, sequence, origin, gap);
            }
            self.counted.passed_over += taken.count.saturating_sub(count + 1);
        }
    }

    /// Reads the painted time, after all times were taken.
    fn read_barcode(&mut self, taken: &TakenFrame, origin: MonotonicTime) {
        luma_of(&self.arrays[0], &taken.shape, &mut self.luma);
        let size = taken.shape.size;
        let gray = Gray::new(&self.luma, size, size.width as usize);
        let found = gray.map(|gray| barcode::whole(self.codes.read(&gray)));
        let code = match found {
            Ok(Ok(code)) => code,
            Ok(Err(ReadError::Torn { .. })) => return self.counted.torn += 1,
            Ok(Err(ReadError::Missing(_))) | Err(_) => return self.counted.unreadable += 1,
        };
        let sent = MonotonicTime::from_ns(code.sent_ns(taken.copied.as_ns()));
        if let Some(recorder) = &mut self.series.painted {
            let span = (sent, taken.copied);
            FrameSeries::record(recorder, taken.info.number, origin, span);
        }
    }
}

/// Makes a gray picture in rows from a frame in any layout. Green stands for luma.
fn luma_of(array: &[u8], shape: &Shape, luma: &mut Vec<u8>) {
    let (width, height) = (shape.size.width as usize, shape.size.height as usize);
    let channels = shape.channels.count();
    let green = usize::from(shape.channels != Channels::Gray);
    luma.clear();
    match shape.order {
        Order::Interleaved => luma.extend(array.iter().skip(green).step_by(channels)),
        Order::ColumnMajor => {
            let plane = &array[green * width * height..(green + 1) * width * height];
            luma.extend((0..width * height).map(|at| plane[(at % width) * height + at / width]));
        }
    }
}

/// Completes the run with the counts; lost frames are the first camera's.
fn note(
    ongoing: &Ongoing,
    reader: &Reader,
    (before, after): (Option<&Status>, Option<&Status>),
    plan: &CameraPlan,
) {
    let counted = &reader.counted;
    let counts = |status: Option<&Status>| status.map(|it| it.counts).unwrap_or_default();
    let (before_counts, after_counts) = (counts(before), counts(after));
    let status = after.or(before);
    let mut cameras = reader.cameras.cameras();
    let first = cameras.next();
    let name = |camera: &Camera| camera.name().to_owned();
    let noted = names::Camera {
        url: status.map_or_else(|| first.map_or_else(String::new, name), |it| it.url.clone()),
        description: status.map_or_else(String::new, |it| it.description.clone()),
        decoder: status.and_then(|it| it.decoder.clone()),
        layout: first.map_or_else(String::new, |it| it.layout().to_string()),
        received: counted.received,
        missed: after_counts.missed.saturating_sub(before_counts.missed),
        duplicated: after_counts
            .duplicated
            .saturating_sub(before_counts.duplicated),
        skipped: after_counts.skipped.saturating_sub(before_counts.skipped),
        passed_over: counted.passed_over,
        reconnects: after_counts
            .reconnects
            .saturating_sub(before_counts.reconnects),
        unreadable: counted.unreadable,
        sync_with: cameras
            .map(|it| it.status().map_or_else(|| name(it), |status| status.url))
            .collect(),
        unmatched: match reader.arrays.len() {
            1 => 0,
            _ => reader
                .cameras
                .unmatched()
                .saturating_sub(counted.unmatched_before),
        },
        torn: counted.torn,
        overwritten: counted.overwritten,
    };
    let mut warnings = warnings(&noted, counted, plan.advise);
    // One of each may still wait for the others.
    let has_unmatched = noted.unmatched > reader.arrays.len() as u64;
    if counted.received == 0 && noted.unmatched == 0 {
        warnings.push(silent(&noted));
    }
    let is_partial = plan.poll.is_none() && has_unmatched;
    if is_partial || counted.received == 0 && noted.unmatched > 0 {
        warnings.push(unmatched(&noted, reader.cameras.tolerance()));
    }
    ongoing.running.add_warnings(warnings);
    ongoing.running.update(|run| run.camera = Some(noted));
}

/// Warnings that a reader of the run needs.
fn warnings(noted: &names::Camera, counted: &FrameCounts, advise: bool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if let Some(advice) = advise.then(|| advice(counted)).flatten() {
        warnings.push(advice);
    }
    if let Some(silent) = counted.silent_at_end {
        warnings.push(Warning::new(
            "camera_lost",
            format!(
                "no frame of {} came in the last {:.1} s",
                noted.url,
                silent.as_secs_f64()
            ),
            Some(POWER_AND_NETWORK),
        ));
    }
    if counted.by_camera_clock {
        warnings.push(Warning::new(
            "camera_clock",
            "the ages rest on the camera's own clock, by its RTCP sender reports",
            Some("set the camera's clock by the same NTP server as this computer's"),
        ));
    }
    if noted.reconnects > 0 {
        let times = match noted.reconnects {
            1 => "once".to_owned(),
            n => format!("{n} times"),
        };
        warnings.push(Warning::new(
            "camera_reconnected",
            format!("the camera was lost and opened again {times}"),
            Some(POWER_AND_NETWORK),
        ));
    }
    warnings
}

const POWER_AND_NETWORK: &str = "see its power and its network";

fn silent(noted: &names::Camera) -> Warning {
    Warning::new(
        "camera_silent",
        format!("no frame of {} came", noted.url),
        Some("`kadenz camera list` shows its state"),
    )
}

fn unmatched(noted: &names::Camera, tolerance: Duration) -> Warning {
    let unmatched = noted.unmatched;
    Warning::new(
        "camera_unmatched",
        match noted.received {
            0 => format!("of {unmatched} frames none were within {tolerance:?} of one another"),
            sets => format!(
                "{unmatched} frames were in none of {sets} sets within {tolerance:?} of one another"
            ),
        },
        Some(
            "trigger the cameras by one signal, or set their clocks by the same NTP server; --tolerance allows more",
        ),
    )
}

/// Advice: which layer takes the most, and what shortens it.
fn advice(counted: &FrameCounts) -> Option<Warning> {
    let all: u64 = counted.layers_ns.iter().sum();
    let (layer, most) = counted
        .layers_ns
        .iter()
        .enumerate()
        .max_by_key(|(_, ns)| **ns)?;
    if all == 0 || counted.received == 0 {
        return None;
    }
    let (words, remedy) = LAYERS[layer];
    let share = 100.0 * *most as f64 / all as f64;
    let mean_ms = *most as f64 / counted.received as f64 / 1e6;
    Some(Warning::new(
        "camera_layer",
        format!("{words} takes {share:.0} % of a frame's age, {mean_ms:.1} ms on average"),
        Some(remedy),
    ))
}

impl From<OpenCameraError> for ExperimentError {
    fn from(error: OpenCameraError) -> Self {
        Self::Camera(Box::new(error))
    }
}
