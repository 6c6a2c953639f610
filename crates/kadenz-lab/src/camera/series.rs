//! The series of a frame's way from the camera into the reader's array.

use kadenz_record::run::camera as names;
use kadenz_record::run::folder::{RunWriter, SeriesRecorder};
use kadenz_record::run::model::Kind;
use kadenz_record::samples::Sample;
use kadenz_rt::clock::MonotonicTime;

use super::CameraPlan;
use crate::measuring::{ExperimentError, Measuring, SeriesSketch};

/// The series of a frame's way from the camera to the array.
pub(super) struct FrameSeries {
    /// In the order of [`Self::ALL`].
    pub(super) recorders: Vec<SeriesRecorder>,
    pub(super) skew: Option<SeriesRecorder>,
    pub(super) painted: Option<SeriesRecorder>,
}

impl FrameSeries {
    pub(super) const ALL: [(&'static str, &'static str); 10] = [
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

    const SKEW: (&'static str, &'static str) = (
        names::SKEW,
        "from the earliest to the latest frame of a set, by when they were taken",
    );
    const PAINTED: (&'static str, &'static str) = (
        names::END_TO_END,
        "as age, from the time that the simulator painted into the picture",
    );

    /// Which of the two other series exist.
    pub(super) fn others(
        plan: &CameraPlan,
        cameras: usize,
    ) -> [Option<(&'static str, &'static str)>; 2] {
        [
            (cameras > 1).then_some(Self::SKEW),
            plan.barcode.then_some(Self::PAINTED),
        ]
    }

    pub(super) fn add(
        run: &mut RunWriter,
        measuring: &Measuring,
        plan: &CameraPlan,
        cameras: usize,
    ) -> Result<Self, ExperimentError> {
        let mut add = |(name, description): (&str, &str)| {
            let limited = [names::AGE, names::END_TO_END].contains(&name);
            let sketch = SeriesSketch {
                deadline: measuring.deadline.filter(|_| limited),
                ..SeriesSketch::new(Kind::Latency, name, description)
            };
            measuring.series(run, sketch)
        };
        let [skew, painted] = Self::others(plan, cameras);
        Ok(Self {
            skew: skew.map(&mut add).transpose()?,
            recorders: Self::ALL
                .into_iter()
                .map(&mut add)
                .collect::<Result<_, _>>()?,
            painted: painted.map(add).transpose()?,
        })
    }

    /// Records the time from a start to an end.
    pub(super) fn record(
        recorder: &mut SeriesRecorder,
        sequence: u64,
        origin: MonotonicTime,
        (begin, end): (MonotonicTime, MonotonicTime),
    ) {
        recorder.record(Sample {
            sequence,
            intended_ns: begin.since(origin),
            actual_ns: end.since(origin),
            value_ns: end.since(begin),
        });
    }
}
