//! A humanoid at the other end of a cable, for tests.
#![allow(clippy::print_stderr, reason = "a skipped test says so")]
#![allow(unreachable_pub, reason = "a part of several tests, each a crate")]

use std::time::Duration;

use kadenz_ethercat::main_device::exchange::RetryPolicy;
use kadenz_ethercat::sim::beside::beside;
use kadenz_ethercat::sim::humanoid::humanoid;

/// Retries for a busy machine, which answers late without a fault of the code under test.
pub const BUSY_HOST: RetryPolicy = RetryPolicy {
    answer: Duration::from_millis(500),
    tries: 20,
};

/// Runs `work` beside a humanoid of `devices` devices that is connected to the interface `near`, or reports why it
/// cannot.
pub fn a_humanoid(devices: u16, test: &str, work: impl FnOnce() + Send) {
    let segment = humanoid(usize::from(devices)).build().unwrap();
    if let Err(error) = beside(segment, "near", work) {
        assert!(error.is_refusal(), "{error}");
        assert!(
            std::env::var_os("KADENZ_SKIP_NOTHING").is_none_or(|value| value != "1"),
            "{test} must not be skipped: {error}"
        );
        eprintln!("skipped: {test}: {error}");
    }
}
