//! The names of types, and documentation that says no more than a name.

use std::collections::BTreeMap;

use super::size::is_code;
use super::{Finding, Workspace};
use crate::repository::SourceFile;
use crate::scan::{name_at, shipped};

/// Files that stand in for another one of their folder on other operating systems.
const STAND_INS: [&str; 6] = [
    "refused.rs",
    "portable.rs",
    "pthread.rs",
    "macos.rs",
    "windows.rs",
    "unknown.rs",
];

/// The name of the arguments of a command, which each command of the program has.
const OF_EACH_COMMAND: &str = "Options";

/// Rule `type-names`.
pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let crates = workspace.crates.iter();
    crates
        .flat_map(|it| shared_names(&format!("{}/src/", it.folder), &workspace.files))
        .collect()
}

/// A finding for each type that shares its name with another one of the crate.
fn shared_names(sources: &str, files: &[SourceFile]) -> Vec<Finding> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files.iter().filter(|it| is_source(it, sources)) {
        for (number, line) in shipped(&file.path, file.code()).lines().enumerate() {
            if let Some(name) = type_of(line).filter(|it| *it != OF_EACH_COMMAND) {
                let place = format!("{}:{}", file.path, number + 1);
                places.entry(name.to_owned()).or_default().push(place);
            }
        }
    }
    let shared = places.into_iter().filter(|(_, places)| places.len() > 1);
    let finding = |(name, places): (String, Vec<String>)| {
        let others = places[1..].join(", ");
        let text =
            format!("another type is called `{name}`, too ({others}): say of each what it is");
        Finding::error(&places[0], text)
    };
    shared.map(finding).collect()
}

fn is_source(file: &SourceFile, sources: &str) -> bool {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    file.path.starts_with(sources) && name.ends_with(".rs") && !STAND_INS.contains(&name)
}

/// The name of the type that a line defines outside of a block.
fn type_of(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix("pub") {
        Some(rest) => match rest.strip_prefix('(') {
            Some(rest) => rest.split_once(") ")?.1,
            None => rest.strip_prefix(' ')?,
        },
        None => line,
    };
    let mut kinds = ["struct ", "enum ", "trait ", "union "].iter();
    kinds.find_map(|it| rest.strip_prefix(it)).map(name_at)
}

/// Rule `empty-docs`: the documentation of a public item or of a variant is more than one word, with or without an
/// article: the name says that already. It states the unit, the range or the meaning.
pub(crate) fn empty_docs(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is("rs") && is_code(file)) {
        let lines: Vec<_> = shipped(&file.path, &file.text).lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let begins = at == 0 || !lines[at - 1].trim_start().starts_with("///");
            let mut rest = lines[at + 1..].iter().map(|it| it.trim_start());
            let item = rest.find(|it| !it.starts_with("#[")).unwrap_or_default();
            let is_shown = item.starts_with("pub") || item.starts_with(|c: char| c.is_uppercase());
            if begins && is_one_word(line) && is_shown {
                let text = format!("`{}` says no more than the name", line.trim_start());
                findings.push(Finding::in_line(&file.path, at, text));
            }
        }
    }
    findings
}

/// Whether a line is `/// Word.` or `/// Its word.`; a name in backticks is a reference, and `rad/s` a unit.
fn is_one_word(line: &str) -> bool {
    let text = line.trim_start().strip_prefix("/// ");
    let Some(text) = text.and_then(|it| it.strip_suffix('.')) else {
        return false;
    };
    let mut articles = ["Its ", "The ", "A ", "An "].iter();
    let word = articles
        .find_map(|it| text.strip_prefix(it))
        .unwrap_or(text);
    word.chars().all(|c| c.is_alphanumeric() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::super::samples::{file, places};
    use super::*;

    #[test]
    fn two_types_of_a_crate_do_not_share_a_name() {
        let files = [
            file("a/src/door.rs", "pub struct Settings;\nstruct Options;\n"),
            file(
                "a/src/window.rs",
                "\npub(in crate::wall) enum Settings { One }\nstruct Options;\n",
            ),
            file("a/src/linux.rs", "pub struct Program(u8);\n"),
            file("a/src/refused.rs", "pub struct Program;\n"),
            file("a/src/tests.rs", "pub struct Program;\n"),
            file(
                "b/src/lib.rs",
                "// pub struct Settings;\npub struct Settings;\n",
            ),
        ];
        assert_eq!(places(&shared_names("a/src/", &files)), ["a/src/door.rs:1"]);
        assert!(shared_names("b/src/", &files).is_empty());
    }

    #[test]
    fn one_bare_word_is_found_with_and_without_an_article() {
        let text = "/// Rows.\npub a: u32,\n/// Rows.\n#[x]\npub(crate) b: u32,\n/// Sent.\nSent,\n\
                    /// Rows.\nc: u32,\n/// `INPUTS`.\nInputs,\n/// Rows, from 1.\npub d: u32,\n\
                    /// Rows\n/// Rows.\npub e: u32,\n/// Rows.\n///\n/// Some.\npub f: u32,\n\
                    /// Its rows.\npub g: u32,\n/// A row.\nRow,\n/// The first row.\npub h: u32,\n";
        let expected = [1, 3, 6, 21, 23].map(|line| format!("crates/a/src/a.rs:{line}"));
        assert_eq!(
            places(&empty_docs(&[file("crates/a/src/a.rs", text)])),
            expected
        );
    }
}
