//! Documents that must exist, and references that must lead to one.

use super::{Finding, Workspace};
use crate::docs::book::{self, SUMMARY};
use crate::docs::links;
use crate::repository::{SourceFile, text_of};

const DECISIONS: &str = "docs/decisions/";
const BOOK: &str = "docs/README.md";

/// Rule `front-doors`: the first lines of a crate tell a new reader its purpose.
pub(crate) fn front_doors(workspace: &Workspace) -> Vec<Finding> {
    let crates = workspace
        .crates
        .iter()
        .filter(|it| it.folder.starts_with("crates/"));
    let silent = crates.filter(|member| {
        let door = |name: &str| text_of(&workspace.files, &format!("{}/{name}", member.folder));
        let root = door("src/lib.rs").or_else(|| door("src/main.rs"));
        door("README.md").is_none() && !says_enough(root.unwrap_or_default())
    });
    let text = "needs a README.md, or documentation of two lines at the top of its root";
    silent
        .map(|member| Finding::error(&member.folder, text))
        .collect()
}

fn says_enough(root: &str) -> bool {
    let said = root.lines().map_while(|line| line.strip_prefix("//!"));
    said.filter(|line| line.trim().len() > 20).count() >= 2
}

/// Rule `decisions`.
pub(crate) fn decisions(files: &[SourceFile]) -> Vec<Finding> {
    let index_path = format!("{DECISIONS}README.md");
    let index = text_of(files, &index_path).unwrap_or_default();
    let mut findings = Vec::new();
    let mut numbers: Vec<&str> = Vec::new();
    for file in files
        .iter()
        .filter(|it| it.path.starts_with(DECISIONS) && it.path != index_path)
    {
        let name = &file.path[DECISIONS.len()..];
        match decision_number(name) {
            None => {
                let text = "is not called NNNN-what-it-says.md";
                findings.push(Finding::error(&file.path, text));
            }
            Some(number) if numbers.contains(&number) => {
                let text = format!("the number {number} is taken");
                findings.push(Finding::error(&file.path, text));
            }
            Some(number) => numbers.push(number),
        }
        if !index.contains(&format!("({name})")) {
            let text = format!("stands not in {index_path}");
            findings.push(Finding::error(&file.path, text));
        }
    }
    findings
}

fn decision_number(name: &str) -> Option<&str> {
    let (number, rest) = name.split_once('-')?;
    let digits = number.len() == 4 && number.chars().all(|c| c.is_ascii_digit());
    (digits && rest.len() > ".md".len() && rest.ends_with(".md")).then_some(number)
}

/// Rule `book-index`: every page stands in the table of contents once, no page of the book links to one
/// outside, and the front page names the parts.
pub(crate) fn book_index(files: &[SourceFile]) -> Vec<Finding> {
    let entries = book::entries(files);
    let count = |path: &str| entries.iter().filter(|(_, it)| it == path).count();
    let is_page = |file: &&SourceFile| {
        let decision = file.path.starts_with(DECISIONS) && file.path != book::DECISIONS;
        file.is("md") && file.path.starts_with("docs/") && file.path != SUMMARY && !decision
    };
    let mut findings: Vec<Finding> = files
        .iter()
        .filter(is_page)
        .filter(|file| count(&file.path) == 0)
        .map(|file| Finding::error(&file.path, format!("stands not in {SUMMARY}")))
        .collect();
    for (line, path) in entries.iter().filter(|(_, path)| count(path) > 1) {
        let text = format!("{path} stands there more than once");
        findings.push(Finding::error(format!("{SUMMARY}:{line}"), text));
    }
    let pages = book::pages(files);
    for page in &pages {
        for (line, path) in links::targets(page) {
            if path.ends_with(".md") && !pages.iter().any(|page| page.path == path) {
                let text = format!("{path} is not a page of the book: {SUMMARY} does not list it");
                findings.push(Finding::error(format!("{}:{line}", page.path), text));
            }
        }
    }
    let front = text_of(files, BOOK).unwrap_or_default();
    for part in book::parts(files) {
        if !front.lines().any(|line| line == format!("## {part}")) {
            let text = format!("has no heading for the part {part}");
            findings.push(Finding::error(BOOK, text));
        }
    }
    findings
}

/// Rule `toolchain`.
pub(crate) fn toolchain(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        if name == "rust-toolchain" || name == "rust-toolchain.toml" {
            let text = "would make rustup fetch another toolchain; the installed stable must do";
            findings.push(Finding::error(&file.path, text));
        }
        let states = name == "Cargo.toml" && file.text.contains("rust-version = \"");
        if states && file.path != "Cargo.toml" {
            let text =
                "the MSRV stands in the workspace's Cargo.toml: rust-version.workspace = true";
            findings.push(Finding::error(&file.path, text));
        }
    }
    findings
}

