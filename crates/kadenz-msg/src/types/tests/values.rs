use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::types::change::changes;

const TEXT: &str = "
    package p;
    enum mode { OFF = 0, ON = 5 }
    struct leaf { int16_t v; string s; }
    struct nothing { }
    struct all {
        int8_t n; int32_t m;
        double grid[n][m][2];
        float single; byte raw[n]; boolean flags[n]; string names[m];
        mode now; mode modes[n];
        leaf one; leaf leaves[n][2];
        int64_t big;
        nothing nothings[n];
    }
    struct node { int8_t n; node nodes[n]; }";

fn json_of_all() -> serde_json::Value {
    json!({
        "n": 2, "m": 1, "grid": [[[1.0, 2.0]], [["NaN", "-Infinity"]]], "single": 0.1,
        "raw": [0, 255], "flags": [true, false], "names": ["left"], "now": "ON", "modes": ["OFF", 3],
        "one": {"v": -1, "s": "\u{e4}"},
        "leaves": [[{"v": 1, "s": ""}, {"v": 2, "s": "b"}], [{"v": 3, "s": "c"}, {"v": 4, "s": "d"}]],
        "big": i64::MIN, "nothings": [{}, {}],
    })
}

#[test]
fn paths_lead_to_members_elements_and_rows() {
    let value = types(TEXT)
        .value_from_json("p.all", &json_of_all())
        .unwrap();
    assert_eq!(value.get("grid[0][0][1]").unwrap(), Value::Double(2.0));
    assert_eq!(value.get("leaves[1][0].v").unwrap(), Value::Int16(3));
    assert_eq!(
        value.get("grid[0][0]").unwrap().to_json(),
        json!([1.0, 2.0])
    );
    assert_eq!(value.get("now").unwrap().to_json(), json!("ON"));
    for (path, word) in [
        ("grid[2]", "grid has no element 2: it has 2"),
        ("one.w", "one has no member w; it has v, s"),
        ("big[0]", "big is not an array"),
        ("grid.x", "grid has no member x; it is an array"),
        ("one.v.x", "one.v has no member x; it is a number"),
        ("grid[", "is not a valid path"),
        ("", "is not a valid path"),
        ("grid[-1]", "is not a valid path"),
    ] {
        let said = value.get(path).unwrap_err().to_string();
        assert!(said.contains(word), "{path}: {said}");
    }
}

#[test]
fn numbers_come_with_their_paths() {
    let value = types(TEXT)
        .value_from_json("p.all", &json_of_all())
        .unwrap();
    let numbers = value.numbers(100);
    let of = |path: &str| numbers.iter().find(|it| it.0 == path).map(|it| it.1);
    assert_eq!(of("grid[0][0][1]"), Some(2.0));
    assert_eq!(of("leaves[1][1].v"), Some(4.0));
    assert_eq!(of("now"), Some(5.0));
    assert_eq!(of("flags[1]"), Some(0.0));
    assert_eq!(of("one.s"), None);
    assert_eq!(value.numbers(3).len(), 3);
}

#[test]
fn json_that_differs_is_refused_by_its_path() {
    let types = types(TEXT);
    for (pointer, value, said) in [
        (
            "/leaves/0/1",
            json!({"v": 1}),
            "leaves[0][1].s is missing: it is string",
        ),
        (
            "/one",
            json!({"v": 1, "s": "", "w": 1}),
            "one.w is not a member of p.leaf; it has v, s",
        ),
        (
            "/one/v",
            json!(40_000),
            "one.v is int16_t, which 40000 is not",
        ),
        ("/raw/1", json!(-1), "raw[1] is byte, which -1 is not"),
        ("/n", json!(3), "grid has 2 elements, but n says 3"),
        (
            "/grid/0/0",
            json!([1.0]),
            "grid[0][0] has 1 elements, but its description says 2",
        ),
        (
            "/modes/0",
            json!("GO"),
            "modes[0] is p.mode: OFF, ON, which \"GO\" is not",
        ),
        (
            "/single",
            json!(1e300),
            "single is float, which 1e+300 is not",
        ),
        ("/big", json!(1.5), "big is int64_t, which 1.5 is not"),
    ] {
        let mut json = json_of_all();
        *json.pointer_mut(pointer).unwrap() = value;
        let heard = types.value_from_json("p.all", &json).unwrap_err();
        assert_eq!(heard.to_string(), said);
    }
}

