//! The header of a ring of frames, with any content.
#![no_main]

use kadenz_camera::ring::RingReader;
use kadenz_rt::shared::Owner;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let name = format!("kadenz-fuzz-ring-{}", std::process::id());
    let Ok(mut owner) = Owner::create(&name, 3 * 4096 / 8 + 512) else {
        return;
    };
    let length = bytes.len().min(4096);
    owner.bytes_mut(0..length).copy_from_slice(&bytes[..length]);
    if let Ok(reader) = RingReader::open(&name)
        && let Some(frame) = reader.latest()
    {
        let _ = frame.to_vec();
    }
});
