//! After the start, neither recording nor fetching values allocates.

use allocation_counter::{AllocationInfo, measure};
use kadenz_record::{histogram::SignedHistogram, recorder};

const VALUES: [i64; 6] = [0, -1, 52_000, 400_001, i64::MAX, i64::MIN];

fn assert_none(counted: &AllocationInfo, what: &str) {
    assert_eq!((counted.count_total, counted.bytes_total), (0, 0), "{what}");
}

#[test]
fn the_counter_counts() {
    let counted = measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(counted.count_total, 1);
}

#[test]
fn a_lone_writer_allocates_nothing() {
    let (mut writer, mut reader) = recorder::pair(Some(400_000));
    let mut interval = SignedHistogram::new();
    let counted = measure(|| {
        for _ in 0..1000 {
            VALUES.iter().for_each(|value| writer.record(*value));
        }
    });
    assert_none(&counted, "record");
    let counted = measure(|| {
        reader.flip_into(&mut interval);
    });
    assert_none(&counted, "flip_into");
    assert_eq!(interval.count(), 6000);
}

#[test]
fn a_shared_recorder_allocates_nothing() {
    let (recorder, mut reader) = recorder::shared(Some(400_000));
    let mut interval = SignedHistogram::new();
    let counted = measure(|| {
        for _ in 0..1000 {
            VALUES.iter().for_each(|value| recorder.record(*value));
        }
    });
    assert_none(&counted, "record");
    let counted = measure(|| {
        reader.flip_into(&mut interval);
    });
    assert_none(&counted, "flip_into");
    assert_eq!(interval.count(), 6000);
}
