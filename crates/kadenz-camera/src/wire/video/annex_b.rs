//! NAL units: their content, as far as it is needed to cut pictures (ITU-T H.264 and H.265, section 7.3).

use super::super::Coding;

/// The start code that divides NAL units in a byte stream (annex B).
pub(super) const START_CODE: [u8; 4] = [0, 0, 0, 1];

/// A codec that sends NAL units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NalCodec {
    /// ITU-T H.264.
    H264,
    /// ITU-T H.265.
    H265,
}

/// The content of a NAL unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NalUnitKind {
    /// A part of a picture.
    Slice(Slice),
    /// Parameters, in the order in which they must come.
    Set {
        /// 0 video, 1 sequence, 2 picture.
        rank: u8,
        /// The set's number.
        id: u32,
    },
    /// Anything else.
    Other,
}

/// A part of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slice {
    /// Whether it is the first of its picture.
    pub(super) is_first: bool,
    /// Whether the picture needs no picture before it: IDR, and H.265's other pictures of random access.
    pub(super) is_random_access: bool,
    /// Whether it refers to no other picture.
    pub(super) is_intra: bool,
}

impl NalCodec {
    /// The codec of a coding; `None` for JPEG, which has no NAL units.
    pub(crate) fn of(coding: Coding) -> Option<Self> {
        match coding {
            Coding::H264 => Some(Self::H264),
            Coding::H265 => Some(Self::H265),
            Coding::Jpeg => None,
        }
    }

    /// Whether a NAL unit that begins with this byte is a slice from which decoding can begin.
    pub(super) fn is_random_access(self, first: u8) -> bool {
        match self {
            Self::H264 => first & 0x1f == 5,
            Self::H265 => (16..=23).contains(&(first >> 1 & 0x3f)),
        }
    }

    /// Whether a NAL unit that begins with this byte is a slice.
    pub(crate) fn is_slice(self, first: u8) -> bool {
        match self {
            Self::H264 => (1..=5).contains(&(first & 0x1f)),
            Self::H265 => first >> 1 & 0x3f < 32,
        }
    }

    /// Whether a NAL unit that begins with this byte may stand before the first slice of a picture, and so ends the
    /// picture before (H.264, 7.4.1.2.3; H.265, 7.4.2.4.4).
    fn is_before_slices(self, first: u8) -> bool {
        match self {
            Self::H264 => matches!(first & 0x1f, 6..=9 | 14..=18),
            Self::H265 => matches!(first >> 1 & 0x3f, 32..=35 | 39 | 41..=44 | 48..=55),
        }
    }

    /// The length of the access unit at the beginning of a byte stream; `None` where the next one does not begin. The
    /// search starts at `at`, and stores there and in `has_slice` where to continue when more bytes have come.
    pub(crate) fn access_unit_length(
        self,
        stream: &[u8],
        at: &mut usize,
        has_slice: &mut bool,
    ) -> Option<usize> {
        while let Some([zero, other, one, nal @ ..]) = stream.get(*at..*at + 6) {
            let begin = *at;
            *at += 1;
            if [*zero, *other, *one] != [0, 0, 1] {
                continue;
            }
            let begins_picture = match self.kind(nal) {
                NalUnitKind::Slice(slice) => slice.is_first,
                _ => self.is_before_slices(nal[0]),
            };
            if *has_slice && begins_picture {
                let zero = begin.checked_sub(1).filter(|zero| stream[*zero] == 0);
                return Some(zero.unwrap_or(begin));
            }
            *has_slice |= self.is_slice(nal[0]);
        }
        None
    }

    /// Whether a byte stream holds a slice from which decoding can begin.
    pub(crate) fn is_key(self, stream: &[u8]) -> bool {
        units(stream).any(|unit| self.is_slice(unit[0]) && self.is_random_access(unit[0]))
    }

    /// Parses a NAL unit.
    pub(super) fn kind(self, nal: &[u8]) -> NalUnitKind {
        let Some(&first) = nal.first() else {
            return NalUnitKind::Other;
        };
        let is_random_access = self.is_random_access(first);
        let bits = |from: usize| RbspReader::new(nal.get(from..).unwrap_or_default());
        match self {
            Self::H264 if self.is_slice(first) => {
                // slice_header(): first_mb_in_slice, slice_type; 2, 4, 7 and 9 are I and SI.
                let mut header = bits(1);
                let is_first = header.exp_golomb() == Some(0);
                let is_intra = matches!(header.exp_golomb(), Some(2 | 4 | 7 | 9));
                NalUnitKind::Slice(Slice {
                    is_first,
                    is_random_access,
                    is_intra: is_intra || is_random_access,
                })
            }
            Self::H265 if self.is_slice(first) => {
                let is_first = nal.get(2).is_some_and(|byte| byte & 0x80 != 0);
                let is_intra = is_random_access;
                NalUnitKind::Slice(Slice {
                    is_first,
                    is_random_access,
                    is_intra,
                })
            }
            Self::H264 => match first & 0x1f {
                7 => NalUnitKind::Set {
                    rank: 1,
                    id: bits(4).exp_golomb().unwrap_or(0),
                },
                8 => NalUnitKind::Set {
                    rank: 2,
                    id: bits(1).exp_golomb().unwrap_or(0),
                },
                _ => NalUnitKind::Other,
            },
            Self::H265 => match first >> 1 & 0x3f {
                32 => NalUnitKind::Set { rank: 0, id: 0 },
                33 => NalUnitKind::Set { rank: 1, id: 0 },
                34 => NalUnitKind::Set {
                    rank: 2,
                    id: bits(2).exp_golomb().unwrap_or(0),
                },
                _ => NalUnitKind::Other,
            },
        }
    }
}

