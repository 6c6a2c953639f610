use std::time::Duration;

use kadenz_rt::clock::WallTime;

use super::*;
use crate::log::{self, Entry};

fn describe() -> Describe {
    Box::new(|channel: &Channel, fingerprint| match fingerprint {
        Some(Fingerprint(1)) => {
            LoggedChannel::lcm_of_type(channel.as_str(), "one_t", "struct one_t {}")
        }
        _ => LoggedChannel::lcm(channel.as_str()),
    })
}

fn channel(name: &str) -> Channel {
    Channel::new(name).unwrap()
}

fn time(n: u32) -> WallTime {
    WallTime::from_unix_ns(1_700_000_000_000_000_000 + i64::from(n) * 1000)
}

fn all(path: &Path) -> Vec<Entry> {
    let mut reader = log::open(path).unwrap();
    let mut all = Vec::new();
    let mut entry = Entry::default();
    while reader.read(&mut entry).unwrap() {
        all.push(entry.clone());
    }
    all
}

/// Waits for what must come true sooner or later.
fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..1000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it did not come true");
}

#[test]
fn what_is_recorded_is_in_the_file_with_its_type_and_numbers() {
    let folder = tempfile::tempdir().unwrap();
    for format in [Format::Mcap, Format::EventLog] {
        let path = folder.path().join(format.to_string());
        let options = RecordOptions {
            format,
            ..RecordOptions::default()
        };
        let mut recorder = Recorder::start(&path, &options, describe()).unwrap();
        let names = [channel("A"), channel("B")];
        for n in 0..1000 {
            let payload = u64::from(n % 2).to_be_bytes();
            assert!(recorder.record(&names[n as usize % 2], &payload, time(n), None));
        }
        let recorded = recorder.finish();
        assert_eq!((recorded.written(), recorded.dropped()), (1000, 0));
        assert_eq!(recorded.bytes, 8000);
        let entries = all(&path);
        assert_eq!(entries.len(), 1000);
        assert_eq!(
            (entries[999].channel.name.as_str(), entries[999].log_time),
            ("B", time(999))
        );
        if format == Format::Mcap {
            assert_eq!(entries[999].sequence, 499);
            assert_eq!(entries[999].channel.schema.as_ref().unwrap().name, "one_t");
            assert!(entries[998].channel.schema.is_none());
        }
    }
}

#[test]
fn a_queue_that_is_full_drops_and_counts_and_the_gap_is_in_the_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let options = RecordOptions {
        queue_bytes: 4096,
        ..RecordOptions::default()
    };
    let mut recorder = Recorder::start(&path, &options, describe()).unwrap();
    let name = channel("A");
    assert!(!recorder.record(&name, &[0; 5000], time(0), None));
    assert!(recorder.record(&name, &[0; 50], time(1), None));
    let recorded = recorder.finish();
    assert_eq!((recorded.written(), recorded.dropped()), (1, 1));
    assert_eq!(recorded.channels[0].queue_full, 1);
    assert_eq!(all(&path)[0].sequence, 1);
}

#[test]
fn more_channels_than_are_told_apart_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let options = RecordOptions {
        most_channels: 2,
        ..RecordOptions::default()
    };
    let mut recorder = Recorder::start(&folder.path().join("log"), &options, describe()).unwrap();
    let taken = ["A", "B", "C", "A"].map(|it| recorder.record(&channel(it), b"", time(0), None));
    assert_eq!(taken, [true, true, false, true]);
    assert_eq!(recorder.finish().beyond, 1);
}

#[test]
fn a_long_recording_is_split_and_no_message_is_missing_between() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.mcap");
    let options = RecordOptions {
        split: Split::at_bytes(100_000),
        compression: Compression::None,
        ..RecordOptions::default()
    };
    let mut recorder = Recorder::start(&path, &options, describe()).unwrap();
    for n in 0..1000 {
        recorder.record(&channel("A"), &[n as u8; 500], time(n), None);
    }
    let recorded = recorder.finish();
    assert!(recorded.files.len() > 4, "{:?}", recorded.files);
    let entries: Vec<Entry> = recorded.files.iter().flat_map(|it| all(it)).collect();
    let numbers: Vec<u32> = entries.iter().map(|entry| entry.sequence).collect();
    assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
}

#[test]
fn a_file_that_is_there_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    std::fs::write(&path, "precious").unwrap();
    assert!(Recorder::start(&path, &RecordOptions::default(), describe()).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}

#[test]
fn below_the_room_that_must_stay_free_nothing_is_written_but_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let options = RecordOptions {
        keep_free_bytes: u64::MAX,
        ..RecordOptions::default()
    };
    let mut recorder = Recorder::start(&path, &options, describe()).unwrap();
    recorder.record(&channel("A"), b"12345678", time(0), None);
    let watch = recorder.watch();
    wait_until(|| watch.recorded().trouble.is_some());
    let recorded = recorder.finish();
    assert_eq!((recorded.written(), recorded.channels[0].disk_full), (0, 1));
    assert!(recorded.trouble.unwrap().contains("must stay so"));
    assert!(all(&path).is_empty());
}

#[test]
fn what_was_taken_is_in_the_file_within_the_flush_interval() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let options = RecordOptions {
        flush_interval: Duration::from_millis(10),
        ..RecordOptions::default()
    };
    let mut recorder = Recorder::start(&path, &options, describe()).unwrap();
    recorder.record(&channel("A"), b"12345678", time(0), None);
    wait_until(|| all(&path).len() == 1);
    assert_eq!(recorder.finish().written(), 1);
}

#[test]
fn recording_allocates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut recorder = Recorder::start(&path, &RecordOptions::default(), describe()).unwrap();
    let names = [channel("A"), channel("B")];
    let counted = allocation_counter::measure(|| {
        for n in 0..1000 {
            recorder.record(&names[n as usize % 2], &[7; 200], time(n), None);
        }
    });
    assert_eq!(counted.count_total, 0);
    assert_eq!(recorder.finish().written(), 1000);
}
