//! Import: any text as JSON of irtt gives a run whose counts agree with its histograms, or an error.
#![no_main]

use kadenz_report::import::ImportFormat::Irtt;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| kadenz_fuzz::import(Irtt, bytes));
