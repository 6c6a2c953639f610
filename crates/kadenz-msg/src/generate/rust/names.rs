//! Names in Rust.

use std::collections::BTreeMap;

use super::super::GenerateError;
use crate::types::{Definition, PrimitiveType, TypeName, Types};

/// Words that are names only with `r#`.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// A name for a member, a constant or a module.
pub(super) fn word(name: &str) -> String {
    match name {
        "self" | "Self" | "super" | "crate" | "_" => format!("{name}_"),
        _ if KEYWORDS.contains(&name) => format!("r#{name}"),
        _ => name.to_owned(),
    }
}

/// The modules of a package.
pub(super) fn modules(package: &str) -> Vec<String> {
    let parts = package.split('.').filter(|it| !it.is_empty());
    // A folder's `mod.rs` takes the name `mod`.
    parts.map(word).collect()
}

/// `pose_t` becomes `PoseT`.
pub(super) fn camel(name: &str) -> String {
    let mut camel = String::new();
    for part in name.split('_') {
        let mut characters = part.chars();
        camel.extend(characters.next().map(|it| it.to_ascii_uppercase()));
        camel.push_str(characters.as_str());
    }
    let digit = camel.starts_with(|it: char| it.is_ascii_digit());
    match camel.as_str() {
        "Self" | "Ok" | "Err" | "Some" | "None" => format!("{camel}T"),
        "" => "T".to_owned(),
        _ if digit => format!("T{camel}"),
        _ => camel,
    }
}

/// The Rust name of each type.
pub(super) struct RustNames {
    called: BTreeMap<TypeName, (Vec<String>, String)>,
}

impl RustNames {
    pub(super) fn new(types: &Types) -> Result<Self, GenerateError> {
        let mut called = BTreeMap::new();
        let mut taken: BTreeMap<(Vec<String>, String), String> = BTreeMap::new();
        for definition in types.iter() {
            let name = definition.name();
            let modules = modules(&name.package);
            // A package is a module, and shares its parent's names.
            for end in 1..=modules.len() {
                let place = (modules[..end - 1].to_vec(), modules[end - 1].clone());
                taken
                    .entry(place)
                    .or_insert_with(|| format!("the package {}", name.package));
            }
            called.insert(name.clone(), (modules, camel(&name.short)));
        }
        for (name, (modules, short)) in &called {
            let view = matches!(types.definition(name), Some(Definition::Struct(it)) if super::views::is_wanted(it));
            let view = view.then(|| format!("{short}View"));
            for short in [Some(short.clone()), view].into_iter().flatten() {
                let place = (modules.clone(), short.clone());
                if let Some(first) = taken.insert(place, name.to_string()) {
                    return Err(GenerateError::Collision {
                        first,
                        second: name.to_string(),
                        called: short,
                    });
                }
            }
        }
        Ok(Self { called })
    }

    /// The name within its module.
    pub(super) fn short(&self, name: &TypeName) -> &str {
        self.called.get(name).map_or("", |it| &it.1)
    }

    /// The name from another module.
    pub(super) fn path(&self, from: &[String], name: &TypeName) -> String {
        let Some((modules, short)) = self.called.get(name) else {
            return String::new();
        };
        let common = modules.iter().zip(from).take_while(|(one, two)| one == two);
        let common = common.count();
        let ups = from.len() - common;
        let up = std::iter::repeat_n("super", ups);
        let down = modules[common..].iter().map(String::as_str);
        // A path that begins with a name could mean a crate.
        let own = (ups == 0 && common < modules.len()).then_some("self");
        let path: Vec<&str> = own
            .into_iter()
            .chain(up)
            .chain(down)
            .chain([short.as_str()])
            .collect();
        path.join("::")
    }

    /// Returns a name of the standard library, by its whole path if a type of the module hides it.
    pub(super) fn std(&self, module: &[String], short: &str) -> String {
        let hidden = self
            .called
            .values()
            .any(|it| it.0 == module && it.1 == short);
        let path = match short {
            "Vec" => "::std::vec::Vec",
            "String" => "::std::string::String",
            _ => "::std::default::Default",
        };
        if hidden {
            path.to_owned()
        } else {
            short.to_owned()
        }
    }
}

/// The type of one element.
pub(super) fn primitive(of: PrimitiveType) -> &'static str {
    match of {
        PrimitiveType::Int8 => "i8",
        PrimitiveType::Int16 => "i16",
        PrimitiveType::Int32 => "i32",
        PrimitiveType::Int64 => "i64",
        PrimitiveType::Byte => "u8",
        PrimitiveType::Float => "f32",
        PrimitiveType::Double => "f64",
        PrimitiveType::String => "String",
        PrimitiveType::Boolean => "bool",
    }
}
