//! Any bytes as a message, decoded by several types: an error, or a message that can be encoded, in bytes and through
//! JSON, and then decodes to the same.
#![no_main]

use std::sync::LazyLock;

use kadenz_msg::types::{Types, ValueError};
use libfuzzer_sys::fuzz_target;

static TYPES: LazyLock<Types> = LazyLock::new(|| {
    Types::from_text(
        "package f;
         enum mode { OFF = 0, ON }
         struct leaf { int16_t v; string s; mode m; }
         struct none { }
         struct all { int8_t n; int32_t m; double grid[n][m]; float single[2]; boolean b[n]; byte raw[m];
                      string names[n]; leaf one; leaf leaves[n][2]; int64_t big; none nones[m]; mode modes[n]; }
         struct node { int8_t n; node nodes[n]; }
         struct ping { int8_t n; pong pongs[n]; } struct pong { int8_t n; ping pings[n]; double x; }
         struct rows { int32_t a, b, c; int8_t x[a][b][c]; }
         struct shelf { int16_t n; string texts[n][2]; none many[n][n]; }",
    )
    .expect("our own")
});

// The first byte chooses the type; the message behind its fingerprint follows.
fuzz_target!(|bytes: &[u8]| {
    let types = &*TYPES;
    let Some((choice, body)) = bytes.split_first() else {
        return;
    };
    let definition = types.iter().nth(usize::from(*choice) % types.len());
    let name = definition.expect("there are some").name().to_string();
    let mut message = types.fingerprint(&name).expect("it is there").0.to_be_bytes().to_vec();
    message.extend(body);
    let value = match types.decode_as(&name, &message) {
        Ok(value) => value,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let by_json = types.value_from_json(&name, &value.to_json()).expect("our own");
    assert_eq!(by_json.to_json(), value.to_json());
    assert!(value.numbers(1000).len() <= 1000);
    let encoded = match types.encode(&value) {
        Ok(encoded) => encoded,
        // A NUL within a string is read, but cannot be written.
        Err(ValueError::Encode { .. }) => return,
        Err(error) => panic!("{error}"),
    };
    let again = types.decode_as(&name, &encoded).expect("our own");
    assert_eq!(types.encode(&again).expect("our own"), encoded);
    // A boolean of 2 is encoded as 1; bytes that are not UTF-8 are replaced.
    if encoded.len() == message.len() && !name.ends_with("all") {
        let text = message.iter().all(u8::is_ascii) || !name.ends_with("leaf");
        assert!(!text || encoded == message);
    }
});
