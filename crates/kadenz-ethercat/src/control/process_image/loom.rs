//! Publishing and reading under every interleaving that loom finds.

use ::loom::{model, sync::Arc, thread};

use super::*;

const BYTES: usize = 16;

fn image() -> Arc<Vec<AtomicU64>> {
    Arc::new((0..words_for(BYTES)).map(|_| AtomicU64::new(0)).collect())
}

#[test]
fn a_reader_sees_a_process_image_whole_or_none() {
    model(|| {
        let words = image();
        ProcessImageWriter::begin(&words, BYTES).unwrap();
        let reading = Arc::clone(&words);
        let reader = thread::spawn(move || {
            let reader = Reader::of(&reading[..]).unwrap();
            let mut got = [0; BYTES];
            // One try: loom would explore endless ones.
            let images = reader.images();
            if images > 0 && reader.copy(images - 1, &mut got) {
                assert_eq!(got, [images as u8; BYTES]);
            }
        });
        let mut writer = ProcessImageWriter {
            words: &words,
            bytes: BYTES,
            images: 0,
        };
        writer.publish(&[1; BYTES]).unwrap();
        writer.publish(&[2; BYTES]).unwrap();
        reader.join().unwrap();
    });
}

#[test]
fn a_copy_that_is_written_again_meanwhile_is_refused() {
    model(|| {
        let words = image();
        let mut writer = ProcessImageWriter::begin(&words, BYTES).unwrap();
        for number in 1..=4 {
            writer.publish(&[number; BYTES]).unwrap();
        }
        let reading = Arc::clone(&words);
        // The reader looks for the first image, whose copy the fifth overwrites.
        let reader = thread::spawn(move || {
            let reader = Reader::of(&reading[..]).unwrap();
            let mut got = [0; BYTES];
            if reader.copy(0, &mut got) {
                assert_eq!(got, [1; BYTES]);
            }
        });
        writer.publish(&[5; BYTES]).unwrap();
        reader.join().unwrap();
    });
}
