//! Messages for people: decoded, one member per line, in the order of the description; and their times and senders.

use std::borrow::Cow;

use kadenz::msg::arrival::SenderId;
use kadenz::msg::bus::Delivery;
use kadenz::msg::types::{Array, Elements, Value};
use kadenz::rt::clock::{self, MonotonicTime, WallTime};

/// Elements of an array that are printed.
const ELEMENTS: usize = 12;
/// Bytes of an undecoded message that are printed.
const BYTES: usize = 64;

/// A value, one member per line, indented by this many spaces.
pub(super) fn lines(value: &Value, indent: usize) -> String {
    let mut text = String::new();
    members(&mut text, value, indent);
    text
}

fn members(text: &mut String, value: &Value, indent: usize) {
    let Some(record) = value.record() else {
        text.push_str(&format!("{:indent$}{}\n", "", word(value)));
        return;
    };
    for (name, member) in record.iter() {
        text.push_str(&format!("{:indent$}{name}:", ""));
        match member {
            Value::Struct(_) => {
                text.push('\n');
                members(text, member, indent + 2);
            }
            Value::Array(array) => rows(text, array, indent),
            other => text.push_str(&format!(" {}\n", word(other))),
        }
    }
}

fn rows(text: &mut String, array: &Array, indent: usize) {
    let count = array.elements.len();
    let shown = count.min(ELEMENTS);
    if !matches!(array.elements, Elements::Struct(..)) {
        let elements = (0..shown).filter_map(|at| Some(word(&array.elements.get(at)?)));
        let elements: Vec<String> = elements.collect();
        let more = if count > shown { ", ..." } else { "" };
        let shape = match array.shape.len() {
            0 | 1 if count <= shown => String::new(),
            _ => format!("  ({})", lengths(&array.shape)),
        };
        text.push_str(&format!(" [{}{more}]{shape}\n", elements.join(", ")));
        return;
    }
    text.push_str(&format!(" ({})\n", lengths(&array.shape)));
    for at in 0..shown {
        if let Some(element) = array.elements.get(at) {
            let inner = indent + 2;
            text.push_str(&format!("{:inner$}{}:\n", "", array.indices(at)));
            members(text, &element, inner + 2);
        }
    }
    if count > shown {
        text.push_str(&format!("{:indent$}  ...\n", ""));
    }
}

fn lengths(shape: &[usize]) -> String {
    let lengths: Vec<String> = shape.iter().map(ToString::to_string).collect();
    lengths.join(" x ")
}

/// Every field of a value that is not a struct, with its path, as [`Value::numbers`] names them; at most this many.
pub(super) fn leaves(value: &Value, most: usize) -> Vec<(String, String)> {
    let mut leaves = Vec::new();
    gather(&mut leaves, value, String::new(), most);
    leaves
}

fn gather(leaves: &mut Vec<(String, String)>, value: &Value, path: String, most: usize) {
    match value {
        _ if leaves.len() >= most => {}
        Value::Struct(record) => {
            for (name, member) in record.iter() {
                let dot = if path.is_empty() { "" } else { "." };
                gather(leaves, member, format!("{path}{dot}{name}"), most);
            }
        }
        Value::Array(array) => {
            let room = most - leaves.len();
            for at in 0..array.elements.len().min(room) {
                if let Some(element) = array.elements.get(at) {
                    let path = format!("{path}{}", array.indices(at));
                    gather(leaves, &element, path, most);
                }
            }
        }
        other => leaves.push((path, word(other))),
    }
}

/// A value that is not a struct, as in JSON, but with NaN and infinities as plain words.
pub(super) fn word(value: &Value) -> String {
    match value {
        Value::Float(it) => format!("{it:?}"),
        Value::Double(it) => format!("{it:?}"),
        other => other.to_json().to_string(),
    }
}

/// Bytes as pairs of hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digit = |it: u8| char::from(b"0123456789abcdef"[usize::from(it)]);
    let pairs = bytes.iter();
    pairs
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// The first bytes, as [`first_of`] shortens them.
pub(super) fn first_bytes(bytes: &[u8]) -> String {
    first_of(&hex(&bytes[..bytes.len().min(BYTES + 1)])).into_owned()
}

