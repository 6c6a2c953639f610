//! Decoding, converting and publishing of received units.

use std::collections::VecDeque;
use std::time::Duration;

use kadenz_rt::clock::{self, ClockPair, MonotonicTime};
use kadenz_rt::shared;

use super::queue::{Meta, QueuedUnit};
use super::status::{Counts, PREFIX};
use crate::decode::{self, DecodeError, Decoder};
use crate::layout::{Converter, Layout};
use crate::picture::{Picture, Size};
use crate::ring::{CaptureClock, FrameInfo, RingWriter, Shape};
use crate::source::{Capture, Coding};

/// How often the server looks which layouts are wanted.
const DEMAND_INTERVAL: Duration = Duration::from_millis(50);
/// A layout is published so much longer after the last client that wants it.
const LAYOUT_LINGER: Duration = Duration::from_secs(2);
/// More layouts at once are refused: each costs a conversion a frame.
pub(super) const MAX_LAYOUTS: usize = 16;
/// Units that may be inside a decoder: H.264's largest decoded picture buffer, twice.
const MAX_IN_DECODER: usize = 32;
/// Readings of the clocks, of which the closest pair counts: a thread that is held up between them must not change an
/// age.
const TRIES: u32 = 3;
/// A capture time further from the arrival than this comes from a clock that is not set.
const MAX_CAMERA_CLOCK_ERROR_NS: i64 = 10_000_000_000;

/// Decodes units and publishes them as frames in rings.
pub(super) struct Pipeline {
    decoder: Option<(Coding, Box<dyn Decoder>)>,
    in_decoder: VecDeque<Meta>,
    /// Frames missed up to the unit before, in all.
    missed: u64,
    publisher: Publisher,
}

/// Publishes pictures as frames in rings.
#[derive(Default)]
pub(super) struct Publisher {
    camera: String,
    fixed: Vec<Layout>,
    slots: usize,
    outputs: Vec<Output>,
    looks_at: MonotonicTime,
    pub(super) counts: Counts,
    undecodable: u64,
    pub(super) size: Option<Size>,
    pub(super) trouble: Option<String>,
    previous_begin: Option<MonotonicTime>,
    pub(super) interval_ns: f64,
}

/// A layout with its ring, which exists once the pictures' size is known.
struct Output {
    layout: Layout,
    converter: Converter,
    ring: Option<RingWriter>,
    is_fixed: bool,
    wanted_until: MonotonicTime,
}

impl Pipeline {
    pub(super) fn new(camera: &str, fixed: &[Layout], slots: usize) -> Self {
        Self {
            decoder: None,
            in_decoder: VecDeque::with_capacity(MAX_IN_DECODER),
            missed: 0,
            publisher: Publisher {
                camera: camera.to_owned(),
                fixed: fixed.to_vec(),
                slots,
                ..Publisher::default()
            },
        }
    }

    pub(super) fn publisher(&mut self) -> &mut Publisher {
        &mut self.publisher
    }

    pub(super) fn decoder_name(&self) -> Option<&'static str> {
        self.decoder.as_ref().map(|(_, decoder)| decoder.name())
    }

    /// Restarts, for a new stream.
    pub(super) fn reset(&mut self) {
        self.decoder = None;
        self.in_decoder.clear();
    }

    /// Decodes a unit, and publishes the pictures that come out.
    pub(super) fn decode(&mut self, waiting: &QueuedUnit) {
        let coding = waiting.coding();
        let publisher = &mut self.publisher;
        publisher.note(&waiting.meta);
        publisher.update_demand();
        // A JPEG that no client wants need not be decoded; video must be, for the pictures after it.
        if coding == Coding::Jpeg && publisher.outputs.is_empty() && publisher.size.is_some() {
            publisher.pass(&waiting.meta);
            return;
        }
        let decoder = match ready(&mut self.decoder, coding) {
            Ok(decoder) => decoder,
            Err(error) => {
                publisher.miss(&error);
                return;
            }
        };
        if self.in_decoder.len() == MAX_IN_DECODER {
            self.in_decoder.pop_front();
        }
        self.in_decoder.push_back(waiting.meta);
        let in_decoder = &mut self.in_decoder;
        let missed = waiting.meta.missed - self.missed;
        self.missed = waiting.meta.missed;
        let unit = waiting.unit(missed);
        let started = clock::now();
        let outcome = decoder.decode(waiting.meta.number, &unit, &mut |token, picture| {
            let place = in_decoder.iter().position(|meta| meta.number == token);
            if let Some(meta) = place.and_then(|place| in_decoder.remove(place)) {
                let decoded = clock::now();
                publisher.publish(picture, &meta, decoded, decoded.since(started));
            }
        });
        if let Err(error) = outcome {
            in_decoder.retain(|meta| meta.number != waiting.meta.number);
            publisher.miss(&error);
        }
    }
}

