//! How old is a frame when a program has it, and where does its age come from?
//!
//! A thread does what a control loop would do: it takes each frame, or looks for the newest one at a rate of its own,
//! and copies it into an array that it has. Everything before that (network, assembly, decoder's queue, decoding,
//! conversion) stands in the frame's own stamps. Where the frames come from the [simulator](kadenz_camera::sim), the
//! time that it painted into the picture gives the true latency from camera to array.

pub mod hand_over;

use std::sync::mpsc;
use std::time::Duration;

use kadenz_camera::barcode::{self, Gray, ReadError};
use kadenz_camera::client::{Camera, FrameError, OpenCameraError};
use kadenz_camera::layout::{Channels, Order};
use kadenz_camera::ring::{CaptureClock, Frame, FrameInfo, Shape};
use kadenz_camera::server::status::Status;
use kadenz_record::run::camera as names;
use kadenz_record::run::folder::{RunWriter, SeriesRecorder};
use kadenz_record::run::model::{Kind, Run, Warning};
use kadenz_record::samples::Sample;
use kadenz_rt::clock::{self, MonotonicTime};

use crate::measuring::{ExperimentError, Measuring, SeriesSketch};
use crate::measuring_threads::{self, LoopContext, Member, Watch};
use crate::session::{self, Ongoing};
use crate::stop::Stop;

/// How long the reader waits for a frame before it looks whether it shall end.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

/// What is measured.
#[derive(Debug, Clone)]
pub struct CameraPlan {
    /// How long frames are taken, from the first one on.
    pub duration: Duration,
    /// How often the reader looks for the newest frame; it takes each one as it comes where nothing is stated.
    pub poll: Option<Duration>,
    /// Whether the time is read that the simulator painted into each picture.
    pub barcode: bool,
    /// Whether the run says which layer takes most of a frame's age, and what shortens it.
    pub advise: bool,
}

/// Takes frames of a camera that was opened, and returns the completed run.
///
/// # Errors
/// [`ExperimentError`]; a camera that falls silent is no error but a warning in the run.
pub fn experiment(
    camera: Camera,
    plan: &CameraPlan,
    measuring: &Measuring,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<Run, ExperimentError> {
    let mut run = session::begin(&measuring.session)?;
    let series = FrameSeries::add(&mut run, measuring, plan.barcode)?;
    let ongoing = measuring.start(run)?;
    let before = camera.status();
    let (member, counted) = member(camera, plan, measuring, series);
    let ended_by = measuring_threads::work(&ongoing, vec![member], stop, watch)?;
    let (reader, after) = counted
        .recv()
        .map_err(|_| measuring_threads::MeasuringThreadError::Lost)?;
    note(
        &ongoing,
        &reader.camera,
        &reader.counted,
        (before.as_ref(), after.as_ref()),
        plan.advise,
    );
    Ok(ongoing.finish(ended_by)?)
}

/// What comes back from the thread that read.
type Counted = mpsc::Receiver<(Reader, Option<Status>)>;

fn member(
    camera: Camera,
    plan: &CameraPlan,
    measuring: &Measuring,
    series: FrameSeries,
) -> (Member, Counted) {
    let (sender, counted) = mpsc::sync_channel(1);
    let plan = plan.clone();
    let mut reader = Reader {
        array: vec![0; camera.ring().shape().bytes()],
        camera,
        luma: Vec::new(),
        codes: barcode::Reader::new(),
        series,
        counted: Counts::default(),
        previous: None,
    };
    let names: Vec<&str> = FrameSeries::ALL.iter().map(|(name, ..)| *name).collect();
    let work = move |context: &mut LoopContext<'_>| {
        reader.read(&plan, context);
        let status = reader.camera.status();
        // Nobody who waits for it is gone: the run is finished from there.
        let _ = sender.send((reader, status));
    };
    (measuring.member(&names, Box::new(work)), counted)
}

/// The series of a frame's way.
struct FrameSeries {
    recorders: Vec<SeriesRecorder>,
}

