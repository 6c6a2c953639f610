//! Import: any text as interval logs gives a run whose counts agree with its histograms, or an error.
#![no_main]

use kadenz_report::import::ImportFormat::Hlog;
use libfuzzer_sys::fuzz_target;

/// A few lines find as much as the log of a day, and run more often.
const MAX_BYTES: usize = 4096;

fuzz_target!(|bytes: &[u8]| kadenz_fuzz::import(Hlog, &bytes[..bytes.len().min(MAX_BYTES)]));
