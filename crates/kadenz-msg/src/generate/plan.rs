//! The common model of types for all languages: members with the names that a language gives them, an enum as
//! a struct of one number, and an order in which each type follows those that it holds by value.

use std::collections::{BTreeMap, BTreeSet};

use super::{GenerateError, GeneratedFile, Renamed};
use crate::types::{
    Constant, ConstantValue, Definition, Dimension, Enum, Member, MemberType, PrimitiveType,
    Struct, TypeName, Types,
};

/// The rules of a language for names.
pub(super) struct NamingRules {
    /// Words that no name may be, lists with spaces between; such a name gets a `_` at its end.
    pub(super) keywords: &'static [&'static str],
    /// Further words that no member may be, with spaces between.
    pub(super) members: &'static str,
    /// Suffixes of a type's name that make further names in its package, with spaces between.
    pub(super) derived: &'static str,
    /// The text between a package and its types.
    pub(super) separator: &'static str,
    /// The prefix of a name that begins with `_`.
    pub(super) before_underscore: &'static str,
    /// The package of types without one.
    pub(super) default_package: &'static str,
}

impl NamingRules {
    fn word(&self, name: &str, taken: &str) -> String {
        let first = if name.starts_with('_') {
            self.before_underscore
        } else {
            ""
        };
        let mut lists = self.keywords.iter().copied().chain([taken]);
        let clash = lists.any(|it| it.split(' ').any(|word| word == name));
        let last = if clash { "_" } else { "" };
        format!("{first}{name}{last}")
    }
}

/// The type of a member, or of each element of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementType {
    /// Of a fixed width; an enum is an `int32_t`.
    Number(PrimitiveType),
    Text,
    /// The index of a record.
    Record(usize),
}

/// The length of an array in one direction.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum ArrayLength {
    Fixed(usize),
    /// The name of the member that states it.
    Stated(String),
}

pub(super) struct Field<'a> {
    /// The name in the generated language.
    pub(super) name: String,
    /// The name in the `.lcm` file.
    pub(super) key: &'a str,
    pub(super) of: ElementType,
    /// The record of its type, also of an enum.
    pub(super) named: Option<usize>,
    pub(super) sizes: Vec<ArrayLength>,
    /// The name as written in the `.lcm` file.
    pub(super) written: String,
    pub(super) doc: &'a str,
    /// The initial value of a number: an enum's first value.
    pub(super) start: i32,
    /// How many bytes an element takes at least.
    pub(super) least: usize,
}

impl Field<'_> {
    pub(super) fn is_variable(&self) -> bool {
        self.stated().next().is_some()
    }

    /// Whether it is one number, not an array.
    pub(super) fn is_number(&self) -> bool {
        matches!(self.of, ElementType::Number(_)) && self.sizes.is_empty()
    }

    /// The product of its fixed sizes.
    pub(super) fn fixed(&self) -> usize {
        let sizes = self.sizes.iter().filter_map(|it| match it {
            ArrayLength::Fixed(size) => Some(*size),
            ArrayLength::Stated(_) => None,
        });
        sizes.fold(1, usize::saturating_mul)
    }

    /// The members that state its other sizes.
    pub(super) fn stated(&self) -> impl Iterator<Item = &str> {
        self.sizes.iter().filter_map(|it| match it {
            ArrayLength::Fixed(_) => None,
            ArrayLength::Stated(by) => Some(by.as_str()),
        })
    }

    /// Returns the sizes as expressions; `stated` writes one that a member states.
    pub(super) fn sizes(&self, stated: impl Fn(&str) -> String) -> Vec<String> {
        let size = |it: &ArrayLength| match it {
            ArrayLength::Fixed(size) => size.to_string(),
            ArrayLength::Stated(by) => stated(by),
        };
        self.sizes.iter().map(size).collect()
    }

    /// The comment of the `.lcm` file, or the type, line by line.
    pub(super) fn comment(&self) -> Vec<String> {
        comment(self.doc, &format!("{} {}", self.written, self.key))
    }
}

