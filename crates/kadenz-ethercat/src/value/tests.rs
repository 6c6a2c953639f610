use super::*;

fn of(name: &str) -> EntryType {
    name.parse().unwrap()
}

#[test]
fn what_is_typed_comes_back_as_it_was() {
    for (name, typed, shown) in [
        ("u16", "0x0250", "592 (0x0250)"),
        ("u8", "255", "255 (0xFF)"),
        ("i8", "-1", "-1"),
        ("i24", "-8388608", "-8388608"),
        (
            "u64",
            "18446744073709551615",
            "18446744073709551615 (0xFFFFFFFFFFFFFFFF)",
        ),
        ("i64", "-9223372036854775808", "-9223372036854775808"),
        ("f32", "1.5", "1.5"),
        ("f64", "-0.25", "-0.25"),
        ("bool", "true", "true"),
        ("text", "left knee", "\"left knee\""),
        ("bytes", "0aff", "0a ff"),
    ] {
        let bytes = of(name).encode(typed).unwrap();
        assert_eq!(of(name).shown(&bytes), shown, "{name}");
        assert_eq!(of(name).to_string(), name);
    }
}

#[test]
fn whatever_has_a_number_of_bits_is_a_type_that_holds_them() {
    for number in 0..=0xFF {
        let Some(bits) = DataType(number).bits() else {
            continue;
        };
        let holds = EntryType::of(DataType(number)).and_then(EntryType::bytes);
        assert_eq!(holds, Some(bits.div_ceil(8)), "0x{number:02X}");
    }
    let of = |of: DataType| EntryType::of(of).map(|it| it.to_string());
    assert_eq!(of(DataType::BITARR32), Some("u32".to_owned()));
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    for (name, typed, word) in [
        ("u8", "256", "0 to 255"),
        ("i8", "-129", "-128 to 127"),
        ("u32", "fast", "digits"),
        ("u32", "-1", "0 to"),
        ("bool", "2", "true"),
        ("f32", "x", "1.5"),
        ("bytes", "0af", "pairs"),
        ("bytes", "zz", "pairs"),
    ] {
        let error = of(name).encode(typed).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    for name in ["u7", "u0", "u72", "x8", "", "u", "uä8", "ü16"] {
        let error = name.parse::<EntryType>().unwrap_err().to_string();
        assert!(error.contains("f64"), "{error}");
    }
}

#[test]
fn bytes_of_another_length_are_shown_as_they_are() {
    assert_eq!(of("f32").shown(&[1, 2]), "01 02");
    assert_eq!(of("u16").shown(&[]), "");
    assert_eq!(
        of("i32").json(&[0xFF; 9]),
        Value::from("ff ff ff ff ff ff ff ff ff")
    );
    assert_eq!(
        of("i32").shown(&[0xFF, 0xFF]),
        "-1",
        "fewer bytes than the type has are an integer, too"
    );
}

#[test]
fn a_signed_number_of_some_bits_goes_there_and_back() {
    for (name, bits, typed, raw) in [
        ("i8", 4, "-1", vec![0x0F]),
        ("i8", 4, "-8", vec![0x08]),
        ("i8", 4, "7", vec![0x07]),
        ("i8", 8, "-128", vec![0x80]),
        ("i16", 12, "-2", vec![0xFE, 0x0F]),
        ("u8", 4, "15", vec![0x0F]),
        ("i64", 64, "-1", vec![0xFF; 8]),
    ] {
        let bytes = of(name).encode_for(typed, bits).unwrap();
        assert_eq!(bytes, raw, "{name} {typed}");
        let back = of(name).integer(&of(name).widened(bytes, bits));
        assert_eq!(back.to_string(), typed, "{name}");
    }
    for typed in ["8", "-9"] {
        let refused = of("i8").encode_for(typed, 4).unwrap_err().to_string();
        assert!(refused.contains("from -8 to 7"), "{refused}");
    }
}

#[test]
fn bits_are_found_wherever_they_lie() {
    assert_eq!(bits_at(&[0b1010_0000, 0b0000_0001], 5, 4), [0b1101]);
    assert_eq!(bits_at(&[0x34, 0x12], 0, 16), [0x34, 0x12]);
    assert_eq!(bits_at(&[0xFF], 4, 8), [0x0F], "what is not there is 0");
}
