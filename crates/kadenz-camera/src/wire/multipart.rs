//! JPEG pictures in an endless answer of HTTP: `multipart/x-mixed-replace`.
//!
//! Cameras write the boundary with and without its dashes, and the length of a part rightly, wrongly or not at all.
//! Therefore a picture is found by its own bytes: by the two that begin it, which no boundary and no field holds, and
//! by the marker that ends it, so that the reader does not wait for bytes behind it. The stated length serves where a
//! picture has no end marker.

use kadenz_rt::clock::{MonotonicTime, WallTime};

use super::jpeg::{ImageBoundary, Scanner};
use super::video::MAX_PICTURE;

/// The most bytes of the text between pictures that are kept.
const MAX_TEXT: usize = 4096;
/// Bytes of a boundary that identify it, with the line's end before it.
const BOUNDARY_SEEN: usize = 4;

/// One picture of a stream of JPEG files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// A whole JPEG file.
    pub bytes: Vec<u8>,
    /// When its first bytes came.
    pub first_byte: MonotonicTime,
    /// When its last bytes came.
    pub arrival: MonotonicTime,
    /// The camera's time of day, where the part states it (`X-Timestamp`).
    pub capture: Option<WallTime>,
    /// Pictures before it that broke off.
    pub missed: u64,
}

/// Finds pictures in a stream of bytes. It holds one picture and the text before it.
#[derive(Debug, Default)]
pub struct Multipart {
    scanner: Scanner,
    text: Vec<u8>,
    picture: Vec<u8>,
    first_byte: MonotonicTime,
    length: Option<usize>,
    capture: Option<WallTime>,
    missed: u64,
    spare: Vec<u8>,
}

impl Multipart {
    /// Takes bytes up to the end of a picture; returns how many were used, and the picture. The caller gives the rest
    /// again.
    pub fn push(&mut self, bytes: &[u8], arrival: MonotonicTime) -> (usize, Option<Part>) {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            if self.is_boundary_behind_stated_length() {
                // The picture has no end of its own.
                return (at, self.give(arrival));
            }
            let was_inside = self.scanner.is_inside();
            let room = self.room(rest.len());
            let found = self.scanner.scan(&rest[..room]);
            let used = match found {
                None => room,
                Some(
                    ImageBoundary::Begin(used)
                    | ImageBoundary::End(used)
                    | ImageBoundary::Broken(used),
                ) => used,
            };
            match was_inside {
                true => self.picture.extend_from_slice(&rest[..used]),
                false => self.remember(&rest[..used]),
            }
            at += used;
            match found {
                Some(ImageBoundary::Begin(_)) => self.begin(arrival),
                Some(ImageBoundary::End(_)) => return (at, self.give(arrival)),
                Some(ImageBoundary::Broken(_)) => self.give_up(),
                None if self.picture.len() >= MAX_PICTURE => self.give_up(),
                None => {}
            }
        }
        (at, None)
    }

    /// Takes back the memory of a picture, for another one.
    pub(crate) fn recycle(&mut self, part: Part) {
        self.spare = part.bytes;
    }

    /// How many bytes may be looked through before the stated length or the limit is reached.
    fn room(&self, available: usize) -> usize {
        if !self.scanner.is_inside() {
            return available;
        }
        let end = self
            .length
            .map(|length| length.saturating_add(BOUNDARY_SEEN));
        let left = |end: usize| end.checked_sub(self.picture.len()).filter(|left| *left > 0);
        let stated = end.and_then(left).unwrap_or(usize::MAX);
        available.min(stated).min(left(MAX_PICTURE).unwrap_or(1))
    }

    /// Whether as many bytes came as the part states, followed by the beginning of a boundary, which is then removed.
    fn is_boundary_behind_stated_length(&mut self) -> bool {
        let Some(length) = self.length.filter(|_| self.scanner.is_inside()) else {
            return false;
        };
        if self.picture.len() != length.saturating_add(BOUNDARY_SEEN) {
            return false;
        }
        let behind = &self.picture[length..];
        let is_boundary = [&b"--"[..], b"\n--", b"\r\n--"]
            .iter()
            .any(|it| behind.starts_with(it));
        if is_boundary {
            self.text.extend_from_slice(behind);
            self.picture.truncate(length);
        }
        is_boundary
    }

    fn remember(&mut self, text: &[u8]) {
        let text = &text[text.len().saturating_sub(MAX_TEXT)..];
        let surplus = (self.text.len() + text.len()).saturating_sub(MAX_TEXT);
        self.text.drain(..surplus.min(self.text.len()));
        self.text.extend_from_slice(text);
    }

    fn begin(&mut self, arrival: MonotonicTime) {
        self.first_byte = arrival;
        let text = String::from_utf8_lossy(&self.text);
        let field = |name: &str| {
            let lines = text.lines().rev();
            let mut fields = lines.filter_map(|line| line.split_once(':'));
            fields.find_map(|(found, value)| {
                found
                    .trim()
                    .eq_ignore_ascii_case(name)
                    .then(|| value.trim().to_owned())
            })
        };
        self.length = field("Content-Length")
            .and_then(|it| it.parse().ok())
            .filter(|it| *it > 2);
        self.capture = field("X-Timestamp").and_then(|it| unix_time(&it));
        self.text.clear();
        self.picture.clear();
        self.picture.extend_from_slice(&[0xff, 0xd8]);
    }

    fn give(&mut self, arrival: MonotonicTime) -> Option<Part> {
        self.scanner = Scanner::default();
        let next = std::mem::take(&mut self.spare);
        Some(Part {
            bytes: std::mem::replace(&mut self.picture, next),
            first_byte: self.first_byte,
            arrival,
            capture: self.capture.take(),
            missed: std::mem::take(&mut self.missed),
        })
    }

    fn give_up(&mut self) {
        self.scanner = Scanner::default();
        self.missed += 1;
        self.picture.clear();
    }
}

