//! Longer than 500 lines: the plain reference, and the comparisons with it.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::sync::atomic::{AtomicUsize, Ordering};

use fearless_simd::Level;
use proptest::prelude::*;

use super::*;
use crate::picture::{Chroma, Matrix, Picture, Pixels, Plane, Range};

const RANGES: [Range; 2] = [Range::Limited, Range::Full];
const MATRICES: [Matrix; 2] = [Matrix::Bt601, Matrix::Bt709];
/// The kinds of pictures.
const KINDS: [Kind; 6] = [
    Kind::Gray,
    Kind::Yuv(Chroma::Yuv420),
    Kind::Yuv(Chroma::Yuv422),
    Kind::Yuv(Chroma::Yuv444),
    Kind::Yuyv,
    Kind::Rgb,
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Gray,
    Yuv(Chroma),
    Yuyv,
    Rgb,
}

impl Kind {
    /// All matrices with all ranges, as far as a picture of this kind has them.
    fn codings(self) -> impl Iterator<Item = (Matrix, Range)> {
        let (matrices, ranges) = match self {
            Self::Rgb => (1, 1),
            Self::Gray => (1, 2),
            Self::Yuv(_) | Self::Yuyv => (2, 2),
        };
        let matrices = MATRICES.into_iter().take(matrices);
        matrices.flat_map(move |it| {
            RANGES
                .into_iter()
                .take(ranges)
                .map(move |range| (it, range))
        })
    }
}

/// Random bytes, the same in every run.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// A picture in memory of its own.
struct Owned {
    size: Size,
    kind: Kind,
    matrix: Matrix,
    range: Range,
    planes: Vec<(Vec<u8>, usize, usize, usize)>,
}

impl Owned {
    /// Planes of noise; rows are `padding` bytes further apart than they are long.
    fn new(size: Size, kind: Kind, matrix: Matrix, range: Range, padding: usize) -> Self {
        let (width, height) = (size.width as usize, size.height as usize);
        let planes = match kind {
            Kind::Gray => vec![(width, height)],
            Kind::Yuv(chroma) => vec![(width, height), chroma.plane(size), chroma.plane(size)],
            Kind::Yuyv => vec![(width.div_ceil(2) * 4, height)],
            Kind::Rgb => vec![(width * 3, height)],
        };
        let plane = |(nth, (width, rows)): (usize, (usize, usize))| {
            let stride = width + padding;
            let bytes = noise(
                stride * (rows - 1) + width,
                (nth + 7 * stride + rows) as u64,
            );
            (bytes, width, rows, stride)
        };
        let planes = planes.into_iter().enumerate().map(plane).collect();
        Self {
            size,
            kind,
            matrix,
            range,
            planes,
        }
    }

