//! The Rust code of `kadenz msg gen` compiles without a warning, exchanges messages with Python's lcm, and allocates
//! nothing where its documentation says so.
#![deny(warnings, missing_docs)]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod golden;
#[rustfmt::skip]
pub mod messages;

use std::path::PathBuf;

use golden::{bytes, types};
use kadenz_msg::codec::{DecodeError, EncodeError};
use kadenz_msg::generate::{GenerateError, rust};
use kadenz_msg::message::Message;
use kadenz_msg::types::Types;
use messages::map::{Node, One, Path, Ping, Pong, Pose, Three, Two};
use messages::odd::places::Words;
use messages::robot::{Arrays, ArraysView, Mode, Nothing, Primitives, State};
use messages::{Plain, deep};

/// The golden messages of a type.
fn golden<T: Message>() -> Vec<Vec<u8>> {
    let json = golden::golden();
    let messages = json["messages"].as_array().unwrap().iter();
    let own = messages.filter(|it| it["type"] == T::NAME);
    own.map(|it| bytes(it["hex"].as_str().unwrap())).collect()
}

#[test]
fn the_generator_still_writes_the_files_beside_this_test() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/messages");
    let options = rust::RustOptions {
        crate_path: "kadenz_msg".to_owned(), // this test is of that crate
    };
    let files = rust::generate(&types(), &options).unwrap();
    assert_eq!(files.len(), 7, "mod.rs, and one a package");
    for file in files {
        let there = std::fs::read_to_string(folder.join(&file.path)).unwrap_or_default();
        assert!(
            there == file.text,
            "{} differs; from the repository's root: kadenz msg gen conformance/lcm-types/types --lang rust --crate-path kadenz_msg --out crates/kadenz-msg/tests/messages",
            file.path.display()
        );
    }
}

fn speaks_with_python<T: Message + Default>() {
    let messages = golden::<T>();
    assert_eq!(messages.len(), 6, "{}", T::NAME);
    let mut value = T::default();
    for message in messages {
        // Decoding replaces the message before.
        value.decode_from(&message).unwrap();
        assert_eq!(value.encoded_length(), message.len(), "{}", T::NAME);
        assert_eq!(value.encode().unwrap(), message, "{}", T::NAME);
        for end in 0..message.len() {
            assert!(
                value.decode_from(&message[..end]).is_err(),
                "{} to {end}",
                T::NAME
            );
            let mut short = vec![0; end];
            value.decode_from(&message).unwrap();
            let error = value.encode_into(&mut short).unwrap_err();
            assert!(matches!(error, EncodeError::BufferTooShort { .. }));
        }
    }
    let types = Types::from_text(T::DESCRIPTION).unwrap();
    assert_eq!(types.fingerprint(T::NAME), Some(T::FINGERPRINT));
}

#[test]
fn messages_are_pythons() {
    speaks_with_python::<Primitives>();
    speaks_with_python::<Nothing>();
    speaks_with_python::<Arrays>();
    speaks_with_python::<Mode>();
    speaks_with_python::<State>();
    speaks_with_python::<Pose>();
    speaks_with_python::<Path>();
    speaks_with_python::<Node>();
    speaks_with_python::<Ping>();
    speaks_with_python::<Pong>();
    speaks_with_python::<One>();
    speaks_with_python::<Two>();
    speaks_with_python::<Three>();
    speaks_with_python::<Words>();
    speaks_with_python::<Plain>();
    speaks_with_python::<deep::er::Name>();
}

#[test]
fn members_constants_and_enums_have_their_names() {
    let state = State {
        now: Mode::FAULT,
        count: 1,
        history: vec![Mode(42)],
        ..State::default()
    };
    let again = State::decode(&state.encode().unwrap()).unwrap();
    assert_eq!(again, state);
    assert_eq!(
        (Arrays::AXES, Arrays::MASK, Arrays::LEAST),
        (3, 0xf0f0_f0f0, -128)
    );
    assert_eq!(Arrays::GRAVITY.to_string(), "9.80665");
    let words = Words {
        r#type: 1,
        r#match: 2,
        ..Words::default()
    };
    assert_eq!(Words::decode(&words.encode().unwrap()).unwrap(), words);
}

#[test]
fn a_length_that_is_not_the_arrays_is_refused() {
    let mut arrays = Arrays {
        n: 1,
        ..Arrays::default()
    };
    let said = arrays.encode().unwrap_err().to_string();
    assert!(
        said.contains("samples holds 0 elements, but n says 1"),
        "{said}"
    );
    arrays.n = 0;
    arrays.m = 1;
    arrays.image = vec![vec![7]];
    let said = arrays.encode().unwrap_err().to_string();
    assert!(
        said.contains("image holds 1 elements, but n says 0"),
        "{said}"
    );
}

