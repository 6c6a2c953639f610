//! A testbed's claim from anywhere: it names processes that are killed as root, so what was understood
//! is what was written, and can be written and understood again.
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
