//! The types in `conformance/lcm-types`, and their messages as Python's lcm wrote them.
#![allow(unreachable_pub, reason = "a part of several tests, each a crate")]
#![allow(dead_code, reason = "each test uses its part")]

use std::path::PathBuf;

use kadenz_msg::types::Types;
use serde_json::Value as Json;

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance/lcm-types")
}

pub fn types() -> Types {
    Types::from_files([folder().join("types")]).unwrap()
}

/// What lcm-gen and Python's lcm made of the types.
pub fn golden() -> Json {
    let text = std::fs::read_to_string(folder().join("messages.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let digits = digits.map(|it| std::str::from_utf8(it).unwrap());
    digits
        .map(|it| u8::from_str_radix(it, 16).unwrap())
        .collect()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}