pub(super) struct Fixed<'a> {
    /// The name in the generated language.
    pub(super) name: String,
    /// The name in the `.lcm` file.
    pub(super) key: &'a str,
    pub(super) of: PrimitiveType,
    pub(super) value: ConstantValue,
    pub(super) doc: &'a str,
}

impl Fixed<'_> {
    /// Returns its value in the notation of all languages, without suffixes.
    pub(super) fn number(&self) -> String {
        number(self.of, self.value)
    }

    pub(super) fn comment(&self) -> Vec<String> {
        comment(self.doc, "")
    }
}

/// A struct, or an enum as a struct with the member `value`.
pub(super) struct StructPlan<'a> {
    /// The full name, as in the `.lcm` file.
    pub(super) full: String,
    pub(super) package: Vec<String>,
    pub(super) short: String,
    pub(super) doc: &'a str,
    pub(super) constants: Vec<Fixed<'a>>,
    pub(super) fields: Vec<Field<'a>>,
    pub(super) fingerprint: u64,
    /// Whether it may hold values of its own type.
    pub(super) recursive: bool,
    /// The first of the records that hold each other.
    pub(super) group: usize,
}

impl<'a> StructPlan<'a> {
    /// Its name with its package.
    pub(super) fn path(&self, separator: &str) -> String {
        let parts = self.package.iter().chain([&self.short]);
        let parts: Vec<&str> = parts.map(String::as_str).collect();
        parts.join(separator)
    }

    /// Its members, those numbers together that follow each other.
    pub(super) fn runs(&self) -> impl Iterator<Item = &[Field<'a>]> {
        let fields = &self.fields;
        fields.chunk_by(|one, other| one.is_number() && other.is_number())
    }

    /// Its fingerprint in C and C++.
    pub(super) fn c_fingerprint(&self) -> String {
        format!("UINT64_C(0x{:016x})", self.fingerprint)
    }

    pub(super) fn comment(&self) -> Vec<String> {
        comment(self.doc, &self.full)
    }

    /// The records of its members' types, each once, also of enums.
    pub(super) fn parts(&self) -> BTreeSet<usize> {
        self.fields.iter().filter_map(|it| it.named).collect()
    }
}

/// All types, each behind those that it holds by value.
pub(super) struct Plan<'a> {
    pub(super) records: Vec<StructPlan<'a>>,
    pub(super) renamed: Vec<Renamed>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(types: &'a Types, words: &'a NamingRules) -> Result<Self, GenerateError> {
        let mut order = Vec::new();
        for definition in types.iter() {
            push(types, definition, &mut order);
        }
        let indices = order.iter().enumerate().map(|(at, it)| (it.name(), at));
        let mut planning = Planning {
            types,
            words,
            indices: indices.collect(),
            renamed: Vec::new(),
        };
        let records = order.iter().map(|it| planning.record(it));
        let records = records.collect::<Result<Vec<_>, _>>()?;
        let renamed = planning.renamed;
        apart(&records, words)?;
        Ok(Self { records, renamed })
    }

    /// Returns a header for each record, for the languages that have headers. `text` makes it of the records
    /// that hold each other, of which the first has it, and of the headers that they include.
    pub(super) fn headers(
        &self,
        separator: &str,
        ending: &str,
        text: impl Fn(&[&StructPlan<'a>], &str) -> String,
    ) -> Vec<GeneratedFile> {
        let path = |it: &StructPlan<'_>| format!("{}{ending}", it.path(separator));
        let include = |it: &StructPlan<'_>| format!("#include \"{}\"\n", path(it));
        let header = |(at, it): (usize, &StructPlan<'a>)| {
            let peers = self.records.iter().filter(|it| it.group == at);
            let peers: Vec<&StructPlan<'a>> = peers.collect();
            let parts: BTreeSet<usize> = peers.iter().flat_map(|it| it.parts()).collect();
            let parts = parts.iter().map(|it| &self.records[*it]);
            let mut included = parts.filter(|it| it.group != at).map(include).collect();
            if it.group != at {
                included = include(&self.records[it.group]);
            }
            super::file(path(it), text(&peers, &included))
        };
        self.records.iter().enumerate().map(header).collect()
    }
}

/// Returns a constant's value in the notation of all languages, without suffixes.
pub(super) fn number(of: PrimitiveType, value: ConstantValue) -> String {
    match value {
        ConstantValue::Integer(value) => value.to_string(),
        ConstantValue::Real(value) if of == PrimitiveType::Float => format!("{:?}", value as f32),
        ConstantValue::Real(value) => format!("{value:?}"),
    }
}

/// Adds a type behind those that it holds by value, which form no ring.
fn push<'a>(types: &'a Types, definition: &'a Definition, order: &mut Vec<&'a Definition>) {
    if order.iter().any(|it| it.name() == definition.name()) {
        return;
    }
    if let Definition::Struct(it) = definition {
        for member in it.members.iter().filter(|it| !it.is_variable()) {
            if let MemberType::Named(name) = &member.of
                && let Some(part) = types.definition(name)
            {
                push(types, part, order);
            }
        }
    }
    order.push(definition);
}