impl FrameSeries {
    const ALL: [(&'static str, &'static str); 10] = [
        (
            names::AGE,
            "how old a frame was once it stood in the reader's array",
        ),
        (
            names::NETWORK,
            "from the camera's stamp to a frame's first byte",
        ),
        (
            names::ASSEMBLY,
            "from a frame's first byte until it was whole",
        ),
        (names::DECODER_QUEUE, "from there until the decoder took it"),
        (names::FRAME_DECODE, "decoding"),
        (
            names::CONVERT,
            "conversion into the layouts that were wanted, and publication",
        ),
        (names::PICK_UP, "from publication until the reader saw it"),
        (names::HAND_OVER, "copying it into the reader's array"),
        (names::FRAME_INTERVAL, "from one publication to the next"),
        (
            names::GAP,
            "from the frame before to the one after where some were missed",
        ),
    ];

    fn add(
        run: &mut RunWriter,
        measuring: &Measuring,
        barcode: bool,
    ) -> Result<Self, ExperimentError> {
        let painted = (
            names::END_TO_END,
            "as age, from the time that the simulator painted into the picture",
        );
        let all = Self::ALL.into_iter().chain(barcode.then_some(painted));
        let add = |(name, description): (&str, &str)| {
            let limited = [names::AGE, names::END_TO_END].contains(&name);
            let sketch = SeriesSketch {
                name,
                labels: Default::default(),
                description: description.to_owned(),
                kind: Kind::Latency,
                interval: None,
                deadline: measuring.deadline.filter(|_| limited),
                raw: true,
            };
            measuring.series(run, sketch)
        };
        Ok(Self {
            recorders: all.map(add).collect::<Result<_, _>>()?,
        })
    }

    /// Records a value that ended at `end`, in the series of that place.
    fn record(
        &mut self,
        place: usize,
        sequence: u64,
        origin: MonotonicTime,
        (begin, end): (MonotonicTime, MonotonicTime),
    ) {
        self.recorders[place].record(Sample {
            sequence,
            intended_ns: begin.since(origin),
            actual_ns: end.since(origin),
            value_ns: end.since(begin),
        });
    }
}

/// What the reader counted.
#[derive(Debug, Default)]
struct Counts {
    received: u64,
    passed_over: u64,
    unreadable: u64,
    torn: u64,
    overwritten: u64,
    by_camera_clock: bool,
    /// What each layer took in all.
    layers_ns: [u64; LAYERS.len()],
}

/// The layers of a frame's age, the place of each in [`FrameSeries::ALL`] one more than here: in words, and what
/// shortens it.
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
        "ask for less: `--layout gray`, a region, or a size such as rgb@960x540",
    ),
    (
        "the reader's waking",
        "give the reader a real-time priority: `--policy fifo:60`; with --poll it is the reader's own interval",
    ),
    (
        "copying",
        "look at frames where they lie (`Frame::pixels`), or ask for a smaller layout",
    ),
];

/// The thread that does what a control loop would.
struct Reader {
    camera: Camera,
    array: Vec<u8>,
    luma: Vec<u8>,
    codes: barcode::Reader,
    series: FrameSeries,
    counted: Counts,
    /// Of the frame before: its count in its ring, and what was known of it.
    previous: Option<(u64, FrameInfo)>,
}

/// What is known of a frame once it is in the array.
struct Taken {
    info: FrameInfo,
    shape: Shape,
    count: u64,
    seen: MonotonicTime,
    copied: MonotonicTime,
}

impl Reader {
    fn read(&mut self, plan: &CameraPlan, context: &mut LoopContext<'_>) {
        let end = context.start + plan.duration;
        let mut looks_at = context.start;
        while context.clock.now() < end && !context.stop.requested() {
            if let Some(poll) = plan.poll {
                looks_at = looks_at + poll;
                context.sleeper.sleep_until(looks_at);
            }
            let Some(taken) = self.take(plan) else {
                continue;
            };
            // The newest may be the one that was taken before.
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
    }

    /// The next frame, or the newest, in the array.
    fn take(&mut self, plan: &CameraPlan) -> Option<Taken> {
        let frame = match plan.poll {
            None => self.camera.next(STOP_INTERVAL),
            Some(_) => self.camera.latest(Duration::MAX),
        };
        let frame: Frame<'_> = match frame {
            Ok(frame) => frame,
            Err(FrameError::Stale { .. } | FrameError::Timeout { .. }) => return None,
        };
        let seen = clock::now();
        let shape = frame.shape();
        if self.array.len() != shape.bytes() {
            self.array.resize(shape.bytes(), 0);
        }
        if frame.copy_to(&mut self.array).is_err() {
            self.counted.overwritten += 1;
            return None;
        }
        Some(Taken {
            info: *frame.info(),
            shape,
            count: frame.count(),
            seen,
            copied: clock::now(),
        })
    }

