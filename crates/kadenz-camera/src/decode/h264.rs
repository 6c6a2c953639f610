//! H.264 by openh264: baseline, main and high profiles without B-frames, up to level 5.2.

use openh264::decoder::{DecodedYUV, Decoder as OpenH264};
use openh264::formats::YUVSource;

use super::references::References;
use super::{DecodeError, Decoder, Sps, other_coding};
use crate::picture::{Chroma, Matrix, Picture, PictureError, Range, Size};
use crate::source::{Coding, Content, Unit};

/// A decoder of one H.264 stream.
pub(super) struct H264 {
    decoder: OpenH264,
    /// The last sequence parameter set.
    sps: Option<Sps>,
    references: References,
}

impl H264 {
    pub(super) fn new() -> Result<Self, DecodeError> {
        let decoder = OpenH264::new().map_err(|cause| DecodeError::new("H.264", cause))?;
        Ok(Self {
            decoder,
            sps: None,
            references: References::default(),
        })
    }

    /// Notes the parameter sets of a key.
    ///
    /// # Errors
    /// Where they state a size that is too large for the decoder, before it allocates memory for it.
    fn note_parameters(&mut self, stream: &[u8]) -> Result<(), DecodeError> {
        // Level 5.2's largest picture is 36864 macroblocks (table A-1).
        const MAX_PIXELS: usize = 36_864 * 256;
        let Some(sps) = Sps::in_stream(stream) else {
            return Ok(());
        };
        if sps.size.pixels() > MAX_PIXELS {
            let cause = format!(
                "{} is larger than H.264's level 5.2 allows; set the camera to 4096x2304 or less",
                sps.size
            );
            return Err(DecodeError::new("H.264", cause));
        }
        self.sps = Some(sps);
        Ok(())
    }
}

impl Decoder for H264 {
    fn decode(
        &mut self,
        token: u64,
        unit: &Unit<'_>,
        each: &mut dyn FnMut(u64, &Picture<'_>),
    ) -> Result<(), DecodeError> {
        let Content::Encoded(Coding::H264, stream) = unit.content else {
            return Err(other_coding("H.264"));
        };
        self.references.check("H.264", unit)?;
        self.note_parameters(stream)?;
        let decoded = self.decoder.decode(stream);
        if decoded.is_err() {
            self.references.mark_fault();
        }
        match decoded {
            Ok(Some(decoded)) => {
                let picture = picture(&decoded, self.sps);
                let picture = picture.map_err(|cause| DecodeError::new("H.264", cause))?;
                each(token, &picture);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(cause) => Err(DecodeError::new("H.264", cause)),
        }
    }

    fn name(&self) -> &'static str {
        "openh264"
    }
}

fn picture<'a>(decoded: &'a DecodedYUV<'_>, sps: Option<Sps>) -> Result<Picture<'a>, PictureError> {
    let (width, height) = decoded.dimensions();
    let side = |pixels| u32::try_from(pixels).unwrap_or(u32::MAX);
    let size = Size::new(side(width), side(height))?;
    let (y, u, v) = decoded.strides();
    let planes = [(decoded.y(), y), (decoded.u(), u), (decoded.v(), v)];
    let matrix = sps.map_or_else(|| Matrix::of_unspecified(size), |sps| sps.matrix);
    let range = sps.map_or(Range::Limited, |sps| sps.range);
    Picture::planar(size, planes, Chroma::Yuv420, matrix, range)
}
