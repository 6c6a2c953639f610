//! Rust: a module for each package, a struct for each type.
//!
//! The generated code implements [`Message`](crate::message::Message): it encodes without allocation into the
//! caller's buffer, decodes into an existing value, whose memory it reuses, and has a view without copies if
//! a message holds primitive arrays.

mod body;
mod names;
mod structs;
mod views;

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::plan::fill;
use super::{GenerateError, GeneratedFile};
use crate::types::{Definition, Types};
use names::RustNames;

/// The options of the code.
#[derive(Debug, Clone)]
pub struct RustOptions {
    /// The path by which the code refers to this crate: `kadenz::msg` by default, as a program that depends on `kadenz`
    /// finds it; `kadenz_msg` for one that depends on this crate itself.
    pub crate_path: String,
}

impl Default for RustOptions {
    fn default() -> Self {
        Self {
            crate_path: "kadenz::msg".to_owned(),
        }
    }
}

/// Generates the code for all types: `mod.rs`, and a file for each package.
///
/// # Errors
/// If two types would have the same name in Rust, or the crate's path is invalid.
pub fn generate(types: &Types, options: &RustOptions) -> Result<Vec<GeneratedFile>, GenerateError> {
    let mut parts = options.crate_path.trim_start_matches("::").split("::");
    let good = |it: &str| {
        let word = it.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
        word && !it.is_empty()
    };
    if !parts.all(good) {
        let path = options.crate_path.clone();
        return Err(GenerateError::CratePath { path });
    }
    let names = RustNames::new(types)?;
    let mut packages: BTreeMap<Vec<String>, Vec<&Definition>> = BTreeMap::new();
    packages.entry(Vec::new()).or_default();
    for definition in types.iter() {
        let package = names::modules(&definition.name().package);
        for end in 0..package.len() {
            packages.entry(package[..end].to_vec()).or_default();
        }
        packages.entry(package).or_default().push(definition);
    }
    let files = packages.iter().map(|(package, definitions)| {
        let generator = Generator {
            types,
            names: &names,
            krate: &options.crate_path,
            package,
        };
        let children = packages.keys().filter(|it| {
            let parent = it.split_last().map(|it| it.1);
            parent == Some(package.as_slice())
        });
        GeneratedFile {
            path: path(package),
            text: generator.file(children, definitions),
        }
    });
    Ok(files.collect())
}

/// Returns the path of a package's file, `mod.rs` or `robot/mod.rs`: every package may have packages within.
fn path(package: &[String]) -> PathBuf {
    let folders = package.iter().map(|it| it.trim_start_matches("r#"));
    folders.chain(["mod.rs"]).collect()
}

/// The common state of the code of a package.
struct Generator<'a> {
    types: &'a Types,
    names: &'a RustNames,
    krate: &'a str,
    package: &'a [String],
}

impl Generator<'_> {
    /// Writes lines of a template, with `@krate@` and `@Default@` replaced besides.
    fn lines(&self, code: &mut Code, template: &str, values: &[(&str, &str)]) {
        let names = [("krate", self.krate), ("Default", &self.std("Default"))];
        code.lines(&fill(template, values), &names);
    }

    fn file<'a>(
        &self,
        children: impl Iterator<Item = &'a Vec<String>>,
        definitions: &[&Definition],
    ) -> String {
        let mut code = Code::default();
        code.lines(HEAD, &[]);
        match self.package {
            [] => code.lines(TOP, &[]),
            package => code.line(&format!(
                "//! Messages of the package `{}`.",
                package.join(".")
            )),
        }
        let mut first = true;
        for child in children {
            if std::mem::take(&mut first) {
                code.line("");
            }
            let name = child.last().map_or("", String::as_str);
            code.line(&format!("pub mod {name};"));
        }
        for definition in definitions {
            code.line("");
            match definition {
                Definition::Struct(it) => self.structure(&mut code, it),
                Definition::Enum(it) => self.enumeration(&mut code, it),
            }
        }
        code.text()
    }
}

const HEAD: &str =
    "// Written by `kadenz msg gen --lang rust`: change the .lcm files, and write it again.\n";

/// Allows lints about names, which the `.lcm` files choose, and about unused code.
const TOP: &str = r#"//! Messages, a module a package.

#![allow(
dead_code,
non_camel_case_types,
non_snake_case,
non_upper_case_globals,
clippy::approx_constant,
clippy::doc_lazy_continuation,
clippy::doc_overindented_list_items,
clippy::enum_variant_names,
clippy::module_inception,
clippy::pedantic,
rustdoc::all,
unreachable_pub,
reason = "names, comments and constants are those of the .lcm files"
)]"#;

/// Lines of code, indented.
#[derive(Default)]
struct Code {
    text: String,
    depth: usize,
}

impl Code {
    /// Writes a line; a closing bracket at its beginning ends a level, an opening one at its end begins one.
    fn line(&mut self, line: &str) {
        if line.starts_with(['}', ')', ']']) {
            self.depth = self.depth.saturating_sub(1);
        }
        if !line.is_empty() {
            self.text.push_str(&"    ".repeat(self.depth));
            self.text.push_str(line.trim_end());
        }
        self.text.push('\n');
        let word = line.trim_start();
        let comment = word.starts_with("//");
        if !comment && line.ends_with(['{', '(']) {
            self.depth += 1;
        }
    }

    /// Writes documentation: the comment of the `.lcm` file if there is one, else `instead`.
    fn doc(&mut self, comment: &str, instead: &str) {
        let filled = comment.lines().any(|it| !it.trim().is_empty());
        let text = if filled { comment } else { instead };
        for line in text.lines() {
            // Neither indentation nor fences: rustdoc would compile the text within.
            let line = line.trim().replace("```", "'''").replace("~~~", "---");
            self.line(&format!("/// {line}"));
        }
    }

    /// Writes lines of a template.
    fn lines(&mut self, template: &str, values: &[(&str, &str)]) {
        fill(template, values)
            .split('\n')
            .for_each(|it| self.line(it));
    }

    /// Writes text unchanged.
    fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn text(self) -> String {
        self.text
    }
}

/// A text as a literal that may have several lines.
fn literal(text: &str) -> String {
    let mut hashes = String::new();
    while text.contains(&format!("\"{hashes}")) {
        hashes.push('#');
    }
    format!("r{hashes}\"{text}\"{hashes}")
}
