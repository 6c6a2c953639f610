//! The implementation of `Message` for a struct.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{Data, DeriveInput, Fields, LitStr, Path, Result, parse_quote};

use crate::member::{Dimension, Element, Member};

/// The attributes `#[kadenz(...)]` of a struct.
struct Attributes {
    /// Its name in LCM, with its package.
    name: String,
    /// The path of `kadenz_msg`.
    krate: Path,
}

/// The implementation of `Message` for a struct.
pub(crate) fn of(input: &DeriveInput) -> Result<TokenStream> {
    let wrong = |text: &str| Err(syn::Error::new_spanned(&input.ident, text));
    let Data::Struct(data) = &input.data else {
        return wrong(
            "a message is a struct; write an enum as an integer, or generate it from its .lcm file",
        );
    };
    let fields = match &data.fields {
        Fields::Named(fields) => Some(&fields.named),
        Fields::Unit => None,
        Fields::Unnamed(_) => return wrong("a message has named fields: LCM hashes the names"),
    };
    if !input.generics.params.is_empty() {
        return wrong(
            "a message has one fingerprint, and so no type, lifetime or constant to fill in",
        );
    }
    let mut members: Vec<Member> = Vec::new();
    for field in fields.into_iter().flatten() {
        let member = Member::new(field, &members)?;
        if is_itself(&member, input) {
            let text =
                "a message that holds itself cannot be derived; generate it from its .lcm file";
            return Err(syn::Error::new_spanned(&field.ty, text));
        }
        members.push(member);
    }
    let attributes = Attributes::of(input)?;
    Ok(implementation(input, &attributes, &members))
}

fn is_itself(member: &Member, input: &DeriveInput) -> bool {
    let Element::Message(of) = &member.of else {
        return false;
    };
    let text = of.to_token_stream().to_string();
    text == "Self" || input.ident == text
}

impl Attributes {
    fn of(input: &DeriveInput) -> Result<Self> {
        let mut name = input.ident.to_string();
        let mut package = String::new();
        let mut krate: Path = parse_quote!(::kadenz::msg);
        for attribute in input.attrs.iter().filter(|it| it.path().is_ident("kadenz")) {
            attribute.parse_nested_meta(|meta| {
                let text: LitStr = meta.value()?.parse()?;
                if meta.path.is_ident("crate") {
                    krate = text.parse()?;
                } else if meta.path.is_ident("name") && is_word(&text.value()) {
                    name = text.value();
                } else if meta.path.is_ident("package") && text.value().split('.').all(is_word) {
                    package = text.value() + ".";
                } else {
                    return Err(meta.error(
                        "a message takes `name = \"a_word\"`, `package = \"words.with.points\"` and \
                         `crate = \"a::path\"`",
                    ));
                }
                Ok(())
            })?;
        }
        Ok(Self {
            name: package + &name,
            krate,
        })
    }
}

/// Whether a text is a valid name in LCM.
fn is_word(text: &str) -> bool {
    let mut characters = text.chars();
    let first = characters.next();
    first.is_some_and(|it| it.is_ascii_alphabetic() || it == '_')
        && characters.all(|it| it.is_ascii_alphanumeric() || it == '_')
}

fn implementation(
    input: &DeriveInput,
    Attributes { name, krate }: &Attributes,
    members: &[Member],
) -> TokenStream {
    let ident = &input.ident;
    let description = description(name, members);
    let hash = members.iter().map(|member| hash(member, krate));
    let length = members.iter().map(|member| length(member, krate));
    let encode = members.iter().map(encode);
    let decode = members.iter().map(decode);
    quote! {
        #[automatically_derived]
        #[allow(clippy::all, clippy::pedantic, unused_variables)]
        impl #krate::message::Message for #ident {
            const NAME: &'static str = #name;
            const FINGERPRINT: #krate::message::Fingerprint =
                #krate::types::StructHash::new() #(#hash)* .fingerprint();
            const DESCRIPTION: &'static str = #description;

            fn body_length(&self) -> usize {
                0 #(+ #length)*
            }

            fn encode_body(
                &self,
                writer: &mut #krate::codec::Writer<'_>,
            ) -> ::core::result::Result<(), #krate::codec::EncodeError> {
                #(#encode)*
                ::core::result::Result::Ok(())
            }

            fn decode_body(
                &mut self,
                reader: &mut #krate::codec::Reader<'_>,
            ) -> ::core::result::Result<(), #krate::codec::DecodeError> {
                #(#decode)*
                ::core::result::Result::Ok(())
            }
        }
    }
}

fn hash(member: &Member, krate: &Path) -> TokenStream {
    let name = &member.name;
    let (primitive, part) = match &member.of {
        Element::Number(name, _) => (quote!(Some(#name)), None),
        Element::Text => (quote!(Some("string")), None),
        Element::Message(of) => {
            let part = quote!(.part(<#of as #krate::message::Message>::FINGERPRINT));
            (quote!(None), Some(part))
        }
    };
    let dimensions = member.dimensions.iter().map(|dimension| {
        let text = dimension.text();
        let is_variable = matches!(dimension, Dimension::Variable { .. });
        quote!((#is_variable, #text))
    });
    quote!(.member(#name, ::core::option::Option::#primitive, &[#(#dimensions),*]) #part)
}

impl Dimension {
    /// The text between the brackets in LCM.
    fn text(&self) -> String {
        match self {
            Self::Fixed { text, .. } => text.clone(),
            Self::Variable { stated_by } => syn::ext::IdentExt::unraw(stated_by).to_string(),
        }
    }
}

/// The struct as `.lcm`; empty, which means unknown, where it holds other messages: a macro does not see their
/// definitions.
fn description(name: &str, members: &[Member]) -> String {
    let (package, short) = name.rsplit_once('.').unwrap_or(("", name));
    let mut text = String::new();
    if !package.is_empty() {
        text = format!("package {package};\n\n");
    }
    text += &format!("struct {short} {{\n");
    for member in members {
        let of = match &member.of {
            Element::Number(name, _) => name,
            Element::Text => "string",
            Element::Message(_) => return String::new(),
        };
        text += &format!("    {of} {}", member.name);
        for dimension in &member.dimensions {
            text += &format!("[{}]", dimension.text());
        }
        text += ";\n";
    }
    text + "}\n"
}

// The code that writes and reads a member, as `kadenz msg gen` generates it.

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
fn length(member: &Member, krate: &Path) -> TokenStream {
    let field = &member.field;
    match member.of {
        Element::Number(_, bytes) if member.dimensions.is_empty() => quote!(#bytes),
        _ => quote!(#krate::codec::length(&self.#field)),
    }
}

/// A statement that writes a member.
fn encode(member: &Member) -> TokenStream {
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
fn decode(member: &Member) -> TokenStream {
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

#[cfg(test)]
mod tests;
