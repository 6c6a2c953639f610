//! `#[derive(kadenz::Message)]` against what `kadenz msg gen` writes for the same `.lcm` file, and against
//! Python's lcm.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::path::PathBuf;
use std::time::Duration;

use kadenz::msg::codec::{DecodeError, EncodeError};
use kadenz::msg::types::Types;
use kadenz::{Bus, Message};

/// The generator's files; a test of kadenz-msg keeps them up to date.
#[path = "../../kadenz-msg/tests/messages/mod.rs"]
#[rustfmt::skip]
mod generated;

#[derive(Message, Debug, Clone, PartialEq, Default)]
#[kadenz(package = "robot", name = "primitives")]
struct Primitives {
    small: i8,
    medium: i16,
    large: i32,
    huge: i64,
    raw: u8,
    single: f32,
    precise: f64,
    text: String,
    yes: bool,
}

#[derive(Message, Debug, Clone, PartialEq, Default)]
#[kadenz(package = "robot", name = "nothing")]
struct Nothing {}

#[derive(Message, Debug, Clone, PartialEq, Default)]
#[kadenz(package = "robot", name = "arrays")]
struct Arrays {
    position: [f64; 3],
    matrix: [[f64; 3]; 0x2],
    n: i8,
    m: i16,
    #[kadenz(length = "n")]
    samples: Vec<i32>,
    #[kadenz(length = "m")]
    #[kadenz(length = "n")]
    image: Vec<Vec<u8>>,
    #[kadenz(length = "n")]
    mixed: [Vec<[f32; 3]>; 2],
    #[kadenz(length = "n")]
    names: Vec<String>,
    flags: [bool; 2],
    labels: [String; 0x2],
    #[kadenz(length = "n", length = "m")]
    cube: Vec<Vec<[i64; 2]>>,
    #[kadenz(length = "n")]
    some: Vec<Primitives>,
    pair: [Primitives; 2],
    #[kadenz(length = "m")]
    table: [Vec<String>; 2],
}

#[derive(Message, Debug, Clone, PartialEq, Default)]
#[kadenz(package = "map", name = "path")]
struct Path {
    length: i16,
    #[kadenz(length = "length")]
    points: Vec<generated::map::Pose>,
    corners: [[generated::map::Pose; 2]; 2],
}

#[derive(Message, Debug, Clone, PartialEq, Default)]
#[kadenz(package = "robot", name = "state")]
struct State {
    now: generated::robot::Mode,
    count: i32,
    #[kadenz(length = "count")]
    history: Vec<generated::robot::Mode>,
    wanted: [generated::robot::Mode; 2],
    pose: generated::map::Pose,
    way: Path,
}

#[derive(Message, Debug, Clone, PartialEq, Default)]
#[kadenz(package = "odd.places", name = "words")]
struct Words {
    r#type: i32,
    r#match: i32,
    r#fn: i32,
    r#loop: [[f64; 2]; 2],
    r#ref: String,
    inner: generated::odd::places::ANameThatIsLongerThanOneHundredAndTwentySevenCharactersSoThatItsLengthDoesNotFitASignedCharOfLcmGenAndWraps,
}

