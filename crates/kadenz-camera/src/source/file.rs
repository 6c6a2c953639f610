//! Pictures from files: `film.mjpeg` (JPEG pictures one behind the other), `film.h264` and `film.h265` (annex B), a
//! folder of JPEG files in the order of their names; at a stated rate.
//!
//! `film.mjpeg?rate=29.97Hz` states the rate, 30 Hz where none is stated. No picture is left out: a reader that comes
//! late gets at once all pictures that are due.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use kadenz_rt::beat::{Beat, Rate};
use kadenz_rt::clock::{MonotonicTime, now};
use kadenz_rt::sleep::{self, Sleeper, SleeperKind, SleeperOptions};

use super::{Capture, Coding, Content, Next, Source, SourceError, Unit};
use crate::wire::video::annex_b::NalCodec;

/// Larger pictures are refused, so that reading is bounded.
const MAX_UNIT: usize = 64 << 20;
/// Bytes read at once.
const PART: usize = 256 << 10;
/// More files of a folder are not read.
const MAX_FILES: usize = 1 << 20;

const THERE: &str = "name a file or folder that is there and that you may read";

fn unreadable(path: &Path, cause: &dyn std::fmt::Display, remedy: &str) -> SourceError {
    SourceError::permanent(format!("cannot read {}: {cause}", path.display()), remedy)
}

/// What a file holds, by its ending.
fn coding_of(path: &Path) -> Option<Coding> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    match ending.as_str() {
        "mjpeg" | "mjpg" | "jpg" | "jpeg" => Some(Coding::Jpeg),
        "h264" | "264" | "avc" => Some(Coding::H264),
        "h265" | "265" | "hevc" => Some(Coding::H265),
        _ => None,
    }
}

/// Where the next bytes come from.
enum Input {
    Stream(File),
    /// Pictures, one a file; the next one is the last of the list.
    Folder(Vec<PathBuf>),
}

/// A source that reads files.
pub(crate) struct FileSource {
    path: PathBuf,
    coding: Coding,
    rate: Rate,
    input: Input,
    /// Bytes that were read; the first `given` of them have been returned.
    buffer: Vec<u8>,
    given: usize,
    /// How far the scan of the first picture has come.
    scan: Scan,
    is_at_end: bool,
    beat: Beat,
    sleeper: Box<dyn Sleeper>,
}

impl FileSource {
    /// Whether this source reads a file or folder of this name, by its ending.
    #[must_use]
    pub(crate) fn is_for(text: &str) -> bool {
        let path = Path::new(super::path_and_query(text).0);
        path.is_dir() || coding_of(path).is_some()
    }

    /// Opens a file or a folder; the first picture is due at once.
    ///
    /// # Errors
    /// [`SourceError`], where the file cannot be read, or is of another kind.
    pub(crate) fn open(text: &str) -> Result<Self, SourceError> {
        let (path, query) = super::path_and_query(text);
        let path = PathBuf::from(path);
        let refused =
            |cause: &dyn std::fmt::Display, remedy: &str| unreadable(&path, cause, remedy);
        let rate = match query.strip_prefix("rate=") {
            Some(rate) => rate,
            None if query.is_empty() => "30Hz",
            None => {
                let cause = format!("`{query}` is unknown here");
                return Err(refused(&cause, "write ?rate=30Hz"));
            }
        };
        let rate = rate.parse::<Rate>();
        let rate = rate.map_err(|error| refused(&error, "write ?rate=30Hz"))?;
        let (coding, input) = if path.is_dir() {
            let files = pictures_in(&path).map_err(|error| refused(&error, THERE))?;
            (Coding::Jpeg, Input::Folder(files))
        } else {
            let coding = coding_of(&path).ok_or_else(|| {
                let remedy = "name a .mjpeg, .h264 or .h265 file or a folder of .jpg files, or install the ffmpeg program";
                refused(&"its kind is unknown", remedy)
            })?;
            let file = File::open(&path).map_err(|error| refused(&error, THERE))?;
            (coding, Input::Stream(file))
        };
        let sleeper = sleep::open(SleeperKind::recommended(), SleeperOptions::default())
            .map_err(|error| refused(&error, THERE))?;
        Ok(Self {
            path,
            coding,
            rate,
            input,
            buffer: Vec::new(),
            given: 0,
            scan: Scan::default(),
            is_at_end: false,
            beat: Beat::at(now(), rate.interval()),
            sleeper,
        })
    }

