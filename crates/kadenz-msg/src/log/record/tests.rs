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

/// Waits for a condition that must become true.
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
fn a_channel_of_another_encoding_is_described_once_whatever_its_messages_begin_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.mcap");
    let asked = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&asked);
    let describe = Box::new(move |channel: &Channel, _| {
        counter.fetch_add(1, Ordering::Relaxed);
        crate::log::foxglove::PictureCoding::H264.channel(channel.as_str())
    });
    let mut recorder = Recorder::start(&path, &RecordOptions::default(), describe).unwrap();
    for n in 0..100 {
        recorder.record(&channel("A"), &[n; 8], time(n.into()), None);
    }
    assert_eq!(recorder.finish().written(), 100);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let entries = all(&path);
    assert!(entries.iter().all(|it| it.channel.encoding == "protobuf"));
}

#[test]
fn a_type_that_is_described_late_is_in_the_log_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let options = RecordOptions {
        flush_interval: Duration::from_millis(1),
        ..RecordOptions::default()
    };
    let mut asked = 0;
    let late: Describe = Box::new(move |channel: &Channel, _| {
        asked += 1;
        match asked {
            1 => LoggedChannel::lcm(channel.as_str()),
            _ => LoggedChannel::lcm_of_type(channel.as_str(), "one_t", "struct one_t {}"),
        }
    });
    let mut recorder = Recorder::start(&path, &options, late).unwrap();
    for n in 0..200 {
        assert!(recorder.record(&channel("A"), &1_u64.to_be_bytes(), time(n), None));
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(recorder.finish().dropped(), 0);
    let entries = all(&path);
    assert!(entries[0].channel.schema.is_none());
    assert_eq!(entries[199].channel.schema.as_ref().unwrap().name, "one_t");
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
fn channels_beyond_those_that_are_counted_are_recorded_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let options = RecordOptions {
        most_channels: 2,
        ..RecordOptions::default()
    };
    let path = folder.path().join("log");
    let mut recorder = Recorder::start(&path, &options, describe()).unwrap();
    let longest = "L".repeat(63);
    let names = ["A", "B", &longest, "A", "D"];
    let payload = 1_u64.to_be_bytes();
    for (n, name) in names.into_iter().enumerate() {
        let payload = [&payload[..], &vec![7; n]].concat();
        assert!(recorder.record(&channel(name), &payload, time(n as u32), None));
    }
    assert!(recorder.watch().has_further_channels());
    let recorded = recorder.finish();
    assert_eq!((recorded.written(), recorded.dropped()), (5, 0));
    assert_eq!((recorded.channels.len(), recorded.further.written), (2, 2));
    let entries = all(&path);
    let found = entries.iter().map(|it| it.channel.name.as_str());
    assert!(found.eq(names), "{entries:?}");
    let lengths: Vec<usize> = entries.iter().map(|it| it.payload.len()).collect();
    assert_eq!(lengths, [8, 9, 10, 11, 12]);
    assert!(entries.iter().all(|it| it.channel.schema.is_some()));
}

#[test]
fn a_long_recording_is_split_and_no_message_is_missing_between() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.mcap");
    let options = RecordOptions {
        split: Split {
            bytes: Some(100_000),
            every: None,
        },
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
fn rotation_lists_the_files_that_are_there_and_counts_those_that_it_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let options = RecordOptions {
        split: Split {
            bytes: Some(100_000),
            every: None,
        },
        compression: Compression::None,
        naming: Naming::Rotating(2),
        ..RecordOptions::default()
    };
    let path = folder.path().join("log.mcap");
    let mut recorder = Recorder::start(&path, &options, describe()).unwrap();
    for n in 0..1000 {
        recorder.record(&channel("A"), &[n as u8; 500], time(n), None);
    }
    let recorded = recorder.finish();
    let names = ["log-1.mcap", "log-0.mcap"].map(|it| folder.path().join(it));
    assert_eq!(recorded.files, names);
    assert!(recorded.deleted_files > 1, "{recorded:?}");
    let last = names.iter().flat_map(|it| all(it)).map(|it| it.sequence);
    let last: Vec<u32> = last.collect();
    assert!(last.is_sorted() && last.last() == Some(&999), "{last:?}");
    assert_eq!(recorded.written(), 1000);
}

