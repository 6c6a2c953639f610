use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use kadenz_rt::regular_file;

use super::check::EncodedSize;
use super::model::{Definition, Enum, MemberType, PrimitiveType, Struct, TypeName};
use super::parser::parse;
use super::problem::{Position, Problem, TypesError};
use super::{check, fingerprint};
use crate::message::Fingerprint;

/// The longest file of types that is read.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The types that some `.lcm` texts describe, each type's name resolved.
///
/// # Real-time safety
/// Allocates; not for a real-time path.
#[derive(Debug, Clone, Default)]
pub struct Types {
    definitions: BTreeMap<TypeName, Definition>,
    fingerprints: BTreeMap<TypeName, Fingerprint>,
    by_fingerprint: BTreeMap<Fingerprint, Vec<TypeName>>,
    sizes: BTreeMap<TypeName, EncodedSize>,
}

impl Types {
    /// Returns the types of one text, which needs no other.
    ///
    /// # Errors
    /// If lcm-gen would refuse the text, if a type has no description, or if a type has no finite value.
    pub fn from_text(text: &str) -> Result<Self, TypesError> {
        Self::from_texts([("the text", text)])
    }

    /// Returns the types of several texts, which may refer to each other, each with its name for errors. Each
    /// text begins without a package.
    ///
    /// # Errors
    /// As [`Types::from_text`], and if two describe the same type.
    pub fn from_texts<'a>(
        texts: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, TypesError> {
        let mut gathered = Gathered::default();
        for (called, text) in texts {
            gathered.add(called, text)?;
        }
        gathered.resolve()
    }

    /// Returns the types of files, and of all files that end in `.lcm` in folders and the folders in them.
    ///
    /// # Errors
    /// As [`Types::from_texts`], if one cannot be read, and if a folder holds none.
    pub fn from_files<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
    ) -> Result<Self, TypesError> {
        let mut gathered = Gathered::default();
        let mut seen = BTreeSet::new();
        for path in paths {
            for file in files_at(path.as_ref())? {
                // A file may be named itself and lie in a folder that is named.
                if !seen.insert(fs::canonicalize(&file).unwrap_or_else(|_| file.clone())) {
                    continue;
                }
                let bytes =
                    regular_file::bytes(&file, MAX_FILE_BYTES).map_err(unreadable(&file))?;
                // A comment may be of another encoding; names are ASCII.
                let text = String::from_utf8_lossy(&bytes);
                gathered.add(&file.display().to_string(), &text)?;
            }
        }
        gathered.resolve()
    }

    /// All types, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Definition> {
        self.definitions.values()
    }

    /// Returns how many types there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.definitions.len()
    }

    /// Returns whether there are no types.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// A type by its full name, as `package.type`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Definition> {
        self.definition(&TypeName::new(name))
    }

    pub(crate) fn definition(&self, name: &TypeName) -> Option<&Definition> {
        self.definitions.get(name)
    }

    /// Returns the fingerprint of a type, as lcm-gen computes it.
    #[must_use]
    pub fn fingerprint(&self, name: &str) -> Option<Fingerprint> {
        self.fingerprint_of(&TypeName::new(name))
    }

    /// Returns the fingerprint by a name that is in two parts already.
    #[must_use]
    pub fn fingerprint_of(&self, name: &TypeName) -> Option<Fingerprint> {
        self.fingerprints.get(name).copied()
    }

    /// Returns the types of a fingerprint, by name: several if they differ only in their names, which are not
    /// in the fingerprint.
    pub fn by_fingerprint(&self, fingerprint: Fingerprint) -> impl Iterator<Item = &Definition> {
        let names = self.by_fingerprint.get(&fingerprint);
        names
            .into_iter()
            .flatten()
            .filter_map(|name| self.definitions.get(name))
    }

    /// Returns how many bytes a value takes at least, without a fingerprint.
    #[must_use]
    pub fn least_bytes(&self, name: &TypeName) -> usize {
        self.sizes.get(name).map_or(0, |it| it.least)
    }

    /// Returns how many bytes one element of a member takes at least.
    pub(crate) fn least_of(&self, of: &MemberType) -> usize {
        match of {
            MemberType::Primitive(of) => of.least_bytes(),
            MemberType::Named(name) => self.least_bytes(name),
        }
    }

    /// Returns how many bytes one element of a member takes, where all take the same.
    pub(crate) fn exact_of(&self, of: &MemberType) -> Option<usize> {
        let varies = match of {
            MemberType::Primitive(of) => *of == PrimitiveType::String,
            MemberType::Named(name) => self.sizes.get(name).is_none_or(|it| it.varies),
        };
        (!varies).then(|| self.least_of(of))
    }

    /// Returns a type and all types that it contains: itself first, then in the order of first use. Empty if
    /// there is no such type.
    #[must_use]
    pub fn closure(&self, name: &str) -> Vec<&Definition> {
        let mut closure: Vec<&Definition> = self.get(name).into_iter().collect();
        let mut seen: BTreeSet<&TypeName> = closure.iter().map(|it| it.name()).collect();
        let mut next = 0;
        while let Some(definition) = closure.get(next).copied() {
            let parts = definition.parts().filter(|it| seen.insert(it));
            let parts: Vec<_> = parts.filter_map(|it| self.definitions.get(it)).collect();
            closure.extend(parts);
            next += 1;
        }
        closure
    }

    /// Returns whether values of a type may hold values of the same type.
    #[must_use]
    pub(crate) fn is_recursive(&self, name: &TypeName) -> bool {
        let closure = self.closure(&name.to_string());
        let mut parts = closure.into_iter().flat_map(Definition::parts);
        parts.any(|it| it == name)
    }

    /// Returns the text of a type's closure: the description by which another program decodes its messages.
    /// lcm-gen reads it, and gives it the same fingerprints.
    #[must_use]
    pub fn text_of(&self, name: &str) -> Option<String> {
        let closure = self.closure(name);
        (!closure.is_empty()).then(|| text(closure))
    }

    /// The text of all types.
    #[must_use]
    pub fn to_text(&self) -> String {
        text(self.iter())
    }
}

