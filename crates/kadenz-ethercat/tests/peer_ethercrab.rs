//! ethercrab as a foreign MainDevice of the virtual segment: in this process by its public `PduTx` and `PduRx`, and by
//! its own driver over a cable.
#![cfg(all(target_os = "linux", not(loom)))]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod peers;
#[path = "peers/ethercrab.rs"]
mod session;

use ethercrab::std::tx_rx_task;
use kadenz_ethercat::sim::beside::beside;
use kadenz_ethercat::sim::humanoid::humanoid;

use session::{InProcess, Seen, TOGETHER_NS, session, storage, together};

/// Asserts what every MainDevice must see of a segment: all devices in OP, synchronised clocks, meaningful process
/// data, and objects.
fn judge(seen: &Seen, devices: usize) {
    assert_eq!(seen.devices, devices);
    assert_eq!(seen.in_op, devices);
    // ethercrab splits the image where a frame is full, so two frames may count the same device.
    let counted = seen.expected..=seen.expected + 3 * (seen.frames - 1);
    assert!(counted.contains(&seen.working_counter), "{seen:?}");
    assert_eq!(seen.vendor, 0x4B41_445A);
    assert_eq!(seen.written_back, 0x1234);
    assert_eq!(seen.refused, "NotFound");
    assert!(seen.moved.abs() > seen.asked.abs() * 9 / 10, "{seen:?}");
    assert!(seen.greatest_difference_ns < TOGETHER_NS, "{seen:?}");
    assert_eq!(seen.delays_ns[0], 0, "the first is the reference");
    assert!(seen.delays_ns[1..].iter().all(|it| *it > 0), "{seen:?}");
}

fn in_process(devices: usize) {
    let (tx, rx, pdu_loop) = storage().try_split().unwrap();
    let wire = InProcess::new(tx, rx, humanoid(devices).build().unwrap());
    let seen = together(session(pdu_loop), wire);
    judge(&seen, devices);
}

#[test]
fn ethercrab_brings_59_devices_to_op_in_this_process() {
    in_process(59);
}

#[test]
fn ethercrab_brings_128_devices_to_op_in_this_process() {
    in_process(128);
}

fn over_a_cable(devices: usize) {
    let seen = beside(humanoid(devices).build().unwrap(), "near", || {
        let (tx, rx, pdu_loop) = storage().try_split().unwrap();
        let driver = tx_rx_task("near", tx, rx).unwrap();
        together(session(pdu_loop), async {
            panic!("the driver ended: {:?}", driver.await.err());
        })
    });
    match seen {
        Ok(seen) => judge(&seen, devices),
        Err(error) => {
            assert!(error.is_refusal(), "{error}");
            peers::skip("ethercrab over a cable", &error.to_string());
        }
    }
}

#[test]
fn ethercrab_s_own_driver_brings_59_devices_to_op_over_a_cable() {
    over_a_cable(59);
}

#[test]
fn ethercrab_s_own_driver_brings_128_devices_to_op_over_a_cable() {
    over_a_cable(128);
}