/// The printed part of bytes that cannot be decoded.
pub(super) fn first_of(hex: &str) -> Cow<'_, str> {
    match hex.get(..2 * BYTES) {
        Some(first) if first.len() < hex.len() => format!("{first}...").into(),
        _ => hex.into(),
    }
}

/// Parses such bytes; spaces may separate them.
pub(super) fn from_hex(text: &str) -> anyhow::Result<Vec<u8>> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|it| !it.is_whitespace())
        .map(|it| it.to_digit(16))
        .collect::<Option<_>>()
        .ok_or_else(|| anyhow::anyhow!("`{text}` is not hexadecimal; write 0f10 for two bytes"))?;
    anyhow::ensure!(
        digits.len().is_multiple_of(2),
        "`{text}` has an odd number of digits; a byte has two"
    );
    let bytes = digits.chunks_exact(2).map(|pair| pair[0] * 16 + pair[1]);
    Ok(bytes.filter_map(|byte| u8::try_from(byte).ok()).collect())
}

/// The wall time of a past moment, by the present offset between both clocks.
pub(super) fn wall_ns(at: MonotonicTime) -> i64 {
    let (wall, now) = (WallTime::now(), clock::now());
    wall.as_unix_ns().saturating_sub(now.since(at))
}

/// Time of reception: the kernel's stamp if there is one.
pub(super) fn came(delivery: &Delivery) -> MonotonicTime {
    let stamps = delivery.info.stamps;
    stamps.kernel.unwrap_or(stamps.taken)
}

/// `2026-11-22T19:20:01.123456Z`.
pub(super) fn time_of_day(wall_ns: i64) -> String {
    match jiff::Timestamp::from_nanosecond(wall_ns.into()) {
        Ok(time) => format!("{time:.6}"),
        Err(_) => format!("{wall_ns} ns"),
    }
}

/// A sender in the provider's form: over `udpm://` address and port, else a number.
pub(super) fn sender(url: &str, sender: SenderId) -> String {
    let number = sender.0;
    let ip = u32::try_from(number >> 16);
    match (url.starts_with("udpm://"), ip) {
        (true, Ok(ip)) => {
            let port = number & 0xffff;
            format!("{}:{port}", std::net::Ipv4Addr::from_bits(ip))
        }
        _ => format!("#{number:x}"),
    }
}

#[cfg(test)]
mod tests {
    use kadenz::msg::types::Types;

    use super::*;

    #[test]
    fn members_stand_in_the_order_of_their_description() {
        let types = Types::from_text(
            "package p;
             struct inner_t { int8_t z; string a; }
             struct outer_t { int32_t n; double v[n]; inner_t inner; inner_t all[2]; }",
        )
        .unwrap();
        let value = types
            .value_from_json(
                "p.outer_t",
                &serde_json::json!({
                    "n": 20, "v": vec![0.5; 20],
                    "inner": {"z": 1, "a": "x"},
                    "all": [{"z": 2, "a": ""}, {"z": 3, "a": ""}],
                }),
            )
            .unwrap();
        let text = lines(&value, 2);
        let expected = "  n: 20\n  v: [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, ...]  (20)\n  inner:\n    z: 1\n    a: \"x\"\n  all: (2)\n    [0]:\n      z: 2\n      a: \"\"\n    [1]:\n      z: 3\n      a: \"\"\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn bytes_are_read_as_they_are_shown() {
        let bytes: Vec<u8> = (0..=255).collect();
        let text = hex(&bytes);
        assert_eq!(from_hex(&text).unwrap(), bytes);
        assert_eq!(first_of(&text).len(), 2 * BYTES + 3);
        assert_eq!(first_of(&text[..2 * BYTES]), text[..2 * BYTES]);
        assert_eq!(from_hex("0F 10").unwrap(), [15, 16]);
        assert!(from_hex("0f1").is_err() && from_hex("0x").is_err());
    }

    #[test]
    fn a_sender_is_an_address_where_the_network_gives_one() {
        let id = SenderId((0x7f00_0001_u128 << 16) | 7667);
        assert_eq!(sender("udpm://239.255.76.67:7667", id), "127.0.0.1:7667");
        assert_eq!(sender("shm://robot", SenderId(255)), "#ff");
    }

    #[test]
    fn a_time_of_day_has_microseconds() {
        assert_eq!(
            time_of_day(1_700_000_000_123_456_789),
            "2023-11-14T22:13:20.123456Z"
        );
    }
}
