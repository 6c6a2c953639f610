//! What must be written down, and that what is written down exists.

use super::{Finding, House, RULES};
use crate::docs::links;
use crate::repository::SourceFile;
use crate::test;

const ARCHITECTURE: &str = "docs/ARCHITECTURE.md";
const STYLE: &str = "docs/STYLE.md";
const DECISIONS: &str = "docs/decisions/";
const BOOK: &str = "docs/README.md";

fn text_of<'a>(files: &'a [SourceFile], path: &str) -> Option<&'a str> {
    files
        .iter()
        .find(|file| file.path == path)
        .map(|file| file.text.as_str())
}

fn exists(files: &[SourceFile], path: &str) -> bool {
    let folder = format!("{}/", path.trim_end_matches('/'));
    files
        .iter()
        .any(|file| file.path == path || file.path.starts_with(&folder))
}

/// Rule `front-doors`: a stranger learns from the first lines what a crate is for.
pub fn front_doors(house: &House) -> Vec<Finding> {
    let rooms = house
        .crates
        .iter()
        .filter(|it| it.folder.starts_with("crates/"));
    let silent = rooms.filter(|room| {
        let door = |name: &str| text_of(&house.files, &format!("{}/{name}", room.folder));
        let root = door("src/lib.rs")
            .or_else(|| door("src/main.rs"))
            .unwrap_or_default();
        door("README.md").is_none() && !says_enough(root)
    });
    silent
        .map(|room| {
            let text = "needs a README.md, or documentation of two lines at the top of its root";
            Finding::error(&room.folder, text)
        })
        .collect()
}

fn says_enough(root: &str) -> bool {
    let said = root.lines().map_while(|line| line.strip_prefix("//!"));
    said.filter(|line| line.trim().len() > 20).count() >= 2
}

/// Rule `decisions`.
pub fn decisions(files: &[SourceFile]) -> Vec<Finding> {
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
            None => findings.push(Finding::error(
                &file.path,
                "is not called NNNN-what-it-says.md",
            )),
            Some(number) if numbers.contains(&number) => {
                findings.push(Finding::error(
                    &file.path,
                    format!("the number {number} is taken"),
                ));
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

/// Rule `book-index`.
pub fn book_index(files: &[SourceFile]) -> Vec<Finding> {
    let index = text_of(files, BOOK).unwrap_or_default();
    let is_page = |file: &&SourceFile| {
        let name = file.path.strip_prefix("docs/").unwrap_or_default();
        file.is("md") && file.path != BOOK && !name.is_empty() && !name.contains('/')
    };
    let missing = files.iter().filter(is_page).filter(|file| {
        let name = file.path.trim_start_matches("docs/");
        !index.contains(&format!("({name})"))
    });
    missing
        .map(|file| Finding::error(&file.path, format!("stands not in {BOOK}")))
        .collect()
}

/// Rule `invariants`: both ways, between the tables of the architecture and the rules of tidy.
pub fn invariants(files: &[SourceFile]) -> Vec<Finding> {
    let Some(architecture) = text_of(files, ARCHITECTURE) else {
        return vec![Finding::error(ARCHITECTURE, "is missing")];
    };
    let mut findings: Vec<Finding> = rows(architecture)
        .flat_map(|(line, row)| unheld(files, row, &format!("{ARCHITECTURE}:{line}")))
        .collect();
    let written = format!(
        "{architecture}{}",
        text_of(files, STYLE).unwrap_or_default()
    );
    let unwritten = RULES
        .iter()
        .filter(|rule| !written.contains(&format!("`tidy:{}`", rule.name)));
    findings.extend(unwritten.map(|rule| {
        let text = format!("the rule {} stands in no document", rule.name);
        Finding::error(ARCHITECTURE, text)
    }));
    findings
}

/// The rows of the tables under the heading `Invariants`, with their line numbers.
fn rows(architecture: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = architecture
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line));
    let chapter = lines
        .skip_while(|(_, line)| !line.starts_with("## Invariants"))
        .skip(1)
        .take_while(|(_, line)| !line.starts_with("## "));
    chapter.filter(|(_, line)| {
        line.starts_with('|') && !line.starts_with("|-") && !line.starts_with("| Invariant")
    })
}

fn unheld(files: &[SourceFile], row: &str, place: &str) -> Vec<Finding> {
    let cells: Vec<&str> = row.trim().trim_matches('|').split('|').collect();
    let checks: Vec<&str> = cells
        .last()
        .into_iter()
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    if cells.len() < 2 || checks.is_empty() {
        return vec![Finding::error(place, "an invariant that names no check")];
    }
    let absent = checks
        .into_iter()
        .filter(|check| !check_exists(files, check));
    absent
        .map(|check| Finding::error(place, format!("there is no check `{check}`")))
        .collect()
}

