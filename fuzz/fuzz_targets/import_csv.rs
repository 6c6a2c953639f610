//! Import: any text as samples gives a run whose counts agree with its histograms, or an error.
#![no_main]

use kadenz_report::import::ImportFormat::Csv;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| kadenz_fuzz::import(Csv, bytes));