/// Texts that have been parsed one by one.
#[derive(Default)]
struct Gathered {
    definitions: BTreeMap<TypeName, Definition>,
    places: BTreeMap<TypeName, (String, Position)>,
    references: Vec<(TypeName, String, Position)>,
}

impl Gathered {
    fn add(&mut self, called: &str, text: &str) -> Result<(), TypesError> {
        let parsed = parse(text).map_err(|(at, problem)| text_error(called, at, problem))?;
        for (definition, at) in parsed.definitions {
            let name = definition.name().clone();
            if let Some((file, first)) = self.places.get(&name) {
                let problem = Problem::DuplicateType {
                    name: name.to_string(),
                    first: format!("{file}:{first}"),
                };
                return Err(text_error(called, at, problem));
            }
            self.places.insert(name.clone(), (called.to_owned(), at));
            self.definitions.insert(name, definition);
        }
        for (name, at) in parsed.references {
            self.references.push((name, called.to_owned(), at));
        }
        Ok(())
    }

    fn resolve(self) -> Result<Types, TypesError> {
        for (name, file, at) in &self.references {
            if !self.definitions.contains_key(name) {
                let problem = Problem::UnknownType {
                    name: name.to_string(),
                    hint: self.hint(name),
                };
                return Err(text_error(file, *at, problem));
            }
        }
        let sizes = check::sizes(&self.definitions).map_err(|it| self.placed(it))?;
        let fingerprints = fingerprint::all(&self.definitions).map_err(|it| self.placed(it))?;
        let mut by_fingerprint: BTreeMap<Fingerprint, Vec<TypeName>> = BTreeMap::new();
        for (name, fingerprint) in &fingerprints {
            let names = by_fingerprint.entry(*fingerprint).or_default();
            names.push(name.clone());
        }
        Ok(Types {
            definitions: self.definitions,
            fingerprints,
            by_fingerprint,
            sizes,
        })
    }

    /// A type of the same short name in another package.
    fn hint(&self, name: &TypeName) -> String {
        let mut names = self.definitions.keys();
        let other = names.find(|it| it.short == name.short);
        other.map_or_else(String::new, |it| format!(" (there is {it})"))
    }

