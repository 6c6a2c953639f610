//! The paths that a file names outside its tests, and what it imports and defines.

use std::collections::BTreeSet;

/// The uses, imports and definitions of a file.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    /// Paths of two names or more, in code or in a `use`.
    pub(crate) mentions: Vec<Mention>,
    /// The names that each `use` imports, whatever its visibility.
    pub(crate) imports: Vec<Import>,
    /// Names of the items that the file defines, methods too.
    pub(crate) defined: BTreeSet<String>,
    /// Modules for tests only.
    pub(crate) test_modules: Vec<String>,
    /// Whether all of the file is for tests.
    pub(crate) test_only: bool,
}

/// A path as it stands in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    /// The line, from 1.
    pub(crate) line: usize,
    /// `crate`, `super`, `self`, or a name of this file, then the names behind it.
    pub(crate) path: Vec<String>,
    /// Number of inline modules around it.
    pub(crate) inline: usize,
}

/// A name that a `use` imports.
#[derive(Clone, Debug)]
pub(crate) struct Import {
    /// The name; `None` for all names of a module.
    pub(crate) name: Option<String>,
    /// The path that it is imported from.
    pub(crate) mention: Mention,
}

/// Reads the code of a file.
pub(crate) fn read(code: &str) -> Paths {
    let mut reading = Reading {
        tokens: tokens(code),
        ..Reading::default()
    };
    reading.run();
    reading.paths
}

#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

/// Names, `::`, and every other sign alone.
fn tokens(code: &str) -> Vec<Token<'_>> {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (at, text) in code.lines().enumerate() {
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = if part_of_name(first) {
                rest.find(|c| !part_of_name(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            let (text, after) = rest.split_at(length);
            found.push(Token { text, line: at + 1 });
            rest = after.trim_start();
        }
    }
    found
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Whether an attribute limits its item to tests; fuzzing counts as a test.
fn is_for_tests(attribute: &str) -> bool {
    const ALONE: [&str; 2] = ["[cfg(test)]", "[cfg(any(test,fuzzing))]"];
    let among = attribute.strip_prefix("[cfg(all(");
    let has_test = |all: &str| {
        let is_of_all = |it: &str| it.trim_end_matches([')', ']']) == "test";
        all.split(',').any(is_of_all) && !all.contains("any(")
    };
    ALONE.contains(&attribute) || among.is_some_and(has_test)
}

#[derive(Default)]
struct Reading<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: usize,
    /// The depths at which the inline modules end.
    inline: Vec<usize>,
    paths: Paths,
}