#[test]
fn a_value_that_no_longer_fits_is_refused_by_its_path() {
    let types = types(TEXT);
    let mut value = types.value_from_json("p.all", &json_of_all()).unwrap();
    let Value::Struct(record) = &mut value else {
        panic!("a struct");
    };
    *record.member_mut("n").unwrap() = Value::Int8(1);
    let said = types.encode(&value).unwrap_err().to_string();
    assert!(said.contains("grid has 2 elements, but n says 1"), "{said}");
    let Value::Struct(record) = &mut value else {
        panic!("a struct");
    };
    *record.member_mut("n").unwrap() = Value::Int16(2);
    let said = types.encode(&value).unwrap_err().to_string();
    assert!(said.contains("n is int8_t, not int16_t"), "{said}");
    assert!(types.encode(&Value::Int8(1)).is_err());
}

#[test]
fn stated_lengths_take_no_more_memory_than_the_bytes() {
    let types = types(
        "struct a { int32_t n; double x[n]; } struct b { int32_t n, m; byte x[n][m]; }
         struct none { } struct c { int32_t n; none x[n]; } struct d { int32_t n; c x[n]; }
         struct e { none x[1000000000]; } struct f { int32_t n; string s[n]; }",
    );
    let message = |name: &str, numbers: &[i32]| {
        let mut bytes = types.fingerprint(name).unwrap().0.to_be_bytes().to_vec();
        bytes.extend(numbers.iter().flat_map(|it| it.to_be_bytes()));
        bytes
    };
    let refused = |name: &str, numbers: &[i32]| {
        let mut said = String::new();
        let measured = allocation_counter::measure(|| {
            said = types
                .decode_as(name, &message(name, numbers))
                .unwrap_err()
                .to_string();
        });
        assert!(measured.bytes_max < 100_000, "{name}: {measured:?}");
        said
    };
    assert!(refused("a", &[i32::MAX]).contains("x would have 2147483647 elements"));
    assert!(refused("a", &[-1]).contains("x: the length of it is -1"));
    assert!(refused("b", &[i32::MAX, i32::MAX]).contains("elements"));
    assert!(refused("c", &[i32::MAX]).contains("elements"));
    assert!(refused("e", &[]).contains("elements"));
    assert!(refused("f", &[2, i32::MAX, 0, 0]).contains("s[0]"));
    let many = [3, 1000, 1000, 1000];
    assert!(refused("d", &many).contains("x[1].x would have 1000 elements"));
    // Rows without columns take no bytes, in any number.
    let empty = types.decode_as("b", &message("b", &[i32::MAX, 0])).unwrap();
    assert_eq!(empty.get("x").unwrap().to_json(), json!([]));
    assert_eq!(types.encode(&empty).unwrap(), message("b", &[i32::MAX, 0]));
    assert!(types.default_value("e").is_err());
}

#[test]
fn structs_of_nothing_do_not_multiply() {
    let structs = (0..90).map(|it| format!("struct s{it:02} {{ s{:02} a, b; }}\n", it + 1));
    let types = types(&(structs.collect::<String>() + "struct s90 { }"));
    assert!(types.default_value("s00").is_err());
    assert_eq!(types.default_value("s85").unwrap().numbers(9), []);
    let message = |name: &str| types.fingerprint(name).unwrap().0.to_be_bytes();
    let said = types.decode(&message("s00")).unwrap_err().to_string();
    assert!(said.contains("more than the message"), "{said}");
    assert!(types.decode_as("s85", &message("s85")).is_ok());
    assert!(crate::generate::rust::generate(&types, &Default::default()).is_ok());
}

#[test]
fn depth_is_bounded() {
    let types = types(TEXT);
    let message = |depth: usize| {
        let mut bytes = types
            .fingerprint("p.node")
            .unwrap()
            .0
            .to_be_bytes()
            .to_vec();
        bytes.extend(vec![1; depth - 1]);
        bytes.push(0);
        bytes
    };
    let deepest = types.decode(&message(MAX_VALUE_DEPTH)).unwrap();
    assert_eq!(types.encode(&deepest).unwrap(), message(MAX_VALUE_DEPTH));
    let again = types.value_from_json("p.node", &deepest.to_json()).unwrap();
    assert_eq!(again, deepest);
    let said = types.decode(&message(MAX_VALUE_DEPTH + 1)).unwrap_err();
    assert!(said.to_string().contains("deeper than 128 structs"));
    assert!(types.decode(&message(1_000_000)).is_err());
}