    fn placed(&self, (name, problem): (TypeName, Problem)) -> TypesError {
        let start = (String::new(), Position { line: 1, column: 1 });
        let (file, at) = self.places.get(&name).unwrap_or(&start);
        text_error(file, *at, problem)
    }
}

fn text_error(file: &str, at: Position, problem: Problem) -> TypesError {
    TypesError::Text {
        file: file.to_owned(),
        at,
        problem,
    }
}

fn unreadable(path: &Path) -> impl Fn(std::io::Error) -> TypesError {
    let path = path.to_owned();
    move |source| TypesError::Read {
        path: path.clone(),
        source,
    }
}

/// The file itself, or the `.lcm` files of a folder, sorted.
fn files_at(path: &Path) -> Result<Vec<PathBuf>, TypesError> {
    if !fs::metadata(path).map_err(unreadable(path))?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    let mut open = vec![path.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(unreadable(&folder))? {
            let entry = entry.map_err(unreadable(&folder))?;
            // A link to a folder is not followed: it may lead back.
            if entry.file_type().is_ok_and(|it| it.is_dir()) {
                open.push(entry.path());
            } else if entry.path().extension().is_some_and(|it| it == "lcm") {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    match files.is_empty() {
        true => Err(TypesError::NoFiles {
            path: path.to_owned(),
        }),
        false => Ok(files),
    }
}

// Descriptions as a `.lcm` text of their own, which means the same to lcm-gen.

/// Returns the text of some types, in this order except for packages: lcm-gen cannot leave one again, so
/// types without a package come first, and those of a package together.
pub(super) fn text<'a>(definitions: impl IntoIterator<Item = &'a Definition>) -> String {
    let mut groups: Vec<(&str, Vec<&Definition>)> = vec![("", Vec::new())];
    for definition in definitions {
        let package = package_to_be_in(definition);
        match groups.iter_mut().find(|it| it.0 == package) {
            Some((_, group)) => group.push(definition),
            None => groups.push((package, vec![definition])),
        }
    }
    let mut text = String::new();
    for (package, group) in groups {
        if !package.is_empty() {
            separate(&mut text);
            let _ = writeln!(text, "package {package};");
        }
        for definition in group {
            separate(&mut text);
            match definition {
                Definition::Struct(it) => structure(&mut text, package, it),
                Definition::Enum(it) => enumeration(&mut text, it),
            }
        }
    }
    text
}

/// Returns a type's own package, or none if the type contains a type without one, which has no name within
/// any package. The type's name then includes the package.
fn package_to_be_in(definition: &Definition) -> &str {
    let mut parts = definition.parts();
    if parts.any(|it| it.package.is_empty()) {
        return "";
    }
    &definition.name().package
}

fn separate(text: &mut String) {
    if !text.is_empty() {
        text.push('\n');
    }
}

fn structure(text: &mut String, package: &str, it: &Struct) {
    comment(text, "", &it.doc);
    let _ = match it.name.package == package {
        true => writeln!(text, "struct {} {{", it.name.short),
        false => writeln!(text, "struct {} {{", it.name),
    };
    for constant in &it.constants {
        comment(text, "    ", &constant.doc);
        let (of, name, value) = (constant.of, &constant.name, &constant.text);
        let _ = writeln!(text, "    const {of} {name} = {value};");
    }
    for member in &it.members {
        comment(text, "    ", &member.doc);
        let _ = write!(text, "    {} {}", member.of, member.name);
        for dimension in &member.dimensions {
            let _ = write!(text, "[{}]", dimension.text());
        }
        text.push_str(";\n");
    }
    text.push_str("}\n");
}

fn enumeration(text: &mut String, it: &Enum) {
    comment(text, "", &it.doc);
    let _ = writeln!(text, "enum {} {{", it.name.short);
    for (index, value) in it.values.iter().enumerate() {
        comment(text, "    ", &value.doc);
        let comma = if index + 1 == it.values.len() {
            ""
        } else {
            ","
        };
        let _ = writeln!(text, "    {} = {}{comma}", value.name, value.number);
    }
    text.push_str("}\n");
}

fn comment(text: &mut String, indent: &str, doc: &str) {
    for line in doc.lines() {
        let space = if line.is_empty() { "" } else { " " };
        let _ = writeln!(text, "{indent}//{space}{line}");
    }
}
