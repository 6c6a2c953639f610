//! Any bytes as a JPEG and as an H.264 parameter set: an error or a picture within the limits.
#![no_main]

use kadenz_camera::decode::{Sps, open_own};
use kadenz_camera::picture::{MAX_PIXELS, Size};
use kadenz_camera::source::{Capture, Coding, Content, Unit};
use kadenz_rt::clock::MonotonicTime;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let is_within = |size: Size| size.pixels() as u64 <= MAX_PIXELS && size.pixels() > 0;
    assert!(Sps::in_stream(bytes).is_none_or(|sps| is_within(sps.size)));
    assert!(Sps::of_nal_unit(bytes).is_none_or(|sps| is_within(sps.size)));
    let at = MonotonicTime::from_ns(0);
    let unit = Unit {
        content: Content::Encoded(Coding::Jpeg, bytes),
        is_key: true,
        capture: Capture::Unknown,
        first_byte: at,
        arrival: at,
        missed: 0,
        is_damaged: false,
    };
    let mut decoder = open_own(Coding::Jpeg).expect("it is in every build");
    let mut count = 0;
    let decoded = decoder.decode(7, &unit, &mut |token, picture| {
        assert!(token == 7 && is_within(picture.size()));
        count += 1;
    });
    assert_eq!(count, u32::from(decoded.is_ok()));
});
