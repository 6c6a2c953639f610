#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;
use kadenz_rt::shared::Owner;
use proptest::prelude::*;

use super::*;

fn name(of: &str) -> String {
    format!("kadenz-test-ring-{of}-{}", std::process::id())
}

fn shape() -> Shape {
    Shape {
        size: Size::new(64, 48).unwrap(),
        channels: Channels::Rgb,
        order: Order::ColumnMajor,
    }
}

fn create(name: &str) -> RingWriter {
    RingWriter::create(name, shape(), 3, Duration::from_millis(33)).unwrap()
}

fn publish(ring: &mut RingWriter, number: u64) {
    ring.publish(|bytes| {
        bytes.fill(number as u8);
        Some(FrameInfo {
            number,
            ..FrameInfo::default()
        })
    });
}

#[test]
fn a_reader_gets_the_newest_frame_with_all_that_is_known_of_it() {
    let name = name("newest");
    let mut ring = create(&name);
    let reader = RingReader::open(&name).unwrap();
    assert!(reader.latest().is_none());
    let info = FrameInfo {
        number: 7,
        capture: Some(MonotonicTime::from_ns(1)),
        capture_clock: CaptureClock::Camera,
        first_byte: MonotonicTime::from_ns(2),
        arrival: MonotonicTime::from_ns(3),
        decoded: MonotonicTime::from_ns(4),
        published: MonotonicTime::from_ns(5),
        missed: 6,
        duplicated: 8,
        skipped: 9,
        decode_ns: 10,
        convert_ns: 11,
        is_damaged: true,
    };
    ring.publish(|bytes| {
        bytes.fill(9);
        Some(info)
    });
    let frame = reader.latest().unwrap();
    assert_eq!((*frame.info(), frame.shape()), (info, shape()));
    assert!(frame.to_vec().unwrap().iter().all(|byte| *byte == 9));
    assert_eq!(frame.pixels().len(), 64 * 48 * 3);
    assert_eq!(reader.interval(), Duration::from_millis(33));
}

#[test]
fn a_frame_is_valid_until_the_writer_comes_round() {
    let name = name("round");
    let mut ring = create(&name);
    let reader = RingReader::open(&name).unwrap();
    publish(&mut ring, 1);
    let frame = reader.latest().unwrap();
    publish(&mut ring, 2);
    publish(&mut ring, 3);
    assert!(frame.is_valid());
    // A frame that the writer gives up overwrites its slot nevertheless.
    assert!(ring.publish(|_| None).is_none());
    assert!(!frame.is_valid());
    assert_eq!(frame.to_vec(), Err(Overwritten));
    assert_eq!(reader.latest().unwrap().info().number, 3);
    assert!(reader.frame(1).is_none());
    publish(&mut ring, 4);
    assert_eq!(reader.latest().unwrap().info().number, 4);
}

#[test]
fn readers_learn_what_became_of_the_ring() {
    let name = name("state");
    let ring = create(&name);
    let reader = RingReader::open(&name).unwrap();
    assert_eq!(reader.state(), RingState::InUse);
    assert!(matches!(
        RingWriter::create(&name, shape(), 3, Duration::ZERO),
        Err(RingError::Shared(SharedError::InUse(_)))
    ));
    ring.replace();
    assert_eq!(reader.state(), RingState::Replaced);
    let next = create(&name);
    let second = RingReader::open(&name).unwrap();
    assert_ne!(second.generation(), reader.generation());
    drop(next);
    assert_eq!(second.state(), RingState::Ended);
    assert!(RingReader::open(&name).is_err());
}

#[test]
fn a_waiting_reader_is_woken_by_a_frame_and_by_the_end() {
    let name = name("wait");
    let mut ring = create(&name);
    let reader = RingReader::open(&name).unwrap();
    assert!(!reader.wait_beyond(0, Duration::from_millis(1)));
    let waiting = std::thread::spawn(move || {
        let came = reader.wait_beyond(0, Duration::from_secs(600));
        (came, reader.wait_beyond(1, Duration::from_secs(600)))
    });
    publish(&mut ring, 1);
    drop(ring);
    assert_eq!(waiting.join().unwrap(), (true, false));
}

#[test]
fn no_reader_sees_a_torn_frame() {
    let name = name("torn");
    let mut ring = create(&name);
    let reader = RingReader::open(&name).unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut bytes = vec![0; shape().bytes()];
            let mut read = 0;
            while !ended.load(Ordering::Relaxed) || read == 0 {
                let Some(frame) = reader.latest() else {
                    continue;
                };
                if frame.copy_to(&mut bytes).is_ok() {
                    let number = frame.info().number as u8;
                    assert!(bytes.iter().all(|byte| *byte == number));
                    read += 1;
                }
            }
        });
        for number in 1..=2000 {
            publish(&mut ring, number);
        }
        ended.store(true, Ordering::Relaxed);
    });
}

#[test]
fn publishing_and_reading_allocate_nothing() {
    let name = name("allocates");
    let mut ring = create(&name);
    let reader = RingReader::open(&name).unwrap();
    let mut bytes = vec![0; shape().bytes()];
    let counted = allocation_counter::measure(|| {
        publish(&mut ring, 1);
        reader.latest().unwrap().copy_to(&mut bytes).unwrap();
    });
    assert_eq!(counted.count_total, 0);
}

proptest! {
    /// Whatever stands in a header, opening and reading ends without a panic.
    #[test]
    fn a_damaged_header_is_refused_or_read(damage in proptest::collection::vec((0_usize..20, any::<u64>()), 0..6)) {
        let name = format!("{}-{:?}", name("damaged"), std::thread::current().id());
        let name = name.replace(['(', ')'], "");
        let mut ring = create(&name);
        publish(&mut ring, 1);
        for (word, value) in damage {
            ring.owner_words()[word].store(value, Ordering::Relaxed);
        }
        if let Ok(reader) = RingReader::open(&name)
            && let Some(frame) = reader.latest()
        {
            let _ = frame.to_vec();
        }
    }
}

#[test]
fn what_is_not_a_ring_is_refused() {
    let name = name("foreign");
    let _owner = Owner::create(&name, 1024).unwrap();
    let error = RingReader::open(&name).unwrap_err();
    assert!(error.to_string().contains("KADENZCM"), "{error}");
}
