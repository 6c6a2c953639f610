//! The members of a message.

use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Expr, Field, GenericArgument, Ident, Lit, LitStr, PathArguments, Result, Type};

/// A member of a message.
pub(crate) struct Member {
    pub(crate) field: Ident,
    /// Its name in LCM.
    pub(crate) name: String,
    /// The type of the member, or of each element of it.
    pub(crate) of: Element,
    /// From the outermost to the innermost; empty where it is no array.
    pub(crate) dimensions: Vec<Dimension>,
}

/// The type of a member, or of each element of it.
pub(crate) enum Element {
    /// A number, a byte or a boolean: its name in LCM, and how many bytes it takes.
    Number(&'static str, usize),
    /// A string, which LCM writes with its length and a zero byte.
    Text,
    /// Another message.
    Message(Box<Type>),
}

/// The length of an array in one of its dimensions.
pub(crate) enum Dimension {
    /// A fixed length, which LCM hashes as the text that is written.
    Fixed { text: String, size: usize },
    /// The length is the value of an earlier field.
    Variable { stated_by: Ident },
}

/// Rust's numbers that LCM has: their names in LCM, and their size in bytes.
const NUMBERS: [(&str, &str, usize); 8] = [
    ("i8", "int8_t", 1),
    ("i16", "int16_t", 2),
    ("i32", "int32_t", 4),
    ("i64", "int64_t", 8),
    ("u8", "byte", 1),
    ("f32", "float", 4),
    ("f64", "double", 8),
    ("bool", "boolean", 1),
];

/// Types that a user may try, and what to write in their place.
const NOT_IN_LCM: [(&str, &str); 14] = [
    ("u16", "i32"),
    ("u32", "i64"),
    ("u64", "i64"),
    ("u128", "[u8; 16]"),
    ("usize", "i64"),
    ("isize", "i64"),
    ("i128", "[u8; 16]"),
    ("char", "String"),
    ("str", "String"),
    ("Option", "a Vec with at most one element"),
    ("Box", "what it holds"),
    ("Arc", "what it holds"),
    ("HashMap", "a Vec of a message with key and value"),
    ("BTreeMap", "a Vec of a message with key and value"),
];

impl Member {
    /// A field of a struct as a member; `before` are the members before it.
    pub(crate) fn new(field: &Field, before: &[Self]) -> Result<Self> {
        let Some(ident) = field.ident.clone() else {
            let text = "a message has named fields: LCM hashes the names";
            return Err(syn::Error::new(field.span(), text));
        };
        let mut lengths = lengths(field)?.into_iter();
        let mut dimensions = Vec::new();
        let of = element(&field.ty, &mut lengths, before, &mut dimensions)?;
        if let Some(left) = lengths.next() {
            let text = "a `length` more than the field has Vecs; remove it";
            return Err(syn::Error::new(left.span(), text));
        }
        Ok(Self {
            name: ident.unraw().to_string(),
            field: ident,
            of,
            dimensions,
        })
    }

    fn states_lengths(&self) -> bool {
        let integer = matches!(self.of, Element::Number(name, _) if name.starts_with("int"));
        integer && self.dimensions.is_empty()
    }
}

/// The fields that `#[kadenz(length = "...")]` names, in their order.
fn lengths(field: &Field) -> Result<Vec<LitStr>> {
    let mut lengths = Vec::new();
    for attribute in field.attrs.iter().filter(|it| it.path().is_ident("kadenz")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("length") {
                return Err(meta.error("a field of a message takes `length = \"...\"` alone"));
            }
            lengths.push(meta.value()?.parse()?);
            Ok(())
        })?;
    }
    Ok(lengths)
}

fn element(
    of: &Type,
    lengths: &mut impl Iterator<Item = LitStr>,
    before: &[Member],
    dimensions: &mut Vec<Dimension>,
) -> Result<Element> {
    match of {
        Type::Group(it) => element(&it.elem, lengths, before, dimensions),
        Type::Paren(it) => element(&it.elem, lengths, before, dimensions),
        Type::Array(it) => {
            dimensions.push(fixed(&it.len)?);
            element(&it.elem, lengths, before, dimensions)
        }
        Type::Path(it) => {
            let Some(last) = it.path.segments.last() else {
                return Err(unknown(of));
            };
            let name = last.ident.to_string();
            if name == "Vec" {
                let inner = only_argument(&last.arguments).ok_or_else(|| unknown(of))?;
                dimensions.push(variable(of, lengths.next(), before)?);
                return element(inner, lengths, before, dimensions);
            }
            if let Some((_, better)) = NOT_IN_LCM.iter().find(|it| it.0 == name) {
                let text = format!("LCM has no `{name}`; write {better}");
                return Err(syn::Error::new(of.span(), text));
            }
            if !last.arguments.is_none() {
                return Err(unknown(of));
            }
            if name == "String" {
                return Ok(Element::Text);
            }
            let number = NUMBERS.iter().find(|it| it.0 == name);
            Ok(match number {
                Some((_, lcm, bytes)) => Element::Number(lcm, *bytes),
                None => Element::Message(Box::new(of.clone())),
            })
        }
        _ => Err(unknown(of)),
    }
}

fn unknown(of: &Type) -> syn::Error {
    let text = "LCM has no such type; a member is i8, i16, i32, i64, u8, f32, f64, bool, String, another \
                message, or an array ([T; 3], Vec<T>) of them";
    syn::Error::new(of.span(), text)
}

fn only_argument(arguments: &PathArguments) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = arguments else {
        return None;
    };
    match arguments.args.iter().collect::<Vec<_>>()[..] {
        [GenericArgument::Type(of)] => Some(of),
        _ => None,
    }
}

fn fixed(length: &Expr) -> Result<Dimension> {
    let wrong = || {
        let text = "the length of an array is a number of 1 or more: LCM hashes its text, which a constant hides";
        syn::Error::new(length.span(), text)
    };
    let Expr::Lit(literal) = length else {
        return Err(wrong());
    };
    let Lit::Int(number) = &literal.lit else {
        return Err(wrong());
    };
    let size: usize = number.base10_parse()?;
    if size == 0 {
        return Err(wrong());
    }
    let written = number.to_string().replace('_', "");
    let written = written.trim_end_matches(number.suffix());
    // LCM has decimal and hexadecimal numbers, and hashes each as it is written.
    let text = match written.starts_with("0x") {
        true => written.to_owned(),
        false => size.to_string(),
    };
    Ok(Dimension::Fixed { text, size })
}

fn variable(of: &Type, stated_by: Option<LitStr>, before: &[Member]) -> Result<Dimension> {
    let Some(stated_by) = stated_by else {
        let text = "a Vec needs an integer field before it that holds its length, and \
                    #[kadenz(length = \"that field\")]";
        return Err(syn::Error::new(of.span(), text));
    };
    let named = before.iter().find(|it| it.name == stated_by.value());
    match named {
        Some(member) if member.states_lengths() => Ok(Dimension::Variable {
            stated_by: member.field.clone(),
        }),
        _ => {
            let text = format!(
                "`{}` is not an i8, i16, i32 or i64 field before this one",
                stated_by.value()
            );
            Err(syn::Error::new(stated_by.span(), text))
        }
    }
}
