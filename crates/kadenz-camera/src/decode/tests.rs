#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use kadenz_rt::clock::MonotonicTime;
use proptest::prelude::*;

use super::*;
use crate::barcode::{Code, Gray, Reader, whole};
use crate::picture::{Pixels, Size};
use crate::sim::encode::JpegEncoder;
use crate::source::test_pattern::Pattern;
use crate::source::{Capture, Content};

pub(super) fn unit(content: Content<'_>, is_key: bool) -> Unit<'_> {
    let at = MonotonicTime::from_ns(0);
    Unit {
        content,
        is_key,
        capture: Capture::Unknown,
        first_byte: at,
        arrival: at,
        missed: 0,
        is_damaged: false,
    }
}

fn size(width: u32, height: u32) -> Size {
    Size::new(width, height).unwrap()
}

fn code(number: u32) -> Code {
    Code {
        number,
        time_ns: u64::from(number) << 20,
        period_us: 0,
    }
}

/// A function that opens Kadenz's own decoder, or the system's where this build has it.
type Opener = fn(Coding) -> Result<Box<dyn Decoder>, DecodeError>;
const OPENERS: [Opener; 2] = [open_own, open];

fn jpeg(pattern: &Pattern, quality: u8) -> Vec<u8> {
    let Size { width, height } = pattern.size();
    JpegEncoder::new(quality).encode(width as usize, height as usize, pattern.planes())
}

/// The code of each picture that comes out, its token and its size.
fn decode(
    decoder: &mut dyn Decoder,
    unit: &Unit<'_>,
) -> Result<Vec<(u64, Code, Size)>, DecodeError> {
    let mut codes = Vec::new();
    decoder.decode(7, unit, &mut |token, picture| {
        let luma = luma(picture);
        let gray = Gray::new(&luma, picture.size(), picture.size().width as usize).unwrap();
        codes.push((
            token,
            whole(Reader::new().read(&gray)).unwrap(),
            picture.size(),
        ));
    })?;
    Ok(codes)
}

/// Luma, or of RGB the green, which is near it.
fn luma(picture: &Picture<'_>) -> Vec<u8> {
    let width = picture.size().width as usize;
    let rows = 0..picture.size().height as usize;
    match picture.pixels() {
        Pixels::Gray { y, .. } | Pixels::Yuv { y, .. } => {
            rows.flat_map(|row| &y.row(row)[..width]).copied().collect()
        }
        Pixels::Rgb(rgb) => {
            let green = |row| {
                rgb.row(row)[..width * 3]
                    .chunks_exact(3)
                    .map(|it: &[u8]| it[1])
            };
            rows.flat_map(green).collect()
        }
        Pixels::Yuyv { .. } => unreachable!("no decoder gives it"),
    }
}

#[test]
fn a_jpeg_of_which_a_part_is_missing_is_refused() {
    let pattern = Pattern::new(size(320, 240)).unwrap();
    let jpeg = jpeg(&pattern, 85);
    for open in OPENERS {
        let mut decoder = open(Coding::Jpeg).unwrap();
        let damaged = Unit {
            is_damaged: true,
            ..unit(Content::Encoded(Coding::Jpeg, &jpeg), true)
        };
        let refused = decode(decoder.as_mut(), &damaged);
        assert!(refused.is_err(), "{}", decoder.name());
    }
}

#[test]
fn a_jpeg_of_any_quality_and_size_shows_its_code() {
    let mut decoders = OPENERS.map(|open| open(Coding::Jpeg).unwrap());
    for (width, height) in [(320, 240), (642, 482), (64, 132), (1280, 720)] {
        let of = size(width, height);
        for quality in [30, 85, 100] {
            let mut pattern = Pattern::new(of).unwrap();
            pattern.paint(code(quality.into()));
            let jpeg = jpeg(&pattern, quality);
            for decoder in &mut decoders {
                let decoded = decode(
                    decoder.as_mut(),
                    &unit(Content::Encoded(Coding::Jpeg, &jpeg), true),
                );
                assert_eq!(
                    decoded,
                    Ok(vec![(7, code(quality.into()), of)]),
                    "{}",
                    decoder.name()
                );
            }
        }
    }
}

#[test]
fn a_jpeg_s_samples_are_those_that_were_encoded() {
    let mut pattern = Pattern::new(size(320, 240)).unwrap();
    pattern.paint(code(1));
    let jpeg = jpeg(&pattern, 100);
    let mut decoder = open_own(Coding::Jpeg).unwrap();
    let compare = &mut |_, picture: &Picture<'_>| {
        let Pixels::Rgb(rgb) = picture.pixels() else {
            panic!("colour comes as RGB");
        };
        let [y, u, v] = pattern.planes();
        // Away from edges, where chroma is interpolated: BT.601 in full range (JFIF).
        for (x, row) in [(3, 2), (100, 3), (300, 4)] {
            let sample =
                |plane: &[u8], half: usize| f32::from(plane[row / half * (320 / half) + x / half]);
            let (y, u, v) = (sample(y, 1), sample(u, 2) - 128.0, sample(v, 2) - 128.0);
            let expected = [
                y + 1.402 * v,
                y - 0.344_136 * u - 0.714_136 * v,
                y + 1.772 * u,
            ];
            for (channel, expected) in expected.iter().enumerate() {
                let got = f32::from(rgb.row(row)[x * 3 + channel]);
                assert!(
                    (got - expected.clamp(0.0, 255.0)).abs() < 8.0,
                    "{x} {row} {channel}: {got} {expected}"
                );
            }
        }
    };
    decoder
        .decode(
            0,
            &unit(Content::Encoded(Coding::Jpeg, &jpeg), true),
            compare,
        )
        .unwrap();
}

