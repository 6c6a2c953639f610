//! Checks that types which refer to each other are consistent.

use std::collections::BTreeMap;

use super::model::{Definition, Dimension, Member, MemberType, PrimitiveType, TypeName};
use super::problem::Problem;

/// The maximum depth of structs within structs. The decoder bounds messages that are deeper by their variable
/// arrays.
pub(super) const MAX_DEPTH: usize = 100;

/// The encoded size of a value of a type.
#[derive(Debug, Clone, Copy)]
pub(super) struct EncodedSize {
    /// The minimum number of bytes.
    pub(super) least: usize,
    /// Whether it always takes the minimum.
    pub(super) fixed: bool,
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
    let size = |it: MinSize| EncodedSize {
        least: it.bytes,
        fixed: !it.varies,
    };
    Ok(known.map(|(name, it)| (name.clone(), size(it))).collect())
}

#[derive(Clone, Copy, Default)]
struct MinSize {
    bytes: usize,
    /// The depth of structs within each other.
    depth: usize,
    /// Whether its size varies.
    varies: bool,
}

struct Walk<'a> {
    definitions: &'a BTreeMap<TypeName, Definition>,
    known: BTreeMap<&'a TypeName, MinSize>,
    path: Vec<&'a TypeName>,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, name: &'a TypeName) -> Result<MinSize, Problem> {
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
            return Ok(MinSize::default());
        };
        self.path.push(name);
        let mut least = MinSize::default();
        match definition {
            Definition::Enum(_) => least.bytes = 4,
            Definition::Struct(it) => {
                for member in &it.members {
                    let part = self.member(member)?;
                    least.bytes = least.bytes.saturating_add(part.bytes);
                    least.depth = least.depth.max(part.depth);
                    least.varies |= part.varies;
                }
            }
        }
        least.depth += 1;
        if self.path.len() + least.depth > MAX_DEPTH + 1 {
            return Err(self.too_deep());
        }
        self.path.pop();
        self.known.insert(name, least);
        Ok(least)
    }

    fn member(&mut self, member: &'a Member) -> Result<MinSize, Problem> {
        // A variable array may be empty, and so holds nothing of necessity.
        let Some(count) = Dimension::count(&member.dimensions) else {
            return Ok(MinSize {
                varies: true,
                ..MinSize::default()
            });
        };
        let one = match &member.of {
            MemberType::Primitive(it) => MinSize {
                bytes: it.least_bytes(),
                depth: 0,
                varies: *it == PrimitiveType::String,
            },
            MemberType::Named(name) => self.visit(name)?,
        };
        Ok(MinSize {
            bytes: one.bytes.saturating_mul(count),
            depth: one.depth,
            varies: one.varies,
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
        Problem::TooDeep {
            name: self
                .path
                .first()
                .map(ToString::to_string)
                .unwrap_or_default(),
            most: MAX_DEPTH,
        }
    }
}
