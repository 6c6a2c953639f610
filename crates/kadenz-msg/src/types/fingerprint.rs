//! Fingerprints as lcm-gen computes them (`lcmgen.c`, and `_get_hash_recursive` in its output).

use std::collections::BTreeMap;
use std::rc::Rc;

use super::model::{Definition, Member, MemberType, Struct, TypeName};
use super::problem::Problem;
use crate::message::Fingerprint;

/// The maximum number of steps for the fingerprint of one type. Recursive types that all refer to each other
/// take as many steps as they have subsets: 10 of them 5120.
const MAX_STEPS: usize = 10_000;

/// The maximum number of words of eight bytes for all types together: many cycles of few types each would
/// take unlimited memory otherwise.
const MAX_WORDS: usize = 1 << 22;

/// The maximum number of types between a type and one that it contains.
const MAX_PARENTS: usize = 256;

/// The fingerprint of every type.
pub(super) fn all(
    definitions: &BTreeMap<TypeName, Definition>,
) -> Result<BTreeMap<TypeName, Fingerprint>, (TypeName, Problem)> {
    let mut hasher = Hasher::new(definitions);
    let mut fingerprints = BTreeMap::new();
    for (index, name) in definitions.keys().enumerate() {
        hasher.steps = 0;
        hasher.parents = Set::none(definitions.len());
        let hash = hasher.of(index, 0);
        let hash = hash.map_err(|stopped| (name.clone(), stopped.problem(name)))?;
        fingerprints.insert(name.clone(), Fingerprint(hash));
    }
    Ok(fingerprints)
}

enum Stopped {
    Deep,
    Tangled,
    Full,
}

impl Stopped {
    fn problem(&self, name: &TypeName) -> Problem {
        let name = name.to_string();
        match self {
            Self::Deep => Problem::TooDeep {
                name,
                most: MAX_PARENTS,
            },
            Self::Tangled => Problem::Tangled {
                name,
                most: MAX_STEPS,
            },
            Self::Full => Problem::TooTangled { name },
        }
    }
}

/// Types by their index, a bit each; types behind the last word are not in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Set(Vec<u64>);

impl Set {
    fn none(of: usize) -> Self {
        Self(vec![0; of.div_ceil(64)])
    }

    fn has(&self, index: usize) -> bool {
        self.0[index / 64] >> (index % 64) & 1 == 1
    }

    fn flip(&mut self, index: usize) {
        self.0[index / 64] ^= 1 << (index % 64);
    }

    fn and(&self, other: &Self) -> Self {
        let words = self.0.iter().zip(&other.0).map(|(one, two)| one & two);
        let mut both: Vec<u64> = words.collect();
        // Mostly the set is empty.
        let used = both.iter().rposition(|it| *it != 0).map_or(0, |it| it + 1);
        both.truncate(used);
        both.shrink_to_fit();
        Self(both)
    }
}

/// A type in the graph of types that fingerprints are computed from.
struct TypeNode {
    /// The hash without parents: of an enum all, of a struct the members alone.
    base: u64,
    is_enum: bool,
    /// The types of its members.
    parts: Vec<usize>,
    /// The types that it contains, directly or not, once computed.
    reached: Option<Rc<Set>>,
}

struct Hasher {
    parts: Vec<TypeNode>,
    /// By the type and those of its parents that it contains: its hash depends on these alone.
    known: BTreeMap<(usize, Set), u64>,
    /// The number of words that those take.
    words: usize,
    parents: Set,
    steps: usize,
}

impl Hasher {
    fn new(definitions: &BTreeMap<TypeName, Definition>) -> Self {
        let names = definitions.keys().enumerate();
        let indices: BTreeMap<&TypeName, usize> =
            names.map(|(index, name)| (name, index)).collect();
        let parts = definitions.values().map(|definition| TypeNode {
            base: match definition {
                Definition::Struct(it) => base(it),
                Definition::Enum(it) => of_enum(&it.name.short),
            },
            is_enum: matches!(definition, Definition::Enum(_)),
            parts: definition
                .parts()
                .filter_map(|it| indices.get(it).copied())
                .collect(),
            reached: None,
        });
        Self {
            parts: parts.collect(),
            known: BTreeMap::new(),
            words: 0,
            parents: Set::none(definitions.len()),
            steps: 0,
        }
    }