#[test]
fn errors_name_both_fingerprints() {
    let types = types("struct a { int8_t x; } struct b { int8_t y; }");
    let bytes = types.encode(&types.default_value("a").unwrap()).unwrap();
    let said = types.decode_as("b", &bytes).unwrap_err().to_string();
    for name in ["a", "b"] {
        let fingerprint = types.fingerprint(name).unwrap().to_string();
        assert!(said.contains(&fingerprint), "{said}");
    }
    let said = types.decode(&[7; 9]).unwrap_err().to_string();
    assert!(said.contains("0x0707070707070707"), "{said}");
    assert!(types.decode(&[]).is_err());
    assert!(types.decode_as("gone", &bytes).is_err());
}

/// Descriptions of a few structs that hold primitives, arrays and earlier structs.
fn descriptions() -> impl Strategy<Value = String> {
    let member = (0_usize..14, 0_usize..6, "[ -~]{0,12}");
    let structs = prop::collection::vec(prop::collection::vec(member, 0..6), 1..5);
    structs.prop_map(|structs| {
        let mut text = String::from("package some.where;\n");
        for (index, members) in structs.iter().enumerate() {
            text.push_str(&format!(
                "/* the {index}th */ struct s{index} {{ int8_t n; const int16_t N = 0x2;\n"
            ));
            for (place, (of, shape, doc)) in members.iter().enumerate() {
                let named = format!("s{}", index.saturating_sub(1));
                let of = PrimitiveType::ALL
                    .get(*of)
                    .map_or(named, |it| it.name().to_owned());
                let own = of == format!("s{index}");
                let shape = ["", "[2]", "[n]", "[N][n]", "[n][03]", "[n][n]"][*shape];
                let shape = if own && !shape.contains('n') {
                    "[n]"
                } else {
                    shape
                };
                text.push_str(&format!("//{doc}\n {of} m{place}{shape};\n"));
            }
            text.push_str("}\n");
        }
        text
    })
}

proptest! {
    #[test]
    fn a_printed_closure_says_the_same(text in descriptions()) {
        let types = Types::from_text(&text).unwrap();
        let printed = types.to_text();
        let again = Types::from_text(&printed).unwrap();
        prop_assert_eq!(again.to_text(), printed);
        prop_assert!(changes(&types, &again).is_empty());
        for definition in types.iter() {
            let name = definition.name().to_string();
            let closure = Types::from_text(&types.text_of(&name).unwrap()).unwrap();
            prop_assert_eq!(closure.fingerprint(&name), types.fingerprint(&name));
            let value = types.default_value(&name).unwrap();
            let bytes = types.encode(&value).unwrap();
            prop_assert_eq!(closure.decode_as(&name, &bytes).unwrap(), value);
        }
    }

    #[test]
    fn what_decodes_encodes_to_the_same_meaning(
        text in descriptions(),
        body in prop::collection::vec(prop_oneof![0_u8..3, any::<u8>()], 0..200),
    ) {
        let types = Types::from_text(&text).unwrap();
        for definition in types.iter() {
            let name = definition.name().to_string();
            // As many bytes as the message wants.
            for length in 0..=body.len() {
                let mut bytes = types.fingerprint(&name).unwrap().0.to_be_bytes().to_vec();
                bytes.extend(&body[..length]);
                let Ok(value) = types.decode_as(&name, &bytes) else { continue };
                let json = types.value_from_json(&name, &value.to_json()).unwrap();
                prop_assert_eq!(json.to_json(), value.to_json());
                if let Ok(encoded) = types.encode(&value) {
                    let again = types.decode_as(&name, &encoded).unwrap();
                    prop_assert_eq!(types.encode(&again).unwrap(), encoded);
                    prop_assert_eq!(again.to_json(), value.to_json());
                }
            }
        }
    }
}
