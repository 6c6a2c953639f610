//! Any text as a testbed's claim, which names processes that are killed as root: a parsed claim can be written and
//! reads the same again, also with a truncated line behind it.
#![no_main]

use kadenz_rt::net::claim::{Record, VERSION};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(record) = Record::parse(bytes) else {
        return;
    };
    assert_eq!(record.version, VERSION);
    let mut written = serde_json::to_vec(&record).expect("what was read can be written");
    written.extend(b"\n{\"version\":1,\"pid\"");
    assert_eq!(Record::parse(&written), Some(record));
});
