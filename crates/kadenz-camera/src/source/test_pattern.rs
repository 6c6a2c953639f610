//! `test://1920x1080@30`: moving bars and a [barcode](crate::barcode), exactly on the beat, for measurements
//! without a camera.
//!
//! `test://720p?rate=29.97Hz` states the rate with its unit, `test://720p@30?count=100` ends after 100 pictures. A
//! picture is painted before it is due, so that painting costs no latency; a picture for which the reader came too late
//! is not painted, and counts as missed.

use kadenz_rt::beat::{Beat, Interval, Rate};
use kadenz_rt::clock::{MonotonicTime, now};
use kadenz_rt::sleep::{self, Sleeper, SleeperKind, SleeperOptions};

use super::{Capture, Content, Next, Source, SourceError, Unit};
use crate::barcode::{Code, Painter};
use crate::picture::{Chroma, Matrix, Picture, PictureError, Range, Size};

/// Moving colour bars with a barcode: a picture in planes of 4:2:0, limited range.
///
/// All rows of a picture are cuts from a few prepared rows, so that painting takes little longer than copying.
pub struct Pattern {
    size: Size,
    painter: Painter,
    /// Prepared rows of luma: [`Self::ROWS`] of twice the width.
    luma_rows: Vec<u8>,
    /// Of both chroma planes, twice their width.
    chroma_rows: [Vec<u8>; 2],
    planes: [Vec<u8>; 3],
}

impl Pattern {
    /// Different rows of luma.
    const ROWS: usize = 8;
    /// Pixels that the bars move from one picture to the next.
    const STEP: usize = 4;
    /// 75 % colour bars in BT.709 (ITU-R BT.1729): luma, blue difference, red difference.
    const BARS: [[u8; 3]; 8] = [
        [180, 128, 128],
        [168, 44, 136],
        [145, 147, 44],
        [133, 63, 52],
        [63, 193, 204],
        [51, 109, 212],
        [28, 212, 120],
        [16, 128, 128],
    ];

    /// A pattern of a size.
    ///
    /// # Errors
    /// [`PictureError::Size`] where the size is too small for a barcode, or odd: 4:2:0 encoders want even sides.
    pub fn new(size: Size) -> Result<Self, PictureError> {
        let Size { width, height } = size;
        let painter = Painter::new(size)?;
        if width % 2 == 1 || height % 2 == 1 {
            return Err(PictureError::Size { width, height });
        }
        let (chroma_width, chroma_height) = Chroma::Yuv420.plane(size);
        let bars = |width: usize, component: usize| -> Vec<u8> {
            let bar = |x: usize| Self::BARS[x * 16 / (2 * width) % 8][component];
            (0..2 * width).map(bar).collect()
        };
        let width = width as usize;
        let luma = bars(width, 0);
        let mut luma_rows = Vec::with_capacity(Self::ROWS * luma.len());
        for row in 0..Self::ROWS {
            let texture = |(x, luma): (usize, &u8)| luma + ((x / 4 + row) % 5 * 6) as u8;
            luma_rows.extend(luma.iter().enumerate().map(texture));
        }
        let planes = [
            vec![0; size.pixels()],
            vec![0; chroma_width * chroma_height],
            vec![0; chroma_width * chroma_height],
        ];
        Ok(Self {
            size,
            painter,
            luma_rows,
            chroma_rows: [bars(chroma_width, 1), bars(chroma_width, 2)],
            planes,
        })
    }

    /// Paints the picture with a code, and the bars where its number says.
    pub fn paint(&mut self, code: Code) {
        let width = self.size.width as usize;
        let shift = code.number as usize % (width / Self::STEP) * Self::STEP;
        let [luma, chroma @ ..] = &mut self.planes;
        let prepared = self.luma_rows.chunks_exact(2 * width).cycle();
        let rows = prepared.flat_map(|row| std::iter::repeat_n(row, 8));
        for (row, prepared) in luma.chunks_exact_mut(width).zip(rows) {
            row.copy_from_slice(&prepared[shift..shift + width]);
        }
        let (width, shift) = (width / 2, shift / 2);
        for (plane, prepared) in chroma.iter_mut().zip(&self.chroma_rows) {
            for row in plane.chunks_exact_mut(width) {
                row.copy_from_slice(&prepared[shift..shift + width]);
            }
            self.painter.clear_chroma(plane, width);
        }
        self.painter.paint(&mut self.planes[0], 2 * width, code);
    }