/// Seconds since 1970 with their fraction, as mjpg-streamer writes them; a small number is the time since a start.
fn unix_time(text: &str) -> Option<WallTime> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = seconds
        .parse()
        .ok()
        .filter(|it| (1_000_000_000..10_000_000_000).contains(it))?;
    let digits = fraction.bytes().take(9).take_while(u8::is_ascii_digit);
    let (value, scale) = digits.fold((0, 1_000_000_000), |(value, scale), digit| {
        (value * 10 + i64::from(digit - b'0'), scale / 10)
    });
    Some(WallTime::from_unix_ns(
        seconds * 1_000_000_000 + value * scale,
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PICTURE: &[u8] = &[0xff, 0xd8, 0xff, 0xda, 0, 2, 1, 2, 0xff, 0, 3, 0xff, 0xd9];
    /// Without the marker at its end.
    const ENDLESS: &[u8] = &[0xff, 0xd8, 0xff, 0xda, 0, 2, 4, 5];

    fn all(bytes: &[u8], pieces: &[usize]) -> Vec<Part> {
        let (mut multipart, mut found, mut rest) = (Multipart::default(), Vec::new(), bytes);
        for piece in pieces.iter().copied().chain([usize::MAX]) {
            let mut now;
            (now, rest) = rest.split_at(piece.min(rest.len()));
            while !now.is_empty() {
                let (used, part) = multipart.push(now, MonotonicTime::from_ns(0));
                now = &now[used..];
                found.extend(part);
            }
        }
        found
    }

    fn stream() -> Vec<u8> {
        let endless = format!("\r\n--x\r\nContent-Length: {}\r\n\r\n", ENDLESS.len());
        [
            &b"--x\r\nContent-Type: image/jpeg\r\nX-Timestamp: 1700000000.25\r\n\r\n"[..],
            PICTURE,
            b"\r\n----x\r\nCONTENT-LENGTH: 5\r\n\r\n",
            PICTURE,
            b"x\nContent-Length: 99999999999999999999999\n\n",
            PICTURE,
            endless.as_bytes(),
            ENDLESS,
            b"\r\n--x\r\n\r\n",
            &[0xff, 0xd8, 0xff, 0xda, 0, 0],
            b"\r\n--x\r\nContent-Type: text/plain\r\n\r\nhello\r\n--x\r\n\r\n",
            PICTURE,
        ]
        .concat()
    }

    proptest! {
        #[test]
        fn the_same_pictures_come_however_the_stream_is_split(pieces in prop::collection::vec(0_usize..60, 0..30)) {
            let parts = all(&stream(), &pieces);
            let pictures: Vec<_> = parts.iter().map(|part| (&part.bytes[..], part.missed)).collect();
            prop_assert_eq!(pictures, [(PICTURE, 0), (PICTURE, 0), (PICTURE, 0), (ENDLESS, 0), (PICTURE, 1)]);
            prop_assert_eq!(parts[0].capture, Some(WallTime::from_unix_ns(1_700_000_000_250_000_000)));
            prop_assert_eq!(parts[1].capture, None);
        }

        #[test]
        fn any_bytes_are_bounded_and_harmless(
            bytes in prop::collection::vec(prop_oneof![Just(0xff), Just(0xd8), Just(0xd9), Just(0xda), any::<u8>()], 0..300),
        ) {
            let pictures = all(&bytes, &[2, 9, 1]);
            prop_assert!(pictures.iter().all(|part| part.bytes.len() <= bytes.len()));
        }
    }

    #[test]
    fn a_picture_without_end_is_given_up() {
        let mut stream = [
            &[0xff, 0xd8, 0xff, 0xda, 0, 2][..],
            &vec![1; MAX_PICTURE + 9],
        ]
        .concat();
        stream.extend_from_slice(PICTURE);
        let parts = all(&stream, &[]);
        assert_eq!(parts.len(), 1);
        assert_eq!((&parts[0].bytes[..], parts[0].missed), (PICTURE, 1));
    }
}
