//! ZeroMQ's frames, as a subscriber and a publisher receive them.
#![no_main]

use kadenz_msg::provider::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzzing::zmq(bytes));