struct Planning<'a> {
    types: &'a Types,
    words: &'a NamingRules,
    indices: BTreeMap<&'a TypeName, usize>,
    renamed: Vec<Renamed>,
}

impl<'a> Planning<'a> {
    fn record(&mut self, definition: &'a Definition) -> Result<StructPlan<'a>, GenerateError> {
        let name = definition.name();
        let full = name.to_string();
        let package = match name.package.as_str() {
            "" => self.words.default_package,
            package => package,
        };
        let parts = package.split('.').filter(|it| !it.is_empty());
        let package = parts.map(|it| self.called(&full, it, "")).collect();
        let short = self.called(&full, &name.short, self.words.members);
        let mut record = StructPlan {
            package,
            short,
            doc: "",
            constants: Vec::new(),
            fields: Vec::new(),
            fingerprint: self.types.fingerprint_of(name).map_or(0, |it| it.0),
            recursive: self.types.is_recursive(name),
            group: self.group(name),
            full,
        };
        match definition {
            Definition::Struct(it) => self.members(&mut record, it),
            Definition::Enum(it) => self.values(&mut record, it),
        }
        let fields = record.fields.iter().map(|it| (&it.name, it.key));
        let constants = record.constants.iter().map(|it| (&it.name, it.key));
        let mut taken = BTreeMap::new();
        for (called, key) in fields.chain(constants) {
            if let Some(first) = taken.insert(called, key) {
                return Err(GenerateError::Collision {
                    first: format!("{}.{first}", record.full),
                    second: format!("{}.{key}", record.full),
                    called: called.clone(),
                });
            }
        }
        Ok(record)
    }

    /// Returns a name in the language; notes it if it is another one.
    fn called(&mut self, of: &str, name: &str, taken: &str) -> String {
        let called = self.words.word(name, taken);
        let renamed = Renamed {
            name: name.to_owned(),
            of: of.to_owned(),
            called: called.clone(),
        };
        if called != name && !self.renamed.contains(&renamed) {
            self.renamed.push(renamed);
        }
        called
    }

    fn group(&self, name: &TypeName) -> usize {
        let closure = self.types.closure(&name.to_string());
        let peers = closure.iter().filter(|part| {
            let back = self.types.closure(&part.name().to_string());
            back.iter().any(|it| it.name() == name)
        });
        let indices = peers.filter_map(|it| self.indices.get(it.name()));
        indices.min().copied().unwrap_or(0)
    }

    fn members(&mut self, record: &mut StructPlan<'a>, it: &'a Struct) {
        record.doc = &it.doc;
        record.constants = it
            .constants
            .iter()
            .map(|it| self.constant(&record.full, it))
            .collect();
        record.fields = it
            .members
            .iter()
            .map(|it| self.field(&record.full, it))
            .collect();
    }

    fn constant(&mut self, of: &str, it: &'a Constant) -> Fixed<'a> {
        Fixed {
            name: self.called(of, &it.name, self.words.members),
            key: &it.name,
            of: it.of,
            value: it.value,
            doc: &it.doc,
        }
    }

    fn field(&mut self, of: &str, it: &'a Member) -> Field<'a> {
        let members = self.words.members;
        let named = match &it.of {
            MemberType::Named(name) => self.indices.get(name).copied(),
            MemberType::Primitive(_) => None,
        };
        let kind = match &it.of {
            MemberType::Primitive(PrimitiveType::String) => ElementType::Text,
            MemberType::Primitive(of) => ElementType::Number(*of),
            MemberType::Named(name) => match self.types.definition(name) {
                Some(Definition::Enum(_)) => ElementType::Number(PrimitiveType::Int32),
                _ => ElementType::Record(named.unwrap_or(0)),
            },
        };
        let sizes = it.dimensions.iter().map(|it| match it {
            Dimension::Fixed { size, .. } => ArrayLength::Fixed(*size),
            Dimension::Variable { member } => ArrayLength::Stated(self.words.word(member, members)),
        });
        let sizes = sizes.collect();
        Field {
            name: self.called(of, &it.name, members),
            key: &it.name,
            of: kind,
            named,
            sizes,
            written: it.type_text(),
            doc: &it.doc,
            start: self.start(&it.of),
            least: self.types.least_of(&it.of),
        }
    }

    fn start(&self, of: &MemberType) -> i32 {
        let MemberType::Named(name) = of else {
            return 0;
        };
        match self.types.definition(name) {
            Some(Definition::Enum(it)) => it.first(),
            _ => 0,
        }
    }

    fn values(&mut self, record: &mut StructPlan<'a>, it: &'a Enum) {
        record.doc = &it.doc;
        for value in &it.values {
            record.constants.push(Fixed {
                name: self.called(&record.full, &value.name, self.words.members),
                key: &value.name,
                of: PrimitiveType::Int32,
                value: ConstantValue::Integer(value.number.into()),
                doc: &value.doc,
            });
        }
        record.fields.push(Field {
            name: "value".to_owned(),
            key: "value",
            of: ElementType::Number(PrimitiveType::Int32),
            named: None,
            sizes: Vec::new(),
            written: "int32_t".to_owned(),
            doc: "",
            start: it.first(),
            least: 4,
        });
    }
}

/// Checks that no two types or packages have the same name.
fn apart(records: &[StructPlan<'_>], words: &NamingRules) -> Result<(), GenerateError> {
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    for record in records {
        for end in 1..=record.package.len() {
            let package = record.package[..end].join(words.separator);
            let what = format!("the package {}", record.package[..end].join("."));
            taken.insert(package, what);
        }
    }
    if words.separator == "_" {
        // There a package is only a prefix of names.
        taken.clear();
    }
    for record in records {
        let path = record.path(words.separator);
        let derived = words.derived.split_ascii_whitespace();
        for derived in [""].into_iter().chain(derived) {
            let called = format!("{path}{derived}");
            if let Some(first) = taken.insert(called.clone(), record.full.clone()) {
                let second = record.full.clone();
                return Err(GenerateError::Collision {
                    first,
                    second,
                    called,
                });
            }
        }
    }
    Ok(())
}

/// A comment in lines that are safe behind a comment's mark in every language: without control
/// characters, and without a backslash, which joins lines in C and begins an escape in Java.
fn comment(doc: &str, instead: &str) -> Vec<String> {
    let filled = doc.lines().any(|it| !it.trim().is_empty());
    let text = if filled { doc } else { instead };
    let clean = |line: &str| {
        let plain = |it: char| match it {
            '\\' => '/',
            it if it.is_control() => ' ',
            it => it,
        };
        line.chars()
            .map(plain)
            .collect::<String>()
            .trim()
            .to_owned()
    };
    text.lines().map(clean).collect()
}

/// Replaces `@name@` in a template.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = template.to_owned();
    for (name, value) in values {
        text = text.replace(&format!("@{name}@"), value);
    }
    text
}

/// Returns comment lines, each behind a mark.
pub(super) fn marked(mark: &str, lines: &[String]) -> String {
    let line = |it: &String| format!("{}\n", format!("{mark} {it}").trim_end());
    lines.iter().map(line).collect()
}
