#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use proptest::prelude::*;

use super::*;

fn painted(size: Size, code: Code) -> Vec<u8> {
    let mut luma = vec![90; size.pixels()];
    let stride = size.width as usize;
    Painter::new(size).unwrap().paint(&mut luma, stride, code);
    luma
}

fn size(width: u32, height: u32) -> Size {
    Size::new(width, height).unwrap()
}

fn read(luma: &[u8], size: Size) -> Vec<DecodedCode> {
    let gray = Gray::new(luma, size, size.width as usize).unwrap();
    Reader::new().read(&gray).to_vec()
}

const CODE: Code = Code {
    number: 0x0102_0304,
    time_ns: 0x1122_3344_5566_7788,
    period_us: 10_000_000,
};

fn codes() -> impl Strategy<Value = Code> {
    (any::<u32>(), any::<u64>(), any::<u32>()).prop_map(|(number, time_ns, period_us)| Code {
        number,
        time_ns,
        period_us,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_painted_is_read(code in codes(), width in 64_u32..700, height in 132_u32..500) {
        let size = size(width, height);
        prop_assert_eq!(whole(&read(&painted(size, code), size)), Ok(code));
    }

    #[test]
    fn a_filmed_screen_is_read(
        code in codes(),
        (dark, light) in (0_u8..60, 120_u8..255),
        corners in prop::array::uniform8(-14.0_f32..14.0),
        gradient in -40.0_f32..40.0,
    ) {
        let of = size(640, 480);
        let screen = painted(of, code);
        let film = photographed(&screen, of, size(800, 600), corners, (dark, light), gradient);
        prop_assert_eq!(whole(&read(&film, size(800, 600))), Ok(code));
    }

    #[test]
    fn any_bytes_are_read_as_no_code(
        bytes in prop::collection::vec(any::<u8>(), 1..6000),
        width in 1_u32..200,
    ) {
        let rows = bytes.len() as u32 / width;
        if rows > 0 {
            prop_assert_eq!(read(&bytes, size(width, rows)), []);
        }
    }
}

/// What a camera sees of a screen: each corner moved by some pixels, a screen not quite as black and white, one side
/// lighter than the other, and the lens a little soft.
fn photographed(
    screen: &[u8],
    of: Size,
    to: Size,
    moved: [f32; 8],
    (dark, light): (u8, u8),
    gradient: f32,
) -> Vec<u8> {
    let (width, height) = (to.width as usize, to.height as usize);
    let pixel = |x: f32, y: f32| {
        // Bilinear between the moves of the corners.
        let (u, v) = (x / width as f32, y / height as f32);
        let mix = |at: usize| {
            let above = moved[at] + (moved[at + 1] - moved[at]) * u;
            above + (moved[at + 2] + (moved[at + 3] - moved[at + 2]) * u - above) * v
        };
        let sx = (u * 1.1 - 0.05) * of.width as f32 + mix(0);
        let sy = (v * 1.1 - 0.05) * of.height as f32 + mix(4);
        let inside = sx >= 0.0 && sy >= 0.0 && sx < of.width as f32 && sy < of.height as f32;
        let shade = if inside {
            f32::from(screen[sy as usize * of.width as usize + sx as usize]) / 255.0
        } else {
            0.3
        };
        let lit = f32::from(dark) + f32::from(light - dark) * shade + gradient * (u - 0.5);
        lit.clamp(0.0, 255.0)
    };
    let mut film = Vec::new();
    for y in 0..height {
        for x in 0..width {
            let (x, y) = (x as f32, y as f32);
            let around = [(0.0, 0.0), (0.7, 0.0), (0.0, 0.7), (0.7, 0.7)];
            let sum: f32 = around.iter().map(|(dx, dy)| pixel(x + dx, y + dy)).sum();
            film.push((sum / 4.0) as u8);
        }
    }
    film
}

#[test]
fn a_code_of_the_largest_pictures_is_read_once() {
    for of in [size(3840, 2160), size(4096, 2304)] {
        assert_eq!(read(&painted(of, CODE), of).len(), 3, "{of}");
        let mut pattern = crate::source::test_pattern::Pattern::new(of).unwrap();
        pattern.paint(CODE);
        assert_eq!(read(pattern.planes()[0], of).len(), 3, "{of}");
    }
}

#[test]
fn a_picture_of_half_the_size_and_one_with_its_borders_cut_off_are_read() {
    let full = size(640, 480);
    let luma = painted(full, CODE);
    let half: Vec<u8> = (0..240_usize)
        .flat_map(|y| (0..320_usize).map(move |x| (x, y)))
        .map(|(x, y)| {
            let at = |x: usize, y: usize| u32::from(luma[y * 640 + x]);
            let sum = at(2 * x, 2 * y) + at(2 * x + 1, 2 * y);
            ((sum + at(2 * x, 2 * y + 1) + at(2 * x + 1, 2 * y + 1)) / 4) as u8
        })
        .collect();
    assert_eq!(whole(&read(&half, size(320, 240))), Ok(CODE));

    let cut = &luma[16 * 640 + 100..];
    let gray = Gray::new(cut, size(440, 440), 640).unwrap();
    assert_eq!(whole(Reader::new().read(&gray)), Ok(CODE));
}

#[test]
fn a_torn_picture_and_one_with_a_covered_code_are_none() {
    let of = size(640, 480);
    let next = Code {
        number: CODE.number + 1,
        ..CODE
    };
    let mut torn = painted(of, CODE);
    torn[..200 * 640].copy_from_slice(&painted(of, next)[..200 * 640]);
    let numbers = vec![next.number, CODE.number, CODE.number];
    assert_eq!(whole(&read(&torn, of)), Err(ReadError::Torn { numbers }));

    let mut covered = painted(of, CODE);
    covered[..160 * 640].fill(50);
    assert_eq!(whole(&read(&covered, of)), Err(ReadError::Missing(2)));
    assert_eq!(whole(&[]), Err(ReadError::Missing(0)));
}

#[test]
fn a_reader_that_knows_the_place_still_reads_what_is_there() {
    let of = size(640, 480);
    let mut reader = Reader::new();
    for number in 0..5 {
        let code = Code { number, ..CODE };
        let luma = painted(of, code);
        let gray = Gray::new(&luma, of, 640).unwrap();
        assert_eq!(whole(reader.read(&gray)), Ok(code));
    }
    let other = size(320, 240);
    let luma = painted(other, CODE);
    let gray = Gray::new(&luma, other, 320).unwrap();
    assert_eq!(whole(reader.read(&gray)), Ok(CODE));
}

#[test]
fn the_time_of_a_stream_that_repeats_is_its_last_before_it_was_seen() {
    let code = Code {
        number: 1,
        time_ns: 5_000_000,
        period_us: 1000,
    };
    assert_eq!(code.sent_ns(5_400_000), 5_000_000);
    assert_eq!(code.sent_ns(8_400_000), 8_000_000);
    assert_eq!(code.sent_ns(4_000_000), 5_000_000);
    let once = Code {
        period_us: 0,
        ..code
    };
    assert_eq!(once.sent_ns(8_400_000), 5_000_000);
}

#[test]
fn a_picture_that_is_too_small_for_a_code_is_refused() {
    assert!(Painter::new(Painter::MIN).is_ok());
    assert!(Painter::new(size(63, 200)).is_err());
    assert!(Painter::new(size(200, 131)).is_err());
}
