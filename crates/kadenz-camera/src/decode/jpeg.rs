//! JPEG by zune-jpeg: baseline and progressive, colour as RGB, gray as luma.
//!
//! RGB, because zune-jpeg's own conversion is vectorised and its Y'CbCr output is not: the same picture as
//! interleaved Y'CbCr takes longer, and would still have to be taken apart into planes.

use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::{DecodeError, Decoder, other_coding};
use crate::picture::{MAX_SIDE, Picture, Pixels, Plane, Range, Size};
use crate::source::{Coding, Content, Unit};

/// More scans than any encoder writes; each costs a pass over the picture.
const MAX_SCANS: usize = 32;

/// A decoder of JPEG pictures; every picture is a key.
#[derive(Default)]
pub(super) struct Jpeg {
    samples: Vec<u8>,
}

impl Jpeg {
    fn samples_of(&mut self, jpeg: &[u8]) -> Result<(Size, ColorSpace), DecodeError> {
        let wrong = |cause: &dyn std::fmt::Display| DecodeError::new("JPEG", cause);
        let options = DecoderOptions::new_fast()
            .set_max_width(MAX_SIDE as usize)
            .set_max_height(MAX_SIDE as usize)
            .jpeg_set_max_scans(MAX_SCANS);
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(jpeg), options);
        decoder.decode_headers().map_err(|cause| wrong(&cause))?;
        let info = decoder.info().ok_or_else(|| wrong(&"it has no header"))?;
        let size = Size::new(u32::from(info.width), u32::from(info.height))
            .map_err(|cause| wrong(&cause))?;
        let colours = match decoder.input_colorspace() {
            Some(ColorSpace::Luma) => ColorSpace::Luma,
            _ => ColorSpace::RGB,
        };
        decoder.set_options(options.jpeg_set_out_colorspace(colours));
        let needed = size.pixels() * colours.num_components();
        // `decode_into` may refuse a longer buffer's tail, and shrinking costs nothing.
        self.samples.resize(needed, 0);
        decoder
            .decode_into(&mut self.samples)
            .map_err(|cause| wrong(&cause))?;
        Ok((size, colours))
    }
}

impl Decoder for Jpeg {
    fn decode(
        &mut self,
        token: u64,
        unit: &Unit<'_>,
        each: &mut dyn FnMut(u64, &Picture<'_>),
    ) -> Result<(), DecodeError> {
        let Content::Encoded(Coding::Jpeg, jpeg) = unit.content else {
            return Err(other_coding("JPEG"));
        };
        if unit.is_damaged {
            return Err(DecodeError::new("JPEG", "a part of it is missing"));
        }
        let (size, colours) = self.samples_of(jpeg)?;
        let row = size.width as usize * colours.num_components();
        let plane = Plane::new(&self.samples, row, size.height as usize, row);
        let picture = plane.and_then(|plane| {
            let pixels = match colours {
                ColorSpace::Luma => Pixels::Gray {
                    y: plane,
                    range: Range::Full,
                },
                _ => Pixels::Rgb(plane),
            };
            Picture::new(size, pixels)
        });
        let picture = picture.map_err(|cause| DecodeError::new("JPEG", cause))?;
        each(token, &picture);
        Ok(())
    }

    fn name(&self) -> &'static str {
        "zune-jpeg"
    }
}
