//! Import: any text as a log of ros_realtime_tests gives a run whose counts agree with its histograms, or an error.
#![no_main]

use kadenz_report::import::ImportFormat::Bmwcarit;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| kadenz_fuzz::import(Bmwcarit, bytes));