#[test]
fn what_is_cut_off_or_of_another_coding_is_an_error_and_the_next_picture_is_whole() {
    for open in OPENERS {
        let mut pattern = Pattern::new(size(320, 240)).unwrap();
        pattern.paint(code(3));
        let whole = jpeg(&pattern, 85);
        let mut decoder = open(Coding::Jpeg).unwrap();
        for content in [
            Content::Encoded(Coding::Jpeg, &whole[..100]),
            Content::Encoded(Coding::Jpeg, &[]),
            Content::Encoded(Coding::H264, &whole),
        ] {
            assert!(decode(decoder.as_mut(), &unit(content, true)).is_err());
        }
        assert!(
            decode(
                decoder.as_mut(),
                &unit(Content::Encoded(Coding::Jpeg, &whole), true)
            )
            .is_ok()
        );
    }
}

#[test]
fn a_jpeg_that_states_a_huge_size_takes_no_memory() {
    let mut pattern = Pattern::new(size(64, 132)).unwrap();
    pattern.paint(code(0));
    let mut huge = jpeg(&pattern, 85);
    let frame = huge.windows(2).position(|it| it == [0xff, 0xc0]).unwrap();
    huge[frame + 5..frame + 9].fill(0x3f);
    let mut decoder = open_own(Coding::Jpeg).unwrap();
    let info = allocation_counter::measure(|| {
        let decoded = decode(
            decoder.as_mut(),
            &unit(Content::Encoded(Coding::Jpeg, &huge), true),
        );
        assert!(decoded.is_err());
    });
    assert!(info.bytes_max < 1 << 20, "{}", info.bytes_max);
}

proptest! {
    #[test]
    fn hostile_bytes_end_in_an_error_or_a_picture(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
    for open in OPENERS {
        let mut pattern = Pattern::new(size(64, 132)).unwrap();
        pattern.paint(code(0));
        let mut bytes = jpeg(&pattern, 50);
        for (at, value) in &flips {
            let at = at.index(bytes.len());
            bytes[at] = *value;
        }
        let mut decoder = open(Coding::Jpeg).unwrap();
        let _ = decoder.decode(0, &unit(Content::Encoded(Coding::Jpeg, &bytes), true), &mut |_, _| ());
    }
    }

    #[test]
    fn any_bytes_are_read_as_a_parameter_set_or_not(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut unit = vec![0, 0, 1, 0x67, 100];
        unit.extend(bytes);
        let _ = Sps::in_stream(&unit);
    }
}

#[cfg(feature = "h264")]
mod h264 {
    use super::*;
    use crate::picture::{Matrix, Range};
    use crate::sim::Options;
    use crate::sim::encode::H264Encoder;

    /// Access units as byte streams, a key every ten.
    fn encoded(of: Size, numbers: std::ops::Range<u32>) -> Vec<(bool, Vec<u8>)> {
        let options = Options {
            size: of,
            keys_every: 10,
            ..Options::default()
        };
        let mut encoder = H264Encoder::new(&options).unwrap();
        let mut pattern = Pattern::new(of).unwrap();
        let encode = |number| {
            pattern.paint(code(number));
            let (is_key, units) = encoder.encode(&pattern).unwrap();
            let stream = units
                .iter()
                .flat_map(|unit| [&[0, 0, 0, 1], &unit[..]].concat());
            (is_key, stream.collect())
        };
        numbers.map(encode).collect()
    }

    #[test]
    fn every_picture_shows_its_code_also_after_the_size_has_changed() {
        for open in OPENERS {
            let mut decoder = open(Coding::H264).unwrap();
            for (of, numbers) in [
                (size(320, 240), 0..25),
                (size(640, 480), 25..40),
                (size(322, 242), 40..45),
            ] {
                for (number, (is_key, stream)) in numbers.clone().zip(encoded(of, numbers)) {
                    let decoded = decode(
                        decoder.as_mut(),
                        &unit(Content::Encoded(Coding::H264, &stream), is_key),
                    );
                    assert_eq!(decoded, Ok(vec![(7, code(number), of)]));
                }
            }
        }
    }