    fn record(&mut self, taken: &Taken, origin: MonotonicTime) {
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
            self.series.record(place, sequence, origin, span);
            if let Some(layer) = place
                .checked_sub(1)
                .and_then(|it| self.counted.layers_ns.get_mut(it))
            {
                *layer += u64::try_from(span.1.since(span.0)).unwrap_or(0);
            }
        }
        if let Some((count, before)) = self.previous {
            if info.missed > before.missed {
                let gap = (before.published, info.published);
                self.series.record(spans.len(), sequence, origin, gap);
            }
            self.counted.passed_over += taken.count.saturating_sub(count + 1);
        }
    }

    /// Reads the painted time, after everything was measured.
    fn read_barcode(&mut self, taken: &Taken, origin: MonotonicTime) {
        luma_of(&self.array, &taken.shape, &mut self.luma);
        let size = taken.shape.size;
        let gray = Gray::new(&self.luma, size, size.width as usize);
        let found = gray.map(|gray| barcode::whole(self.codes.read(&gray)));
        let code = match found {
            Ok(Ok(code)) => code,
            Ok(Err(ReadError::Torn { .. })) => return self.counted.torn += 1,
            Ok(Err(ReadError::Missing(_))) | Err(_) => return self.counted.unreadable += 1,
        };
        let sent = MonotonicTime::from_ns(code.sent_ns(taken.copied.as_ns()));
        let place = FrameSeries::ALL.len();
        self.series
            .record(place, taken.info.number, origin, (sent, taken.copied));
    }
}

/// A gray picture in rows, of a frame in any layout. Green stands for luma.
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

/// Completes the run with what was counted.
fn note(
    ongoing: &Ongoing,
    camera: &Camera,
    counted: &Counts,
    (before, after): (Option<&Status>, Option<&Status>),
    advise: bool,
) {
    let counts = |status: Option<&Status>| status.map(|it| it.counts).unwrap_or_default();
    let (before_counts, after_counts) = (counts(before), counts(after));
    let status = after.or(before);
    let noted = names::Camera {
        url: status.map_or_else(|| camera.name().to_owned(), |it| it.url.clone()),
        description: status.map_or_else(String::new, |it| it.description.clone()),
        decoder: status.and_then(|it| it.decoder.clone()),
        layout: camera.layout().to_string(),
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
        torn: counted.torn,
        overwritten: counted.overwritten,
    };
    for warning in warnings(&noted, counted, advise) {
        ongoing.running.add_warning(warning);
    }
    ongoing.running.update(|run| run.camera = Some(noted));
}

/// What a reader of the run must know.
fn warnings(noted: &names::Camera, counted: &Counts, advise: bool) -> Vec<Warning> {
    let warning = |id: &str, text: String, remedy: &str| Warning {
        id: id.to_owned(),
        text,
        remedy: Some(remedy.to_owned()),
    };
    let mut warnings = Vec::new();
    if let Some(advice) = advise.then(|| advice(counted)).flatten() {
        warnings.push(advice);
    }
    if counted.received == 0 {
        warnings.push(warning(
            "camera_silent",
            format!("no frame of {} came", noted.url),
            "`kadenz camera list` says how it is",
        ));
    }
    if counted.by_camera_clock {
        warnings.push(warning(
            "camera_clock",
            "the ages rest on the camera's own clock, by its RTCP sender reports".to_owned(),
            "set the camera's clock by the same NTP server as this computer's",
        ));
    }
    if noted.reconnects > 0 {
        warnings.push(warning(
            "camera_reconnected",
            format!(
                "the camera was lost and opened again {} times",
                noted.reconnects
            ),
            "see its power and its network",
        ));
    }
    warnings
}

/// Which layer takes the most, and what shortens it.
fn advice(counted: &Counts) -> Option<Warning> {
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
    Some(Warning {
        id: "camera_layer".to_owned(),
        text: format!("{words} takes {share:.0} % of a frame's age, {mean_ms:.1} ms on average"),
        remedy: Some(remedy.to_owned()),
    })
}

impl From<OpenCameraError> for ExperimentError {
    fn from(error: OpenCameraError) -> Self {
        Self::Camera(Box::new(error))
    }
}