/// The golden messages of Python's lcm.
fn golden(name: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance/lcm-types");
    let text = std::fs::read_to_string(folder.join("messages.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let messages = json["messages"].as_array().unwrap().iter();
    let own = messages.filter(|it| it["type"] == name);
    own.map(|it| bytes(it["hex"].as_str().unwrap())).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let digits = digits.map(|it| std::str::from_utf8(it).unwrap());
    digits
        .map(|it| u8::from_str_radix(it, 16).unwrap())
        .collect()
}

fn is_the_generators<D: Message + Default, G: Message + Default>() {
    assert_eq!(D::NAME, G::NAME);
    assert_eq!(D::FINGERPRINT, G::FINGERPRINT, "{}", D::NAME);
    let (mut derived, mut generated) = (D::default(), G::default());
    assert_eq!(derived.encode(), generated.encode(), "{}", D::NAME);
    let messages = golden(D::NAME);
    assert_eq!(messages.len(), 6, "{}", D::NAME);
    for message in messages {
        // Decoding replaces the message before.
        derived.decode_from(&message).unwrap();
        generated.decode_from(&message).unwrap();
        assert_eq!(derived.encoded_length(), message.len(), "{}", D::NAME);
        assert_eq!(derived.encode().unwrap(), message, "{}", D::NAME);
        for end in 0..message.len() {
            let cut = &message[..end];
            assert_eq!(
                derived.decode_from(cut).is_err(),
                generated.decode_from(cut).is_err()
            );
        }
    }
}

#[test]
fn a_derived_message_is_the_generated_one_to_the_byte() {
    is_the_generators::<Primitives, generated::robot::Primitives>();
    is_the_generators::<Nothing, generated::robot::Nothing>();
    is_the_generators::<Arrays, generated::robot::Arrays>();
}

#[test]
fn generated_messages_and_enums_are_members_of_derived_ones() {
    is_the_generators::<Path, generated::map::Path>();
    is_the_generators::<State, generated::robot::State>();
    is_the_generators::<Words, generated::odd::places::Words>();
    assert_eq!(
        Path::DESCRIPTION,
        "",
        "a macro does not see what Pose is made of"
    );
}

#[test]
fn a_flat_message_describes_itself() {
    let types = Types::from_text(Primitives::DESCRIPTION).unwrap();
    assert_eq!(
        types.fingerprint(Primitives::NAME),
        Some(Primitives::FINGERPRINT)
    );
    assert_eq!(
        Nothing::DESCRIPTION,
        "package robot;\n\nstruct nothing {\n}\n"
    );
}

#[test]
fn a_vec_that_is_not_as_long_as_its_field_says_is_not_sent() {
    let arrays = Arrays {
        n: 1,
        ..Arrays::default()
    };
    let error = arrays.encode().unwrap_err();
    assert!(matches!(
        error,
        EncodeError::LengthMismatch {
            array: "samples",
            stated_by: "n",
            ..
        }
    ));
}

#[test]
fn a_message_over_one_as_long_takes_no_memory() {
    let message = golden(Arrays::NAME).pop().unwrap();
    let mut arrays = Arrays::default();
    arrays.decode_from(&message).unwrap();
    let mut buffer = vec![0; message.len()];
    let counted = allocation_counter::measure(|| {
        arrays.decode_from(&message).unwrap();
        arrays.encode_into(&mut buffer).unwrap();
    });
    assert_eq!(counted.count_total, 0);
    assert_eq!(buffer, message);
}

#[derive(Message, Debug, Default)]
struct Crowd {
    count: i64,
    #[kadenz(length = "count")]
    members: Vec<Primitives>,
    #[kadenz(length = "count")]
    empty: Vec<Nothing>,
}

#[test]
fn a_length_that_the_bytes_cannot_hold_takes_no_memory() {
    for count in [-1, 1 << 40, i64::MAX] {
        let mut bytes = Crowd::FINGERPRINT.0.to_be_bytes().to_vec();
        bytes.extend(count.to_be_bytes());
        let error = Crowd::decode(&bytes).unwrap_err();
        let refused = matches!(
            error,
            DecodeError::NegativeLength { .. } | DecodeError::TooMany { .. }
        );
        assert!(refused, "{error}");
    }
    let mut bytes = Crowd::FINGERPRINT.0.to_be_bytes().to_vec();
    bytes.extend(1000_i64.to_be_bytes());
    let mut crowd = Crowd::default();
    assert!(crowd.decode_from(&bytes).is_err());
    assert!(crowd.members.len() <= 1, "the bytes ended within the first");
}

#[test]
fn a_derived_message_goes_over_the_bus() {
    let bus = Bus::open("memq://").unwrap();
    let mut inbox = bus.subscribe::<Primitives>("ARM").unwrap();
    let sent = Primitives {
        text: "up".to_owned(),
        ..Primitives::default()
    };
    bus.publish("ARM", &sent).unwrap();
    let received = inbox.recv(Duration::from_secs(30)).unwrap().unwrap();
    assert_eq!(received.message, sent);
    assert_eq!(received.delivery.channel.as_str(), "ARM");
}
