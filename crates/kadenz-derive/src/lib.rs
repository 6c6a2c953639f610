//! `#[derive(Message)]` makes a Rust struct an LCM message: it has the fingerprint and the encoding of the
//! `.lcm` struct with the same members, and implements `kadenz_msg::message::Message` as the code that
//! `kadenz msg gen --lang rust` writes does.
//!
//! Users take it as `kadenz::Message`.

mod member;
mod message;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct with named fields an LCM message. Derive `Default` beside it, or write it: this macro does not, and
/// `Message::decode` and subscriptions begin with such a value.
///
/// | field | member in `.lcm` |
/// |---|---|
/// | `i8`, `i16`, `i32`, `i64`, `u8` | `int8_t`, `int16_t`, `int32_t`, `int64_t`, `byte` |
/// | `f32`, `f64`, `bool`, `String` | `float`, `double`, `boolean`, `string` |
/// | another message | a struct or an enum |
/// | `[T; 3]` | `T name[3]`; the length is a number as LCM has it in the text |
/// | `Vec<T>` | `T name[n]`, with `#[kadenz(length = "n")]` |
///
/// The length of a `Vec` stands in an integer field before it, which `length` names; encoding fails where
/// the two differ. Each `Vec` of a `Vec` of a `Vec` takes a `length` of its own, the outermost first.
///
/// Attributes of the struct:
/// - `#[kadenz(name = "command_t")]`: its name in LCM, which tools show; that of the Rust struct without it.
/// - `#[kadenz(package = "robot")]`: its package in LCM; none without it.
/// - `#[kadenz(crate = "my_crate::msg")]`: the path of `kadenz_msg`; `::kadenz::msg` without it.
///
/// The fingerprint covers the fields' names, types and dimensions, not the name of the struct. The
/// description of the type, which tools show, is empty for a message of other messages.
///
/// # Real-time safety
/// Encoding allocates nothing. Decoding over a message allocates only where a string or a `Vec` is longer
/// than it was.
#[proc_macro_derive(Message, attributes(kadenz))]
pub fn message(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let code = message::of(&input).unwrap_or_else(syn::Error::into_compile_error);
    code.into()
}