    fn of(&mut self, index: usize, depth: usize) -> Result<u64, Stopped> {
        if self.parts[index].is_enum {
            return Ok(self.parts[index].base);
        }
        if self.parents.has(index) {
            return Ok(0);
        }
        if depth >= MAX_PARENTS {
            return Err(Stopped::Deep);
        }
        let reached = self.reach(index);
        let key = (index, self.parents.and(&reached));
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(Stopped::Tangled);
        }
        // A place in the map, and the set.
        self.words += 6 + key.1.0.len();
        if self.words > MAX_WORDS {
            return Err(Stopped::Full);
        }
        self.parents.flip(index);
        let mut hash = self.parts[index].base;
        for place in 0..self.parts[index].parts.len() {
            let part = self.parts[index].parts[place];
            hash = hash.wrapping_add(self.of(part, depth + 1)?);
        }
        self.parents.flip(index);
        let hash = hash.rotate_left(1);
        self.known.insert(key, hash);
        Ok(hash)
    }

    fn reach(&mut self, index: usize) -> Rc<Set> {
        if let Some(known) = &self.parts[index].reached {
            return Rc::clone(known);
        }
        let mut reached = Set::none(self.parts.len());
        let mut open = vec![index];
        while let Some(next) = open.pop() {
            for part in &self.parts[next].parts {
                if !reached.has(*part) {
                    reached.flip(*part);
                    open.push(*part);
                }
            }
        }
        let reached = Rc::new(reached);
        self.parts[index].reached = Some(Rc::clone(&reached));
        reached
    }
}

/// The hash of a struct's own members.
fn base(it: &Struct) -> u64 {
    let members = it.members.iter();
    members.fold(StructHash::new(), member).base()
}

fn member(hash: StructHash, member: &Member) -> StructHash {
    let primitive = match &member.of {
        MemberType::Primitive(primitive) => Some(primitive.name()),
        MemberType::Named(_) => None,
    };
    let dimensions = member.dimensions.iter();
    let dimensions: Vec<(bool, &str)> = dimensions
        .map(|it| (it.stated_by().is_some(), it.text()))
        .collect();
    hash.member(&member.name, primitive, &dimensions)
}

// The hash behind a fingerprint, member by member (`lcmgen.c`).

/// Computes the fingerprint of a struct, as a constant too: `#[derive(kadenz::Message)]` uses it. The
/// struct's own name is not hashed, so that a type may be renamed.
///
/// ```
/// use kadenz_msg::message::Fingerprint;
/// use kadenz_msg::types::{StructHash, Types};
///
/// const COMMAND: Fingerprint = StructHash::new()
///     .member("position", Some("double"), &[(false, "3")])
///     .fingerprint();
///
/// let types = Types::from_text("struct command_t { double position[3]; }")?;
/// assert_eq!(types.fingerprint("command_t"), Some(COMMAND));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct StructHash {
    members: i64,
    /// The sum of the fingerprints of the structs and enums that members are made of.
    parts: u64,
}

impl StructHash {
    /// The hash of a struct without members.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            members: 0x1234_5678,
            parts: 0,
        }
    }

    /// Adds a member: its name, the name of its type if the language defines it, and for each dimension
    /// whether a member states its length, and the text between its brackets. The caller adds members in
    /// their order.
    #[must_use]
    pub const fn member(
        self,
        name: &str,
        primitive: Option<&str>,
        dimensions: &[(bool, &str)],
    ) -> Self {
        let mut hash = text(self.members, name);
        if let Some(primitive) = primitive {
            hash = text(hash, primitive);
        }
        hash = length(hash, dimensions.len());
        let mut at = 0;
        while at < dimensions.len() {
            let (is_variable, between) = dimensions[at];
            hash = text(update(hash, is_variable as i8), between);
            at += 1;
        }
        Self {
            members: hash,
            ..self
        }
    }

    /// Adds the fingerprint of the struct or enum that a member is made of.
    #[must_use]
    pub const fn part(self, fingerprint: Fingerprint) -> Self {
        Self {
            parts: self.parts.wrapping_add(fingerprint.0),
            ..self
        }
    }

    /// The fingerprint of the struct.
    #[must_use]
    pub const fn fingerprint(self) -> Fingerprint {
        Fingerprint(self.base().wrapping_add(self.parts).rotate_left(1))
    }

    /// The hash of the members themselves.
    pub(super) const fn base(self) -> u64 {
        self.members.cast_unsigned()
    }
}

impl Default for StructHash {
    fn default() -> Self {
        Self::new()
    }
}

/// The hash of an enum: that of its short name, so that values may be added.
pub(super) const fn of_enum(short: &str) -> u64 {
    text(0x8765_4321, short).cast_unsigned()
}

const fn text(hash: i64, text: &str) -> i64 {
    let bytes = text.as_bytes();
    let mut hash = length(hash, bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        hash = update(hash, bytes[at].cast_signed());
        at += 1;
    }
    hash
}

/// A length goes through a `char`, and so wraps.
const fn length(hash: i64, length: usize) -> i64 {
    update(hash, length.to_le_bytes()[0].cast_signed())
}

const fn update(hash: i64, character: i8) -> i64 {
    ((hash << 8) ^ (hash >> 55)).wrapping_add(character as i64)
}
