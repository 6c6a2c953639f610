//! Import: any text as interval logs gives a run whose counts agree with its histograms, or an error.
#![no_main]

use kadenz_report::import::{Collected, ImportFormat};
use libfuzzer_sys::fuzz_target;

/// A few lines find as much as the log of a day, and run more often.
const MAX_BYTES: usize = 4096;

fuzz_target!(|bytes: &[u8]| {
    let bytes = &bytes[..bytes.len().min(MAX_BYTES)];
    if let Ok(read) = Collected::read(ImportFormat::Hlog, &mut &*bytes) {
        assert_eq!(read.inconsistency(), None);
    }
});
