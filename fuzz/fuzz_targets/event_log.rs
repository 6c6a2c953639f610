//! Any bytes as an event log: read to its end, with every byte accounted for, and the same when written and read again.
#![no_main]

use std::io::Cursor;

use kadenz_msg::log::event::{EventReader, EventWriter};
use kadenz_msg::log::{Entry, LogReader, LogWriter, SmallDisk};
use kadenz_rt::clock::WallTime;
use libfuzzer_sys::fuzz_target;

fn all(bytes: Vec<u8>) -> (Vec<Entry>, u64) {
    let mut reader = EventReader::open(Cursor::new(bytes)).expect("memory can be read");
    let mut all = Vec::new();
    let mut entry = Entry::default();
    while reader.read(&mut entry).expect("memory can be read") {
        all.push(entry.clone());
    }
    (all, reader.damage().skipped_bytes)
}

fuzz_target!(|bytes: &[u8]| {
    let (found, skipped) = all(bytes.to_vec());
    assert!(skipped <= bytes.len() as u64);
    let payloads: usize = found.iter().map(|it| it.payload.len() + 29).sum();
    assert!(payloads <= bytes.len());

    let mut reader = EventReader::open(Cursor::new(bytes)).expect("memory can be read");
    let middle = WallTime::from_unix_ns(1_700_000_000_500_000_000);
    reader.seek(middle).expect("memory can be read");

    let disk = SmallDisk::with_room(u64::MAX);
    let mut writer = Box::new(EventWriter::new(Box::new(disk.clone())));
    // A name that was not UTF-8 may have become too long.
    let fit: Vec<Entry> = found
        .into_iter()
        .filter(|entry| writer.write(entry).is_ok())
        .collect();
    writer.finish().expect("there is room");
    let (again, skipped) = all(disk.contents());
    assert_eq!((again.len(), skipped), (fit.len(), 0));
    // Times beyond the year 2262 are clamped there, to a nanosecond that is not a whole microsecond.
    let us = |entry: &Entry| entry.log_time.as_unix_ns().div_euclid(1000);
    for (one, other) in again.iter().zip(&fit) {
        assert_eq!((&one.channel, &one.payload), (&other.channel, &other.payload));
        assert_eq!(us(one), us(other));
    }
});
