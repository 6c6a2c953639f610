//! Any text as a motion file: an error that names its line, or a plan with finite points at any time.
#![no_main]

use kadenz_ethercat::motion::file;
use kadenz_ethercat::motion::trajectory::Trajectory;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match file::parse("motion.toml", text) {
        Ok(plan) => {
            assert!(plan.settings().is_ok());
            for axis in &plan.axes {
                for seconds in [-1.0, 0.0, 0.001, 1.0, 1e3, 1e9] {
                    let point = axis.program.at(seconds);
                    assert!(point.position.is_finite() && point.velocity.is_finite());
                }
            }
        }
        Err(error) => assert!(error.line.is_none_or(|line| line <= text.lines().count() + 1)),
    }
});