    #[must_use]
    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// Luma, blue and red difference, without gaps between their rows.
    #[must_use]
    pub fn planes(&self) -> [&[u8]; 3] {
        self.planes.each_ref().map(Vec::as_slice)
    }

    /// The picture as it was painted last.
    #[must_use]
    pub fn picture(&self) -> Picture<'_> {
        let (size, width) = (self.size, self.size.width as usize);
        let [y, u, v] = self.planes();
        let planes = [(y, width), (u, width / 2), (v, width / 2)];
        Picture::planar(size, planes, Chroma::Yuv420, Matrix::Bt709, Range::Limited)
            .unwrap_or_else(|error| unreachable!("the planes were made for the size: {error}"))
    }
}

/// The parts of this source's URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PatternUrl {
    size: Size,
    rate: Rate,
    count: u64,
}

impl PatternUrl {
    fn read(url: &str) -> Result<Self, String> {
        let rest = url
            .strip_prefix("test://")
            .ok_or("it does not begin with test://")?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (size, rate) = place.split_once('@').unwrap_or((place, "30"));
        let read_rate = |rate: &str| {
            let has_unit = rate.ends_with(|last: char| last.is_ascii_alphabetic());
            let text = if has_unit {
                rate.to_owned()
            } else {
                format!("{rate}Hz")
            };
            text.parse::<Rate>().map_err(|error| error.to_string())
        };
        let size = if size.is_empty() { "720p" } else { size };
        let mut stated = Self {
            size: size
                .parse()
                .map_err(|error: PictureError| error.to_string())?,
            rate: read_rate(rate)?,
            count: u64::MAX,
        };
        for option in super::options(query) {
            match option.split_once('=') {
                Some(("rate", rate)) => stated.rate = read_rate(rate)?,
                Some(("count", count)) => {
                    let wrong = |_| format!("`{count}` is not a count of pictures");
                    stated.count = count.parse().map_err(wrong)?;
                }
                _ => {
                    return Err(format!(
                        "`{option}` is unknown here; rate and count are known"
                    ));
                }
            }
        }
        Ok(stated)
    }
}

/// The source of `test://`.
pub(crate) struct TestPattern {
    pattern: Pattern,
    beat: Beat,
    sleeper: Box<dyn Sleeper>,
    rate: Rate,
    count: u64,
    is_painted: bool,
    missed: u64,
}

impl TestPattern {
    /// Opens a URL; the first picture is an interval away.
    ///
    /// # Errors
    /// [`SourceError`], where the URL states no size or rate that can be painted.
    pub(crate) fn open(url: &str) -> Result<Self, SourceError> {
        let wrong = |cause: String| {
            let cause = format!("`{url}` names no test pattern: {cause}");
            SourceError::permanent(cause, "write it as test://1920x1080@30")
        };
        let stated = PatternUrl::read(url).map_err(wrong)?;
        let pattern = Pattern::new(stated.size).map_err(|_| {
            wrong(format!(
                "its sides must be even and at least {}, for the barcode",
                Painter::MIN
            ))
        })?;
        let sleeper = sleep::open(SleeperKind::recommended(), SleeperOptions::default())
            .map_err(|error| wrong(error.to_string()))?;
        let mut beat = Beat::at(now(), stated.rate.interval());
        beat.next();
        Ok(Self {
            pattern,
            beat,
            sleeper,
            rate: stated.rate,
            count: stated.count,
            is_painted: false,
            missed: 0,
        })
    }

    /// The exact time between two pictures.
    #[must_use]
    pub(crate) fn interval(&self) -> Interval {
        self.rate.interval()
    }

