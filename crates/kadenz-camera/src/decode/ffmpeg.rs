//! H.264, H.265 and JPEG by the system's libavcodec.
//!
//! A picture comes out with the unit that held it: the decoder may not hold one back (`low_delay`), and shares the work
//! of a picture among threads by its slices, never by pictures, each of which would cost a picture's time. The decoder
//! still holds back an H.265 stream that states that its pictures are reordered, by as many pictures as it states.

use ffmpeg_next::codec::{Context, Flags, Id, decoder, packet::Packet, threading};
use ffmpeg_next::format::Pixel;
use ffmpeg_next::util::{color, frame, log};
use ffmpeg_next::{Dictionary, Error};

use super::references::References;
use super::{DecodeError, Decoder, other_coding};
use crate::picture::{
    Chroma, MAX_PIXELS, Matrix, Picture, PictureError, Pixels, Plane, Range, Size,
};
use crate::source::{Coding, Content, Unit};

/// More threads than this wait for one another.
const MAX_THREADS: usize = 4;

/// A decoder of one stream.
pub(super) struct Libavcodec {
    coding: Coding,
    decoder: decoder::Video,
    frame: frame::Video,
    references: References,
}

impl Libavcodec {
    pub(super) fn new(coding: Coding) -> Result<Self, DecodeError> {
        // libavcodec writes to standard error what it returns as well; the setting holds for the whole process.
        log::set_level(log::Level::Quiet);
        let id = match coding {
            Coding::H264 => Id::H264,
            Coding::H265 => Id::HEVC,
            Coding::Jpeg => Id::MJPEG,
        };
        let refused = |cause: Error| DecodeError::new(coding.name(), cause);
        let codec = decoder::find(id)
            .ok_or(Error::DecoderNotFound)
            .map_err(refused)?;
        let mut context = Context::new_with_codec(codec);
        context.set_flags(Flags::LOW_DELAY);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        context.set_threading(threading::Config {
            kind: threading::Type::Slice,
            count: processors.min(MAX_THREADS),
            ..threading::Config::default()
        });
        let mut options = Dictionary::new();
        options.set("max_pixels", &MAX_PIXELS.to_string());
        let opened = context.decoder().open_as_with(codec, options);
        Ok(Self {
            coding,
            decoder: opened.and_then(decoder::Opened::video).map_err(refused)?,
            frame: frame::Video::empty(),
            references: References::default(),
        })
    }

    /// Takes the next picture; returns whether there was one.
    fn receive(&mut self) -> Result<bool, DecodeError> {
        const AGAIN: i32 = ffmpeg_next::util::error::EAGAIN;
        match self.decoder.receive_frame(&mut self.frame) {
            Ok(()) if self.frame.is_corrupt() => {
                self.references.mark_fault();
                Err(DecodeError::new(
                    self.coding.name(),
                    "a part of it is broken",
                ))
            }
            Ok(()) => Ok(true),
            Err(Error::Eof | Error::Other { errno: AGAIN }) => Ok(false),
            Err(cause) => Err(self.failed(cause)),
        }
    }

    fn failed(&mut self, cause: Error) -> DecodeError {
        self.references.mark_fault();
        DecodeError::new(self.coding.name(), cause)
    }
}

impl Decoder for Libavcodec {
    fn decode(
        &mut self,
        token: u64,
        unit: &Unit<'_>,
        each: &mut dyn FnMut(u64, &Picture<'_>),
    ) -> Result<(), DecodeError> {
        let what = self.coding.name();
        let bytes = match unit.content {
            Content::Encoded(coding, bytes) if coding == self.coding => bytes,
            _ => return Err(other_coding(what)),
        };
        if bytes.is_empty() {
            // An empty packet would mean the end of the stream.
            return Err(DecodeError::new(what, "it is empty"));
        }
        self.references.check(what, unit)?;
        let mut packet = Packet::copy(bytes);
        packet.set_pts(Some(token.cast_signed()));
        if let Err(cause) = self.decoder.send_packet(&packet) {
            return Err(self.failed(cause));
        }
        while self.receive()? {
            let token = self.frame.pts().map_or(token, i64::cast_unsigned);
            each(token, &picture(what, &self.frame)?);
        }
        Ok(())
    }

    fn name(&self) -> &'static str {
        "libavcodec"
    }
}

fn picture<'a>(what: &'static str, frame: &'a frame::Video) -> Result<Picture<'a>, DecodeError> {
    let (chroma, is_jpeg) = match frame.format() {
        Pixel::YUV420P => (Some(Chroma::Yuv420), false),
        Pixel::YUV422P => (Some(Chroma::Yuv422), false),
        Pixel::YUV444P => (Some(Chroma::Yuv444), false),
        Pixel::YUVJ420P => (Some(Chroma::Yuv420), true),
        Pixel::YUVJ422P => (Some(Chroma::Yuv422), true),
        Pixel::YUVJ444P => (Some(Chroma::Yuv444), true),
        Pixel::GRAY8 => (None, false),
        other => {
            let cause = format!("its samples are {other:?}; set the camera to 8 bits and 4:2:0");
            return Err(DecodeError::new(what, cause));
        }
    };
    let made = || -> Result<Picture<'a>, PictureError> {
        let size = Size::new(frame.width(), frame.height())?;
        let plane = |index| (frame.data(index), frame.stride(index));
        let range = match frame.color_range() {
            color::Range::JPEG => Range::Full,
            _ if is_jpeg => Range::Full,
            _ => Range::Limited,
        };
        let Some(chroma) = chroma else {
            let (width, height) = (size.width as usize, size.height as usize);
            let y = Plane::new(frame.data(0), width, height, frame.stride(0))?;
            return Picture::new(size, Pixels::Gray { y, range });
        };
        let matrix = match frame.color_space() {
            color::Space::BT709 => Matrix::Bt709,
            color::Space::BT470BG | color::Space::SMPTE170M | color::Space::FCC => Matrix::Bt601,
            _ => Matrix::of_unspecified(size),
        };
        Picture::planar(size, [0, 1, 2].map(plane), chroma, matrix, range)
    };
    made().map_err(|cause| DecodeError::new(what, cause))
}
