use syn::parse_quote;

use super::*;

/// The compiler error of a type that derives the trait.
fn refusal(input: &DeriveInput) -> String {
    let refused = of(input).expect_err("it is not a message");
    refused.to_string()
}

#[test]
fn each_type_that_lcm_lacks_is_refused_with_what_to_write() {
    let cases = [
        (parse_quote!(u32), "LCM has no `u32`; write i64"),
        (parse_quote!([usize; 3]), "LCM has no `usize`; write i64"),
        (
            parse_quote!(Option<f64>),
            "write a Vec with at most one element",
        ),
        (
            parse_quote!((f64, f64)),
            "LCM has no such type; a member is i8,",
        ),
        (parse_quote!(&'static [u8]), "LCM has no such type"),
        (parse_quote!(Wrapping<i32>), "LCM has no such type"),
        (parse_quote!([f64; AXES]), "which a constant hides"),
        (parse_quote!([f64; 0]), "a number of 1 or more"),
        (parse_quote!(Vec<f64>), "#[kadenz(length = \"that field\")]"),
        (parse_quote!(Command), "a message that holds itself"),
    ];
    for (of, expected) in cases {
        let of: syn::Type = of;
        let refused = refusal(&parse_quote! { struct Command { member: #of } });
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn a_length_is_an_integer_field_before_its_vec() {
    let cases: [(DeriveInput, &str); 4] = [
        (
            parse_quote! { struct A { #[kadenz(length = "n")] it: Vec<u8>, n: i32 } },
            "`n` is not an i8, i16, i32 or i64 field before this one",
        ),
        (
            parse_quote! { struct A { n: f64, #[kadenz(length = "n")] it: Vec<u8> } },
            "`n` is not",
        ),
        (
            parse_quote! { struct A { n: i32, #[kadenz(length = "n")] it: Vec<Vec<u8>> } },
            "a Vec needs an integer field",
        ),
        (
            parse_quote! { struct A { n: i32, #[kadenz(length = "n")] it: u8 } },
            "a `length` more than the field has Vecs",
        ),
    ];
    for (input, expected) in cases {
        let refused = refusal(&input);
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn what_is_not_a_struct_with_named_fields_is_refused() {
    let cases: [(DeriveInput, &str); 5] = [
        (parse_quote! { enum A { B } }, "write an enum as an integer"),
        (parse_quote! { struct A(u8); }, "named fields"),
        (parse_quote! { struct A<T> { it: T } }, "one fingerprint"),
        (
            parse_quote! { #[kadenz(name = "a b")] struct A {} },
            "`name = \"a_word\"`",
        ),
        (
            parse_quote! { #[kadenz(colour = "red")] struct A {} },
            "a message takes `name",
        ),
    ];
    for (input, expected) in cases {
        let refused = refusal(&input);
        assert!(refused.contains(expected), "{refused}");
    }
}
