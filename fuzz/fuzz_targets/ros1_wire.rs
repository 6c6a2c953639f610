//! TCPROS, as a subscriber and a publisher receive it.
#![no_main]

use kadenz_msg::provider::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzzing::ros1(bytes));
