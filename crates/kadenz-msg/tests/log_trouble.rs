//! Faults of a disk during a recording: it stalls, is interrupted, writes parts, is full, fails. The recording thread
//! never waits, every message is counted by channel, and the messages in the file can be read.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::collections::BTreeMap;
use std::io::{Cursor, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use kadenz_msg::channel::Channel;
use kadenz_msg::log::compression::Compression;
use kadenz_msg::log::mcap::{McapOptions, McapReader, McapWriter};
use kadenz_msg::log::record::{Describe, MakeFile, RecordOptions, Recorded, Recorder};
use kadenz_msg::log::{
    Entry, Fault, Faults, FaultyFile, FileCall, Format, LogError, LogFile, LogReader, LogWriter,
    LoggedChannel, SmallDisk, event,
};
use kadenz_rt::clock::WallTime;
use proptest::prelude::*;

const CHANNELS: [&str; 3] = ["CAMERA", "POSE", "IMU"];

fn describe() -> Describe {
    Box::new(|channel: &Channel, _| LoggedChannel::lcm(channel.as_str()))
}

/// A maker of files on one disk in memory, with faults.
fn on(disk: &SmallDisk, faults: impl Fn() -> Faults + Send + 'static) -> MakeFile {
    let disk = disk.clone();
    Box::new(move |_: &Path, _| {
        let file: Box<dyn LogFile> = Box::new(FaultyFile::new(Box::new(disk.clone()), faults()));
        Ok(file)
    })
}

fn time(n: u32) -> WallTime {
    WallTime::from_unix_ns(1_700_000_000_000_000_000 + i64::from(n) * 1000)
}

/// Records messages of a length; returns the numbers of those that had room.
fn record(recorder: &mut Recorder, numbers: std::ops::Range<u32>, length: usize) -> Vec<u32> {
    let channels = CHANNELS.map(|name| Channel::new(name).unwrap());
    let payload = vec![7; length];
    let room = |n: &u32| recorder.record(&channels[*n as usize % 3], &payload, time(*n), None);
    numbers.filter(room).collect()
}

fn reader(disk: &SmallDisk, format: Format) -> Box<dyn LogReader> {
    let source = Cursor::new(disk.contents());
    match format {
        Format::EventLog => Box::new(event::EventReader::open(source).unwrap()),
        _ => Box::new(McapReader::open(source).unwrap()),
    }
}

fn found(disk: &SmallDisk, format: Format) -> Vec<Entry> {
    let mut reader = reader(disk, format);
    let (mut all, mut entry) = (Vec::new(), Entry::default());
    while reader.read(&mut entry).unwrap() {
        all.push(entry.clone());
    }
    assert!(reader.damage().is_none(), "{:?}", reader.damage());
    all
}

/// Asserts that every channel's messages are in the file, or were dropped and counted.
fn accounted(recorded: &Recorded, entries: &[Entry], offered: u32) {
    assert_eq!(entries.len() as u64, recorded.written());
    assert_eq!(recorded.written() + recorded.dropped(), u64::from(offered));
    let mut held = BTreeMap::<&str, u64>::new();
    for entry in entries {
        *held.entry(&entry.channel.name).or_default() += 1;
    }
    for channel in &recorded.channels {
        let lost = channel.queue_full + channel.disk_full;
        assert_eq!(channel.written + lost, u64::from(offered) / 3);
        let held = held.get(channel.channel.as_str()).copied().unwrap_or(0);
        assert_eq!(channel.written, held, "{}", channel.channel);
    }
}

/// Waits until a condition holds that must hold sooner or later.
fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..1000 {
        if condition() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("it did not come true");
}

/// A gate at which a disk waits.
#[derive(Default)]
struct Door {
    /// Whether the gate is shut, and whether a thread waits there.
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Door {
    fn shut(&self, shut: bool) {
        self.state.lock().unwrap().0 = shut;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        while state.0 {
            state.1 = true;
            self.changed.notify_all();
            state = self.changed.wait(state).unwrap();
        }
        state.1 = false;
    }

    fn wait_until_one_waits(&self) {
        let mut state = self.state.lock().unwrap();
        while !state.1 {
            state = self.changed.wait(state).unwrap();
        }
    }
}

fn options(format: Format) -> RecordOptions {
    RecordOptions {
        format,
        compression: Compression::None,
        queue_bytes: 4 << 20,
        flush_interval: Duration::from_millis(20),
        ..RecordOptions::default()
    }
}

/// The disk stands still until the whole flood has been recorded: if recording waited for the disk, the test would
/// never end.
#[test]
fn a_disk_that_stands_still_costs_messages_and_no_time() {
    for format in [Format::Mcap, Format::EventLog] {
        let (disk, door) = (SmallDisk::with_room(u64::MAX), Arc::new(Door::default()));
        let at = Arc::clone(&door);
        let make = on(&disk, move || {
            let at = Arc::clone(&at);
            Box::new(move |_| {
                at.pass();
                Fault::None
            })
        });
        let mut recorder =
            Recorder::start_on(make, Path::new("log"), &options(format), describe()).unwrap();
        let mut received = record(&mut recorder, 0..30, 10_000);
        door.shut(true);
        received.extend(record(&mut recorder, 30..60, 10_000));
        door.wait_until_one_waits();
        // 30 MB into a queue of 4 MB: most of the messages are lost.
        received.extend(record(&mut recorder, 60..3060, 10_000));
        assert!(received.len() < 1000, "the queue holds {}", received.len());
        door.shut(false);
        let watch = recorder.watch();
        wait_until(|| watch.recorded().written() == received.len() as u64);
        received.extend(record(&mut recorder, 3060..3120, 10_000));
        let recorded = recorder.finish();
        let entries = found(&disk, format);
        accounted(&recorded, &entries, 3120);
        assert_eq!(recorded.written(), received.len() as u64);
        assert_eq!(recorded.trouble, None);
        let times: Vec<WallTime> = entries.iter().map(|entry| entry.log_time).collect();
        assert_eq!(times, received.iter().map(|n| time(*n)).collect::<Vec<_>>());
        if format == Format::Mcap {
            // The channels' sequence numbers show the gap.
            let numbers = received.iter().map(|n| n / 3);
            assert!(entries.iter().map(|it| it.sequence).eq(numbers));
        }
    }
}

#[test]
fn signals_and_short_writes_cost_nothing() {
    for format in [Format::Mcap, Format::EventLog] {
        let disk = SmallDisk::with_room(u64::MAX);
        let make = on(&disk, || {
            let mut calls = 0_usize;
            Box::new(move |_| {
                calls += 1;
                match calls % 3 {
                    0 => Fault::Error(ErrorKind::Interrupted),
                    _ => Fault::Short(calls % 4096),
                }
            })
        });
        let mut recorder =
            Recorder::start_on(make, Path::new("log"), &options(format), describe()).unwrap();
        let received = record(&mut recorder, 0..3000, 500);
        let recorded = recorder.finish();
        assert_eq!((received.len(), recorded.dropped()), (3000, 0));
        accounted(&recorded, &found(&disk, format), 3000);
    }
}

/// Faults that a test turns on and off.
fn while_set(set: &Arc<AtomicBool>, fault: Fault) -> impl Fn() -> Faults + Send + 'static {
    let set = Arc::clone(set);
    move || {
        let set = Arc::clone(&set);
        Box::new(move |_| match set.load(Ordering::Relaxed) {
            true => fault,
            false => Fault::None,
        })
    }
}

/// A full disk, and one that fails in the middle of a write and then refuses the repair as well.
#[test]
fn after_a_disk_that_refused_writing_goes_on_behind_what_is_whole() {
    let broken = Fault::Torn(100, ErrorKind::Other);
    let full = Fault::Torn(100, ErrorKind::StorageFull);
    for (format, fault) in [
        (Format::Mcap, broken),
        (Format::Mcap, full),
        (Format::EventLog, broken),
        (Format::EventLog, full),
    ] {
        let (disk, ill) = (
            SmallDisk::with_room(u64::MAX),
            Arc::new(AtomicBool::new(false)),
        );
        let make = on(&disk, while_set(&ill, fault));
        let mut recorder =
            Recorder::start_on(make, Path::new("log"), &options(format), describe()).unwrap();
        let watch = recorder.watch();
        record(&mut recorder, 0..300, 1000);
        wait_until(|| watch.recorded().written() == 300);
        ill.store(true, Ordering::Relaxed);
        let mut offered = 300;
        while watch.trouble().is_none() {
            record(&mut recorder, offered..offered + 3, 1000);
            offered += 3;
            thread::sleep(Duration::from_millis(1));
        }
        record(&mut recorder, offered..offered + 3000, 1000);
        offered += 3000;
        // The recorder accepts a message now and then that still fits a buffer.
        while watch.recorded().dropped() < 3000 {
            record(&mut recorder, offered..offered + 3, 1000);
            offered += 3;
            thread::sleep(Duration::from_millis(1));
        }
        ill.store(false, Ordering::Relaxed);
        while watch.trouble().is_some() {
            record(&mut recorder, offered..offered + 3, 1000);
            offered += 3;
            thread::sleep(Duration::from_millis(1));
        }
        record(&mut recorder, offered..offered + 30, 1000);
        offered += 30;
        let recorded = recorder.finish();
        assert!(recorded.written() >= 330 && recorded.dropped() >= 3000);
        assert!(recorded.channels.iter().all(|it| it.disk_full >= 900));
        accounted(&recorded, &found(&disk, format), offered);
    }
}

#[test]
fn on_a_disk_that_stays_broken_the_end_says_what_is_missing() {
    for format in [Format::Mcap, Format::EventLog] {
        let (disk, ill) = (
            SmallDisk::with_room(u64::MAX),
            Arc::new(AtomicBool::new(false)),
        );
        let make = on(&disk, while_set(&ill, Fault::Error(ErrorKind::Other)));
        let options = RecordOptions {
            flush_interval: Duration::from_millis(10),
            ..options(format)
        };
        let mut recorder =
            Recorder::start_on(make, Path::new("log"), &options, describe()).unwrap();
        record(&mut recorder, 0..300, 1000);
        let whole = disk.clone();
        wait_until(|| found(&whole, format).len() == 300);
        ill.store(true, Ordering::Relaxed);
        record(&mut recorder, 300..600, 1000);
        let recorded = recorder.finish();
        let trouble = recorded.trouble.clone().unwrap();
        assert!(trouble.contains("kadenz log recover"), "{trouble}");
        assert_eq!((recorded.written(), recorded.dropped()), (300, 300));
        accounted(&recorded, &found(&disk, format), 600);
    }
}

/// Faults of a disk that works most of the time.
fn fault() -> impl Strategy<Value = Fault> {
    let kind = prop_oneof![
        Just(ErrorKind::StorageFull),
        Just(ErrorKind::Other),
        Just(ErrorKind::WouldBlock),
    ];
    prop_oneof![
        4 => Just(Fault::None),
        2 => (1_usize..3000).prop_map(Fault::Short),
        2 => Just(Fault::Error(ErrorKind::Interrupted)),
        1 => kind.clone().prop_map(Fault::Error),
        1 => (0_usize..3000, kind).prop_map(|(bytes, kind)| Fault::Torn(bytes, kind)),
    ]
}

fn writer(format: Format, file: Box<dyn LogFile>) -> Result<Box<dyn LogWriter>, LogError> {
    let options = McapOptions {
        compression: Compression::Lz4,
        chunk_bytes: 2000,
        ..McapOptions::default()
    };
    Ok(match format {
        Format::EventLog => Box::new(event::EventWriter::new(file)),
        _ => Box::new(McapWriter::new(file, &options)?),
    })
}

fn entries(count: u32) -> Vec<Entry> {
    let channels = CHANNELS.map(|name| Arc::new(LoggedChannel::lcm(name)));
    let entry = |n: u32| Entry {
        channel: Arc::clone(&channels[n as usize % 3]),
        log_time: time(n),
        publish_time: time(n),
        sequence: n,
        payload: vec![n as u8; 150],
    };
    (0..count).map(entry).collect()
}

proptest! {
    /// After any faults of a disk that works again, all accepted messages are in the file; and at any moment before, an
    /// abandoned file holds whole messages from the first on.
    #[test]
    fn nothing_that_was_taken_is_lost_or_torn(
        faults in prop::collection::vec(fault(), 0..200),
        event_log in any::<bool>(),
        killed_at in 0_usize..200,
    ) {
        let format = if event_log { Format::EventLog } else { Format::Mcap };
        let disk = SmallDisk::with_room(u64::MAX);
        // The writer writes the beginning of the file on a disk without faults.
        let mut left = faults.into_iter();
        let begun = Arc::new(AtomicBool::new(false));
        let is_begun = Arc::clone(&begun);
        let next = move |_: FileCall| match is_begun.load(Ordering::Relaxed) {
            true => left.next().unwrap_or(Fault::None),
            false => Fault::None,
        };
        let file = FaultyFile::new(Box::new(disk.clone()), Box::new(next));
        let mut writer = writer(format, Box::new(file)).unwrap();
        begun.store(true, Ordering::Relaxed);
        let mut received = Vec::new();
        for (n, entry) in entries(200).into_iter().enumerate() {
            if writer.write(&entry).is_ok() {
                received.push(entry.sequence);
            }
            if n % 20 == 0 {
                let _ = writer.flush();
            }
            if n == killed_at && !disk.contents().is_empty() {
                let held = killed(&disk, format);
                prop_assert!(received.starts_with(&held), "{held:?} of {received:?}");
            }
        }
        // The remaining faults end after some attempts.
        while writer.flush().is_err() {}
        begun.store(false, Ordering::Relaxed);
        prop_assert_eq!(writer.finish().unwrap(), 0);
        let held: Vec<u32> = found(&disk, format).iter().map(number).collect();
        prop_assert_eq!(held, received);
    }
}

/// The number of a message, from its time, since not every format has numbers.
fn number(entry: &Entry) -> u32 {
    ((entry.log_time.as_unix_ns() - time(0).as_unix_ns()) / 1000) as u32
}

/// The messages of a file whose writer was killed at this moment, perhaps in the middle of a write.
fn killed(disk: &SmallDisk, format: Format) -> Vec<u32> {
    let mut reader = reader(disk, format);
    let (mut all, mut entry) = (Vec::new(), Entry::default());
    while reader.read(&mut entry).unwrap() {
        all.push(number(&entry));
    }
    all
}
