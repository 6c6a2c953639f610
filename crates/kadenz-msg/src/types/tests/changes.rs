use super::*;
use crate::types::change::{Change, TypeChange, changes, changes_of};

/// Returns the changes of the only type that changed.
fn said(old: &str, new: &str) -> (bool, Vec<String>) {
    let (old, new) = (types(old), types(new));
    let all = changes(&old, &new);
    assert_eq!(all.len(), 1, "{all:?}");
    let named = all[0].changes.iter().any(Change::breaks) || !all[0].through.is_empty();
    assert_eq!(
        all[0].breaks(),
        named,
        "a changed fingerprint has its reason: {all:?}"
    );
    let texts = all[0].changes.iter().map(ToString::to_string);
    (all[0].breaks(), texts.collect())
}

#[test]
fn each_change_says_whether_it_breaks() {
    for (old, new, breaks, text) in [
        (
            "int8_t a;",
            "int8_t a, b;",
            true,
            "member b (int8_t) is new",
        ),
        (
            "int8_t a, b;",
            "int8_t a;",
            true,
            "member b (int8_t) is gone",
        ),
        ("int8_t a;", "int8_t b;", true, "member a is now called b"),
        (
            "int8_t a;",
            "int16_t a;",
            true,
            "member a was int8_t and is int16_t",
        ),
        (
            "int8_t a[2];",
            "int8_t a[3];",
            true,
            "member a was int8_t[2] and is int8_t[3]",
        ),
        (
            "int8_t a[3];",
            "int8_t a[0x3];",
            true,
            "the same size, but the fingerprint is of the text",
        ),
        (
            "int8_t a, b;",
            "int8_t b, a;",
            true,
            "the order was a, b and is b, a",
        ),
        (
            "const int8_t N = 2; int8_t a[N];",
            "const int8_t N = 3; int8_t a[N];",
            true,
            "int8_t[3]",
        ),
        (
            "const int8_t N = 2;",
            "const int8_t N = 3;",
            false,
            "constant N was int8_t 2 and is int8_t 3",
        ),
        ("const int8_t N = 2;", "", false, "constant N is gone"),
        (
            "int8_t a;",
            "// now said\n int8_t a;",
            false,
            "the comment of a changed",
        ),
    ] {
        let text_of = |members: &str| format!("struct s {{\n{members}\n}}");
        let (broken, texts) = said(&text_of(old), &text_of(new));
        assert_eq!(broken, breaks, "{old} > {new}");
        assert!(texts.iter().any(|it| it.contains(text)), "{texts:?}");
    }
}

#[test]
fn a_constant_written_otherwise_is_not_a_change() {
    let old = types("struct s { const int8_t N = 0x2; int8_t a; }");
    let new = types("struct s { const int8_t N = 2; int8_t a; }");
    assert!(changes(&old, &new).is_empty());
}

#[test]
fn enums_mislead_and_do_not_break() {
    let (broken, texts) = said("enum e { A = 1, B = 2 }", "enum e { A = 3, C = 4 }");
    assert!(!broken);
    assert_eq!(texts.len(), 3, "{texts:?}");
    let (old, new) = (types("enum e { A = 1 }"), types("struct e { int8_t a; }"));
    assert_eq!(changes(&old, &new)[0].changes, [Change::KindChanged]);
}

#[test]
fn a_change_breaks_all_that_is_made_of_it() {
    let text = |of: &str| {
        format!("package p; struct a {{ {of} x; }} struct b {{ a it; }} struct c {{ b it; }}")
    };
    let (old, new) = (types(&text("int8_t")), types(&text("int16_t")));
    let all = changes_of("p.c", &old, &new);
    let names: Vec<String> = all.iter().map(|it| it.name.to_string()).collect();
    assert_eq!(names, ["p.c", "p.a", "p.b"]);
    let both = |it: &TypeChange| it.breaks() && it.old.is_some() && it.new.is_some();
    assert!(all.iter().all(both));
    assert_eq!(all[0].through[0].to_string(), "p.b");
    assert!(all[0].changes.is_empty());
}

#[test]
fn a_type_under_another_name_does_not_break() {
    let old = types("struct a { int8_t x; } struct s { a it; }");
    let new = types("struct b { int8_t x; } struct s { b it; }");
    let all = changes_of("s", &old, &new);
    assert!(!all[0].breaks(), "{all:?}");
    let said = all[0].changes[0].to_string();
    assert!(said.contains("the same under another name"), "{said}");
    assert!(changes_of("gone", &old, &new).is_empty());
}
