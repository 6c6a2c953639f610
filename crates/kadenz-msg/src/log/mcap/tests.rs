use std::io::Cursor;
use std::sync::Arc;

use kadenz_rt::clock::WallTime;
use proptest::prelude::*;

use super::*;
use crate::log::compression::Compression;
use crate::log::{Entry, Info, LogError, LogReader, LogWriter, LoggedChannel, SmallDisk, survey};

fn channel(name: &str) -> Arc<LoggedChannel> {
    let text = "package robot; struct pose_t { double x; }";
    Arc::new(LoggedChannel::lcm_of_type(name, "robot.pose_t", text))
}

fn entry(channel: &Arc<LoggedChannel>, n: u32) -> Entry {
    Entry {
        channel: Arc::clone(channel),
        log_time: WallTime::from_unix_ns(1_000_000 + i64::from(n) * 10),
        publish_time: WallTime::from_unix_ns(1_000_000 + i64::from(n) * 10 - 3),
        sequence: n,
        payload: vec![n as u8; 100],
    }
}

fn thousand() -> Vec<Entry> {
    let channels = ["POSE", "IMU", "GPS"].map(channel);
    (0..1000)
        .map(|n| entry(&channels[n as usize % 3], n))
        .collect()
}

fn writer(disk: &SmallDisk, compression: Compression) -> Box<McapWriter> {
    let options = McapOptions {
        compression,
        chunk_bytes: 4096,
        profile: "lcm".to_owned(),
        ..McapOptions::default()
    };
    Box::new(McapWriter::new(Box::new(disk.clone()), &options).unwrap())
}

fn written(entries: &[Entry], compression: Compression) -> Vec<u8> {
    let disk = SmallDisk::with_room(u64::MAX);
    let mut writer = writer(&disk, compression);
    for entry in entries {
        writer.write(entry).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), 0);
    disk.contents()
}

fn reader(bytes: &[u8]) -> McapReader<Cursor<&[u8]>> {
    McapReader::open(Cursor::new(bytes)).unwrap()
}

fn rest(reader: &mut McapReader<Cursor<&[u8]>>) -> Vec<Entry> {
    let mut all = Vec::new();
    let mut entry = Entry::default();
    while reader.read(&mut entry).unwrap() {
        all.push(entry.clone());
    }
    all
}

#[test]
fn written_messages_are_read_with_schemas_and_counted_by_the_statistics() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let bytes = written(&thousand(), compression);
        let mut reader = reader(&bytes);
        let info = reader.info().unwrap();
        assert_eq!((info.messages, info.complete), (1000, Some(true)));
        assert_eq!(info.channels.len(), 3);
        assert_eq!(info.channels[2].messages, 334);
        let of_all = survey(&mut reader).unwrap();
        let spans = |info: &Info| info.channels.iter().map(|it| it.span).collect::<Vec<_>>();
        assert_eq!(spans(&info), spans(&of_all));
        assert!(spans(&info)[0].is_some());
        reader.seek(WallTime::from_unix_ns(0)).unwrap();
        assert_eq!(info.chunks[0].0, compression.as_str());
        assert!(info.chunks[0].1 > 10);
        assert_eq!(rest(&mut reader), thousand());
        assert!(reader.damage().is_none());
    }
}

#[test]
fn a_description_that_came_late_is_that_of_the_messages_before_too() {
    let described = channel("POSE");
    let types = crate::types::Types::from_text("package robot; struct pose_t { double x; }");
    let fingerprint = types.unwrap().fingerprint("robot.pose_t").unwrap();
    let mut entries = [
        entry(&Arc::new(LoggedChannel::lcm("POSE")), 0),
        entry(&Arc::new(LoggedChannel::lcm("OTHER")), 1),
        entry(&described, 2),
    ];
    for at in [0, 2] {
        entries[at].payload[..8].copy_from_slice(&fingerprint.0.to_be_bytes());
    }
    let bytes = written(&entries, Compression::Lz4);
    let found = rest(&mut reader(&bytes));
    assert_eq!(found[0].channel, described);
    assert!(found[1].channel.schema.is_none());
}

