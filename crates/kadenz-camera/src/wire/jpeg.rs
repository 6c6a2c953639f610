//! Where a JPEG picture ends (ITU-T T.81, annex B), without decoding it.

/// The part of a JPEG stream that the scanner is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum JpegScannerState {
    /// Looks for `FF D8`.
    #[default]
    Outside,
    /// Before a marker.
    Marker,
    /// Within entropy-coded data.
    Entropy,
    /// Before the high byte of a segment's length.
    LengthHigh { begins_scan: bool },
    /// Before its low byte.
    LengthLow { high: u8, begins_scan: bool },
    /// Within a segment, so many bytes before its end.
    Segment { left: usize, begins_scan: bool },
}

/// A boundary that a scanner found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageBoundary {
    /// A picture begins with the two bytes before this offset.
    Begin(usize),
    /// It ends before this offset.
    End(usize),
    /// The bytes up to this offset are not a valid picture.
    Broken(usize),
}

/// Looks through a stream of bytes for pictures, in pieces of any length.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scanner {
    state: JpegScannerState,
    last_was_ff: bool,
}

impl Scanner {
    /// Whether the scanner is within a picture.
    #[must_use]
    pub(crate) fn is_inside(&self) -> bool {
        self.state != JpegScannerState::Outside
    }

    /// Scans until it finds a boundary; the caller gives the bytes behind it again.
    pub(crate) fn scan(&mut self, bytes: &[u8]) -> Option<ImageBoundary> {
        let mut at = 0;
        while at < bytes.len() {
            // Long stretches are skipped at once.
            match self.state {
                JpegScannerState::Segment { left, begins_scan } if left > 0 => {
                    let step = left.min(bytes.len() - at);
                    at += step;
                    let left = left - step;
                    self.state = JpegScannerState::Segment { left, begins_scan };
                    continue;
                }
                JpegScannerState::Outside | JpegScannerState::Entropy
                    if !self.last_was_ff && bytes[at] != 0xff =>
                {
                    let rest = &bytes[at..];
                    at += rest
                        .iter()
                        .position(|byte| *byte == 0xff)
                        .unwrap_or(rest.len());
                    continue;
                }
                _ => {}
            }
            let byte = bytes[at];
            at += 1;
            if let Some(found) = self.byte(byte, at) {
                return Some(found);
            }
        }
        None
    }

    fn byte(&mut self, byte: u8, at: usize) -> Option<ImageBoundary> {
        let was_ff = std::mem::replace(&mut self.last_was_ff, byte == 0xff);
        match self.state {
            JpegScannerState::Outside => {
                if was_ff && byte == 0xd8 {
                    self.state = JpegScannerState::Marker;
                    return Some(ImageBoundary::Begin(at));
                }
            }
            JpegScannerState::Entropy => {
                if was_ff && byte != 0xff {
                    return self.code(byte, true, at);
                }
            }
            JpegScannerState::Marker => match (was_ff, byte) {
                // Any number of FF may stand before a code.
                (_, 0xff) => {}
                (true, code) => return self.code(code, false, at),
                (false, _) => return Some(self.broken(at)),
            },
            JpegScannerState::LengthHigh { begins_scan } => {
                self.state = JpegScannerState::LengthLow {
                    high: byte,
                    begins_scan,
                }
            }
            JpegScannerState::LengthLow { high, begins_scan } => {
                let length = usize::from(u16::from_be_bytes([high, byte]));
                let Some(left) = length.checked_sub(2) else {
                    return Some(self.broken(at));
                };
                self.state = JpegScannerState::Segment { left, begins_scan };
                self.last_was_ff = false;
                if left == 0 {
                    self.after_segment(begins_scan);
                }
            }
            JpegScannerState::Segment { begins_scan, .. } => {
                // The segment has ended: this byte is the first behind it.
                self.after_segment(begins_scan);
                self.last_was_ff = was_ff;
                return self.byte(byte, at);
            }
        }
        None
    }

    fn after_segment(&mut self, begins_scan: bool) {
        self.state = match begins_scan {
            true => JpegScannerState::Entropy,
            false => JpegScannerState::Marker,
        };
    }

    /// A marker's code.
    fn code(&mut self, code: u8, is_entropy: bool, at: usize) -> Option<ImageBoundary> {
        self.last_was_ff = false;
        match code {
            0xd9 => {
                self.state = JpegScannerState::Outside;
                return Some(ImageBoundary::End(at));
            }
            // A stuffed zero, and restarts.
            0x00 | 0xd0..=0xd7 if is_entropy => self.state = JpegScannerState::Entropy,
            0x01 | 0xd0..=0xd7 => self.state = JpegScannerState::Marker,
            // A picture within a picture, and a code that does not exist there.
            0x00 | 0xd8 => return Some(self.broken(at)),
            code => {
                self.state = JpegScannerState::LengthHigh {
                    begins_scan: code == 0xda,
                }
            }
        }
        None
    }

    fn broken(&mut self, at: usize) -> ImageBoundary {
        *self = Self::default();
        ImageBoundary::Broken(at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A picture with a thumbnail that is a picture, too, with stuffed and restart bytes, and fill bytes before the
    /// end.
    pub(crate) const PICTURE: &[u8] = &[
        0xff, 0xd8, 0xff, 0xe1, 0, 8, 0xff, 0xd8, 0xff, 0xd9, 1, 2, 0xff, 0xfe, 0, 2, 0xff, 0xda,
        0, 3, 0xff, 5, 0xff, 0, 6, 0xff, 0xd3, 7, 0xff, 0xff, 0xd9,
    ];

    fn ends(bytes: &[u8], pieces: &[usize]) -> Vec<ImageBoundary> {
        let (mut scanner, mut found, mut rest, mut before) =
            (Scanner::default(), Vec::new(), bytes, 0);
        for piece in pieces.iter().copied().chain([usize::MAX]) {
            let mut now;
            (now, rest) = rest.split_at(piece.min(rest.len()));
            while let Some(it) = scanner.scan(now) {
                let (ImageBoundary::Begin(at) | ImageBoundary::End(at) | ImageBoundary::Broken(at)) =
                    it;
                now = &now[at..];
                before += at;
                found.push(match it {
                    ImageBoundary::Begin(_) => ImageBoundary::Begin(before),
                    ImageBoundary::End(_) => ImageBoundary::End(before),
                    ImageBoundary::Broken(_) => ImageBoundary::Broken(before),
                });
            }
            before += now.len();
        }
        found
    }

    proptest! {
        #[test]
        fn pictures_are_found_however_the_stream_is_split(pieces in prop::collection::vec(0_usize..20, 0..20)) {
            let stream = [b"--x\r\n\r\n", PICTURE, b"\r\n", PICTURE, &[0xff, 0xd8, 0, 1]].concat();
            let first = 7 + PICTURE.len();
            let second = first + 2 + PICTURE.len();
            let expected = [
                ImageBoundary::Begin(9), ImageBoundary::End(first), ImageBoundary::Begin(first + 4), ImageBoundary::End(second),
                ImageBoundary::Begin(second + 2), ImageBoundary::Broken(second + 3),
            ];
            prop_assert_eq!(ends(&stream, &pieces), expected);
        }

        #[test]
        fn any_bytes_are_looked_through(bytes in prop::collection::vec(prop_oneof![Just(0xff), Just(0xd8), Just(0xd9), Just(0xda), any::<u8>()], 0..200)) {
            let found = ends(&bytes, &[5, 1, 7]);
            prop_assert_eq!(found, ends(&bytes, &[]));
        }
    }
}
