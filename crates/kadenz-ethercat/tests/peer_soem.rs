//! SOEM as a foreign MainDevice of the virtual segment, by pysoem and over a cable.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod peers;

use std::process::Command;
use std::time::Duration;

use kadenz_ethercat::main_device::bring_up::find;
use kadenz_ethercat::main_device::clocks::{self, Bounds, Epoch};
use kadenz_ethercat::main_device::exchange::{self, Registers, RetryPolicy, Target};
use kadenz_ethercat::main_device::{discover, link::Link};
use kadenz_ethercat::port::{InterfacePort, WaitMode};
use kadenz_ethercat::sim::beside::beside;
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_ethercat::wire::Position;
use kadenz_ethercat::wire::register::DC_OFFSET;
use serde_json::Value;

/// How far the delays of both MainDevices may differ: hops jitter, and Kadenz takes the mean of several rounds where
/// SOEM takes one.
const DELAYS_APART_NS: u64 = 50;

/// A Python that has pysoem; reports a skipped test and returns `None` where there is none.
fn python(test: &str) -> Option<String> {
    let python = std::env::var("KADENZ_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let imports = Command::new(&python).args(["-c", "import pysoem"]).output();
    if imports.is_ok_and(|it| it.status.success()) {
        return Some(python);
    }
    peers::skip(
        test,
        "no pysoem (pip install pysoem==1.1.13, and KADENZ_PYTHON names that Python)",
    );
    None
}

/// Runs a session of SOEM with a humanoid of `devices` devices, and then one of Kadenz; returns the results of both.
fn session(test: &str, devices: usize) -> Option<(Value, Ours)> {
    let python = python(test)?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/soem.py");
    let talk = || {
        let mut command = Command::new(python);
        command.args([script, "near"]).arg(devices.to_string());
        let output = command.output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{complaint}");
        (
            serde_json::from_slice(&output.stdout).unwrap(),
            Ours::look(),
        )
    };
    match beside(humanoid(devices).build().unwrap(), "near", talk) {
        Ok(seen) => Some(seen),
        Err(error) => {
            assert!(error.is_refusal(), "{error}");
            peers::skip(test, &error.to_string());
            None
        }
    }
}

/// The clocks of the segment, as Kadenz finds and sets them.
struct Ours {
    /// Registers as SOEM has left them: offset, delay and difference; `None` for a device without clocks.
    left: Vec<Option<[u64; 3]>>,
    /// The delays that Kadenz measures, in ns.
    delays: Vec<u32>,
    /// The greatest difference to the reference after Kadenz has set and aligned the clocks, in ns.
    greatest_difference_ns: u64,
}

impl Ours {
    fn look() -> Self {
        let port = InterfacePort::open("near", WaitMode::Blocking).unwrap();
        let mut link = Link::new(port, 1);
        let mut exchange = exchange::BlockingExchange {
            link: &mut link,
            // A busy computer answers late, which is not a fault of the code under test.
            retry: RetryPolicy {
                answer: Duration::from_millis(500),
                tries: 20,
            },
        };
        let mut registers = Registers::by(&mut exchange);
        let count = discover::count(&mut registers).unwrap();
        let left = (0..count).map(|it| clocks_of(&mut registers, it)).collect();
        let devices = find(&mut registers).unwrap();
        let measured = clocks::measure(&mut registers, &devices, &clocks::ClockSettings::default());
        let measured = measured.unwrap();
        measured.set(&mut registers, Epoch::Own).unwrap();
        let aligned = measured.align(&mut registers, &Bounds::default(), &mut |_| {});
        Self {
            left,
            delays: measured.devices().iter().map(|it| it.delay_ns).collect(),
            greatest_difference_ns: aligned.unwrap().worst_ns,
        }
    }
}

fn clocks_of(registers: &mut Registers<'_>, position: u16) -> Option<[u64; 3]> {
    let mut bytes = [0; 16];
    let target = Target::At(Position(position));
    let answered = registers.count_reading(target, DC_OFFSET, &mut bytes);
    let number = |from: usize, to: usize| {
        let mut wide = [0; 8];
        wide[..to - from].copy_from_slice(&bytes[from..to]);
        u64::from_le_bytes(wide)
    };
    (answered.unwrap() == 1).then(|| [number(0, 8), number(8, 12), number(12, 16)])
}

/// Asserts that Kadenz reads the values that SOEM has written into the clocks, and that both have measured the same
/// delays on the segment.
fn judge_clocks(seen: &Value, ours: &Ours) {
    let theirs = seen["clocks"].as_array().unwrap();
    assert_eq!(theirs.len(), ours.left.len());
    let mut with_clock = 0;
    for (position, (theirs, ours_read)) in theirs.iter().zip(&ours.left).enumerate() {
        let read = theirs.as_array().map(|it| {
            let numbers: Vec<_> = it.iter().map(|it| it.as_u64().unwrap()).collect();
            [numbers[0], numbers[1], numbers[2]]
        });
        assert_eq!(read, *ours_read, "device {position}");
        let Some([_, delay, difference]) = read else {
            continue;
        };
        with_clock += 1;
        // Sign and magnitude.
        assert!(
            difference & 0x7FFF_FFFF < 1_000,
            "device {position}: {difference}"
        );
        let apart = delay.abs_diff(ours.delays[position].into());
        assert!(
            apart <= DELAYS_APART_NS,
            "device {position}: {delay} {apart}"
        );
    }
    assert!(with_clock > theirs.len() / 2, "{with_clock}");
    assert!(ours.greatest_difference_ns < 1_000);
}

fn brings_to_op(test: &str, devices: usize) {
    let Some((seen, ours)) = session(test, devices) else {
        return;
    };
    judge_clocks(&seen, &ours);
    let number = |name: &str| seen[name].as_i64().unwrap_or(-1);
    assert_eq!(number("devices"), devices as i64, "{seen}");
    assert_eq!(seen["in_safeop"], true, "{seen}");
    assert_eq!(number("in_op"), devices as i64, "{seen}");
    assert_eq!(number("working_counter"), number("expected"), "{seen}");
    assert_eq!(number("vendor"), 0x4B41_445A, "{seen}");
    assert_eq!(number("written_back"), 0x1234, "{seen}");
    // The object does not exist.
    assert_eq!(number("refused"), 0x0602_0000, "{seen}");
    assert!(number("asked") > 0, "{seen}");
    assert!(number("moved") > number("asked") * 9 / 10, "{seen}");
    assert_eq!(seen["has_clocks"], true, "{seen}");
    let together = 0..1_000;
    assert!(
        together.contains(&number("greatest_difference_ns")),
        "{seen}"
    );
}

#[test]
fn soem_brings_59_devices_to_op() {
    brings_to_op("SOEM with 59 devices", 59);
}

#[test]
fn soem_brings_128_devices_to_op() {
    brings_to_op("SOEM with 128 devices", 128);
}
