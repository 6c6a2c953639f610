//! The cost of the simulator, the decoders and the barcode: `cargo run --release -p kadenz-camera --example
//! camera_cost`, and with `--features ffmpeg` also of libavcodec.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "an example that measures and prints"
)]

use kadenz_camera::barcode::{Code, Gray, Reader, whole};
use kadenz_camera::decode::{Decoder, open, open_own};
use kadenz_camera::picture::Size;
use kadenz_camera::sim::{CameraSim, Options, Protocol};
use kadenz_camera::source::test_pattern::Pattern;
use kadenz_camera::source::{Capture, Coding, Content, Unit};
use kadenz_rt::clock::now;
use openh264::OpenH264API;
use openh264::encoder::{Encoder, EncoderConfig, RateControlMode};
use openh264::formats::YUVSlices;

const CODE: Code = Code {
    number: 1,
    time_ns: 2,
    period_us: 3,
};

/// Milliseconds of the median of `times` calls.
fn median_ms(times: usize, mut call: impl FnMut()) -> f64 {
    let mut took: Vec<i64> = (0..times)
        .map(|_| {
            let begin = now();
            call();
            now().since(begin)
        })
        .collect();
    took.sort_unstable();
    took[times / 2] as f64 / 1e6
}

/// 60 access units of the pattern, a key first.
fn encoded(size: Size) -> Vec<Vec<u8>> {
    let config = EncoderConfig::new().rate_control_mode(RateControlMode::Off);
    let mut encoder = Encoder::with_api_config(OpenH264API::from_source(), config).unwrap();
    let mut pattern = Pattern::new(size).unwrap();
    let (width, height) = (size.width as usize, size.height as usize);
    let units = (0..60).map(|number| {
        pattern.paint(Code { number, ..CODE });
        let [y, u, v] = pattern.planes();
        let planes = YUVSlices::new((y, u, v), (width, height), (width, width / 2, width / 2));
        encoder.encode(&planes).unwrap().to_vec()
    });
    units.collect()
}

/// Milliseconds of the median unit.
fn decode_ms(mut decoder: Box<dyn Decoder>, units: &[Vec<u8>]) -> String {
    let mut next = (0..).zip(units);
    let took = median_ms(units.len(), || {
        let (index, bytes) = next.next().unwrap();
        let at = now();
        let unit = Unit {
            content: Content::Encoded(Coding::H264, bytes),
            is_key: index == 0,
            capture: Capture::Unknown,
            first_byte: at,
            arrival: at,
            missed: 0,
            is_damaged: false,
        };
        let mut count = 0;
        decoder
            .decode(index, &unit, &mut |_, _| count += 1)
            .unwrap();
        assert_eq!(count, 1);
    });
    format!("{} {took:.2}", decoder.name())
}

fn main() {
    println!(
        "size: ms to paint a picture, to read it, to read it again, to encode 30 for RTSP and HTTP, to decode one"
    );
    for (name, size) in Size::NAMED {
        let mut pattern = Pattern::new(size).unwrap();
        let paint = median_ms(20, || pattern.paint(CODE));
        let picture = pattern.picture();
        let gray = Gray::of(&picture).unwrap();
        let first = median_ms(20, || {
            assert_eq!(whole(Reader::new().read(&gray)), Ok(CODE));
        });
        let mut reader = Reader::new();
        let again = median_ms(20, || assert_eq!(whole(reader.read(&gray)), Ok(CODE)));
        let [rtsp, http] = [Protocol::Rtsp, Protocol::Http].map(|protocol| {
            let options = Options {
                size,
                protocol,
                loop_frames: Some(30),
                ..Options::default()
            };
            median_ms(1, || drop(CameraSim::start(options.clone()).unwrap()))
        });
        let units = encoded(size);
        let decoded = [open_own, open].map(|open| decode_ms(open(Coding::H264).unwrap(), &units));
        println!(
            "{name}: {paint:.2}, {first:.2}, {again:.3}, {rtsp:.0} and {http:.0}, {decoded:?}"
        );
    }
}
