use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::*;

fn words(bytes: usize) -> Vec<AtomicU64> {
    (0..words_for(bytes)).map(|_| AtomicU64::new(0)).collect()
}

#[test]
fn the_last_published_image_is_read_whole() {
    for bytes in [0, 1, 7, 8, 9, 100] {
        let words = words(bytes);
        let mut writer = ProcessImageWriter::begin(&words, bytes).unwrap();
        let reader = Reader::of(&words[..]).unwrap();
        let mut got = vec![0; bytes];
        assert_eq!(reader.read(&mut got), Err(ProcessImageError::Empty));
        for number in 1..20_u8 {
            writer.publish(&vec![number; bytes]).unwrap();
            assert_eq!(reader.read(&mut got), Ok(u64::from(number)));
            assert_eq!(got, vec![number; bytes]);
        }
    }
}

#[test]
fn a_process_image_whose_writer_has_ended_says_so_and_shows_the_last_one() {
    let words = words(8);
    let mut writer = ProcessImageWriter::begin(&words, 8).unwrap();
    let before = Reader::of(&words[..]).unwrap();
    writer.publish(&[7; 8]).unwrap();
    assert!(!before.has_ended());
    writer.end();
    // Also for a reader that comes later.
    for reader in [before, Reader::of(&words[..]).unwrap()] {
        assert!(reader.has_ended());
        let mut got = [0; 8];
        assert_eq!((reader.read(&mut got), got), (Ok(1), [7; 8]));
    }
    ProcessImageWriter::begin(&words, 8).unwrap();
    assert!(!Reader::of(&words[..]).unwrap().has_ended(), "a new one");
}

#[test]
fn what_is_not_a_process_image_is_refused() {
    let mut some = words(16);
    assert_eq!(
        Reader::of(&some[..]).unwrap_err(),
        ProcessImageError::Foreign
    );
    assert_eq!(
        Reader::of(&some[..1]).unwrap_err(),
        ProcessImageError::Foreign
    );
    ProcessImageWriter::begin(&some, 16).unwrap();
    some.pop();
    assert!(matches!(
        Reader::of(&some[..]),
        Err(ProcessImageError::TooSmall(16, ..))
    ));
    some[AT_BYTES] = AtomicU64::new(u64::MAX);
    assert_eq!(
        Reader::of(&some[..]).unwrap_err(),
        ProcessImageError::Foreign
    );
    assert!(matches!(
        ProcessImageWriter::begin(&some, 16),
        Err(ProcessImageError::TooSmall(..))
    ));
}

#[test]
fn memory_of_another_length_is_refused() {
    let words = words(16);
    let mut writer = ProcessImageWriter::begin(&words, 16).unwrap();
    assert_eq!(
        writer.publish(&[0; 15]),
        Err(ProcessImageError::Length(16, 15))
    );
    writer.publish(&[0; 16]).unwrap();
    assert_eq!(
        Reader::of(&words[..]).unwrap().read(&mut [0; 17]),
        Err(ProcessImageError::Length(16, 17))
    );
}

#[test]
fn a_reader_that_is_overtaken_for_ever_says_so() {
    let words = words(8);
    ProcessImageWriter::begin(&words, 8)
        .unwrap()
        .publish(&[1; 8])
        .unwrap();
    // As if the writer stood in the middle of this copy again and again.
    words[HEAD].store(3, Ordering::Relaxed);
    assert_eq!(
        Reader::of(&words[..]).unwrap().read(&mut [0; 8]),
        Err(ProcessImageError::Overtaken)
    );
}

#[test]
fn no_reader_ever_sees_half_a_process_image() {
    let bytes = 400;
    let words: Arc<Vec<AtomicU64>> = Arc::new(words(bytes));
    let done = Arc::new(AtomicBool::new(false));
    let mut writer = ProcessImageWriter::begin(&words, bytes).unwrap();
    writer.publish(&vec![0; bytes]).unwrap();
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let (words, done) = (Arc::clone(&words), Arc::clone(&done));
                scope.spawn(move || {
                    let reader = Reader::of(&words[..]).unwrap();
                    let (mut got, mut last, mut read) = (vec![0; bytes], 0, 0_u64);
                    while !done.load(Ordering::Relaxed) || read == 0 {
                        if let Ok(number) = reader.read(&mut got) {
                            assert!(
                                got.iter().all(|it| *it == got[0]),
                                "half of one image, half of another"
                            );
                            assert!(number >= last, "images go on, never back");
                            last = number;
                            read += 1;
                        }
                    }
                })
            })
            .collect();
        for number in 0..20_000_u32 {
            writer.publish(&vec![number as u8; bytes]).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|it| it.join().unwrap());
    });
}

#[cfg(target_os = "linux")]
#[test]
fn another_mapping_of_the_same_memory_reads_it_too() {
    let name = format!("kadenz-image-{}", std::process::id());
    let owner = kadenz_rt::shared::Owner::create(&name, words_for(12)).unwrap();
    let mut writer = ProcessImageWriter::begin(owner.words(), 12).unwrap();
    let viewer = kadenz_rt::shared::Viewer::open(&name).unwrap();
    let reader = Reader::of(&viewer).unwrap();
    writer.publish(b"twelve bytes").unwrap();
    let mut got = [0; 12];
    assert_eq!((reader.read(&mut got), &got), (Ok(1), b"twelve bytes"));
}
