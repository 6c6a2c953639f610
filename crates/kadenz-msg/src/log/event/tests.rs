use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kadenz_rt::clock::WallTime;
use proptest::prelude::*;

use super::*;
use crate::log::{Entry, LogError, LogReader, LogWriter, LoggedChannel, SmallDisk};

fn entry(channel: &str, time_us: i64, payload: &[u8]) -> Entry {
    let time = WallTime::from_unix_ns(time_us * 1000);
    Entry {
        channel: Arc::new(LoggedChannel::lcm(channel)),
        log_time: time,
        publish_time: time,
        sequence: 0,
        payload: payload.to_vec(),
    }
}

fn written(entries: &[Entry]) -> Vec<u8> {
    let disk = SmallDisk::with_room(u64::MAX);
    let mut writer = Box::new(EventWriter::new(Box::new(disk.clone())));
    for entry in entries {
        writer.write(entry).unwrap();
    }
    writer.finish().unwrap();
    disk.contents()
}

fn read(bytes: &[u8]) -> (Vec<Entry>, EventReader<Cursor<&[u8]>>) {
    let mut reader = EventReader::open(Cursor::new(bytes)).unwrap();
    let mut all = Vec::new();
    let mut entry = Entry::default();
    while reader.read(&mut entry).unwrap() {
        all.push(entry.clone());
    }
    (all, reader)
}

fn thousand() -> Vec<Entry> {
    let one = |n: i64| entry("POSE", n * 10, &[n as u8; 300]);
    (0..1000).map(one).collect()
}

#[test]
fn over_damage_the_reader_finds_the_next_event_and_counts_what_it_passed_over() {
    let mut bytes = written(&thousand());
    let event = bytes.len() / 1000;
    // The length of the fifth event's data, and a piece out of the middle.
    bytes[5 * event + 24] ^= 0x40;
    bytes.drain(500 * event + 10..510 * event + 20);
    let (all, reader) = read(&bytes);
    let lost: Vec<u32> = (0..1000)
        .filter(|n| all.iter().all(|it| it.sequence != *n))
        .collect();
    let mut expected = vec![5];
    expected.extend(500..511);
    // The event before damage is followed by no sync word where that was hit; here none was.
    assert_eq!(lost, expected);
    assert_eq!(reader.damage().places, 2);
    assert_eq!(reader.damage().skipped_bytes, (event + event - 10) as u64);
}

#[test]
fn a_torn_end_costs_the_last_event_alone() {
    let bytes = written(&thousand());
    let last = written(&thousand()[999..]).len();
    for torn in [1, last - 5, last - 4, last - 3, last - 2, last - 1] {
        let (all, reader) = read(&bytes[..bytes.len() - torn]);
        assert_eq!(all.len(), 999, "{torn}");
        let damage = reader.damage();
        let left = (last - torn) as u64;
        assert_eq!((damage.places, damage.skipped_bytes), (1, left));
    }
}

#[test]
fn damage_at_the_begin_is_counted_once_however_often_the_log_is_read() {
    let mut bytes = vec![7; 100];
    bytes.extend(written(&thousand()));
    let mut reader = EventReader::open(Cursor::new(&bytes[..])).unwrap();
    for _ in 0..2 {
        let info = reader.info().unwrap();
        assert_eq!((info.messages, info.damage.skipped_bytes), (1000, 100));
    }
    reader.seek(WallTime::from_unix_ns(20_000)).unwrap();
    assert!(reader.damage().is_none());
}

#[test]
fn a_promised_length_of_gigabytes_takes_no_memory() {
    let mut bytes = written(&[entry("A", 1, b"12345678")]);
    bytes[24..28].copy_from_slice(&0x7fff_ffff_u32.to_be_bytes());
    let (all, reader) = read(&bytes);
    assert!(all.is_empty());
    assert_eq!(reader.damage().skipped_bytes, bytes.len() as u64);
}

#[test]
fn a_header_that_claims_more_than_the_longest_message_is_none() {
    let mut header = EventHeader {
        number: 0,
        time_us: 0,
        name_bytes: 1,
        data_bytes: crate::log::MAX_MESSAGE_BYTES as u32,
    };
    let parsed = |header: EventHeader| {
        let mut bytes = Vec::new();
        header.put(&mut bytes);
        EventHeader::parse(bytes.first_chunk().unwrap())
    };
    assert_eq!(parsed(header), Some(header));
    header.data_bytes += 1;
    assert_eq!(parsed(header), None);
}