    fn picture(&self) -> Picture<'_> {
        let plane = |nth: usize| {
            let (bytes, width, rows, stride) = &self.planes[nth];
            Plane::new(bytes, *width, *rows, *stride).unwrap()
        };
        let (matrix, range) = (self.matrix, self.range);
        let pixels = match self.kind {
            Kind::Gray => Pixels::Gray { y: plane(0), range },
            Kind::Yuv(chroma) => Pixels::Yuv {
                y: plane(0),
                u: plane(1),
                v: plane(2),
                chroma,
                matrix,
                range,
            },
            Kind::Yuyv => Pixels::Yuyv {
                pairs: plane(0),
                matrix,
                range,
            },
            Kind::Rgb => Pixels::Rgb(plane(0)),
        };
        Picture::new(self.size, pixels).unwrap()
    }

    fn sample(&self, plane: usize, x: usize, y: usize) -> i32 {
        let (bytes, _, _, stride) = &self.planes[plane];
        i32::from(bytes[y * stride + x])
    }

    /// Gray, red, green and blue of a pixel, one thing after the other.
    fn reference(&self, x: usize, y: usize) -> [u8; 4] {
        let [luma, u, v] = match self.kind {
            Kind::Rgb => {
                let [r, g, b] = [0, 1, 2].map(|nth| self.sample(0, 3 * x + nth, y));
                let gray = (19_595 * r + 38_470 * g + 7471 * b + 32_768) / 65_536;
                return [gray, r, g, b].map(|code| code as u8);
            }
            Kind::Gray => [self.sample(0, x, y), 128, 128],
            Kind::Yuyv => [
                self.sample(0, 2 * x, y),
                self.sample(0, x / 2 * 4 + 1, y),
                self.sample(0, x / 2 * 4 + 3, y),
            ],
            Kind::Yuv(chroma) => {
                let (at_x, at_y) = match chroma {
                    Chroma::Yuv420 => (x / 2, y / 2),
                    Chroma::Yuv422 => (x / 2, y),
                    Chroma::Yuv444 => (x, y),
                };
                [
                    self.sample(0, x, y),
                    self.sample(1, at_x, at_y),
                    self.sample(2, at_x, at_y),
                ]
            }
        };
        // Factors times 2^14 for luma, the offset times 2^5, and times 2^13 for chroma.
        let (of_luma, bias) = match self.range {
            Range::Limited => (19_077, -580),
            Range::Full => (16_384, 16),
        };
        let of_chroma: [i32; 4] = match (self.matrix, self.range) {
            (Matrix::Bt601, Range::Full) => [11_485, -2819, -5850, 14_516],
            (Matrix::Bt601, Range::Limited) => [13_075, -3209, -6660, 16_525],
            (Matrix::Bt709, Range::Full) => [12_901, -1535, -3835, 15_201],
            (Matrix::Bt709, Range::Limited) => [14_686, -1747, -4366, 17_305],
        };
        let base = (luma * 128 * of_luma).div_euclid(65_536) + bias;
        let term = |code: i32, factor: i32| ((code - 128) * 256 * factor).div_euclid(65_536);
        let code = |sum: i32| sum.div_euclid(32).clamp(0, 255) as u8;
        [
            code(base),
            code(base + term(v, of_chroma[0])),
            code(base + term(u, of_chroma[1]) + term(v, of_chroma[2])),
            code(base + term(u, of_chroma[3])),
        ]
    }

    /// The [`Self::reference`] of all pixels, row by row.
    fn references(&self) -> Vec<[u8; 4]> {
        let (width, height) = (self.size.width as usize, self.size.height as usize);
        let row = |y| (0..width).map(move |x| self.reference(x, y));
        (0..height).flat_map(row).collect()
    }

    /// The bytes of a layout without scale, of the references of all pixels.
    fn expected(&self, references: &[[u8; 4]], layout: &Layout) -> Vec<u8> {
        let region = layout.region_of(self.size).unwrap();
        let (width, height) = (region.size.width as usize, region.size.height as usize);
        let channels = layout.channels.count();
        let mut bytes = vec![0; width * height * channels];
        for y in 0..height {
            for x in 0..width {
                let row = (region.top as usize + y) * self.size.width as usize;
                let codes = references[row + region.left as usize + x];
                for channel in 0..channels {
                    let at = match layout.order {
                        Order::Interleaved => (y * width + x) * channels + channel,
                        Order::ColumnMajor => channel * width * height + x * height + y,
                    };
                    bytes[at] = match layout.channels {
                        Channels::Gray => codes[0],
                        Channels::Rgb => codes[1 + channel],
                        Channels::Bgr => codes[3 - channel],
                    };
                }
            }
        }
        bytes
    }
}

fn layouts() -> impl Iterator<Item = Layout> {
    let named = Layout::NAMED.iter();
    named.map(|(_, channels, order)| Layout::whole(*channels, *order))
}

fn size(width: u32, height: u32) -> Size {
    Size::new(width, height).unwrap()
}

