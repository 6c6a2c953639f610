//! Any bytes as a SubDevice's memory (SII): reading ends, the fixed part of an image is written again as it was, and an
//! image without an error is read as a whole.
#![no_main]

use kadenz_ethercat::wire::sii::{Direction, Image, ImageWriter, problems};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let is_in_order = problems(bytes).is_empty();
    let Ok(image) = Image::of(bytes) else {
        assert!(!is_in_order);
        return;
    };
    assert!(!is_in_order || image.checksum_holds() && image.categories().all(|it| it.is_ok()));
    let words: usize = image.categories().flatten().map(|it| it.data.len()).sum();
    assert!(words <= bytes.len());
    let letters: usize = image.strings().map(|it| it.to_string().chars().count()).sum();
    assert!(letters <= bytes.len());
    for direction in [Direction::Inputs, Direction::Outputs] {
        let bits: u32 = image.pdos(direction).map(|it| it.bits()).sum();
        assert!(bits as usize <= bytes.len() * 255);
    }
    let fmmus = image.fmmus().count() + image.sync_managers().count() + image.clock_modes().count();
    assert!(fmmus <= bytes.len());
    let mut again = [0; 256];
    let mut writer = ImageWriter::new(&mut again, &image.fixed()).expect("there is room");
    let general = image.general().unwrap_or_default();
    writer.general(&general).expect("there is room");
    writer.finish().expect("there is room");
    let read = Image::of(&again).expect("it is whole");
    assert!(read.checksum_holds());
    assert_eq!((read.fixed(), read.general()), (image.fixed(), Some(general)));
});