    /// Passes over pictures that are late by more than an interval, and paints the next one.
    fn prepare(&mut self) {
        let interval = self.interval().as_duration();
        if now() > self.beat.current() + interval {
            self.missed += self.beat.skip_to(now());
            self.is_painted = false;
        }
        if !self.is_painted {
            self.pattern.paint(Code {
                // A number of 32 bits wraps after years.
                number: self.beat.index() as u32,
                time_ns: self.beat.current().as_ns(),
                period_us: 0,
            });
            self.is_painted = true;
        }
    }
}

impl Source for TestPattern {
    fn next(&mut self, until: MonotonicTime) -> Result<Next<'_>, SourceError> {
        self.prepare();
        if self.beat.index() > self.count {
            return Ok(Next::Ended);
        }
        let taken = self.beat.current();
        if taken > until && taken > now() {
            self.sleeper.sleep_until(until);
            return Ok(Next::Nothing);
        }
        self.sleeper.sleep_until(taken);
        self.beat.next();
        self.is_painted = false;
        let arrival = now();
        Ok(Next::Unit(Unit {
            content: Content::Picture(self.pattern.picture()),
            is_key: true,
            capture: Capture::Local(taken),
            first_byte: arrival,
            arrival,
            missed: std::mem::take(&mut self.missed),
            is_damaged: false,
        }))
    }

    fn description(&self) -> String {
        format!("test pattern {} at {}", self.pattern.size(), self.rate)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use super::*;
    use crate::barcode::{Gray, Reader, whole};

    const FAR: MonotonicTime = MonotonicTime::from_ns(u64::MAX);

    #[test]
    fn a_picture_says_its_number_and_its_time_and_the_source_ends_after_its_count() {
        let mut source = TestPattern::open("test://320x240@200?count=20").unwrap();
        let (mut reader, mut counted) = (Reader::new(), 0);
        while let Next::Unit(unit) = source.next(FAR).unwrap() {
            let Content::Picture(picture) = unit.content else {
                panic!("the pattern is a picture");
            };
            let code = whole(reader.read(&Gray::of(&picture).unwrap())).unwrap();
            counted += 1 + unit.missed;
            assert_eq!(u64::from(code.number), counted);
            assert_eq!(
                unit.capture,
                Capture::Local(MonotonicTime::from_ns(code.time_ns))
            );
            assert!(unit.arrival.as_ns() >= code.time_ns);
        }
        // A busy machine may miss the last pictures, which no later one counts.
        assert!((1..=20).contains(&counted), "{counted}");
    }

    #[test]
    fn a_reader_that_comes_late_misses_pictures_and_learns_how_many() {
        let mut source = TestPattern::open("test://64x132?rate=1kHz").unwrap();
        let number = |next: Next<'_>| match next {
            Next::Unit(Unit {
                capture: Capture::Local(at),
                missed,
                ..
            }) => (at, missed),
            other => panic!("{other:?}"),
        };
        let (before, _) = number(source.next(FAR).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (after, missed) = number(source.next(FAR).unwrap());
        assert!(missed >= 18, "{missed}");
        let beats = after.since(before) / 1_000_000;
        assert_eq!(u64::try_from(beats).unwrap(), missed + 1);
    }

    #[test]
    fn nothing_comes_before_its_time() {
        let mut source = TestPattern::open("test://64x132@0.01").unwrap();
        assert!(matches!(source.next(now()), Ok(Next::Nothing)));
    }

    #[test]
    fn a_url_that_names_no_pattern_is_refused() {
        assert!(TestPattern::open("test://").is_ok());
        assert!(TestPattern::open("test://1080p@30000/1001").is_ok());
        for url in [
            "rtsp://host",
            "test://0x0",
            "test://64x64",
            "test://321x240",
            "test://720p@0",
            "test://720p@x",
            "test://720p?count=-1",
            "test://720p?colour=red",
        ] {
            let Err(error) = TestPattern::open(url) else {
                panic!("{url} was opened");
            };
            assert!(!error.is_transient, "{url}");
        }
    }
}