#[test]
fn a_view_sees_what_the_message_holds() {
    for message in golden::<Arrays>() {
        let copied = Arrays::decode(&message).unwrap();
        let view = ArraysView::decode(&message).unwrap();
        assert!(view.samples.iter().eq(copied.samples.iter().copied()));
        assert!(view.image.iter().eq(copied.image.iter().flatten().copied()));
        assert!(
            view.cube
                .iter()
                .eq(copied.cube.iter().flatten().flatten().copied())
        );
        assert_eq!(view.names, copied.names);
        assert!(ArraysView::decode(&message[..message.len() - 1]).is_err());
        let other = golden::<Primitives>().remove(0);
        let error = ArraysView::decode(&other).unwrap_err();
        assert!(matches!(error, DecodeError::OtherType { .. }));
    }
}

#[test]
fn encoding_and_decoding_again_take_no_memory() {
    let message = golden::<Arrays>().pop().unwrap();
    let mut value = Arrays::decode(&message).unwrap();
    let mut buffer = vec![0; message.len()];
    let measured = allocation_counter::measure(|| {
        for _ in 0..100 {
            value.decode_from(&message).unwrap();
            assert_eq!(value.encode_into(&mut buffer).unwrap(), message.len());
        }
    });
    assert_eq!(measured.count_total, 0, "{measured:?}");
    assert_eq!(buffer, message);
}

#[test]
fn hostile_lengths_take_no_memory() {
    let hostile = |lengths: &[u8]| {
        let mut message = Arrays::FINGERPRINT.0.to_be_bytes().to_vec();
        message.extend([0; 9 * 8]);
        message.extend(lengths);
        message.extend([0; 64]);
        let mut value = Arrays::default();
        let measured = allocation_counter::measure(|| {
            value.decode_from(&message).unwrap_err();
        });
        assert!(measured.bytes_max < 20_000, "{measured:?}");
    };
    // n is 0 and m is 32767: as many empty rows of the image.
    hostile(&[0, 0x7f, 0xff]);
    hostile(&[0x7f, 0x7f, 0xff]);
    hostile(&[0xff, 0, 0]);
}

#[test]
fn a_struct_within_itself_is_followed_so_far() {
    let nested = |depth: usize| {
        let mut message = Node::FINGERPRINT.0.to_be_bytes().to_vec();
        for left in (0..depth).rev() {
            message.extend([0, 0, 0, 1, u8::from(left > 0)]);
        }
        message
    };
    assert_eq!(
        Node::decode(&nested(128)).unwrap().encode().unwrap(),
        nested(128)
    );
    let error = Node::decode(&nested(129)).unwrap_err();
    assert!(matches!(error, DecodeError::TooDeep { most: 128, .. }));
    assert!(Node::decode(&nested(100_000)).is_err());
    // Structs beside each other do not count as nested.
    let wide = Node {
        id: 1,
        n: 100,
        children: vec![Node::default(); 100],
    };
    let wide = Node {
        id: 2,
        n: 3,
        children: vec![wide.clone(), wide.clone(), wide],
    };
    assert_eq!(Node::decode(&wide.encode().unwrap()).unwrap(), wide);
}

#[test]
fn names_that_meet_in_rust_are_refused() {
    let generate = |text: &str, path: &str| {
        let types = Types::from_text(text).unwrap();
        let crate_path = path.to_owned();
        rust::generate(&types, &rust::RustOptions { crate_path })
    };
    let error = generate(
        "struct a_b { int8_t x; } struct aB { int8_t x; }",
        "kadenz_msg",
    )
    .unwrap_err();
    assert!(matches!(error, GenerateError::Collision { .. }), "{error}");
    let view = "struct a { int32_t n; byte x[n]; } struct a_view { int8_t x; }";
    assert!(generate(view, "kadenz_msg").is_err());
    let fine = "struct a { int8_t x; }";
    let files = generate(fine, "kadenz::msg").unwrap();
    assert!(
        files[0]
            .text
            .contains("impl kadenz::msg::message::Message for A")
    );
    assert!(generate(fine, "kadenz msg").is_err());
}

#[test]
fn elements_without_bytes_add_none_to_the_length() {
    let types = Types::from_text("struct none { } struct a { int8_t n; none x[n]; }").unwrap();
    let files = rust::generate(&types, &rust::RustOptions::default()).unwrap();
    assert!(
        files[0].text.contains("pub x: Vec<NoneT>"),
        "{}",
        files[0].text
    );
    assert!(
        files[0].text.contains("impl kadenz::msg::message::Message"),
        "a program depends on `kadenz`"
    );
    assert!(
        !files[0].text.contains("self.x.len() *"),
        "clippy refuses a product with 0"
    );
}