/// The decoder for a coding; made again where the last unit had another coding.
fn ready(
    decoder: &mut Option<(Coding, Box<dyn Decoder>)>,
    coding: Coding,
) -> Result<&mut dyn Decoder, DecodeError> {
    let held = match decoder.take() {
        Some((of, held)) if of == coding => held,
        _ => decode::open(coding)?,
    };
    Ok(&mut *decoder.insert((coding, held)).1)
}

impl Publisher {
    /// Publishes a picture in every layout that is wanted.
    pub(super) fn publish(
        &mut self,
        picture: &Picture<'_>,
        meta: &Meta,
        decoded: MonotonicTime,
        decode_ns: i64,
    ) {
        let (capture, capture_clock) = meta
            .capture
            .on_this_clock(meta.first_byte, ClockPair::read(TRIES));
        let info = FrameInfo {
            number: meta.number,
            capture,
            capture_clock,
            first_byte: meta.first_byte,
            arrival: meta.arrival,
            decoded,
            published: decoded,
            missed: self.counts.missed,
            duplicated: self.counts.duplicated,
            skipped: self.counts.skipped,
            decode_ns: u64::try_from(decode_ns).unwrap_or(0),
            convert_ns: 0,
            is_damaged: meta.is_damaged,
        };
        self.note_interval(&info);
        self.size = Some(picture.size());
        let interval = Duration::from_nanos(self.interval_ns as u64);
        for output in &mut self.outputs {
            if let Err(trouble) = output.publish(&self.camera, picture, &info, self.slots, interval)
            {
                self.trouble = Some(trouble);
            }
        }
        self.counts.frames += 1;
    }

    /// Counts a frame that no client wants.
    fn pass(&mut self, meta: &Meta) {
        let info = FrameInfo {
            first_byte: meta.first_byte,
            ..FrameInfo::default()
        };
        self.note_interval(&info);
        self.counts.frames += 1;
    }

    /// Takes over what the receiver counted.
    pub(super) fn note(&mut self, meta: &Meta) {
        self.counts.missed = meta.missed + self.undecodable;
        self.counts.duplicated = meta.duplicated;
    }

    fn miss(&mut self, error: &DecodeError) {
        self.undecodable += 1;
        self.counts.missed += 1;
        self.trouble = Some(error.to_string());
    }

    fn note_interval(&mut self, info: &FrameInfo) {
        let begin = info.begin();
        if let Some(previous) = self.previous_begin.replace(begin) {
            let interval = begin.since(previous).max(0) as f64;
            let weight = if self.interval_ns == 0.0 { 1.0 } else { 0.1 };
            self.interval_ns += weight * (interval - self.interval_ns);
        }
    }

    /// Starts the layouts that clients began to want, and ends those that no client wants any more.
    pub(super) fn update_demand(&mut self) {
        let now = clock::now();
        if now < self.looks_at {
            return;
        }
        self.looks_at = now + DEMAND_INTERVAL;
        let prefix = format!("{PREFIX}{}.", self.camera);
        let wanted = shared::wanted(&prefix).into_iter().filter_map(|name| {
            let layout = Layout::from_file_name(name.strip_prefix(&prefix)?)?;
            Some((layout, false))
        });
        let fixed: Vec<_> = self.fixed.iter().map(|layout| (*layout, true)).collect();
        for (layout, is_fixed) in fixed.into_iter().chain(wanted) {
            let known = self
                .outputs
                .iter_mut()
                .find(|output| output.layout == layout);
            if let Some(output) = known {
                output.wanted_until = now + LAYOUT_LINGER;
            } else if self.outputs.len() < MAX_LAYOUTS {
                self.outputs.push(Output {
                    layout,
                    converter: Converter::new(layout),
                    ring: None,
                    is_fixed,
                    wanted_until: now + LAYOUT_LINGER,
                });
            } else {
                self.trouble = Some(format!(
                    "more than {MAX_LAYOUTS} layouts are wanted; end a reader"
                ));
            }
        }
        self.outputs
            .retain(|output| output.is_fixed || output.wanted_until > now);
    }

