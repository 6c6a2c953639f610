//! RTP packets to encoded pictures: H.264, H.265 and JPEG.
//!
//! A picture is complete with the packet that ends it, which has the marker. Where a camera sets no marker, or sets it
//! too early, the time stamp of the next picture ends it.

pub(crate) mod annex_b;
pub(crate) mod jpeg;
mod nal;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use kadenz_rt::clock::MonotonicTime;

use super::rtp::Sequenced;
use super::sdp::Video;

/// The longest picture, in bytes. A longer one is given up.
pub const MAX_PICTURE: usize = 16 << 20;

/// An encoded picture of a stream, with its times.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Encoded {
    /// A byte stream of H.264 or H.265 (annex B) or a JPEG file.
    pub bytes: Vec<u8>,
    /// When it was taken, in ticks of the stream's clock.
    pub timestamp: u32,
    /// Whether decoding can begin here, as far as the picture is complete.
    pub is_key: bool,
    /// Whether a part of it is known to be missing.
    pub is_damaged: bool,
    /// Pictures that are known to be lost before it.
    pub missed: u64,
    /// When the earliest of its packets came.
    pub first_byte: MonotonicTime,
    /// When the last of them came.
    pub arrival: MonotonicTime,
}

/// Assembles pictures. It holds at most one incomplete picture, and two complete ones.
#[derive(Debug)]
pub struct Depacketizer(PictureAssembler);

/// The assembler of a coding.
#[derive(Debug)]
enum PictureAssembler {
    Nal(nal::AccessUnitAssembler),
    Jpeg(jpeg::JpegAssembler),
}

impl Depacketizer {
    /// A depacketizer for a stream by its description.
    #[must_use]
    pub fn new(video: &Video) -> Self {
        let assembler = |format| {
            let mut assembler = nal::AccessUnitAssembler::new(format);
            for set in &video.parameter_sets {
                assembler.parameter_set(set);
            }
            PictureAssembler::Nal(assembler)
        };
        Self(match annex_b::NalCodec::of(video.coding) {
            Some(format) => assembler(format),
            None => PictureAssembler::Jpeg(jpeg::JpegAssembler::default()),
        })
    }

    /// Takes a packet. The caller calls [`Depacketizer::take`] until it returns `None` before it pushes the next one.
    pub fn push(&mut self, packet: &Sequenced<'_>) {
        match &mut self.0 {
            PictureAssembler::Nal(assembler) => assembler.push(packet),
            PictureAssembler::Jpeg(assembler) => assembler.push(packet),
        }
    }

    /// Takes the next complete picture, if there is one.
    pub fn take(&mut self) -> Option<Encoded> {
        self.pictures().ready.pop_front()
    }

    /// Takes back the memory of a picture, for another one.
    pub fn recycle(&mut self, picture: Encoded) {
        self.pictures().recycle(picture.bytes);
    }

    fn pictures(&mut self) -> &mut Pictures {
        match &mut self.0 {
            PictureAssembler::Nal(assembler) => &mut assembler.pictures,
            PictureAssembler::Jpeg(assembler) => &mut assembler.pictures,
        }
    }
}

impl Encoded {
    /// Notes that a packet came, the first one of its picture or not.
    fn came(&mut self, arrival: MonotonicTime, is_first: bool) {
        // Reordered packets came in another order than they have here.
        if is_first {
            (self.first_byte, self.arrival) = (arrival, arrival);
        } else {
            self.first_byte = self.first_byte.min(arrival);
            self.arrival = self.arrival.max(arrival);
        }
    }
}

/// Complete pictures, memory for others, and their distance in time.
#[derive(Debug, Default)]
struct Pictures {
    ready: VecDeque<Encoded>,
    spare: Vec<Vec<u8>>,
    last_timestamp: Option<u32>,
    /// Ticks between the last two pictures without a loss between them.
    step: Option<u32>,
    /// Whether packets were lost since the last picture.
    has_loss: bool,
    /// Pictures that were given up since the last one.
    given_up: u64,
}

impl Pictures {
    /// Adds a picture, and leaves one without content in its place.
    fn give(&mut self, picture: &mut Encoded) {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        picture.missed = self.missed(picture.timestamp) + std::mem::take(&mut self.given_up);
        self.has_loss = false;
        let next = Encoded {
            bytes,
            timestamp: picture.timestamp,
            ..Encoded::default()
        };
        self.ready.push_back(std::mem::replace(picture, next));
    }

    fn missed(&mut self, timestamp: u32) -> u64 {
        let Some(last) = self.last_timestamp.replace(timestamp) else {
            return 0;
        };
        let step = timestamp.wrapping_sub(last);
        if !self.has_loss {
            self.step = Some(step).filter(|step| *step > 0);
            return 0;
        }
        match self.step {
            // A step of more than half the range means that the time stamp went back.
            Some(usual) if step < 1 << 31 => {
                u64::from((step + usual / 2) / usual).saturating_sub(1)
            }
            _ => 0,
        }
    }

    /// Begins another stream. How many pictures were lost before it is unknown: one at least.
    fn restart(&mut self) {
        self.given_up += u64::from(self.last_timestamp.is_some());
        (self.last_timestamp, self.step, self.has_loss) = (None, None, false);
    }

    fn recycle(&mut self, bytes: Vec<u8>) {
        if self.spare.len() < 3 {
            self.spare.push(bytes);
        }
    }
}
