//! Import: any text as samples gives a run whose counts agree with its histograms, or an error.
#![no_main]

use kadenz_report::import::{Collected, ImportFormat};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(read) = Collected::read(ImportFormat::Csv, &mut &bytes[..]) {
        assert_eq!(read.inconsistency(), None);
    }
});
