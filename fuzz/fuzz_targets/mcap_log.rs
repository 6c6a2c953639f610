//! Any bytes as an MCAP file: read to its end with its index and without, and the same when written and read again.
#![no_main]

use std::io::Cursor;

use kadenz_fuzz::{entries, read_and_seek};
use kadenz_msg::log::compression::Compression;
use kadenz_msg::log::mcap::{McapReader, McapWriter, McapOptions};
use kadenz_msg::log::{Limits, LogError, LogReader, LogWriter, SmallDisk};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut reader) = McapReader::open(Cursor::new(bytes)) else {
        return;
    };
    let _ = reader.facts().expect("memory can be read");
    let _ = reader.attachments().expect("memory can be read");
    match reader.info() {
        Ok(_) | Err(LogError::Expands { .. }) => {}
        Err(error) => panic!("memory can be read: {error}"),
    }
    let found = read_and_seek(&mut reader);
    let disk = SmallDisk::with_room(u64::MAX);
    // Compression takes a hundred times as long as the rest.
    let compression = match bytes.len() % 32 {
        0 => Compression::Lz4,
        1 => Compression::Zstd,
        _ => Compression::None,
    };
    let options = McapOptions {
        chunk_bytes: 256,
        compression,
        ..McapOptions::default()
    };
    let mut writer = McapWriter::new(Box::new(disk.clone()), &options).expect("there is room");
    for entry in &found {
        writer.write(entry).expect("it came in a file");
    }
    Box::new(writer).finish().expect("there is room");
    let mut again = McapReader::open(Cursor::new(disk.contents())).expect("we wrote it");
    again.set_limits(Limits { expansion: u64::MAX });
    let again = entries(&mut again);
    assert_eq!(again.len(), found.len());
    assert!(again.is_sorted_by_key(|it| it.log_time) || found.len() > 100);
});