/// Reads the bits of a NAL unit, most significant first, without the emulation prevention bytes (section 7.4.1.1).
pub(crate) struct RbspReader<'a> {
    bytes: &'a [u8],
    at: usize,
    zeros: u32,
    byte: u8,
    left: u32,
}

impl<'a> RbspReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            zeros: 0,
            byte: 0,
            left: 0,
        }
    }

    fn bit(&mut self) -> Option<u32> {
        if self.left == 0 {
            self.byte = self.next_byte()?;
            self.left = 8;
        }
        self.left -= 1;
        Some(u32::from(self.byte >> self.left & 1))
    }

    fn next_byte(&mut self) -> Option<u8> {
        let mut byte = *self.bytes.get(self.at)?;
        self.at += 1;
        if self.zeros >= 2 && byte == 3 {
            self.zeros = 0;
            byte = *self.bytes.get(self.at)?;
            self.at += 1;
        }
        self.zeros = if byte == 0 { self.zeros + 1 } else { 0 };
        Some(byte)
    }

    /// At most 32 bits.
    pub(crate) fn take(&mut self, count: u32) -> Option<u32> {
        let mut value = 0;
        for _ in 0..count {
            value = value << 1 | self.bit()?;
        }
        Some(value)
    }

    /// `ue(v)`, section 9.1.
    pub(crate) fn exp_golomb(&mut self) -> Option<u32> {
        let mut zeros = 0;
        while self.bit()? == 0 {
            zeros += 1;
            if zeros > 31 {
                return None;
            }
        }
        Some((1_u32 << zeros) - 1 + self.take(zeros)?)
    }

    /// `se(v)`, section 9.1.1.
    pub(crate) fn signed_exp_golomb(&mut self) -> Option<i64> {
        let code = i64::from(self.exp_golomb()?);
        Some(if code % 2 == 1 {
            (code + 1) / 2
        } else {
            -code / 2
        })
    }
}

/// The NAL units of a byte stream, without start codes and the zeroes before them; bytes before the first start code
/// count as a unit, too.
pub(crate) fn units(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let code = bytes.windows(3).position(|it| it == [0, 0, 1]);
        let (unit, rest) = match code {
            Some(at) => (&bytes[..at], &bytes[at + 3..]),
            None => (bytes, &[][..]),
        };
        bytes = rest;
        let end = unit.iter().rposition(|byte| *byte != 0);
        Some(&unit[..end.map_or(0, |last| last + 1)])
    })
    .filter(|unit| !unit.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_and_parameter_sets_are_distinguished() {
        let slice = |is_first, is_random_access, is_intra| {
            NalUnitKind::Slice(Slice {
                is_first,
                is_random_access,
                is_intra,
            })
        };
        let h264 = |nal: &[u8]| NalCodec::H264.kind(nal);
        // ue(0) is 1, ue(7) is 0001000, ue(5) is 00110.
        assert_eq!(h264(&[0x65, 0b1000_1000]), slice(true, true, true));
        assert_eq!(h264(&[0x41, 0b1000_1000]), slice(true, false, true));
        assert_eq!(h264(&[0x41, 0b1001_1000]), slice(true, false, false));
        assert_eq!(h264(&[0x41, 0b0100_0110, 0]), slice(false, false, false));
        assert_eq!(
            h264(&[0x67, 77, 0, 31, 0b1000_0000]),
            NalUnitKind::Set { rank: 1, id: 0 }
        );
        assert_eq!(
            h264(&[0x68, 0b0100_0000]),
            NalUnitKind::Set { rank: 2, id: 1 }
        );
        assert_eq!(
            (h264(&[6]), h264(&[])),
            (NalUnitKind::Other, NalUnitKind::Other)
        );
        let h265 = |nal: &[u8]| NalCodec::H265.kind(nal);
        assert_eq!(h265(&[19 << 1, 1, 0x80]), slice(true, true, true));
        assert_eq!(h265(&[1 << 1, 1, 0x00]), slice(false, false, false));
        assert_eq!(h265(&[32 << 1, 1]), NalUnitKind::Set { rank: 0, id: 0 });
        assert_eq!(h265(&[39 << 1, 1]), NalUnitKind::Other);
    }

    #[test]
    fn units_stand_between_start_codes() {
        let found: Vec<&[u8]> = units(&[7, 1, 0, 0, 1, 8, 0, 0, 0, 1, 0, 0, 1, 5, 0, 2]).collect();
        assert_eq!(found, [&[7, 1][..], &[8], &[5, 0, 2]]);
    }
}
