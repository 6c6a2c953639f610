//! The encoded pictures of a simulated camera: a loop that is encoded at the start, or each picture ahead of its time.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use kadenz_rt::beat::{Beat, Interval};
use kadenz_rt::clock::{MonotonicTime, now};

use super::encode::Encoder;
use super::packets::is_parameter_set;
use super::script::Script;
use super::{Options, SimError};
use crate::barcode::Code;
use crate::picture::{PictureError, Size};
use crate::source::test_pattern::Pattern;

/// An encoded picture of a simulated stream.
#[derive(Debug)]
pub(super) struct EncodedFrame {
    /// The number painted into it.
    pub(super) number: u32,
    pub(super) is_key: bool,
    /// H.264: NAL units without start codes. JPEG: one picture.
    pub(super) units: Vec<Vec<u8>>,
}

impl EncodedFrame {
    /// Paints and encodes the picture `index` of a stream.
    fn new(
        encoder: &mut Encoder,
        pattern: &mut Pattern,
        beat: &Beat,
        index: u64,
        period_us: u32,
    ) -> Result<Arc<Self>, SimError> {
        // A number of 32 bits wraps after years.
        let number = index as u32;
        pattern.paint(Code {
            number,
            time_ns: beat.intended(index).as_ns(),
            period_us,
        });
        let (is_key, units) = encoder.encode(pattern)?;
        Ok(Arc::new(Self {
            number,
            is_key,
            units,
        }))
    }
}

/// The pictures of one size.
struct Loop {
    size: Size,
    frames: Vec<Arc<EncodedFrame>>,
}

/// The pictures by their number since the start, and when each is due.
pub(super) struct Stream {
    /// Picture k is due at beat k.
    pub(super) beat: Beat,
    /// When encoding was done: the times of faults count from here.
    pub(super) begun: MonotonicTime,
    keys_every: u64,
    script: Script,
    kind: FrameSource,
}

/// Where the pictures of a stream come from.
enum FrameSource {
    /// The first loop has the size without faults.
    Loops(Vec<Loop>),
    Live(Live),
}

/// The newest pictures of an encoder on a thread of its own.
#[derive(Default)]
struct Live {
    newest: Mutex<VecDeque<(u64, Arc<EncodedFrame>)>>,
    more: Condvar,
}

/// How many pictures of a live stream are kept for the threads that send them.
const KEPT: usize = 64;

impl Stream {
    /// Encodes the loops, or the first picture of a live stream.
    pub(super) fn new(options: &Options) -> Result<Self, SimError> {
        let interval = options.rate.interval();
        let beat = Beat::at(now(), interval);
        let keys_every = u64::from(options.keys_every.max(1));
        let Some(frames) = options.loop_frames else {
            return Ok(Self::begin(
                options,
                beat,
                FrameSource::Live(Live::default()),
            ));
        };
        // Whole groups of pictures, in whole microseconds.
        let frames = u64::from(frames).div_ceil(keys_every).max(1) * keys_every;
        let (numerator_ns, denominator) = interval.as_fraction();
        let period_us =
            u128::from(numerator_ns) * u128::from(frames) / u128::from(denominator) / 1000;
        let too_long = |_| {
            SimError::Options(format!(
                "a loop of {frames} pictures is longer than an hour"
            ))
        };
        let period_us = u32::try_from(period_us).map_err(too_long)?;
        let exact = Interval::from_fraction(u64::from(period_us) * 1000, frames)
            .map_err(|error| SimError::Options(error.to_string()))?;
        let beat = Beat::at(beat.start(), exact);
        let mut sizes = vec![options.size];
        sizes.extend(options.script.sizes());
        let mut loops: Vec<Loop> = Vec::new();
        for size in sizes {
            if loops.iter().all(|it| it.size != size) {
                let frames = encode_loop(options, size, &beat, frames, period_us)?;
                loops.push(Loop { size, frames });
            }
        }
        Ok(Self::begin(options, beat, FrameSource::Loops(loops)))
    }

    fn begin(options: &Options, beat: Beat, kind: FrameSource) -> Self {
        Self {
            beat,
            begun: now(),
            keys_every: u64::from(options.keys_every.max(1)),
            script: options.script.clone(),
            kind,
        }
    }

