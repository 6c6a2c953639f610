//! The code that writes and reads a member, as `kadenz msg gen` generates it.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Path;

use crate::member::{Dimension, Element, Member};

impl Element {
    /// The least number of bytes of an element. For another message it is unknown: an array of messages grows as it is
    /// read, and takes no memory for elements that never come.
    fn least_bytes(&self) -> usize {
        match self {
            Self::Number(_, bytes) => *bytes,
            Self::Text => 5,
            Self::Message(_) => 0,
        }
    }
}

impl Member {
    fn is_one_number(&self) -> bool {
        matches!(self.of, Element::Number(..)) && self.dimensions.is_empty()
    }
}

/// The encoded length of a member in bytes, as an expression.
pub(crate) fn length(member: &Member, krate: &Path) -> TokenStream {
    let field = &member.field;
    match member.of {
        Element::Number(_, bytes) if member.dimensions.is_empty() => quote!(#bytes),
        _ => quote!(#krate::codec::length(&self.#field)),
    }
}

/// A statement that writes a member.
pub(crate) fn encode(member: &Member) -> TokenStream {
    let Member { field, name, .. } = member;
    if member.is_one_number() {
        return quote!(writer.value(self.#field)?;);
    }
    let stated = member.dimensions.iter().filter_map(|it| match it {
        Dimension::Fixed { .. } => None,
        Dimension::Variable { stated_by } => {
            let by = stated_by.to_string();
            Some(quote!((#by, i64::from(self.#stated_by))))
        }
    });
    quote!(writer.list(#name, &self.#field, &[#(#stated),*])?;)
}

/// A statement that reads a member into its present value.
pub(crate) fn decode(member: &Member) -> TokenStream {
    let Member { field, name, .. } = member;
    if member.is_one_number() {
        return quote!(self.#field = reader.value(#name)?;);
    }
    let is_variable = |it: &Dimension| matches!(it, Dimension::Variable { .. });
    if !member.dimensions.iter().any(is_variable) {
        return quote!(reader.list(#name, &mut self.#field, &[], 0)?;);
    }
    let lengths = member.dimensions.iter().map(|it| match it {
        Dimension::Fixed { size, .. } => {
            let size = i64::try_from(*size).unwrap_or(i64::MAX);
            quote!(#size)
        }
        Dimension::Variable { stated_by } => quote!(i64::from(self.#stated_by)),
    });
    let least = member.of.least_bytes();
    quote!(reader.list(#name, &mut self.#field, &[#(#lengths),*], #least)?;)
}
