//! Checks that types which refer to each other are consistent.

use std::collections::BTreeMap;

use super::model::{Definition, Dimension, Member, MemberType, PrimitiveType, TypeName};
use super::problem::Problem;

/// The maximum depth of structs within structs. The decoder bounds messages that are deeper by their variable
/// arrays.
pub(super) const MAX_DEPTH: usize = 100;

/// The encoded size of a value of a type.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EncodedSize {
    /// The minimum number of bytes.
    pub(super) least: usize,
    /// Whether a value may take more.
    pub(super) varies: bool,
    /// The depth of structs within each other.
    depth: usize,
}

/// Returns how many bytes a value of each type takes, or why there is no such value.
pub(super) fn sizes(
    definitions: &BTreeMap<TypeName, Definition>,
) -> Result<BTreeMap<TypeName, EncodedSize>, (TypeName, Problem)> {
    let mut walk = Walk {
        definitions,
        known: BTreeMap::new(),
        path: Vec::new(),
    };
    for name in definitions.keys() {
        let found = walk.visit(name);
        found.map_err(|problem| (name.clone(), problem))?;
    }
    let known = walk.known.into_iter();
    Ok(known.map(|(name, size)| (name.clone(), size)).collect())
}

struct Walk<'a> {
    definitions: &'a BTreeMap<TypeName, Definition>,
    known: BTreeMap<&'a TypeName, EncodedSize>,
    path: Vec<&'a TypeName>,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, name: &'a TypeName) -> Result<EncodedSize, Problem> {
        if let Some(known) = self.known.get(name) {
            return Ok(*known);
        }
        if let Some(from) = self.path.iter().position(|it| *it == name) {
            return Err(self.endless(name, from));
        }
        if self.path.len() >= MAX_DEPTH {
            return Err(self.too_deep());
        }
        let Some(definition) = self.definitions.get(name) else {
            return Ok(EncodedSize::default());
        };
        self.path.push(name);
        let mut size = EncodedSize::default();
        match definition {
            Definition::Enum(_) => size.least = 4,
            Definition::Struct(it) => {
                for member in &it.members {
                    let part = self.member(member)?;
                    size.least = size.least.saturating_add(part.least);
                    size.depth = size.depth.max(part.depth);
                    size.varies |= part.varies;
                }
            }
        }
        size.depth += 1;
        if self.path.len() + size.depth > MAX_DEPTH + 1 {
            return Err(self.too_deep());
        }
        self.path.pop();
        self.known.insert(name, size);
        Ok(size)
    }

    fn member(&mut self, member: &'a Member) -> Result<EncodedSize, Problem> {
        // A variable array may be empty, and so holds nothing of necessity.
        let Some(count) = Dimension::count(&member.dimensions) else {
            return Ok(EncodedSize {
                varies: true,
                ..EncodedSize::default()
            });
        };
        let one = match &member.of {
            MemberType::Primitive(it) => EncodedSize {
                least: it.least_bytes(),
                varies: *it == PrimitiveType::String,
                depth: 0,
            },
            MemberType::Named(name) => self.visit(name)?,
        };
        Ok(EncodedSize {
            least: one.least.saturating_mul(count),
            ..one
        })
    }

    fn endless(&self, name: &TypeName, from: usize) -> Problem {
        let way = self.path[from..].iter().map(ToString::to_string);
        let way: Vec<String> = way.chain([name.to_string()]).collect();
        Problem::Endless {
            name: name.to_string(),
            way: way.join(" > "),
        }
    }

    fn too_deep(&self) -> Problem {
        let first = self.path.first().map(ToString::to_string);
        Problem::TooDeep {
            name: first.unwrap_or_default(),
            most: MAX_DEPTH,
        }
    }
}
