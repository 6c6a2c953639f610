//! Import: any text as output of cyclictest gives a run whose counts agree with its histograms, or an error.
#![no_main]

use kadenz_report::import::ImportFormat::CyclictestText;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| kadenz_fuzz::import(CyclictestText, bytes));
