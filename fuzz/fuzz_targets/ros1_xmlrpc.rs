//! XML-RPC, as a ROS master and nodes speak it.
#![no_main]

use kadenz_msg::provider::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzzing::xml_rpc(bytes));