    /// Makes the next picture the first in the buffer, and says how long it is; `None` at the end.
    fn next_unit(&mut self) -> Result<Option<usize>, std::io::Error> {
        self.buffer.drain(..self.given);
        self.given = 0;
        self.scan = Scan::default();
        loop {
            let length = match NalCodec::of(self.coding) {
                None => match self.skip_to_jpeg() {
                    true => self.scan.jpeg_length(&self.buffer),
                    false => None,
                },
                Some(format) => {
                    let Scan { at, has_slice } = &mut self.scan;
                    format.access_unit_length(&self.buffer, at, has_slice)
                }
            };
            if length.is_some() {
                return Ok(length);
            }
            if self.is_at_end {
                // The last access unit has no successor to end it; half a JPEG is not a picture.
                let rest = self.buffer.len();
                return Ok((self.coding != Coding::Jpeg && rest > 0).then_some(rest));
            }
            if self.buffer.len() >= MAX_UNIT {
                return Err(std::io::Error::other("a picture of more than 64 MiB"));
            }
            self.read()?;
        }
    }

    /// Removes the bytes before the next JPEG picture; returns whether there is one.
    fn skip_to_jpeg(&mut self) -> bool {
        if self.scan.at > 0 {
            return true;
        }
        let mut places = self.buffer.windows(3);
        let begin = places.position(|it| it == [0xff, 0xd8, 0xff]);
        let last = self.buffer.len().saturating_sub(2);
        self.buffer.drain(..begin.unwrap_or(last));
        begin.is_some()
    }

    fn read(&mut self) -> Result<(), std::io::Error> {
        let length = match &mut self.input {
            Input::Stream(file) => file.take(PART as u64).read_to_end(&mut self.buffer)?,
            Input::Folder(files) => match files.pop() {
                Some(path) => {
                    let file = File::open(path)?;
                    // A truncated picture must not swallow the next file's.
                    self.buffer.clear();
                    self.scan = Scan::default();
                    file.take(MAX_UNIT as u64)
                        .read_to_end(&mut self.buffer)?
                        .max(1)
                }
                None => 0,
            },
        };
        self.is_at_end = length == 0;
        Ok(())
    }
}

/// The JPEG files of a folder, the last name first.
fn pictures_in(folder: &Path) -> Result<Vec<PathBuf>, std::io::Error> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)?.take(MAX_FILES) {
        let path = entry?.path();
        if coding_of(&path) == Some(Coding::Jpeg) {
            files.push(path);
        }
    }
    files.sort_unstable_by(|a, b| b.cmp(a));
    Ok(files)
}

/// A scan of the picture at the beginning, which continues where it was when more bytes have come.
#[derive(Default)]
struct Scan {
    at: usize,
    has_slice: bool,
}

impl Scan {
    /// How long the JPEG picture at the beginning is (ITU-T T.81, annex B); `None` where its end is not there. Pictures
    /// within its segments (thumbnails) do not end it.
    fn jpeg_length(&mut self, bytes: &[u8]) -> Option<usize> {
        self.at = self.at.max(2);
        loop {
            match bytes.get(self.at..self.at + 2)? {
                [0xff, 0xd9] => return Some(self.at + 2),
                // Entropy-coded data, its stuffed bytes and restart markers, and fill bytes.
                [0xff, 0x00 | 0x01 | 0xd0..=0xd8] => self.at += 2,
                [0xff, 0xff] => self.at += 1,
                [0xff, _] => {
                    let length = bytes.get(self.at + 2..self.at + 4)?;
                    let length = u16::from_be_bytes([length[0], length[1]]);
                    self.at += 2 + usize::from(length).max(2);
                }
                _ => self.at += 1,
            }
        }
    }
}