    /// When a picture is due, counted from `begun`; 0 where it was due before that.
    pub(super) fn elapsed(&self, index: u64) -> Duration {
        Duration::from_nanos(self.due(index).since(self.begun).max(0) as u64)
    }

    /// The parameter sets, where they are known before the first picture.
    pub(super) fn parameter_sets(&self) -> Vec<&[u8]> {
        let FrameSource::Loops(loops) = &self.kind else {
            return Vec::new();
        };
        let units = loops[0].frames[0].units.iter().map(Vec::as_slice);
        units.filter(|unit| is_parameter_set(unit)).collect()
    }

    /// When a picture is meant to be sent.
    pub(super) fn due(&self, index: u64) -> MonotonicTime {
        self.beat.intended(index)
    }

    /// The first picture that is due after a time.
    pub(super) fn first_after(&self, time: MonotonicTime) -> u64 {
        let mut beat = Beat::at(self.beat.start(), self.beat.interval());
        beat.skip_to(time);
        beat.index() + 1
    }

    /// The picture `index` since the start, or the one after it where a live stream left it out. Waits a while for a
    /// live stream.
    pub(super) fn frame(&self, index: u64) -> Option<(u64, Arc<EncodedFrame>)> {
        match &self.kind {
            FrameSource::Loops(loops) => {
                let group = index - index % self.keys_every;
                let size = self
                    .script
                    .size(self.elapsed(group))
                    .unwrap_or(loops[0].size);
                let of_size = loops.iter().find(|it| it.size == size).unwrap_or(&loops[0]);
                let frames = &of_size.frames;
                let frame = &frames[(index % frames.len() as u64) as usize];
                Some((index, Arc::clone(frame)))
            }
            FrameSource::Live(live) => live.frame(index),
        }
    }

    /// Encodes pictures of a live stream ahead of their time, until `is_over`.
    pub(super) fn encode_live(
        &self,
        options: &Options,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), SimError> {
        let FrameSource::Live(live) = &self.kind else {
            return Ok(());
        };
        let interval = self.beat.interval().as_duration();
        let mut encoder = Encoder::new(options)?;
        let mut pattern = pattern(options.size)?;
        let mut index = self.first_after(now() + interval);
        while !is_over() {
            let size = self
                .script
                .size(self.elapsed(index))
                .unwrap_or(options.size);
            if size != pattern.size() {
                pattern = self::pattern(size)?;
            }
            let frame = EncodedFrame::new(&mut encoder, &mut pattern, &self.beat, index, 0)?;
            live.push(index, frame);
            // An encoder that is too slow leaves pictures out.
            index = self.first_after(now() + interval).max(index + 1);
            let begin = self.due(index) - interval * 2;
            if begin > now() {
                std::thread::sleep(Duration::from_nanos(begin.since(now()).max(0) as u64));
            }
        }
        Ok(())
    }
}

impl Live {
    fn push(&self, index: u64, frame: Arc<EncodedFrame>) {
        let mut newest = crate::lock(&self.newest);
        if newest.len() == KEPT {
            newest.pop_front();
        }
        newest.push_back((index, frame));
        self.more.notify_all();
    }

    fn frame(&self, index: u64) -> Option<(u64, Arc<EncodedFrame>)> {
        const MAX_WAIT: Duration = Duration::from_millis(100);
        let newest = crate::lock(&self.newest);
        let is_ahead =
            |newest: &mut VecDeque<(u64, _)>| newest.back().is_none_or(|it| it.0 < index);
        let waited = self.more.wait_timeout_while(newest, MAX_WAIT, is_ahead);
        let (newest, _) = waited.unwrap_or_else(PoisonError::into_inner);
        newest.iter().find(|it| it.0 >= index).cloned()
    }
}

fn encode_loop(
    options: &Options,
    size: Size,
    beat: &Beat,
    frames: u64,
    period_us: u32,
) -> Result<Vec<Arc<EncodedFrame>>, SimError> {
    let mut encoder = Encoder::new(options)?;
    let mut pattern = pattern(size)?;
    (0..frames)
        .map(|index| EncodedFrame::new(&mut encoder, &mut pattern, beat, index, period_us))
        .collect()
}

fn pattern(size: Size) -> Result<Pattern, SimError> {
    let refused = |error: PictureError| {
        format!("{error}; with a barcode sides are even, and at least 64x132")
    };
    Pattern::new(size).map_err(|error| SimError::Options(refused(error)))
}
