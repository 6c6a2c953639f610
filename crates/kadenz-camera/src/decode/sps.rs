//! The parts of H.264's sequence parameter set (ITU-T H.264, 7.3.2.1.1 and annex E) that a user of the decoder needs:
//! the size, and the meaning of the samples.

use crate::picture::{Matrix, Range, Size};
use crate::wire::video::annex_b::{self, NalCodec, RbspReader};

/// The size of an H.264 stream's pictures, and the meaning of their samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sps {
    /// The size, cropped.
    pub size: Size,
    /// The coefficients that the stream states, else [`Matrix::of_unspecified`].
    pub matrix: Matrix,
    /// The range that the stream states, else limited.
    pub range: Range,
}

impl Sps {
    /// Reads the first sequence parameter set of a byte stream (annex B), searching no farther than the first slice.
    #[must_use]
    pub fn in_stream(stream: &[u8]) -> Option<Self> {
        let begin = stream.windows(3).position(|it| it == [0, 0, 1])?;
        annex_b::units(&stream[begin..])
            .take_while(|unit| !NalCodec::H264.is_slice(unit[0]))
            .find(|unit| unit[0] & 0x1f == 7)
            .and_then(Self::of_nal_unit)
    }

    /// Reads a NAL unit, from its header byte on. `None` where it is not a valid sequence parameter set, or states a
    /// size beyond the limits.
    #[must_use]
    pub fn of_nal_unit(unit: &[u8]) -> Option<Self> {
        let (header, content) = unit.split_first()?;
        if header & 0x1f != 7 {
            return None;
        }
        let mut bits = RbspReader::new(content);
        let profile = bits.take(8)?;
        bits.take(16)?;
        bits.exp_golomb()?;
        let chroma = chroma_format(&mut bits, profile)?;
        bits.exp_golomb()?;
        picture_order(&mut bits)?;
        bits.exp_golomb()?;
        bits.take(1)?;
        let size = cropped_size(&mut bits, chroma)?;
        let (matrix, range) = signal(&mut bits).unwrap_or((None, Range::Limited));
        let matrix = matrix.unwrap_or_else(|| Matrix::of_unspecified(size));
        Some(Self {
            size,
            matrix,
            range,
        })
    }
}

/// Reads `chroma_format_idc`, and skips the scaling lists, which only the high profiles have.
fn chroma_format(bits: &mut RbspReader<'_>, profile: u32) -> Option<u32> {
    const WITH_CHROMA: [u32; 13] = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135];
    if !WITH_CHROMA.contains(&profile) {
        return Some(1);
    }
    let chroma = bits.exp_golomb()?;
    if chroma == 3 {
        bits.take(1)?;
    }
    bits.exp_golomb()?;
    bits.exp_golomb()?;
    bits.take(1)?;
    if bits.take(1)? == 1 {
        let lists = if chroma == 3 { 12 } else { 8 };
        for list in 0..lists {
            if bits.take(1)? == 1 {
                skip_scaling_list(bits, if list < 6 { 16 } else { 64 })?;
            }
        }
    }
    Some(chroma)
}

/// Section 7.3.2.1.1.1.
fn skip_scaling_list(bits: &mut RbspReader<'_>, length: usize) -> Option<()> {
    let (mut last, mut next) = (8_i64, 8_i64);
    for _ in 0..length {
        if next != 0 {
            next = (last + bits.signed_exp_golomb()?).rem_euclid(256);
        }
        if next != 0 {
            last = next;
        }
    }
    Some(())
}

/// Skips `pic_order_cnt_type` and the fields that belong to it.
fn picture_order(bits: &mut RbspReader<'_>) -> Option<()> {
    match bits.exp_golomb()? {
        0 => {
            bits.exp_golomb()?;
        }
        1 => {
            bits.take(1)?;
            bits.exp_golomb()?;
            bits.exp_golomb()?;
            let cycle = bits.exp_golomb()?;
            if cycle > 255 {
                return None;
            }
            for _ in 0..cycle {
                bits.exp_golomb()?;
            }
        }
        _ => {}
    }
    Some(())
}

/// Equations 7-13 to 7-21.
fn cropped_size(bits: &mut RbspReader<'_>, chroma: u32) -> Option<Size> {
    let width = bits.exp_golomb()?.checked_add(1)?.checked_mul(16)?;
    let units = bits.exp_golomb()?.checked_add(1)?;
    let frames_only = bits.take(1)?;
    if frames_only == 0 {
        bits.take(1)?;
    }
    let height = units.checked_mul(16)?.checked_mul(2 - frames_only)?;
    bits.take(1)?;
    let mut cropped = [0; 4];
    if bits.take(1)? == 1 {
        for side in &mut cropped {
            *side = bits.exp_golomb()?;
        }
    }
    let across = if matches!(chroma, 1 | 2) { 2 } else { 1 };
    let down = if chroma == 1 { 2 } else { 1 } * (2 - frames_only);
    let [left, right, top, bottom] = cropped;
    let width = width.checked_sub(left.checked_add(right)?.checked_mul(across)?)?;
    let height = height.checked_sub(top.checked_add(bottom)?.checked_mul(down)?)?;
    Size::new(width, height).ok()
}

/// The colours in the usability information (annex E.1.1, table E-5).
fn signal(bits: &mut RbspReader<'_>) -> Option<(Option<Matrix>, Range)> {
    const OF_ANY_SIZE: u32 = 255;
    if bits.take(1)? == 0 {
        return None;
    }
    if bits.take(1)? == 1 && bits.take(8)? == OF_ANY_SIZE {
        bits.take(32)?;
    }
    if bits.take(1)? == 1 {
        bits.take(1)?;
    }
    if bits.take(1)? == 0 {
        return None;
    }
    bits.take(3)?;
    let range = if bits.take(1)? == 1 {
        Range::Full
    } else {
        Range::Limited
    };
    let described = bits.take(1)? == 1;
    let matrix = if described {
        bits.take(16)?;
        bits.take(8)?
    } else {
        2
    };
    let matrix = match matrix {
        1 => Some(Matrix::Bt709),
        // FCC's are within a hundredth of BT.601's.
        4..=6 => Some(Matrix::Bt601),
        _ => None,
    };
    Some((matrix, range))
}