impl Source for FileSource {
    fn next(&mut self, until: MonotonicTime) -> Result<Next<'_>, SourceError> {
        let due = self.beat.current();
        if due > until && due > now() {
            self.sleeper.sleep_until(until);
            return Ok(Next::Nothing);
        }
        let first_byte = now();
        let length = self.next_unit();
        let length = length.map_err(|error| unreadable(&self.path, &error, THERE))?;
        let Some(length) = length else {
            return Ok(Next::Ended);
        };
        self.given = length;
        self.sleeper.sleep_until(due);
        self.beat.next();
        let bytes = &self.buffer[..length];
        let arrival = now();
        Ok(Next::Unit(Unit {
            content: Content::Encoded(self.coding, bytes),
            is_key: self.coding.is_key(bytes),
            capture: Capture::Unknown,
            first_byte: first_byte.max(due),
            arrival,
            missed: 0,
            is_damaged: false,
        }))
    }

    fn description(&self) -> String {
        let coding = self.coding.name();
        format!("{coding} of {} at {}", self.path.display(), self.rate)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use super::*;

    const FAR: MonotonicTime = MonotonicTime::from_ns(u64::MAX);

    /// All units of a file with these bytes: content and whether it is a key.
    fn units(name: &str, bytes: &[u8]) -> Vec<(Vec<u8>, bool)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        all(&format!("{}?rate=1MHz", path.display()))
    }

    fn all(url: &str) -> Vec<(Vec<u8>, bool)> {
        let mut source = FileSource::open(url).unwrap();
        let mut units = Vec::new();
        while let Next::Unit(unit) = source.next(FAR).unwrap() {
            let Content::Encoded(_, bytes) = unit.content else {
                panic!("{:?}", unit.content);
            };
            units.push((bytes.to_vec(), unit.is_key));
        }
        units
    }

    fn jpeg(mark: u8) -> Vec<u8> {
        // A thumbnail in a segment, and stuffed and restart markers in the data.
        let mut bytes = vec![0xff, 0xd8, 0xff, 0xe1, 0, 8, 0xff, 0xd8, 1, 2, 0xff, 0xd9];
        bytes.extend([
            0xff, 0xda, 0, 3, 0, mark, 0xff, 0, mark, 0xff, 0xd3, mark, 0xff, 0xd9,
        ]);
        bytes
    }

    #[test]
    fn pictures_of_a_file_come_one_by_one_and_what_is_between_them_is_left_out() {
        let film = [&jpeg(1)[..], b"between", &jpeg(2), &jpeg(3)[..20]].concat();
        assert_eq!(units("a.mjpeg", &film), [(jpeg(1), true), (jpeg(2), true)]);
        assert_eq!(units("a.MJPG", &[]), []);
    }

    #[test]
    fn access_units_begin_with_their_parameters_and_their_first_slice() {
        let key = [
            0, 0, 0, 1, 0x67, 9, 0, 0, 0, 1, 0x68, 9, 0, 0, 1, 0x65, 0x88, 7, 0, 0, 1, 0x65, 0x08,
            7,
        ];
        let next = [0, 0, 1, 0x61, 0x9a, 7];
        let film = [&key[..], &next, &next, &key].concat();
        let expected = [
            (key.to_vec(), true),
            (next.to_vec(), false),
            (next.to_vec(), false),
            (key.to_vec(), true),
        ];
        assert_eq!(units("a.h264", &film), expected);

        let key = [
            0, 0, 0, 1, 0x40, 1, 9, 0, 0, 0, 1, 0x42, 1, 9, 0, 0, 0, 1, 0x44, 1, 9, 0, 0, 1, 0x26,
            1, 0xaf, 7, 0, 0, 1, 0x26, 1, 0x2f, 7,
        ];
        let next = [0, 0, 1, 0x02, 1, 0xd0, 7];
        let film = [&key[..], &next, &next, &key].concat();
        let expected = [
            (key.to_vec(), true),
            (next.to_vec(), false),
            (next.to_vec(), false),
            (key.to_vec(), true),
        ];
        assert_eq!(units("a.h265", &film), expected);
    }

    #[test]
    fn a_picture_that_comes_in_many_parts_is_looked_through_once() {
        // Four parts and a bit, of JPEG without a marker and of one slice.
        let long = vec![7; 4 * PART + 9];
        let picture = [&[0xff, 0xd8, 0xff, 0xda, 0, 2][..], &long, &[0xff, 0xd9]].concat();
        let film = [&b"before"[..], &picture, &jpeg(2)].concat();
        assert_eq!(units("a.mjpeg", &film), [(picture, true), (jpeg(2), true)]);
        let slice = [&[0, 0, 1, 0x65, 0x88][..], &long].concat();
        let next = vec![0, 0, 1, 0x41, 0x88, 7];
        let film = [&slice[..], &next].concat();
        assert_eq!(units("a.h264", &film), [(slice, true), (next, false)]);
        let mut scan = Scan::default();
        for length in (0..film.len()).step_by(PART) {
            let Scan { at, has_slice } = &mut scan;
            let found = NalCodec::H264.access_unit_length(&film[..length], at, has_slice);
            assert_eq!(found, None);
            assert_eq!(scan.at, length.saturating_sub(5));
        }
    }

    #[test]
    fn the_files_of_a_folder_come_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for (name, mark) in [("b.jpg", 2), ("a.jpeg", 1), ("c.JPG", 3), ("d.txt", 4)] {
            std::fs::write(folder.path().join(name), jpeg(mark)).unwrap();
        }
        let units = all(&format!("file://{}?rate=1MHz", folder.path().display()));
        assert_eq!(units, [(jpeg(1), true), (jpeg(2), true), (jpeg(3), true)]);
    }

    #[test]
    fn a_picture_comes_when_it_is_due_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.mjpeg"), [jpeg(1), jpeg(2)].concat()).unwrap();
        let url = format!("{}/a.mjpeg?rate=0.001Hz", folder.path().display());
        let mut source = FileSource::open(&url).unwrap();
        assert!(matches!(source.next(FAR), Ok(Next::Unit(_))));
        assert!(matches!(source.next(now()), Ok(Next::Nothing)));
    }

    #[test]
    fn what_is_not_a_film_is_refused_with_a_remedy() {
        for url in [
            "/nowhere/a.mjpeg",
            "a.txt",
            "a.mjpeg?rate=x",
            "a.mjpeg?speed=2",
        ] {
            let Err(error) = FileSource::open(url) else {
                panic!("{url} was opened");
            };
            assert!(!error.remedy.is_empty() && !error.is_transient, "{url}");
        }
    }
}