#[test]
fn without_an_index_each_new_description_is_that_of_the_messages_behind_it() {
    let text = "package robot; struct arm_t { float x; }";
    let arm = Arc::new(LoggedChannel::lcm_of_type("ARM", "robot.arm_t", text));
    let bare = |name: &str| Arc::new(LoggedChannel::lcm(name));
    let channels = [channel("POSE"), bare("POSE"), arm.clone(), bare("ARM")];
    let types = ["pose_t { double x; }", "arm_t { float x; }"].map(|it| {
        let types = crate::types::Types::from_text(&format!("package robot; struct {it}"));
        let name = it.split_once(' ').unwrap().0;
        types
            .unwrap()
            .fingerprint(&format!("robot.{name}"))
            .unwrap()
    });
    let entries = (0..400).map(|n| {
        let mut entry = entry(&channels[n as usize / 100], n);
        entry.payload[..8].copy_from_slice(&types[n as usize / 200].0.to_be_bytes());
        entry
    });
    let bytes = written(&entries.collect::<Vec<_>>(), Compression::Lz4);
    let whole = reader(&bytes);
    let last = whole.merge.places.last().unwrap();
    let found = rest(&mut reader(&bytes[..(last.offset + last.length) as usize]));
    assert_eq!(found.len(), 400);
    assert!(found[..200].iter().all(|it| it.channel == channels[0]));
    assert!(found[200..].iter().all(|it| it.channel == arm));
}

#[test]
fn a_file_whose_writer_was_killed_is_read_to_its_last_whole_chunk() {
    let bytes = written(&thousand(), Compression::Lz4);
    let whole = reader(&bytes);
    let places = whole.merge.places.to_vec();
    let cut = places[5].offset + 20;
    let mut reader = reader(&bytes[..cut as usize]);
    let all = rest(&mut reader);
    assert_eq!(reader.outline().complete, Some(false));
    assert_eq!(reader.damage().skipped_bytes, 20);
    let n = all.len();
    assert!(n > 100 && n < 500, "{n}");
    assert_eq!(all, thousand()[..n]);
}

#[test]
fn a_damaged_chunk_costs_itself_alone_with_and_without_an_index() {
    let bytes = written(&thousand(), Compression::Lz4);
    let places = reader(&bytes).merge.places.to_vec();
    let mut damaged = bytes.clone();
    damaged[(places[3].offset + places[3].length / 2) as usize] ^= 0xff;
    let mut indexed = reader(&damaged);
    let left = rest(&mut indexed);
    assert_eq!(indexed.damage().places, 1);
    let end = bytes.len() - 30;
    let mut walked = reader(&damaged[..end]);
    assert_eq!(rest(&mut walked), left);
    assert!(left.len() > 900 && left.len() < 1000, "{}", left.len());
}

#[test]
fn behind_a_garbled_length_the_next_chunk_is_found() {
    let bytes = written(&thousand(), Compression::Lz4);
    let places = reader(&bytes).merge.places.to_vec();
    let mut damaged = bytes[..bytes.len() - 30].to_vec();
    damaged[places[3].offset as usize + 7] = 0x7f;
    let mut walked = reader(&damaged);
    let left = rest(&mut walked);
    assert!(left.len() > 900 && left.len() < 1000, "{}", left.len());
    assert!(walked.damage().places >= 1);
}

#[test]
fn a_seek_reads_no_chunk_before() {
    let bytes = written(&thousand(), Compression::Lz4);
    let mut reader = reader(&bytes);
    reader
        .seek(WallTime::from_unix_ns(1_000_000 + 7_501))
        .unwrap();
    let all = rest(&mut reader);
    assert_eq!(all, thousand()[751..]);
    reader.seek(WallTime::from_unix_ns(0)).unwrap();
    assert_eq!(rest(&mut reader).len(), 1000);
}

#[test]
fn chunks_that_overlap_are_read_in_the_order_of_time() {
    let channel = channel("POSE");
    let shuffled: Vec<Entry> = (0..1000).map(|n| entry(&channel, n * 389 % 1000)).collect();
    let bytes = written(&shuffled, Compression::Lz4);
    let all = rest(&mut reader(&bytes));
    assert_eq!(
        all,
        (0..1000).map(|n| entry(&channel, n)).collect::<Vec<_>>()
    );
}

#[test]
fn chunks_of_one_time_are_read_in_their_order() {
    let channel = channel("POSE");
    let of_one_time = |sequence| Entry {
        sequence,
        log_time: WallTime::from_unix_ns(1_000_000),
        ..entry(&channel, sequence)
    };
    let all: Vec<Entry> = (0..1000).map(of_one_time).collect();
    let bytes = written(&all, Compression::Lz4);
    assert_eq!(rest(&mut reader(&bytes)), all);
}

