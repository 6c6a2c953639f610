//! The code that writes and reads a member, as `kadenz msg gen` generates it.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::Path;

use crate::member::{Dimension, Element, Member};

impl Element {
    /// Whether an array of this type is written and read at once.
    fn is_number(&self) -> bool {
        matches!(self, Self::Number(..))
    }

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

/// The encoded length of a member in bytes, as an expression.
pub(crate) fn length(member: &Member, krate: &Path) -> TokenStream {
    let field = &member.field;
    let inner = length_of(&member.of, &member.dimensions, krate);
    quote!({ let it = &self.#field; #inner })
}

fn length_of(of: &Element, dimensions: &[Dimension], krate: &Path) -> TokenStream {
    match (dimensions.split_first(), of) {
        (Some((_, [])), Element::Number(_, bytes)) => quote!(it.len() * #bytes),
        (Some((_, inner)), _) => {
            let inner = length_of(of, inner, krate);
            quote!(it.iter().map(|it| #inner).sum::<usize>())
        }
        (None, Element::Number(_, bytes)) => quote!(#bytes),
        (None, Element::Text) => quote!(5 + it.len()),
        (None, Element::Message(_)) => quote!(#krate::message::Message::body_length(it)),
    }
}

/// Statements that write a member.
pub(crate) fn encode(member: &Member, krate: &Path) -> TokenStream {
    let field = &member.field;
    let inner = encode_within(member, &member.dimensions, krate);
    quote!({ let it = &self.#field; #inner })
}

fn encode_within(member: &Member, dimensions: &[Dimension], krate: &Path) -> TokenStream {
    let name = &member.name;
    let Some((outer, inner)) = dimensions.split_first() else {
        return match &member.of {
            Element::Number(..) => quote!(writer.value(*it)?;),
            Element::Text => quote!(writer.string(#name, it)?;),
            Element::Message(_) => quote!(#krate::message::Message::encode_body(it, writer)?;),
        };
    };
    let agree = match outer {
        Dimension::Fixed { .. } => None,
        Dimension::Variable { stated_by } => {
            let by = stated_by.to_string();
            Some(quote! {
                #krate::codec::Writer::agree(#name, it.len(), #by, i64::from(self.#stated_by))?;
            })
        }
    };
    if inner.is_empty() && member.of.is_number() {
        return quote!(#agree writer.array(it)?;);
    }
    let inner = encode_within(member, inner, krate);
    quote!(#agree for it in it { #inner })
}

/// Statements that read a member into its present value.
pub(crate) fn decode(member: &Member, krate: &Path) -> TokenStream {
    let (field, name) = (&member.field, &member.name);
    let lengths: Vec<TokenStream> = member
        .dimensions
        .iter()
        .map(|dimension| match dimension {
            Dimension::Fixed { size, .. } => quote!(#size),
            Dimension::Variable { stated_by } => quote! {
                #krate::codec::Reader::length(#name, i64::from(self.#stated_by))?
            },
        })
        .collect();
    let named = (0..lengths.len()).map(length_name).collect::<Vec<_>>();
    let is_variable = |it: &Dimension| matches!(it, Dimension::Variable { .. });
    let one_of_numbers = named.len() == 1 && member.of.is_number();
    let least = member.of.least_bytes();
    let room = (member.dimensions.iter().any(is_variable) && !one_of_numbers)
        .then(|| quote!(reader.room(#name, &[#(#named),*], #least)?;));
    let inner = decode_within(member, 0, krate);
    quote!({
        #(let #named: usize = #lengths;)*
        #room
        let it = &mut self.#field;
        #inner
    })
}

fn length_name(depth: usize) -> syn::Ident {
    format_ident!("length_{depth}")
}

fn decode_within(member: &Member, depth: usize, krate: &Path) -> TokenStream {
    let name = &member.name;
    let Some((outer, inner)) = member.dimensions[depth..].split_first() else {
        return match &member.of {
            Element::Number(..) => quote!(*it = reader.value(#name)?;),
            Element::Text => quote!(reader.string(#name, it)?;),
            Element::Message(_) => quote!(#krate::message::Message::decode_body(it, reader)?;),
        };
    };
    let length = length_name(depth);
    if inner.is_empty() && member.of.is_number() {
        return match outer {
            Dimension::Fixed { .. } => quote!(reader.array(#name, it)?;),
            Dimension::Variable { .. } => quote!(reader.vector(#name, #length, it)?;),
        };
    }
    let start = start(inner);
    let inner = decode_within(member, depth + 1, krate);
    match outer {
        Dimension::Fixed { .. } => quote!(for it in it { #inner }),
        Dimension::Variable { .. } => quote! {
            it.truncate(#length);
            for at in 0..#length {
                if it.len() == at {
                    it.push(#start);
                }
                let it = &mut it[at];
                #inner
            }
        },
    }
}

/// The value before decoding. Arrays longer than 32 have no default.
fn start(dimensions: &[Dimension]) -> TokenStream {
    match dimensions.split_first() {
        Some((Dimension::Fixed { .. }, inner)) => {
            let inner = start(inner);
            quote!(::core::array::from_fn(|_| #inner))
        }
        _ => quote!(::core::default::Default::default()),
    }
}
