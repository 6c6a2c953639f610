//! The parts that several fuzz targets share.

use kadenz_msg::log::{Entry, LogError, LogReader};
use kadenz_report::import::{Collected, ImportFormat};

/// Any text as a file of a format: a run whose counts agree with its histograms, or an error.
pub fn import(format: ImportFormat, mut bytes: &[u8]) {
    if let Ok(read) = Collected::read(format, &mut bytes) {
        assert_eq!(read.inconsistency(), None);
    }
}

/// Reads a log to its end, and again from the time of the entry in the middle on; returns its entries.
pub fn read_and_seek(reader: &mut dyn LogReader) -> Vec<Entry> {
    let found = entries(reader);
    if let Some(middle) = found.get(found.len() / 2) {
        reader.seek(middle.log_time).expect("memory can be read");
        assert!(entries(reader).iter().all(|it| it.log_time >= middle.log_time));
    }
    found
}

/// The entries of a log from its present place on; not all of those of a large one.
pub fn entries(reader: &mut dyn LogReader) -> Vec<Entry> {
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
