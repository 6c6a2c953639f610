//! `cargo xtask size`: how much code there is, by crate or folder.
//!
//! A line of code is one outside of comments, blank lines and tests: the count by which the tree is kept small.
//! Generated code and golden data do not count.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use crate::repository::{Repository, SourceFile};
use crate::scan;
use crate::tidy::size::is_code;

pub(crate) const HELP: &str = "\
Count lines of code, files and public items, by crate or folder.

Usage: cargo xtask size [--json]

Counted is what ships: no comments, no blank lines, no tests, no generated code, no golden data.
Tests are counted beside it.
";

/// A source file with fewer lines of code than this is small.
const SMALL: usize = 60;

/// The counts of a crate or a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    files: usize,
    /// Number of files with fewer than [`SMALL`] lines of code.
    small: usize,
    code: usize,
    tests: usize,
    /// Items that other crates can name: `pub`, without those that are `pub` only within the crate.
    public: usize,
}

impl Size {
    fn of(file: &SourceFile) -> Self {
        let stripped = match file.is("rs") {
            true => file.code(),
            false => &without_comments(file),
        };
        let shipped = match file.path.starts_with("tests/") {
            true => "",
            false => scan::shipped(&file.path, stripped),
        };
        let (all, code) = (lines(stripped), lines(shipped));
        Self {
            files: usize::from(code > 0),
            small: usize::from(code > 0 && code < SMALL),
            code,
            tests: all - code,
            public: shipped.lines().filter(|line| is_public(line)).count(),
        }
    }

    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.small += other.small;
        self.code += other.code;
        self.tests += other.tests;
        self.public += other.public;
    }

    fn cells(self) -> [usize; 5] {
        [self.files, self.small, self.code, self.tests, self.public]
    }
}

const COLUMNS: [&str; 5] = ["files", "small", "code", "tests", "public"];

/// Prints a table, or JSON.
pub(crate) fn main(repository: &Repository, options: &[&str]) -> Result<bool> {
    let json = match options {
        [] => false,
        ["--json"] => true,
        _ => bail!("unknown options {options:?}; see `cargo xtask size --help`"),
    };
    let parts = parts(&repository.files()?);
    match json {
        true => println!("{}", in_json(&parts)),
        false => print!("{}", table(&parts)),
    }
    Ok(true)
}

/// The sizes by crate or folder, and the sum under `all`, which sorts last.
fn parts(files: &[SourceFile]) -> Vec<(String, Size)> {
    let mut parts = BTreeMap::<String, Size>::new();
    let mut all = Size::default();
    for file in files.iter().filter(|file| is_code(file)) {
        let size = Size::of(file);
        parts.entry(part(&file.path)).or_default().add(size);
        all.add(size);
    }
    parts.into_iter().chain([("all".to_owned(), all)]).collect()
}

/// A crate, or the first folder; files beside them belong to the root.
fn part(path: &str) -> String {
    let mut parts = path.split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("crates" | "bindings"), Some(name), Some(_)) => name.to_owned(),
        (Some(folder), Some(_), _) => folder.to_owned(),
        _ => "root".to_owned(),
    }
}

fn lines(code: &str) -> usize {
    code.lines().filter(|line| !line.trim().is_empty()).count()
}

fn is_public(line: &str) -> bool {
    const ITEMS: [&str; 8] = [
        "fn ", "struct ", "enum ", "trait ", "const ", "static ", "type ", "union ",
    ];
    let item = line.trim_start().strip_prefix("pub ");
    item.is_some_and(|it| {
        let it = it
            .trim_start_matches("unsafe ")
            .trim_start_matches("async ");
        ITEMS.iter().any(|item| it.starts_with(item))
    })
}

/// The text without lines that are only comment.
fn without_comments(file: &SourceFile) -> String {
    let marks: &[&str] = match file.is("py") || file.is("sh") {
        true => &["#"],
        false => &["//", "/*", "*", "%"],
    };
    let is_comment = |line: &&str| marks.iter().any(|mark| line.trim_start().starts_with(mark));
    let kept: Vec<&str> = file.text.lines().filter(|line| !is_comment(line)).collect();
    kept.join("\n")
}

fn table(parts: &[(String, Size)]) -> String {
    let mut text = format!("{:<18}", "crate");
    text.extend(COLUMNS.map(|name| format!("{name:>9}")));
    text.push('\n');
    for (part, size) in parts {
        text.push_str(&format!("{part:<18}"));
        text.extend(size.cells().map(|count| format!("{count:>9}")));
        text.push('\n');
    }
    text
}

fn in_json(parts: &[(String, Size)]) -> serde_json::Value {
    let of = |size: Size| -> serde_json::Value {
        COLUMNS
            .into_iter()
            .zip(size.cells())
            .map(|(name, count)| (name.to_owned(), count.into()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let parts = parts.iter().map(|(part, size)| (part.clone(), of(*size)));
    parts.collect::<serde_json::Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::samples::file;

    #[test]
    fn comments_blanks_and_tests_do_not_count_as_code() {
        let text = "//! A crate.\n\npub fn a() {} // why\nfn b() {}\npub(crate) fn c() {}\n\
                    #[cfg(test)]\nmod tests {\n    fn d() {}\n}\n";
        let size = Size::of(&file("crates/a/src/lib.rs", text));
        let expected = Size {
            files: 1,
            small: 1,
            code: 3,
            tests: 4,
            public: 1,
        };
        assert_eq!(size, expected);
        assert_eq!(Size::of(&file("crates/a/tests/b.rs", text)).code, 0);
    }

    #[test]
    fn crates_add_up_to_all() {
        let files = [
            file("crates/a/src/lib.rs", "fn a() {}\n"),
            file("crates/a/src/b.rs", "fn b() {}\nfn c() {}\n"),
            file("xtask/src/main.rs", "fn d() {}\n"),
            file("docs/a.md", "text\n"),
        ];
        let parts = parts(&files);
        let code: Vec<_> = parts
            .iter()
            .map(|(part, it)| (part.as_str(), it.code))
            .collect();
        assert_eq!(code, [("a", 3), ("xtask", 1), ("all", 4)]);
    }
}
