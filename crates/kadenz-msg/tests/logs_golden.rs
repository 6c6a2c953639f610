//! Logs of other software are read to the last byte.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::path::{Path, PathBuf};

use kadenz_msg::log::{self, Entry, Format, LogReader};
use kadenz_rt::clock::WallTime;

const BEGIN_NS: i64 = 1_700_000_000_000_000_000;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../conformance/logs")
        .join(name)
}

fn all(reader: &mut dyn LogReader) -> Vec<Entry> {
    let mut all = Vec::new();
    let mut entry = Entry::default();
    while reader.read(&mut entry).unwrap() {
        all.push(entry.clone());
    }
    all
}

fn payload(n: i64) -> Vec<u8> {
    let mut bytes = 0x1122_3344_5566_7788_u64.to_be_bytes().to_vec();
    bytes.extend(n.to_be_bytes());
    bytes.extend((n as f64 / 8.0).to_be_bytes());
    bytes.extend(vec![(n % 251) as u8; (n % 40) as usize]);
    bytes
}

fn time(n: i64) -> WallTime {
    WallTime::from_unix_ns(BEGIN_NS + n * 10_000_000)
}

#[test]
fn an_event_log_of_liblcm_is_read_whole_and_written_again_byte_for_byte() {
    let mut reader = log::open(&golden("events.lcmlog")).unwrap();
    let events = all(reader.as_mut());
    assert_eq!(events.len(), 200);
    for (n, event) in events.iter().enumerate() {
        let n = n as i64;
        assert_eq!(
            event.channel.name,
            ["POSE", "IMU", "robot/arm-1"][n as usize % 3]
        );
        assert_eq!((event.log_time, event.sequence), (time(n), n as u32));
        assert_eq!(event.payload, payload(n));
    }
    assert!(reader.damage().is_none());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("again");
    let mut writer = log::create(&path, Format::EventLog).unwrap();
    events.iter().for_each(|event| writer.write(event).unwrap());
    assert_eq!(writer.finish().unwrap(), 0);
    let expected = std::fs::read(golden("events.lcmlog")).unwrap();
    assert!(std::fs::read(&path).unwrap() == expected);
}

#[test]
fn a_damaged_event_log_is_read_on_behind_each_damage() {
    let mut reader = log::open(&golden("damaged.lcmlog")).unwrap();
    let events = all(reader.as_mut());
    let missing: Vec<u32> = (0..200)
        .filter(|n| events.iter().all(|event| event.sequence != *n))
        .collect();
    assert_eq!(missing, [20, 100, 199]);
    assert_eq!(reader.damage().places, 3);
}

