//! The length limits of files and functions.

use super::Finding;
use crate::repository::SourceFile;
use crate::scan::{self, Function};

const FILE_LINES: usize = 500;
const FILE_LINES_OF_CONCERN: usize = 300;
const FUNCTION_LINES: usize = 70;

/// A file that must be longer states so in its first lines, with a reason after the colon.
const EXCUSE: &str = "Longer than 500 lines:";
const HEAD: usize = 20;

/// The first line of files that `kadenz msg gen` wrote: they are not read as code, and a test compares them with the
/// generator's output.
const GENERATED: &str = "// Written by `kadenz msg gen";

/// Endings of files that people write and read as code.
const CODE: &[&str] = &[
    "rs", "py", "js", "mjs", "ts", "css", "java", "c", "h", "m", "sh",
];

/// Rule `file-length`.
pub(crate) fn files(files: &[SourceFile]) -> Vec<Finding> {
    files
        .iter()
        .filter(|file| is_code(file))
        .filter_map(too_long)
        .collect()
}

/// Whether a file is one that developers write and read as code.
pub(crate) fn is_code(file: &SourceFile) -> bool {
    CODE.iter().any(|extension| file.is(extension))
        && !file.path.starts_with("conformance/")
        && !file.text.starts_with(GENERATED)
}

fn too_long(file: &SourceFile) -> Option<Finding> {
    let lines = file.text.lines().count();
    if lines > FILE_LINES && !is_excused(file) {
        let text =
            format!("{lines} lines; split it, or say why not in its head: `{EXCUSE} <reason>`");
        return Some(Finding::error(&file.path, text));
    }
    let warns = lines > FILE_LINES_OF_CONCERN && !is_excused(file);
    warns.then(|| Finding::warning(&file.path, format!("{lines} lines; is it one thought?")))
}

fn is_excused(file: &SourceFile) -> bool {
    let mut head = file.text.lines().take(HEAD);
    head.any(|line| {
        let reason = line.split(EXCUSE).nth(1);
        reason.is_some_and(|it| it.trim().len() > 10)
    })
}

/// Rule `function-length`. clippy counts too, but sees only the code that is compiled on this system.
pub(crate) fn functions(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let written = |file: &&SourceFile| file.is("rs") && !file.text.starts_with(GENERATED);
    for file in files.iter().filter(written) {
        for function in scan::functions(file.code()) {
            if function.code_lines > FUNCTION_LINES {
                let Function {
                    name,
                    line,
                    code_lines,
                } = function;
                let text = format!("fn {name} has {code_lines} lines of code");
                findings.push(Finding::error(format!("{}:{line}", file.path), text));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::samples::file;

    fn lines(count: usize) -> String {
        "let x = 1;\n".repeat(count)
    }

    #[test]
    fn a_long_file_warns_then_fails_unless_its_head_says_why() {
        let grave = |text: &str| {
            files(&[file("crates/a/src/lib.rs", text)])
                .first()
                .map(|it| it.grave)
        };
        assert_eq!(grave(&lines(300)), None);
        assert_eq!(grave(&lines(301)), Some(false));
        assert_eq!(grave(&lines(501)), Some(true));
        let excused = format!(
            "//! Longer than 500 lines: one table that is read as a whole.\n{}",
            lines(600)
        );
        assert_eq!(grave(&excused), None);
        let empty_excuse = format!("//! Longer than 500 lines:\n{}", lines(600));
        assert_eq!(grave(&empty_excuse), Some(true));
    }

    #[test]
    fn tables_and_fixtures_are_no_code() {
        let long = lines(600);
        assert!(files(&[file("docs/long.md", &long), file("conformance/x.py", &long)]).is_empty());
    }

    #[test]
    fn what_the_generator_wrote_may_be_long() {
        let generated = format!("{GENERATED} --lang rust`.\nfn f() {{\n{}}}\n", lines(600));
        let generated = [file("crates/a/src/messages.rs", &generated)];
        assert!(files(&generated).is_empty() && functions(&generated).is_empty());
    }

    #[test]
    fn a_long_function_is_found() {
        let of = |count: usize| format!("fn f() {{\n{}}}\n", lines(count));
        assert!(functions(&[file("crates/a/src/lib.rs", &of(68))]).is_empty());
        assert_eq!(functions(&[file("crates/a/src/lib.rs", &of(69))]).len(), 1);
    }
}
