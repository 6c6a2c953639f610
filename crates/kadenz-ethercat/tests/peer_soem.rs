//! SOEM, which others wrote, as MainDevice of our segment, by pysoem and over a cable.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod peers;

use std::process::Command;

use kadenz_ethercat::sim::beside::beside;
use kadenz_ethercat::sim::humanoid::humanoid;
use serde_json::Value;

/// What it is to be called with; `None` where pysoem is missing, which was said.
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

/// What a session of SOEM with a humanoid of so many devices saw.
fn session(test: &str, devices: usize) -> Option<Value> {
    let python = python(test)?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/soem.py");
    let talk = || {
        Command::new(python)
            .args([script, "near"])
            .output()
            .unwrap()
    };
    match beside(humanoid(devices).build().unwrap(), "near", talk) {
        Ok(output) => {
            let complaint = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{complaint}");
            Some(serde_json::from_slice(&output.stdout).unwrap())
        }
        Err(error) => {
            assert!(error.is_refusal(), "{error}");
            peers::skip(test, &error.to_string());
            None
        }
    }
}

fn brings_to_op(test: &str, devices: usize) {
    let Some(seen) = session(test, devices) else {
        return;
    };
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
