//! Documentation that says nothing.

use super::Finding;
use super::size::is_code;
use crate::repository::SourceFile;
use crate::scan;

/// Rule `empty-docs`: the documentation of a public item or of a variant has more than one word, which the name says
/// already: the unit, the range or the meaning.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is("rs") && is_code(file)) {
        let lines: Vec<_> = scan::shipped(&file.path, &file.text).lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let begins = at == 0 || !lines[at - 1].trim_start().starts_with("///");
            let mut rest = lines[at + 1..].iter().map(|it| it.trim_start());
            let item = rest.find(|it| !it.starts_with("#[")).unwrap_or_default();
            let is_shown = item.starts_with("pub") || item.starts_with(|c: char| c.is_uppercase());
            if begins && is_one_word(line) && is_shown {
                let text = format!("`{}` says no more than the name", line.trim_start());
                findings.push(Finding::error(format!("{}:{}", file.path, at + 1), text));
            }
        }
    }
    findings
}

/// Whether a line is `/// Word.`; a name in backticks is a reference, and `rad/s` a unit.
fn is_one_word(line: &str) -> bool {
    let text = line.trim_start().strip_prefix("/// ");
    let word = text.and_then(|it| it.strip_suffix('.'));
    word.is_some_and(|it| it.chars().all(|c| c.is_alphanumeric() || c == '-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::samples::{file, places};

    #[test]
    fn one_bare_word_is_found() {
        let text = "/// Rows.\npub a: u32,\n/// Rows.\n#[x]\npub(crate) b: u32,\n/// Sent.\nSent,\n\
                    /// Rows.\nc: u32,\n/// `INPUTS`.\nInputs,\n/// Rows, from 1.\npub d: u32,\n\
                    /// Rows\n/// Rows.\npub e: u32,\n/// Rows.\n///\n/// Some.\npub f: u32,\n";
        let expected = [1, 3, 6].map(|line| format!("crates/a/src/a.rs:{line}"));
        assert_eq!(places(&check(&[file("crates/a/src/a.rs", text)])), expected);
    }
}