/// Headers that claim a far end, where no event begins.
#[test]
fn what_is_read_ahead_stays_while_a_claimed_end_is_looked_at() {
    struct Counted<'a>(Cursor<&'a [u8]>, Arc<AtomicU64>);
    impl std::io::Read for Counted<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let read = self.0.read(into)?;
            self.1.fetch_add(read as u64, Ordering::Relaxed);
            Ok(read)
        }
    }
    impl std::io::Seek for Counted<'_> {
        fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
            self.0.seek(to)
        }
    }
    let mut bytes = Vec::new();
    let header = EventHeader {
        number: 0,
        time_us: 0,
        name_bytes: 1,
        data_bytes: 200_000,
    };
    (0..10_000).for_each(|_| header.put(&mut bytes));
    bytes.extend(vec![0; 200_000]);
    let read = Arc::new(AtomicU64::new(0));
    let source = Counted(Cursor::new(&bytes), Arc::clone(&read));
    let mut reader = EventReader::open(source).unwrap();
    assert!(!reader.read(&mut Entry::default()).unwrap());
    let read = read.load(Ordering::Relaxed);
    assert!(read < 20 * bytes.len() as u64, "{read}");
}

#[test]
fn a_seek_finds_the_first_event_at_or_after_a_time() {
    let bytes = written(&thousand());
    let mut reader = EventReader::open(Cursor::new(&bytes[..])).unwrap();
    for (wanted_us, expected) in [(0, 0), (4005, 4010), (9990, 9990), (-5, 0), (17, 20)] {
        reader
            .seek(WallTime::from_unix_ns(wanted_us * 1000))
            .unwrap();
        let mut entry = Entry::default();
        assert!(reader.read(&mut entry).unwrap());
        assert_eq!(entry.log_time.as_unix_ns(), expected * 1000);
    }
    reader.seek(WallTime::from_unix_ns(i64::MAX)).unwrap();
    assert!(!reader.read(&mut Entry::default()).unwrap());
}

#[test]
fn a_full_disk_refuses_whole_messages_and_takes_them_again_when_there_is_room() {
    let disk = SmallDisk::with_room(100_000);
    let mut writer = Box::new(EventWriter::new(Box::new(disk.clone())));
    let refused = thousand()
        .iter()
        .filter(|entry| matches!(writer.write(entry), Err(LogError::NoRoom(_))))
        .count();
    assert!(refused > 0);
    assert!(read(&disk.contents()).1.damage().is_none());
    disk.set_room(u64::MAX);
    writer.write(&entry("POSE", 7, b"later")).unwrap();
    assert_eq!(writer.finish().unwrap(), 0);
    let bytes = disk.contents();
    let (all, reader) = read(&bytes);
    assert_eq!(all.len(), 1001 - refused);
    assert!(reader.damage().is_none());
    assert_eq!(all.last().unwrap().payload, b"later");
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        events in prop::collection::vec(
            ("[A-Z_]{1,63}", 0..4_000_000_000_000_000_i64, prop::collection::vec(any::<u8>(), 0..200)),
            0..20,
        )
    ) {
        let entries: Vec<Entry> = events
            .iter()
            .enumerate()
            .map(|(n, (name, time, payload))| Entry {
                sequence: n as u32,
                ..entry(name, *time, payload)
            })
            .collect();
        let bytes = written(&entries);
        let (all, reader) = read(&bytes);
        prop_assert_eq!(all, entries);
        prop_assert!(reader.damage().is_none());
    }

    #[test]
    fn no_bytes_stop_the_reader(bytes in prop::collection::vec(
        prop_oneof![Just(0xed_u8), Just(0xa1), Just(0xda), Just(1), Just(0), any::<u8>()], 0..400)
    ) {
        let (all, reader) = read(&bytes);
        let read_bytes: u64 = all
            .iter()
            .map(|it| (HEADER_BYTES + it.channel.name.len() + it.payload.len()) as u64)
            .sum();
        // A name that is not UTF-8 becomes longer than it was.
        prop_assert!(read_bytes + reader.damage().skipped_bytes >= bytes.len() as u64);
    }
}
