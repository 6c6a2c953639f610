//! The tables of docs/invariants.md: every invariant names the check that holds it.

use super::{Finding, RULES};
use crate::repository::{SourceFile, text_of};

const INVARIANTS: &str = "docs/invariants.md";
const STYLE: &str = "docs/STYLE.md";
/// The file with the steps of `cargo xtask test`, each with its name.
const STEPS: &str = "xtask/src/test/mod.rs";

/// Rule `invariants`: both ways, between the tables of invariants and the rules of tidy.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let Some(invariants) = text_of(files, INVARIANTS) else {
        return vec![Finding::error(INVARIANTS, "is missing")];
    };
    let mut findings: Vec<Finding> = rows(invariants)
        .flat_map(|(line, row)| unheld(files, row, &format!("{INVARIANTS}:{line}")))
        .collect();
    let written = format!("{invariants}{}", text_of(files, STYLE).unwrap_or_default());
    let unwritten = RULES
        .iter()
        .filter(|rule| !written.contains(&format!("`tidy:{}`", rule.name)));
    findings.extend(unwritten.map(|rule| {
        let text = format!("the rule {} stands in no document", rule.name);
        Finding::error(INVARIANTS, text)
    }));
    findings
}

/// The rows of the tables under the heading `Invariants`, with their line numbers.
fn rows(invariants: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = invariants
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
    let absent = checks.iter().filter(|check| !check_exists(files, check));
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
        Some(("step", name)) => says(STEPS, &format!("name: \"{name}\",")),
        Some(("deny", name)) => says("deny.toml", &format!("[{name}]")),
        _ => false,
    }
}

fn exists(files: &[SourceFile], path: &str) -> bool {
    let folder = format!("{}/", path.trim_end_matches('/'));
    files
        .iter()
        .any(|file| file.path == path || file.path.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::samples::{file, places};

    /// Names every rule, so that only the row under test is wrong.
    fn invariants(row: &str) -> Vec<SourceFile> {
        let rules: String = RULES
            .iter()
            .map(|it| format!("`tidy:{}` ", it.name))
            .collect();
        let head = "| Invariant | Held by |\n|---|---|\n";
        let text = format!("{rules}\n## Invariants\n{head}{row}\n## Next\n| free | text |\n");
        vec![
            file(INVARIANTS, &text),
            file("clippy.toml", "std::mem::forget"),
            file("crates/a/tests/crash.rs", ""),
            file("deny.toml", "[bans]"),
            file(STEPS, "        name: \"loom\",\n"),
        ]
    }

    #[test]
    fn an_invariant_without_a_check_that_exists_is_found() {
        let line = format!("{INVARIANTS}:5");
        for wrong in [
            "| no check | trust |",
            "| a | `tidy:nothing` |",
            "| a | `test:gone.rs` |",
            "| a | `step:gone` |",
        ] {
            assert_eq!(
                places(&check(&invariants(wrong))),
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
                check(&invariants(&format!("| a | `{held}` |"))).is_empty(),
                "{held}"
            );
        }
        assert!(check(&invariants("| a | `step:loom`, `deny:bans` |")).is_empty());
    }

    #[test]
    fn a_rule_that_stands_in_no_document_is_found() {
        let findings = check(&[file(INVARIANTS, "# A\n")]);
        assert_eq!(findings.len(), RULES.len());
        assert_eq!(places(&check(&[])), [INVARIANTS]);
    }
}