#[test]
fn files_behind_the_first_take_the_next_free_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.lcmlog");
    let options = RecordOptions {
        split: Split {
            bytes: Some(100_000),
            every: None,
        },
        format: Format::EventLog,
        append: true,
        ..RecordOptions::default()
    };
    let mut files = Vec::new();
    for _ in 0..2 {
        let mut recorder = Recorder::start(&path, &options, describe()).unwrap();
        for n in 0..500 {
            recorder.record(&channel("A"), &[n as u8; 500], time(n), None);
        }
        let recorded = recorder.finish();
        assert_eq!((recorded.written(), recorded.dropped()), (500, 0));
        files.extend(recorded.files);
    }
    files.sort();
    files.dedup();
    assert_eq!(files.iter().map(|it| all(it).len()).sum::<usize>(), 1000);
}

#[cfg(unix)]
#[test]
fn a_device_without_an_end_is_not_a_log_and_not_a_file_of_types() {
    let endless = Path::new("/dev/zero");
    let log = log::open(endless).err().unwrap().to_string();
    let types = crate::types::Types::from_files([endless]).unwrap_err();
    for error in [log, types.to_string()] {
        assert!(error.contains("it is not a regular file"), "{error}");
    }
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

/// Channel by channel, also of the last chunks, which were taken and have no room beside the index.
#[test]
fn on_a_full_disk_each_channel_s_count_is_what_is_in_the_file() {
    let mut given_up = 0;
    for format in [Format::Mcap, Format::EventLog] {
        for room in (6_000..40_000).step_by(1_717) {
            let disk = log::SmallDisk::with_room(room);
            let made = disk.clone();
            let make: MakeFile = Box::new(move |_, _| Ok(Box::new(made.clone())));
            let options = RecordOptions {
                format,
                compression: Compression::None,
                flush_interval: Duration::from_millis(1),
                queue_bytes: 1 << 20,
                ..RecordOptions::default()
            };
            let path = Path::new("log");
            let mut recorder = Recorder::start_on(make, path, &options, describe()).unwrap();
            let names = [channel("A"), channel("B"), channel("C")];
            for n in 0..300 {
                recorder.record(&names[n as usize % 3], &[1; 120], time(n), None);
                if n == 19 {
                    // The header of MCAP is shorter.
                    wait_until(|| disk.contents().len() > 1000);
                } else if n % 20 == 19 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            let recorded = recorder.finish();
            given_up += recorded.given_up;
            let bytes = disk.contents();
            let mut reader: Box<dyn log::LogReader> = match format {
                Format::EventLog => {
                    Box::new(log::event::EventReader::open(std::io::Cursor::new(bytes)).unwrap())
                }
                _ => Box::new(log::mcap::McapReader::open(std::io::Cursor::new(bytes)).unwrap()),
            };
            let found = log::survey(reader.as_mut()).unwrap();
            assert!(
                recorded.dropped() > 0 && recorded.written() > 0,
                "{recorded:?}"
            );
            assert_eq!(recorded.written() + recorded.dropped(), 300);
            for counts in &recorded.channels {
                let name = counts.channel.as_str();
                let in_file = found.channels.iter().find(|it| it.channel.name == name);
                let in_file = in_file.map_or(0, |it| it.messages);
                assert_eq!(counts.written, in_file, "{format} {room}: {counts:?}");
                assert_eq!(counts.written + counts.disk_full, 100);
            }
            assert_eq!(recorded.bytes, recorded.written() * 120);
        }
    }
    assert!(given_up > 0, "no file had to give anything up");
}

/// A clock that the test sets.
#[test]
fn where_the_wall_clock_is_set_back_the_log_goes_on_and_says_so() {
    use kadenz_rt::clock::MonotonicTime;
    let folder = tempfile::tempdir().unwrap();
    let options = RecordOptions::default();
    let mut recorder = Recorder::start(&folder.path().join("log"), &options, describe()).unwrap();
    let mut at = |mono_ns: u64, wall_ns: i64| {
        let before = MonotonicTime::from_ns(mono_ns);
        let wall = WallTime::from_unix_ns(wall_ns);
        let reading = ClockPair::from_readings(before, wall, before);
        recorder.log_time(before, reading).as_unix_ns()
    };
    let times = [at(0, 9_000_000_000), at(1_000_000_000, 8_000_000_000)];
    assert_eq!(times, [9_000_000_000, 10_000_000_000]);
    let set_back = recorder.finish().set_back;
    assert_eq!((set_back.times, set_back.ns), (1, 2_000_000_000));
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
