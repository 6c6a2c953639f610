//! Any bytes as a bag of ROS 1: reading to its end, and seeking.
#![no_main]

use std::io::Cursor;

use kadenz_msg::log::rosbag1::Rosbag1Reader;
use kadenz_msg::log::{Entry, LogError, LogReader};
use libfuzzer_sys::fuzz_target;

fn all(reader: &mut dyn LogReader) -> Vec<Entry> {
    let mut all = Vec::new();
    let mut entry = Entry::default();
    while all.len() < 10_000 {
        match reader.read(&mut entry) {
            Ok(true) => all.push(entry.clone()),
            // More bytes than the limit, for instance from a compressed chunk of zeros.
            Ok(false) | Err(LogError::Expands { .. }) => break,
            Err(error) => panic!("memory can be read: {error}"),
        }
    }
    all
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut reader) = Rosbag1Reader::open(Cursor::new(bytes)) else {
        return;
    };
    let found = all(&mut reader);
    if let Some(middle) = found.get(found.len() / 2) {
        reader.seek(middle.log_time).expect("memory can be read");
        let rest = all(&mut reader);
        assert!(rest.iter().all(|it| it.log_time >= middle.log_time));
    }
});