/// Converters by the best instruction set of this machine, and by one of the others in turn.
fn converters(layout: Layout) -> impl Iterator<Item = Converter> {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let best = Level::new();
    #[cfg(target_arch = "x86_64")]
    let others = [
        best.as_avx2().map(Level::Avx2),
        best.as_sse4_2().map(Level::Sse4_2),
        best.as_sse2().map(Level::Sse2),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let others: [Option<Level>; 0] = [];
    let others: Vec<Level> = others.into_iter().flatten().collect();
    let turn = TURN.fetch_add(1, Ordering::Relaxed) % others.len().max(1);
    let levels = [best]
        .into_iter()
        .chain(others.into_iter().skip(turn).take(1));
    levels.map(move |level| Converter::by(level, layout))
}

/// A picture in a layout: all sets of instructions must give the same.
fn converted(layout: Layout, picture: &Picture<'_>) -> Vec<u8> {
    let needed = layout.bytes(picture.size()).unwrap();
    let mut results = converters(layout).map(|mut converter| {
        let mut bytes = vec![0xa5; needed + 3];
        let made = converter.convert(picture, &mut bytes);
        assert_eq!(made, layout.output_size(picture.size()));
        assert_eq!(bytes.split_off(needed), [0xa5; 3], "written beyond the end");
        bytes
    });
    let first = results.next().unwrap();
    assert!(results.all(|other| other == first), "{layout}");
    first
}

/// Sizes, kinds of pictures and layouts without scale, each with each.
fn compare(sizes: impl Iterator<Item = Size>, layout_of: impl Fn(Layout, Size) -> Layout) {
    for size in sizes {
        for kind in KINDS {
            for (matrix, range) in kind.codings() {
                let padding = (size.width % 3) as usize;
                let owned = Owned::new(size, kind, matrix, range, padding);
                let references = owned.references();
                for layout in layouts().map(|it| layout_of(it, size)) {
                    let expected = owned.expected(&references, &layout);
                    let made = converted(layout, &owned.picture());
                    assert!(
                        made == expected,
                        "{size} {kind:?} {matrix:?} {range:?} to {layout}"
                    );
                }
            }
        }
    }
}

#[test]
fn every_size_is_converted_as_by_the_plain_reference() {
    let of_widths = |widths: std::ops::RangeInclusive<u32>| {
        compare(
            widths.flat_map(|width| (1..=67).map(move |height| size(width, height))),
            |layout, _| layout,
        );
    };
    // The longest test of this crate: it would end alone on one CPU.
    std::thread::scope(|scope| {
        for widths in [1..=24, 25..=47, 48..=67] {
            scope.spawn(move || of_widths(widths));
        }
    });
}

#[test]
fn sizes_beyond_a_tile_are_converted_as_by_the_plain_reference() {
    let sizes = [
        (128, 64),
        (129, 127),
        (200, 131),
        (1, 300),
        (300, 1),
        (192, 193),
    ];
    compare(
        sizes.into_iter().map(|(width, height)| size(width, height)),
        |layout, _| layout,
    );
}

#[test]
fn every_region_is_converted_as_by_the_plain_reference() {
    let sizes = (1..=40)
        .chain([66, 130, 150])
        .map(|side| size(side, 171 - side));
    compare(sizes, |layout, size| {
        let (left, top) = (size.width * 3 / 7, size.height / 3);
        let inner = Size {
            width: (size.width - left).div_ceil(2),
            height: size.height - top,
        };
        Layout {
            region: Some(Region {
                size: inner,
                left,
                top,
            }),
            ..layout
        }
    });
}

/// BT.601 and BT.709 in real numbers.
fn real(matrix: Matrix, range: Range, [y, u, v]: [u8; 3]) -> [f64; 3] {
    let (kr, kb) = match matrix {
        Matrix::Bt601 => (0.299, 0.114),
        Matrix::Bt709 => (0.2126, 0.0722),
    };
    let (y, u, v) = (f64::from(y), f64::from(u) - 128.0, f64::from(v) - 128.0);
    let (y, pb, pr) = match range {
        Range::Limited => ((y - 16.0) / 219.0, u / 224.0, v / 224.0),
        Range::Full => (y / 255.0, u / 255.0, v / 255.0),
    };
    let (red, blue) = (y + 2.0 * (1.0 - kr) * pr, y + 2.0 * (1.0 - kb) * pb);
    let green = (y - kr * red - kb * blue) / (1.0 - kr - kb);
    [red, green, blue].map(|it| (it * 255.0).clamp(0.0, 255.0))
}

#[test]
fn no_colour_is_a_code_away_from_the_real_valued_formula() {
    let size = size(256, 256);
    let all: Vec<u8> = (0..=255).collect();
    let u: Vec<u8> = (0..256).flat_map(|_| all.clone()).collect();
    let v: Vec<u8> = (0..=255).flat_map(|code| [code; 256]).collect();
    let mut converter = Converter::new(Layout::whole(Channels::Rgb, Order::Interleaved));
    let mut out = vec![0; 3 << 16];
    for (matrix, range) in MATRICES
        .iter()
        .flat_map(|it| RANGES.map(|range| (*it, range)))
    {
        let mut worst = 0.0_f64;
        for luma in 0..=255 {
            let y = [luma; 1 << 16];
            let [y, u, v] = [&y[..], &u, &v].map(|it| Plane::new(it, 256, 256, 256).unwrap());
            let chroma = Chroma::Yuv444;
            let pixels = Pixels::Yuv {
                y,
                u,
                v,
                chroma,
                matrix,
                range,
            };
            let picture = Picture::new(size, pixels).unwrap();
            converter.convert(&picture, &mut out).unwrap();
            for (i, pixel) in out.chunks_exact(3).enumerate() {
                let real = real(matrix, range, [luma, (i % 256) as u8, (i / 256) as u8]);
                for (code, real) in pixel.iter().zip(real) {
                    worst = worst.max((f64::from(*code) - real).abs());
                }
            }
            let gray = 128 * 256 + 128;
            let [red, green, blue] = [0, 1, 2].map(|nth| out[3 * gray + nth]);
            assert!(red == green && green == blue, "gray {luma} is tinted");
        }
        assert!(worst < 0.7, "{matrix:?} {range:?}: {worst}");
    }
}

#[test]
fn black_and_white_of_limited_range_are_0_and_255_also_in_gray() {
    let size = size(4, 1);
    let bytes = [16, 235, 0, 255];
    let y = Plane::new(&bytes, 4, 1, 4).unwrap();
    let gray = |range| {
        let picture = Picture::new(size, Pixels::Gray { y, range }).unwrap();
        converted("gray".parse().unwrap(), &picture)
    };
    assert_eq!(gray(Range::Limited), [0, 255, 0, 255]);
    assert_eq!(gray(Range::Full), bytes);
}

/// The mean of an area, or the line between centres, in real numbers.
fn resampled(from: &[f64], to: usize) -> Vec<f64> {
    let (length, ratio) = (from.len(), from.len() as f64 / to as f64);
    let area = |pixel: usize| {
        let (start, end) = (pixel as f64 * ratio, (pixel + 1) as f64 * ratio);
        let share = |i: usize| (end.min(i as f64 + 1.0) - start.max(i as f64)).max(0.0);
        (0..length).map(|i| from[i] * share(i)).sum::<f64>() / ratio
    };
    let linear = |pixel: usize| {
        let at = ((pixel as f64 + 0.5) * ratio - 0.5).clamp(0.0, (length - 1) as f64);
        let first = at as usize;
        let second = (first + 1).min(length - 1);
        from[first] + (from[second] - from[first]) * at.fract()
    };
    let resample = |pixel| {
        if ratio < 1.0 {
            linear(pixel)
        } else {
            area(pixel)
        }
    };
    (0..to).map(resample).collect()
}

/// A plane of bytes, scaled in real numbers.
fn scaled(from: &[u8], width: usize, to: Size) -> Vec<f64> {
    let rows = from.chunks_exact(width);
    let rows: Vec<_> = rows
        .map(|row| {
            let row: Vec<_> = row.iter().map(|it| f64::from(*it)).collect();
            resampled(&row, to.width as usize)
        })
        .collect();
    let column = |x: usize| {
        let column: Vec<_> = rows.iter().map(|row| row[x]).collect();
        resampled(&column, to.height as usize)
    };
    let columns: Vec<_> = (0..to.width as usize).map(column).collect();
    let all = (0..to.height as usize).flat_map(|y| columns.iter().map(move |it| it[y]));
    all.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn scaling_is_the_mean_of_the_area_or_linear(
        (width, height) in (1u32..150, 1u32..150),
        (to_width, to_height) in (1u32..150, 1u32..150),
    ) {
        let (from, to) = (size(width, height), size(to_width, to_height));
        let owned = Owned::new(from, Kind::Yuyv, Matrix::Bt709, Range::Limited, 0);
        let whole = Layout::whole(Channels::Gray, Order::Interleaved);
        let layout = Layout { scaled: Some(to), ..whole };
        let made = converted(layout, &owned.picture());
        let expected = scaled(&owned.expected(&owned.references(), &whole), width as usize, to);
        for (made, expected) in made.iter().zip(expected) {
            prop_assert!((f64::from(*made) - expected).abs() < 1.0, "{made} for {expected}");
        }
    }

    #[test]
    fn scaled_layouts_of_a_region_hold_the_same_pixels(
        (width, height) in (1u32..90, 1u32..90),
        (to_width, to_height) in (1u32..90, 1u32..90),
        (left, top) in (0u32..20, 0u32..20),
    ) {
        let owned = Owned::new(size(width + left, height + top), Kind::Yuv(Chroma::Yuv420), Matrix::Bt601, Range::Full, 5);
        let region = Some(Region { size: size(width, height), left, top });
        let scaled = Some(size(to_width, to_height));
        let make = |channels, order| {
            converted(Layout { channels, order, region, scaled }, &owned.picture())
        };
        let (rgb, bgr) = (make(Channels::Rgb, Order::Interleaved), make(Channels::Bgr, Order::Interleaved));
        let (columns, reversed) = (make(Channels::Rgb, Order::ColumnMajor), make(Channels::Bgr, Order::ColumnMajor));
        let (to_width, to_height) = (to_width as usize, to_height as usize);
        for (i, pixel) in rgb.chunks_exact(3).enumerate() {
            let back = [bgr[3 * i + 2], bgr[3 * i + 1], bgr[3 * i]];
            prop_assert_eq!(&back[..], pixel);
            let at = i % to_width * to_height + i / to_width;
            let plane = to_width * to_height;
            for channel in 0..3 {
                prop_assert_eq!(columns[channel * plane + at], pixel[channel]);
                prop_assert_eq!(reversed[(2 - channel) * plane + at], pixel[channel]);
            }
        }
    }

    #[test]
    fn a_layout_is_read_as_it_is_written(
        named in 0..Layout::NAMED.len(),
        region in proptest::option::of((1u32..=8192, 1u32..=8192, any::<u32>(), any::<u32>())),
        scaled in proptest::option::of((1u32..=8192, 1u32..=8192)),
    ) {
        let (_, channels, order) = Layout::NAMED[named];
        let region = region.map(|(width, height, left, top)| Region { size: size(width, height), left, top });
        let scaled = scaled.map(|(width, height)| size(width, height));
        let layout = Layout { channels, order, region, scaled };
        prop_assert_eq!(layout.to_string().parse(), Ok(layout));
        let json = serde_json::to_string(&layout).unwrap();
        prop_assert_eq!(&json, &format!("\"{layout}\""));
        prop_assert_eq!(serde_json::from_str::<Layout>(&json).unwrap(), layout);
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        prop_assert!(layout.file_name().chars().all(plain));
    }

    #[test]
    fn no_text_panics(text in "(rgb|gray|bgr-column-major)?[\\[\\]@+x0-9a-z]{0,24}") {
        if let Ok(layout) = text.parse::<Layout>() {
            prop_assert_eq!(layout.to_string().parse(), Ok(layout));
        }
    }
}

#[test]
fn a_text_that_names_no_layout_is_refused_with_the_grammar() {
    let examples = [
        ("", "rgb-column-major"),
        ("rgba", "rgb-column-major"),
        ("RGB", "rgb-column-major"),
        ("rgb-row-major", "rgb-column-major"),
        ("rgb[", "[320x240+100+50]"),
        ("rgb[320x240]", "[320x240+100+50]"),
        ("rgb[320x240+1]", "[320x240+100+50]"),
        ("rgb[320x240+1+2+3]", "[320x240+100+50]"),
        ("rgb[320x240+1+2]x", "[320x240+100+50]"),
        ("rgb[320x240+1+99999999999]", "[320x240+100+50]"),
        ("rgb[0x240+1+2]", "1 to 16384"),
        ("rgb@", "1920x1080"),
        ("rgb@0x1", "1 to 16384"),
        ("rgb@10x10[1x1+0+0]", "1920x1080"),
    ];
    for (text, remedy) in examples {
        let error = text.parse::<Layout>().unwrap_err().to_string();
        assert!(error.contains(remedy), "{text}: {error}");
    }
    assert_eq!(
        "gray@480p".parse::<Layout>().unwrap().to_string(),
        "gray@640x480"
    );
}

#[test]
fn file_names_distinguish_layouts() {
    let texts = [
        "rgb",
        "rgb-column-major",
        "rgb@320x240",
        "rgb[320x240+1+23]",
        "rgb[320x240+12+3]",
        "rgb[320x240+1+23]@320x240",
    ];
    let mut names: Vec<_> = texts
        .iter()
        .map(|text| text.parse::<Layout>().unwrap().file_name())
        .collect();
    assert_eq!(names[5], "rgb_region-320x240-1-23_scaled-320x240");
    names.sort();
    names.dedup();
    assert_eq!(names.len(), texts.len());
}

#[test]
fn too_little_memory_and_a_region_outside_are_refused() {
    let owned = Owned::new(size(9, 7), Kind::Rgb, Matrix::Bt601, Range::Full, 0);
    let convert = |text: &str, bytes: usize| {
        let mut into = vec![0xa5; bytes];
        let mut converter = Converter::new(text.parse().unwrap());
        let answer = converter.convert(&owned.picture(), &mut into);
        let untouched = into.iter().all(|byte| *byte == 0xa5);
        assert!(
            answer.is_ok() || untouched,
            "{text}: written in spite of an error"
        );
        answer
    };
    assert_eq!(convert("rgb", 189), Ok(size(9, 7)));
    let (needed, given) = (189, 188);
    assert_eq!(
        convert("rgb", 188),
        Err(LayoutError::Short { needed, given })
    );
    assert_eq!(convert("gray[4x3+5+4]@8x2", 16), Ok(size(8, 2)));
    for text in ["gray[4x3+6+4]", "gray[4x3+5+5]", "gray[4x3+4294967295+0]"] {
        let error = convert(text, 4096).unwrap_err();
        assert!(matches!(error, LayoutError::Outside { .. }), "{error}");
    }
}

#[test]
fn only_a_new_size_of_the_picture_allocates() {
    let pictures =
        KINDS.map(|kind| Owned::new(size(131, 70), kind, Matrix::Bt709, Range::Limited, 0));
    let scales = [None, Some(size(60, 90))];
    for layout in layouts().flat_map(|it| scales.map(|scaled| Layout { scaled, ..it })) {
        let mut converter = Converter::new(layout);
        let mut into = vec![0; layout.bytes(pictures[0].size).unwrap()];
        converter
            .convert(&pictures[0].picture(), &mut into)
            .unwrap();
        let counted = allocation_counter::measure(|| {
            for owned in &pictures {
                converter.convert(&owned.picture(), &mut into).unwrap();
            }
        });
        assert_eq!(counted.count_total, 0, "{layout}");
    }
}