/// Rule `fuzz-targets`.
pub(crate) fn fuzz_targets(files: &[SourceFile]) -> Vec<Finding> {
    let manifest = text_of(files, "fuzz/Cargo.toml").unwrap_or_default();
    let targets = files
        .iter()
        .filter(|it| it.is("rs") && it.path.starts_with("fuzz/fuzz_targets/"));
    let forgotten = targets.filter(|it| {
        let path = it.path.trim_start_matches("fuzz/");
        !manifest.contains(&format!("path = \"{path}\""))
    });
    let text = "has no [[bin]] in fuzz/Cargo.toml, so cargo does not run it";
    forgotten.map(|it| Finding::error(&it.path, text)).collect()
}

/// Rule `links`.
pub(crate) fn links(files: &[SourceFile]) -> Vec<Finding> {
    links::dead(files)
        .into_iter()
        .map(|dead| Finding::error(dead.place, format!("the link {} leads nowhere", dead.link)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cargo::Crate;
    use crate::tidy::samples::{file, places};

    #[test]
    fn a_crate_that_says_nothing_is_found() {
        let member = |name: &str| Crate {
            name: name.to_owned(),
            folder: format!("crates/{name}"),
            ..Crate::default()
        };
        let spoken = "//! The base of the workspace, with clocks and sleepers.\n//!\n//! It holds all unsafe code there is.\n";
        let workspace = Workspace {
            files: vec![
                file("crates/a/src/lib.rs", "//! Skeleton.\n"),
                file("crates/b/src/lib.rs", spoken),
                file("crates/c/src/main.rs", "//! Short.\n"),
                file("crates/c/README.md", "# c\n"),
            ],
            crates: vec![member("a"), member("b"), member("c")],
            ..Workspace::default()
        };
        assert_eq!(places(&front_doors(&workspace)), ["crates/a"]);
    }

    #[test]
    fn decisions_need_a_number_of_their_own_and_a_line_in_the_index() {
        let files = [
            file(
                "docs/decisions/README.md",
                "[a](0001-a.md) [b](0001-b.md) [c](notes.md)",
            ),
            file("docs/decisions/0001-a.md", ""),
            file("docs/decisions/0001-b.md", ""),
            file("docs/decisions/0002-c.md", ""),
            file("docs/decisions/notes.md", ""),
        ];
        let expected = ["0001-b.md", "0002-c.md", "notes.md"].map(|it| format!("{DECISIONS}{it}"));
        assert_eq!(places(&decisions(&files)), expected);
    }

    #[test]
    fn pages_outside_the_contents_or_in_them_twice_are_found() {
        let contents = "# Summary\n\n# Measure\n- [Check](check.md)\n- [Again](check.md)\n\
                        - [Book](README.md)\n- [Decisions](decisions/README.md)\n";
        let files = [
            file(SUMMARY, contents),
            file(BOOK, "# The book\n"),
            file("docs/check.md", "[run](start/lost.md)\n"),
            file("docs/start/lost.md", ""),
            file("docs/decisions/README.md", "| [0001](0001-a.md) | A |\n"),
            file(
                "docs/decisions/0001-a.md",
                "[in](../check.md) [out](../../notes.md)\n",
            ),
            file("notes.md", ""),
        ];
        let expected = [
            "docs/start/lost.md",
            "docs/SUMMARY.md:4",
            "docs/SUMMARY.md:5",
            "docs/check.md:1",
            "docs/decisions/0001-a.md:1",
            BOOK,
        ];
        assert_eq!(places(&book_index(&files)), expected);
    }

    #[test]
    fn a_second_toolchain_or_msrv_is_found() {
        let files = [
            file("Cargo.toml", "rust-version = \"1.88\""),
            file("crates/a/Cargo.toml", "rust-version = \"1.90\""),
            file("crates/b/Cargo.toml", "rust-version.workspace = true"),
            file("rust-toolchain.toml", ""),
        ];
        assert_eq!(
            places(&toolchain(&files)),
            ["crates/a/Cargo.toml", "rust-toolchain.toml"]
        );
    }

    #[test]
    fn a_forgotten_fuzz_target_is_found() {
        let files = [
            file("fuzz/Cargo.toml", "path = \"fuzz_targets/hlog.rs\""),
            file("fuzz/fuzz_targets/hlog.rs", ""),
            file("fuzz/fuzz_targets/lost.rs", ""),
        ];
        assert_eq!(places(&fuzz_targets(&files)), ["fuzz/fuzz_targets/lost.rs"]);
    }

    #[test]
    fn a_dead_link_is_found() {
        let findings = links(&[file("docs/a.md", "see [b](b.md)\n")]);
        assert_eq!(places(&findings), ["docs/a.md:1"]);
    }
}