/// `tidy:rule`, `lint:name`, `test:path`, `step:name` or `deny:check`.
fn check_exists(files: &[SourceFile], check: &str) -> bool {
    let says = |path: &str, words: &str| text_of(files, path).is_some_and(|it| it.contains(words));
    match check.split_once(':') {
        Some(("tidy", name)) => RULES.iter().any(|rule| rule.name == name),
        Some(("lint", name)) => says("Cargo.toml", name) || says("clippy.toml", name),
        Some(("test", path)) => exists(files, path),
        Some(("step", name)) => test::has_step(name),
        Some(("deny", name)) => says("deny.toml", &format!("[{name}]")),
        _ => false,
    }
}

/// Rule `toolchain`.
pub fn toolchain(files: &[SourceFile]) -> Vec<Finding> {
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
pub fn fuzz_targets(files: &[SourceFile]) -> Vec<Finding> {
    let manifest = text_of(files, "fuzz/Cargo.toml").unwrap_or_default();
    let targets = files
        .iter()
        .filter(|it| it.is("rs") && it.path.starts_with("fuzz/fuzz_targets/"));
    let forgotten = targets.filter(|it| {
        let path = it.path.trim_start_matches("fuzz/");
        !manifest.contains(&format!("path = \"{path}\""))
    });
    forgotten
        .map(|it| {
            Finding::error(
                &it.path,
                "has no [[bin]] in fuzz/Cargo.toml, so nobody runs it",
            )
        })
        .collect()
}

/// Rule `links`.
pub fn links(files: &[SourceFile]) -> Vec<Finding> {
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
        let room = |name: &str| Crate {
            name: name.to_owned(),
            folder: format!("crates/{name}"),
            dependencies: Vec::new(),
        };
        let spoken = "//! The floor of the house, with clocks and sleepers.\n//!\n//! It holds all unsafe code there is.\n";
        let house = House {
            files: vec![
                file("crates/a/src/lib.rs", "//! Skeleton.\n"),
                file("crates/b/src/lib.rs", spoken),
                file("crates/c/src/main.rs", "//! Short.\n"),
                file("crates/c/README.md", "# c\n"),
            ],
            crates: vec![room("a"), room("b"), room("c")],
        };
        assert_eq!(places(&front_doors(&house)), ["crates/a"]);
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
    fn a_page_outside_the_index_is_found() {
        let files = [
            file(BOOK, "[Style](STYLE.md)"),
            file(STYLE, ""),
            file("docs/lost.md", ""),
            file("docs/decisions/0001-a.md", ""),
        ];
        assert_eq!(places(&book_index(&files)), ["docs/lost.md"]);
    }

    /// Names every rule, so that only the row under test is wrong.
    fn architecture(row: &str) -> Vec<SourceFile> {
        let rules: String = RULES
            .iter()
            .map(|it| format!("`tidy:{}` ", it.name))
            .collect();
        let head = "| Invariant | Held by |\n|---|---|\n";
        let text = format!("{rules}\n## Invariants\n{head}{row}\n## Next\n| free | text |\n");
        vec![
            file(ARCHITECTURE, &text),
            file("clippy.toml", "std::mem::forget"),
            file("crates/a/tests/crash.rs", ""),
            file("deny.toml", "[bans]"),
        ]
    }

    #[test]
    fn an_invariant_without_a_check_that_exists_is_found() {
        let line = format!("{ARCHITECTURE}:5");
        for wrong in [
            "| no check | trust |",
            "| a | `tidy:nothing` |",
            "| a | `test:gone.rs` |",
        ] {
            assert_eq!(
                places(&invariants(&architecture(wrong))),
                [line.as_str()],
                "{wrong}"
            );
        }
        for held in [
            "tidy:arrows",
            "lint:std::mem::forget",
            "test:crates/a/tests/crash.rs",
        ] {
            assert!(
                invariants(&architecture(&format!("| a | `{held}` |"))).is_empty(),
                "{held}"
            );
        }
        assert!(invariants(&architecture("| a | `step:loom`, `deny:bans` |")).is_empty());
    }

    #[test]
    fn a_rule_that_stands_in_no_document_is_found() {
        let findings = invariants(&[file(ARCHITECTURE, "# A\n")]);
        assert_eq!(findings.len(), RULES.len());
        assert_eq!(places(&invariants(&[])), [ARCHITECTURE]);
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