    #[test]
    fn after_a_fault_nothing_is_shown_until_the_next_key() {
        for open in OPENERS {
            let stream = encoded(size(320, 240), 0..30);
            let faults: [fn(&mut Unit<'_>); 3] = [
                |unit| unit.missed = 1,
                |unit| unit.is_damaged = true,
                |unit| {
                    unit.content =
                        Content::Encoded(Coding::H264, &[0, 0, 1, 0x61, 0xff, 0xff, 0xff]);
                },
            ];
            for fault in faults {
                let mut decoder = open(Coding::H264).unwrap();
                for (index, (is_key, bytes)) in stream.iter().enumerate() {
                    let mut unit = unit(Content::Encoded(Coding::H264, bytes), *is_key);
                    if index == 14 {
                        fault(&mut unit);
                    }
                    let is_whole = decode(decoder.as_mut(), &unit).is_ok_and(|it| it.len() == 1);
                    assert_eq!(is_whole, !(14..20).contains(&index), "{index}");
                }
            }
            // Nor before the first.
            let mut decoder = open(Coding::H264).unwrap();
            let (is_key, bytes) = &stream[1];
            assert!(
                decode(
                    decoder.as_mut(),
                    &unit(Content::Encoded(Coding::H264, bytes), *is_key)
                )
                .is_err()
            );
        }
    }

    #[test]
    fn the_parameter_set_gives_the_size_and_the_colours() {
        let stream = encoded(size(322, 242), 0..1);
        let sps = Sps::in_stream(&stream[0].1);
        let (matrix, range) = (Matrix::Bt709, Range::Limited);
        assert_eq!(
            sps,
            Some(Sps {
                size: size(322, 242),
                matrix,
                range
            })
        );
        let mut decoder = open_own(Coding::H264).unwrap();
        let check = &mut |_, picture: &Picture<'_>| {
            let Pixels::Yuv {
                matrix: Matrix::Bt709,
                range: Range::Limited,
                ..
            } = picture.pixels()
            else {
                panic!("{:?}", picture.size());
            };
        };
        decoder
            .decode(
                0,
                &unit(Content::Encoded(Coding::H264, &stream[0].1), true),
                check,
            )
            .unwrap();
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn broken_streams_end_in_errors_and_the_decoder_goes_on(
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..10),
        ) {
    for open in OPENERS {
            let stream = encoded(size(64, 132), 0..11);
            let mut decoder = open(Coding::H264).unwrap();
            for (index, (is_key, bytes)) in stream.iter().enumerate() {
                let mut bytes = bytes.clone();
                for (at, value) in flips.iter().filter(|_| index < 10) {
                    let at = at.index(bytes.len());
                    bytes[at] = *value;
                }
                let decoded = decoder.decode(0, &unit(Content::Encoded(Coding::H264, &bytes), *is_key), &mut |_, _| ());
                if index == 10 {
                    prop_assert_eq!(decoded, Ok(()));
                }
            }
    }
        }
    }
}

#[test]
#[cfg(feature = "ffmpeg")]
fn h265_is_decoded_by_libavcodec_as_it_comes() {
    use std::process::Command;

    let mut command = Command::new("ffmpeg");
    command.args(["-v", "error", "-f", "lavfi", "-i", "color=gray:s=320x240"]);
    command.args(["-frames:v", "1", "-c:v", "libx265", "-pix_fmt", "yuv420p"]);
    // As cameras are set: a stream that states no reordering is given picture by picture.
    command.args(["-tune", "zerolatency"]);
    let encoded = command.args(["-f", "hevc", "-"]).output();
    let Some(encoded) = encoded.ok().filter(|it| it.status.success()) else {
        let message = "skipped: h265_is_decoded_by_libavcodec_as_it_comes: ffmpeg with libx265 (apt install ffmpeg)";
        assert!(
            std::env::var_os("KADENZ_SKIP_NOTHING").is_none_or(|it| it != "1"),
            "{message}"
        );
        eprintln!("{message}");
        return;
    };
    let mut decoder = open(Coding::H265).unwrap();
    let mut sizes = Vec::new();
    let unit = unit(Content::Encoded(Coding::H265, &encoded.stdout), true);
    decoder
        .decode(3, &unit, &mut |token, picture| {
            sizes.push((token, picture.size()));
            // Gray of 128 in limited range.
            assert!(luma(picture).iter().all(|it| it.abs_diff(126) < 4));
        })
        .unwrap();
    assert_eq!(sizes, [(3, size(320, 240))]);
}
