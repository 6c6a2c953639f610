//! Kadenz computes the same fingerprints and messages from the types in `conformance/lcm-types` as lcm-gen and Python's
//! lcm.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod golden;

use golden::{bytes, folder, golden, types};
use kadenz_msg::types::Types;

#[test]
fn fingerprints_are_lcm_gens() {
    let types = types();
    let golden = golden();
    let golden = golden["fingerprints"].as_object().unwrap();
    assert_eq!(golden.len(), types.len());
    for (name, fingerprint) in golden {
        let ours = types.fingerprint(name).unwrap().to_string();
        assert_eq!(ours, fingerprint.as_str().unwrap(), "{name}");
    }
}

#[test]
fn messages_are_pythons_in_both_directions() {
    let types = types();
    let golden = golden();
    let messages = golden["messages"].as_array().unwrap();
    assert!(messages.len() > 100);
    for message in messages {
        let name = message["type"].as_str().unwrap();
        let golden = bytes(message["hex"].as_str().unwrap());
        let value = types.decode_as(name, &golden).unwrap();
        assert_eq!(value.to_json(), message["value"], "{name}");
        assert_eq!(types.encode(&value).unwrap(), golden, "{name}");
        let from_json = types.value_from_json(name, &message["value"]).unwrap();
        assert_eq!(types.encode(&from_json).unwrap(), golden, "{name} by JSON");
        let cut = types.decode_as(name, &golden[..golden.len() - 1]);
        assert!(cut.is_err(), "{name} without its last byte");
        let longer = [golden.as_slice(), &[0]].concat();
        assert!(
            types.decode_as(name, &longer).is_err(),
            "{name} with one more"
        );
    }
}

#[test]
fn a_types_own_text_says_the_same() {
    let types = types();
    for name in types.iter().map(|it| it.name().to_string()) {
        let text = types.text_of(&name).unwrap();
        let again = Types::from_text(&text).unwrap();
        assert_eq!(again.fingerprint(&name), types.fingerprint(&name), "{text}");
        assert_eq!(again.text_of(&name).unwrap(), text);
        for definition in again.iter() {
            let before = types.get(&definition.name().to_string());
            assert_eq!(Some(definition), before, "comments and constants stay");
        }
    }
}

/// Files with one mistake each, and the beginning of their error text.
const REFUSED: &[(&str, &str)] = &[
    (
        "unknown-size.lcm",
        "4:14: 'n' is neither a constant nor a member above",
    ),
    ("size-declared-later.lcm", "2:14: 'n' is neither"),
    (
        "size-is-double.lcm",
        "3:14: 'n' states an array's length but is double",
    ),
    (
        "size-is-array.lcm",
        "3:14: 'n' states an array's length but is int32_t[2]",
    ),
    (
        "size-is-real-constant.lcm",
        "3:14: 'N' states an array's length but is a constant of type double",
    ),
    (
        "size-zero.lcm",
        "2:14: an array has 1 to 2147483647 elements, not 0",
    ),
    (
        "size-missing.lcm",
        "2:14: a length must stand between the brackets",
    ),
    ("duplicate-member.lcm", "3:13: 'x' is declared twice in a"),
    ("duplicate-constant.lcm", "3:13: 'x' is declared twice in a"),
    ("duplicate-type.lcm", "4:8: a is described twice"),
    ("duplicate-value.lcm", "3:5: A and B have the same value 1"),
    (
        "duplicate-value-name.lcm",
        "3:5: 'A' is declared twice in e",
    ),
    (
        "constant-of-string.lcm",
        "2:11: no constants of type string",
    ),
    (
        "constant-out-of-range.lcm",
        "2:22: 128 is not a valid value of int8_t",
    ),
    (
        "constant-no-number.lcm",
        "2:23: three is not a valid value of int32_t; write a whole number",
    ),
    (
        "constant-real-for-integer.lcm",
        "2:23: 3.5 is not a valid value of int32_t",
    ),
    (
        "constant-plus.lcm",
        "2:22: 1e is not a valid value of double",
    ),
    ("semicolon-after-brace.lcm", "3:2: no ';' after '}'"),
    ("glued-brace.lcm", "1:9: put a space beside '{'"),
    (
        "no-brace.lcm",
        "2:5: expected '{' after the struct's name, found 'int8_t'",
    ),
    (
        "unclosed.lcm",
        "3:1: expected a member or '}', found the end",
    ),
    (
        "no-semicolon.lcm",
        "3:1: expected ',', '[' or ';' after the member's name, found '}'",
    ),
    (
        "inline-struct.lcm",
        "2:5: a struct within a struct is not possible",
    ),
    ("bad-name.lcm", "2:12: '2x' is not a valid name"),
    ("open-comment.lcm", "2:5: this comment has no end"),
    (
        "stray-word.lcm",
        "2:1: expected 'package', 'struct' or 'enum', found 'message'",
    ),
];

#[test]
fn what_lcm_gen_refuses_is_refused_with_a_place_and_a_remedy() {
    let says = |file: &str| {
        let path = folder().join("refused").join(file);
        let error = Types::from_files([&path]).unwrap_err().to_string();
        error.split_once(&format!("{file}:")).unwrap().1.to_owned()
    };
    for (file, said) in REFUSED {
        let received = says(file);
        assert!(received.starts_with(*said), "{file}: {received}");
    }
    let files = std::fs::read_dir(folder().join("refused")).unwrap();
    assert_eq!(files.count(), REFUSED.len(), "each file has its line above");
}