#[test]
fn facts_and_files_are_found_again() {
    let disk = SmallDisk::with_room(u64::MAX);
    let mut writer = writer(&disk, Compression::Lz4);
    let facts = vec![("kernel".to_owned(), "6.1".to_owned())];
    writer.describe("host", &facts).unwrap();
    writer
        .attach("robot.urdf", "application/xml", b"<robot/>")
        .unwrap();
    writer.write(&entry(&channel("POSE"), 1)).unwrap();
    writer.finish().unwrap();
    let bytes = disk.contents();
    for end in [bytes.len(), bytes.len() - 9] {
        let mut reader = reader(&bytes[..end]);
        assert_eq!(
            reader.facts().unwrap(),
            [("host".to_owned(), facts.clone())]
        );
        let attachment = &reader.attachments().unwrap()[0];
        assert_eq!(attachment.name, "robot.urdf");
        assert_eq!(attachment.data, b"<robot/>");
        assert_eq!(rest(&mut reader).len(), 1);
    }
}

#[test]
fn on_a_full_disk_last_chunks_give_way_to_the_index_and_are_counted() {
    for room in (2_000..12_000).step_by(97) {
        let disk = SmallDisk::with_room(room);
        let mut writer = writer(&disk, Compression::Lz4);
        let taken = thousand()
            .iter()
            .filter(|entry| match writer.write(entry) {
                Ok(()) => true,
                Err(error) => {
                    assert!(matches!(error, LogError::NoRoom(_)));
                    false
                }
            })
            .count();
        let given_up = writer.finish().unwrap();
        let bytes = disk.contents();
        let mut reader = reader(&bytes);
        assert_eq!(reader.outline().complete, Some(true), "{room}");
        let found = reader.info().unwrap().messages;
        assert_eq!(found + given_up, taken as u64, "{room}");
        assert_eq!(rest(&mut reader).len() as u64, found);
    }
}

#[test]
fn when_there_is_room_again_nothing_taken_is_missing() {
    let disk = SmallDisk::with_room(3_000);
    let mut writer = writer(&disk, Compression::Lz4);
    let mut taken = Vec::new();
    for (n, entry) in thousand().into_iter().enumerate() {
        if n == 500 {
            disk.set_room(u64::MAX);
        }
        if writer.write(&entry).is_ok() {
            taken.push(entry);
        }
    }
    assert_eq!(writer.finish().unwrap(), 0);
    assert!(taken.len() < 1000);
    assert_eq!(rest(&mut reader(&disk.contents())), taken);
}

proptest! {
    #[test]
    fn no_damage_stops_the_reader(
        at in any::<prop::sample::Index>(),
        value in any::<u8>(),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = written(&thousand()[..100], Compression::Lz4);
        let end = 9 + end.index(bytes.len() - 8);
        bytes.truncate(end.min(bytes.len()));
        let at = 8 + at.index(bytes.len() - 8);
        bytes[at] = value;
        let mut reader = reader(&bytes);
        prop_assert!(rest(&mut reader).len() <= 100);
    }
}

/// A day at 100 MB/s, in virtual time.
#[test]
fn chunks_grow_with_the_file() {
    let (mut length, mut chunks) = (0_u64, 0_u32);
    let options = McapOptions::default();
    let bytes = |length| {
        super::writer::chunk_bytes(options.chunk_bytes, options.longest_chunk_bytes, length)
    };
    assert_eq!(bytes(1 << 30), 1 << 20);
    while length < 24 * 3600 * 100_000_000 {
        length += bytes(length) as u64;
        chunks += 1;
    }
    assert_eq!(bytes(length), 16 << 20);
    assert!((537_000..538_000).contains(&chunks), "{chunks}");
}

/// A part of the index is in the file, and there is no room for all of it: chunks beyond those in memory are
/// given up.
#[test]
fn a_spilled_index_gives_way_too_when_the_disk_is_full() {
    let channels = ["POSE", "IMU", "GPS"].map(channel);
    let options = McapOptions {
        compression: Compression::None,
        chunk_bytes: 1,
        longest_chunk_bytes: 1,
        ..McapOptions::default()
    };
    for more in [0, 30_000, 600_000] {
        let disk = SmallDisk::with_room(u64::MAX);
        let mut writer = Box::new(McapWriter::new(Box::new(disk.clone()), &options).unwrap());
        for n in 0..25_000 {
            writer.write(&entry(&channels[n as usize % 3], n)).unwrap();
        }
        disk.set_room(disk.contents().len() as u64 + more);
        let given_up = writer.finish().unwrap();
        assert!((3_000..20_000).contains(&given_up), "{given_up}");
        let bytes = disk.contents();
        let mut reader = reader(&bytes);
        let info = reader.info().unwrap();
        assert_eq!(info.complete, Some(true));
        assert_eq!(info.messages + given_up, 25_000);
        let all = rest(&mut reader);
        let numbers = all.iter().map(|it| it.sequence);
        assert!(numbers.eq(0..25_000 - given_up as u32));
        assert!(reader.damage().is_none());
    }
}
