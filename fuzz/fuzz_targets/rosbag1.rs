//! Any bytes as a bag of ROS 1: reading to its end, and seeking.
#![no_main]

use std::io::Cursor;

use kadenz_msg::log::rosbag1::Rosbag1Reader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(mut reader) = Rosbag1Reader::open(Cursor::new(bytes)) {
        kadenz_fuzz::read_and_seek(&mut reader);
    }
});