#[test]
fn mcap_files_are_read_in_every_shape() {
    for (name, indexed) in [
        ("chunks-lz4.mcap", true),
        ("chunks-zstd.mcap", true),
        ("chunks-plain.mcap", true),
        ("no-chunks.mcap", false),
        ("no-summary.mcap", false),
    ] {
        let mut reader = log::open(&golden(name)).unwrap();
        let info = reader.info().unwrap();
        assert_eq!(info.messages, 100, "{name}");
        assert_eq!(info.complete, Some(true), "{name}");
        assert_eq!(info.library, "golden");
        assert_eq!(info.span, Some((time(0), time(99))), "{name}");
        assert_eq!(!info.chunks.is_empty(), name != "no-chunks.mcap");
        assert_eq!(info.channels[1].payload_bytes.is_none(), indexed, "{name}");
        let entries = all(reader.as_mut());
        assert_eq!(entries.len(), 100, "{name}");
        for (n, entry) in (0..).zip(&entries) {
            assert_eq!(
                (entry.log_time, i64::from(entry.sequence)),
                (time(n), n),
                "{name}"
            );
            assert_eq!(entry.publish_time.as_unix_ns(), time(n).as_unix_ns() - 5);
        }
        assert_eq!(entries[98].payload, payload(98));
        let schema = entries[98].channel.schema.clone().unwrap();
        assert_eq!(
            (schema.name.as_str(), schema.encoding.as_str()),
            ("robot.pose_t", "lcm")
        );
        assert_eq!(entries[99].payload, br#"{"n":99}"#);
        assert_eq!(entries[99].channel.metadata[0].1, "hand");
        assert!(reader.damage().is_none(), "{name}");
    }
}

#[test]
fn facts_and_attachments_of_others_are_found() {
    for name in ["chunks-lz4.mcap", "no-chunks.mcap", "no-summary.mcap"] {
        let file = std::fs::File::open(golden(name)).unwrap();
        let mut reader = log::mcap::McapReader::open(file).unwrap();
        let facts = vec![("kernel".to_owned(), "6.1".to_owned())];
        assert_eq!(
            reader.facts().unwrap(),
            [("host".to_owned(), facts)],
            "{name}"
        );
        let attachments = reader.attachments().unwrap();
        assert_eq!(attachments[0].name, "robot.urdf", "{name}");
        assert_eq!(attachments[0].data, b"<robot/>");
    }
}

#[test]
fn bags_of_ros_1_are_read_in_every_compression_also_without_index() {
    for name in ["ros1-plain.bag", "ros1-bz2.bag", "ros1-lz4.bag"] {
        let bytes = std::fs::read(golden(name)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for index in [true, false] {
            let path = folder.path().join("bag");
            let mut bag = bytes.clone();
            if !index {
                // As in a bag during its recording: the position of the index is unknown.
                let at = bag.windows(10).position(|it| it == b"index_pos=").unwrap();
                bag[at + 10..at + 18].fill(0);
            }
            std::fs::write(&path, bag).unwrap();
            let mut reader = log::open(&path).unwrap();
            assert_eq!(reader.outline().complete, Some(index));
            let entries = all(reader.as_mut());
            assert_eq!(entries.len(), 60, "{name} {index}");
            assert_eq!(entries[58].channel.name, "/chatter");
            assert_eq!(entries[58].payload, b"\x08\0\0\0hello 58");
            assert_eq!(entries[59].payload, [59, 0, 0, 0]);
            assert_eq!(entries[59].log_time, time(59));
            let schema = entries[58].channel.schema.clone().unwrap();
            assert_eq!(schema.name, "std_msgs/String");
            assert!(String::from_utf8_lossy(&schema.data).contains("string data"));
            reader.seek(time(30)).unwrap();
            assert_eq!(all(reader.as_mut()).len(), 30, "{name} {index}");
        }
    }
}

fn is_ros2_chatter(mut reader: Box<dyn LogReader>) {
    let entries = all(reader.as_mut());
    assert_eq!(entries.len(), 30);
    assert_eq!(entries[29].channel.name, "/chatter");
    assert_eq!(entries[29].channel.encoding, "cdr");
    assert_eq!(entries[29].log_time, time(29));
    assert_eq!(entries[29].payload, b"\0\x01\0\0\x09\0\0\0hello 29\0");
    let schema = entries[29].channel.schema.clone().unwrap();
    assert!(String::from_utf8_lossy(&schema.data).contains("string data"));
}

#[test]
fn a_bag_of_ros_2_in_mcap_is_its_folder() {
    is_ros2_chatter(log::open(&golden("ros2-mcap")).unwrap());
}

#[cfg(feature = "rosbag2-sqlite")]
#[test]
fn a_bag_of_ros_2_in_sqlite_is_its_folder() {
    is_ros2_chatter(log::open(&golden("ros2-sqlite3")).unwrap());
}

#[cfg(not(feature = "rosbag2-sqlite"))]
#[test]
fn without_sqlite_a_bag_says_what_would_read_it() {
    let error = log::open(&golden("ros2-sqlite3"))
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("rosbag2-sqlite"), "{error}");
}

#[test]
fn what_is_not_a_log_is_refused() {
    let error = log::open(&golden("README.md")).err().unwrap();
    assert!(error.to_string().contains("is not a valid log"), "{error}");
}
