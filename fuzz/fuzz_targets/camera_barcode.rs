//! Any gray image: its codes are few and have a valid check; and a code that is painted into a picture of any size
//! is read from it again.
#![no_main]

use kadenz_camera::barcode::{Code, Gray, Painter, Reader, whole};
use kadenz_camera::picture::Size;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u8, u32, u64, u32, &[u8])| {
    let (width, height, number, time_ns, period_us, bytes) = input;
    let rows = bytes.len() / usize::from(width.max(1));
    let mut reader = Reader::new();
    if let Ok(size) = Size::new(u32::from(width), rows as u32)
        && let Ok(gray) = Gray::new(bytes, size, usize::from(width))
    {
        let found = reader.read(&gray).to_vec();
        assert!(found.len() <= 8);
        // A reader that knows the places finds no less.
        assert!(reader.read(&gray).len() >= found.len().min(3));
    }
    let size = Size {
        width: 64 + u32::from(width),
        height: 132 + u32::from(height),
    };
    let code = Code {
        number,
        time_ns,
        period_us,
    };
    let stride = size.width as usize;
    let mut luma = vec![height; size.pixels()];
    if let Ok(painter) = Painter::new(size) {
        painter.paint(&mut luma, stride, code);
    }
    let gray = Gray::new(&luma, size, stride).expect("as many bytes as pixels");
    assert!(reader.read(&gray).iter().any(|it| it.code == code));
    let _ = whole(reader.read(&gray));
});