impl<'a> Reading<'a> {
    fn run(&mut self) {
        while self.at < self.tokens.len() && !self.paths.test_only {
            match self.text(0) {
                "#" => self.attribute(),
                "use" if self.text(1) != "<" => self.import(),
                "{" => {
                    self.depth += 1;
                    self.at += 1;
                }
                "}" => self.close(),
                "mod" if self.text(2) == "{" => {
                    self.define();
                    self.inline.push(self.depth);
                }
                "struct" | "enum" | "fn" | "trait" | "type" | "const" | "static" | "union" => {
                    self.define();
                }
                text if is_name(text) && self.text(1) == "::" => self.mention(),
                // What follows the type in `<T as Trait>::name` does not name a module.
                "::" => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    /// The token so many places ahead of the present one; empty behind the end.
    fn text(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).map_or("", |it| it.text)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |it| it.line)
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.inline.last() == Some(&self.depth) {
            self.inline.pop();
        }
        self.at += 1;
    }

    fn define(&mut self) {
        let is_of_the_keyword =
            matches!(self.text(1), "fn" | "unsafe" | "async" | "extern" | "mut");
        if is_name(self.text(1)) && !is_of_the_keyword {
            self.paths.defined.insert(self.text(1).to_owned());
            self.at += 2;
        } else {
            self.at += 1;
        }
    }

    /// Reads an attribute, and passes over an item that it limits to tests.
    fn attribute(&mut self) {
        let whole_file = self.text(1) == "!";
        let opening = self.at + 1 + usize::from(whole_file);
        let end = self.closing(opening);
        let words = self.tokens[opening.min(end)..end].iter();
        let for_tests = is_for_tests(&words.map(|it| it.text).collect::<String>());
        self.at = end;
        if for_tests && whole_file {
            self.paths.test_only = true;
        } else if for_tests {
            self.pass_item();
        }
    }

    /// The place behind the bracket that closes the one at `opening`.
    fn closing(&self, opening: usize) -> usize {
        let mut depth = 0usize;
        for (at, token) in self.tokens.iter().enumerate().skip(opening) {
            match token.text {
                "[" | "{" | "(" => depth += 1,
                "]" | "}" | ")" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at + 1;
            }
        }
        self.tokens.len()
    }

    /// Moves behind the item, the statement or the field that begins here.
    fn pass_item(&mut self) {
        while self.at < self.tokens.len() {
            match self.text(0) {
                "mod" if self.text(2) == ";" => {
                    self.paths.test_modules.push(self.text(1).to_owned());
                    self.at += 3;
                    return;
                }
                "{" => {
                    self.at = self.closing(self.at);
                    return;
                }
                "[" | "(" => self.at = self.closing(self.at),
                ";" => {
                    self.at += 1;
                    return;
                }
                "}" => return,
                _ => self.at += 1,
            }
        }
    }

    fn mention(&mut self) {
        let line = self.line();
        let mut path = vec![self.text(0).to_owned()];
        self.at += 1;
        while self.text(0) == "::" && is_name(self.text(1)) {
            path.push(self.text(1).to_owned());
            self.at += 2;
        }
        if path.len() > 1 {
            let inline = self.inline.len();
            self.paths.mentions.push(Mention { line, path, inline });
        }
    }

    fn import(&mut self) {
        self.at += 1;
        self.tree(&[]);
        while !matches!(self.text(0), ";" | "") {
            self.at += 1;
        }
    }

    /// Reads one branch of a `use`, behind the names that lead to it.
    fn tree(&mut self, before: &[String]) {
        let line = self.line();
        let mut path = before.to_vec();
        if self.text(0) == "::" {
            // A path from the root of all crates leads out of this one.
            path.push("::".to_owned());
            self.at += 1;
        }
        loop {
            match self.text(0) {
                "{" => return self.branches(&path),
                "*" => {
                    self.at += 1;
                    return self.keep(None, line, path);
                }
                name if is_name(name) => path.push(name.to_owned()),
                _ => return,
            }
            self.at += 1;
            if self.text(0) != "::" {
                break;
            }
            self.at += 1;
        }
        if path.last().is_some_and(|it| it == "self") && path.len() > 1 {
            path.pop();
        }
        let mut name = path.last().cloned();
        if self.text(0) == "as" {
            name = Some(self.text(1).to_owned());
            self.at += 2;
        }
        self.keep(name, line, path);
    }

    fn branches(&mut self, before: &[String]) {
        let end = self.closing(self.at);
        self.at += 1;
        while self.at + 1 < end {
            self.tree(before);
            while self.at + 1 < end && self.text(0) != "," {
                self.at += 1;
            }
            self.at += usize::from(self.text(0) == ",");
        }
        self.at = end;
    }

    fn keep(&mut self, name: Option<String>, line: usize, path: Vec<String>) {
        let inline = self.inline.len();
        let mention = Mention { line, path, inline };
        self.paths.mentions.push(mention.clone());
        self.paths.imports.push(Import { name, mention });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mentions(text: &str) -> Vec<String> {
        let all = read(&crate::scan::code_only(text)).mentions;
        all.iter()
            .map(|it| format!("{}:{}", it.line, it.path.join("::")))
            .collect()
    }

    #[test]
    fn paths_in_uses_and_in_code_are_found() {
        let text = "use crate::a::{self, b::{C, D as E}, f::*};\n\
                    // crate::comment::X\n\
                    fn g(x: &super::H<'_>) -> crate::i::J { x.k::<u8>(\"crate::text::Y\") }\n";
        assert_eq!(
            mentions(text),
            [
                "1:crate::a",
                "1:crate::a::b::C",
                "1:crate::a::b::D",
                "1:crate::a::f",
                "3:super::H",
                "3:crate::i::J",
            ]
        );
        let names: Vec<_> = read(text).imports.into_iter().map(|it| it.name).collect();
        let name = |it: &str| Some(it.to_owned());
        assert_eq!(names, [name("a"), name("C"), name("E"), None]);
    }

    #[test]
    fn what_stands_in_tests_is_passed_over() {
        let text = "#[cfg(test)]\nuse crate::a::A;\n#[cfg(all(test, not(loom)))]\nmod loom;\n\
                    #[cfg(test)]\nmod tests { use crate::b::B; }\n\
                    #[cfg(any(test, unix))]\nuse crate::c::C;\nconst fn f() {}\n";
        let paths = read(text);
        assert_eq!(mentions(text), ["8:crate::c::C"]);
        assert_eq!(paths.test_modules, ["loom"]);
        assert!(paths.defined.contains("f") && !paths.defined.contains("tests"));
        assert!(read("#![cfg(test)]\nuse crate::a::A;\n").test_only);
    }

    #[test]
    fn a_module_within_the_file_is_recognised() {
        let text = "mod inner { use super::A; fn f() { super::g() } }\nuse super::B;\n";
        let inline: Vec<_> = read(text).mentions.iter().map(|it| it.inline).collect();
        assert_eq!(inline, [1, 1, 0]);
    }
}