    /// The layouts that are published now.
    pub(super) fn layouts(&self) -> Vec<String> {
        self.outputs
            .iter()
            .map(|output| output.layout.to_string())
            .collect()
    }
}

impl Output {
    /// Converts a picture into the ring.
    fn publish(
        &mut self,
        camera: &str,
        picture: &Picture<'_>,
        info: &FrameInfo,
        slots: usize,
        interval: Duration,
    ) -> Result<(), String> {
        let size = self
            .layout
            .output_size(picture.size())
            .map_err(|error| error.to_string())?;
        let shape = Shape::of(&self.layout, size);
        if let Some(ring) = self.ring.take_if(|ring| ring.shape() != shape) {
            ring.replace();
        }
        let ring = match &mut self.ring {
            Some(ring) => ring,
            none => {
                let name = ring_name(camera, &self.layout);
                let ring = RingWriter::create(&name, shape, slots, interval);
                none.insert(ring.map_err(|error| error.to_string())?)
            }
        };
        let mut trouble = None;
        ring.publish(|bytes| {
            let started = clock::now();
            if let Err(error) = self.converter.convert(picture, bytes) {
                trouble = Some(error.to_string());
                return None;
            }
            let published = clock::now();
            Some(FrameInfo {
                published,
                convert_ns: u64::try_from(published.since(started)).unwrap_or(0),
                ..*info
            })
        });
        trouble.map_or(Ok(()), Err)
    }
}

/// The name of the shared memory with the frames of a camera in a layout.
#[must_use]
pub fn ring_name(camera: &str, layout: &Layout) -> String {
    format!("{PREFIX}{camera}.{}", layout.file_name())
}

impl Capture {
    /// Translates a picture's capture time to this machine's monotonic clock by a pair of readings; returns it with the
    /// clock that gave it. A capture time of a camera whose clock cannot be right is dropped.
    #[must_use]
    pub fn on_this_clock(
        self,
        first_byte: MonotonicTime,
        pair: ClockPair,
    ) -> (Option<MonotonicTime>, CaptureClock) {
        match self {
            Self::Unknown => (None, CaptureClock::Unknown),
            Self::Local(time) => (Some(time), CaptureClock::Local),
            Self::Camera(taken) => {
                let ago = pair.wall().as_unix_ns().saturating_sub(taken.as_unix_ns());
                let capture = pair.monotonic().offset_by_ns(ago.saturating_neg());
                let before_arrival = first_byte.since(capture);
                if (0..MAX_CAMERA_CLOCK_ERROR_NS).contains(&before_arrival) {
                    (Some(capture), CaptureClock::Camera)
                } else {
                    (None, CaptureClock::Unknown)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kadenz_rt::clock::WallTime;

    use super::*;

    #[test]
    fn a_camera_whose_clock_is_not_set_is_not_believed() {
        let first_byte = MonotonicTime::from_ns(1_000_000_000_000);
        let now = MonotonicTime::from_ns(1_000_005_000_000);
        let wall = WallTime::from_unix_ns(5_000_000_000_000);
        let of = |ago_ns: i64| {
            let taken = WallTime::from_unix_ns(5_000_000_000_000 - ago_ns);
            let pair = ClockPair::from_readings(now, wall, now);
            Capture::Camera(taken).on_this_clock(first_byte, pair)
        };
        let right = MonotonicTime::from_ns(999_995_000_000);
        assert_eq!(of(10_000_000), (Some(right), CaptureClock::Camera));
        // From after its arrival, or an hour ago.
        assert_eq!(of(1_000_000), (None, CaptureClock::Unknown));
        assert_eq!(of(3_600_000_000_000), (None, CaptureClock::Unknown));
        assert_eq!(of(-1), (None, CaptureClock::Unknown));
    }
}
