//! Any bytes to the services on top of the bus: requests, parameters, beats, stamps of clocks, and types. The first
//! byte chooses the service.
#![no_main]

use kadenz_msg::service::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, said)) = bytes.split_first() else {
        return;
    };
    match choice % 5 {
        0 => fuzzing::parameters(said),
        1 => fuzzing::heartbeats(said),
        2 => fuzzing::clock_offsets(said),
        3 => fuzzing::types_on_wire(said),
        _ => fuzzing::messages(said),
    }
});
