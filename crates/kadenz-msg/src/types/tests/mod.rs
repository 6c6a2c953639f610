//! The content of a description, and the texts that are refused although lcm-gen accepts them.

mod changes;
mod values;

use super::*;

pub(super) fn types(text: &str) -> Types {
    Types::from_text(text).unwrap()
}

fn refused(text: &str) -> String {
    Types::from_text(text).unwrap_err().to_string()
}

fn structure(types: &Types, name: &str) -> std::sync::Arc<Struct> {
    match types.get(name) {
        Some(Definition::Struct(it)) => it.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn comments_stay_with_what_they_are_about() {
    let types = types(
        "// About the file.
        package p; // not this

        /**
         * Where it is.
         *   indented
         */
        struct pose { // in the world
            // First,
            // of two.
            int8_t a, b; // both
            /* before */ int8_t c;
            const int8_t LIMIT = 3; /// the limit
            // after the last one
        }
        /* How it moves. */ enum mode {
            OFF, // it stands
            // It goes.
            ON = 7 }",
    );
    let pose = structure(&types, "p.pose");
    assert_eq!(pose.doc, "Where it is.\n  indented\nin the world");
    let docs: Vec<&str> = pose.members.iter().map(|it| it.doc.as_str()).collect();
    assert_eq!(
        docs,
        ["First,\nof two.\nboth", "First,\nof two.\nboth", "before"]
    );
    assert_eq!(pose.constants[0].doc, "the limit");
    let Some(Definition::Enum(mode)) = types.get("p.mode") else {
        panic!("an enum");
    };
    assert_eq!(mode.doc, "How it moves.");
    let values: Vec<_> = mode
        .values
        .iter()
        .map(|it| (it.number, it.doc.as_str()))
        .collect();
    assert_eq!(values, [(1, "it stands"), (7, "It goes.")]);
}

#[test]
fn a_short_name_is_of_its_own_package() {
    let both = "package a; struct x { int8_t v; } package b; struct x { double v; } struct y { x one; a.x two; }";
    let types = types(both);
    let y = structure(&types, "b.y");
    assert_eq!(y.members[0].of.to_string(), "b.x");
    assert_eq!(y.members[1].of.to_string(), "a.x");
    let said = refused("package a; struct x { int8_t v; }\npackage b; struct y { x one; }");
    assert!(
        said.contains("2:23: no description of b.x (there is a.x)"),
        "{said}"
    );
}

#[test]
fn types_of_other_languages_are_named_with_what_takes_their_place() {
    for (name, word) in [
        ("uint8_t", "byte"),
        ("uint32_t", "int64_t"),
        ("int", "int32_t"),
        ("bool", "boolean"),
    ] {
        let said = refused(&format!("struct a {{ {name} x; }}"));
        assert!(said.contains(word) && said.contains("1:12"), "{said}");
    }
    let said = refused("struct double { int8_t x; }");
    assert!(said.contains("a word of the language"), "{said}");
}

#[test]
fn a_struct_that_holds_itself_without_end_is_refused() {
    let said = refused("package p; struct a { b one; }\nstruct b { a ones[2]; }");
    assert!(said.contains("p.a > p.b > p.a"), "{said}");
    let fine = types("package p; struct a { int8_t n; a ones[n]; }");
    assert_eq!(fine.len(), 1);
}

/// Found by fuzzing.
#[test]
fn a_type_of_a_package_may_be_made_of_one_without() {
    let types = types("struct p.s { none x; p.t y; } struct p.t { int8_t n; } struct none { }");
    let text = types.text_of("p.s").unwrap();
    let again = Types::from_text(&text).expect(&text);
    assert_eq!(again.fingerprint("p.s"), types.fingerprint("p.s"));
    assert!(again.get("none").is_some() && again.get("p.t").is_some());
    assert_eq!(
        Types::from_text(&types.to_text()).unwrap().to_text(),
        types.to_text()
    );
}

#[test]
fn hostile_descriptions_are_refused_soon() {
    let chain = |array: &str, length: usize| {
        let structs = (0..length)
            .map(|it| format!("struct s{it} {{ int8_t n; s{} part{array}; }}\n", it + 1));
        let text: String = structs.collect();
        format!("{text}struct s{length} {{ int8_t n; }}")
    };
    assert!(refused(&chain("", 20_000)).contains("deep"));
    assert!(refused(&chain("[n]", 20_000)).contains("deep"));
    assert!(Types::from_text(&chain("", 90)).is_ok());
    // Two members of the next type each: 2^90 ways to the last.
    let wide = chain("", 90).replace("part;", "part, more;");
    assert!(Types::from_text(&wide).is_ok());
    // Each holds all others: their orders are more than can be counted.
    let tangle = (0..20).map(|it| {
        let parts = (0..20).map(|other| format!("s{other} m{other}[n];"));
        format!(
            "struct s{it} {{ int8_t n; {} }}\n",
            parts.collect::<String>()
        )
    });
    let said = refused(&tangle.collect::<String>());
    assert!(said.contains("refer to each other"), "{said}");
}

#[test]
fn many_tangles_take_no_more_memory_than_is_allowed() {
    // Each of ten types holds all ten, and there are as many such tens as a text has room for.
    let tangle = |tangle: usize| -> String {
        let one = |it: usize| {
            let parts = (0..10).map(|other| format!("t{tangle}_{other} m{other}[n];"));
            let parts: String = parts.collect();
            format!("struct t{tangle}_{it} {{ int8_t n; {parts} }}\n")
        };
        (0..10).map(one).collect()
    };
    let one = tangle(0);
    assert_eq!(Types::from_text(&one).unwrap().len(), 10);
    let many: String = (0..(256 << 10) / one.len()).map(tangle).collect();
    let mut said = String::new();
    let measured = allocation_counter::measure(|| said = refused(&many));
    assert!(said.contains("too much memory"), "{said}");
    assert!(measured.bytes_max < 100_000_000, "{measured:?}");
}

#[test]
fn files_and_folders_may_overlap() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("deeper");
    std::fs::create_dir(&inner).unwrap();
    let file = inner.join("a.lcm");
    std::fs::write(&file, "package p; struct a { q.b it; }").unwrap();
    std::fs::write(
        inner.join("b.lcm"),
        b"package q; struct b { int8_t x; } // \xe4",
    )
    .unwrap();
    std::fs::write(inner.join("README"), "no description").unwrap();
    let types = Types::from_files([folder.path(), &file]).unwrap();
    assert_eq!(types.len(), 2);
    let said = Types::from_files([&file]).unwrap_err().to_string();
    assert!(
        said.contains("a.lcm:1:23") && said.contains("q.b"),
        "{said}"
    );
    let empty = tempfile::tempdir().unwrap();
    let said = Types::from_files([empty.path()]).unwrap_err().to_string();
    assert!(said.contains("no file that ends in .lcm"), "{said}");
    assert!(Types::from_files([empty.path().join("gone")]).is_err());
}

#[test]
fn types_that_differ_in_name_alone_share_a_fingerprint() {
    let types = types("struct a { int8_t x; } struct b { int8_t x; }");
    let fingerprint = types.fingerprint("a").unwrap();
    assert_eq!(types.by_fingerprint(fingerprint).count(), 2);
    let value = types.default_value("b").unwrap();
    let bytes = types.encode(&value).unwrap();
    assert_eq!(types.decode(&bytes).unwrap().kind(), "a");
    assert_eq!(types.decode_as("b", &bytes).unwrap().kind(), "b");
}
