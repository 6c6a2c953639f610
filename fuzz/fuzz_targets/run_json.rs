//! Any text as `run.json`: one that can be read is written and read again unchanged.
#![no_main]

use kadenz_record::run::model::Run;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(run) = serde_json::from_slice::<Run>(bytes) else { return };
    let written = serde_json::to_vec(&run).expect("what was read can be written");
    let again: Run = serde_json::from_slice(&written).expect("what was written can be read");
    assert_eq!(run, again);
});
