//! Any text as a segment file: an error that names its line, or a plan that can be built, and that is the same after
//! it was printed and read again.
#![no_main]

use kadenz_ethercat::sim::file::{FileError, SegmentPlan};
use libfuzzer_sys::fuzz_target;

const AXIS: &str = include_str!("../../conformance/ethercat/esi/axis.xml");

fn read(text: &str) -> Result<SegmentPlan, FileError> {
    SegmentPlan::parse("segment.toml", text, &mut |_| Ok(AXIS.to_owned()))
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match read(text) {
        Ok(plan) => {
            let printed = plan.to_toml().expect("a file said all of it");
            let again = read(&printed).expect("it was printed to be read");
            assert_eq!(format!("{again:?}"), format!("{plan:?}"));
            let segment = plan.build().expect("all of it was checked");
            assert_eq!(segment.len(), plan.devices.len());
        }
        Err(error) => assert!(error.line.is_none_or(|line| line <= text.lines().count() + 1)),
    }
});
