//! The table of contents, docs/SUMMARY.md: which pages the book has, and what mdBook reads of it.

use std::fmt::Write as _;

use super::links;
use super::reference::Page;
use crate::repository::SourceFile;

/// The table of contents as it is committed: parts as headings, pages as links from `docs/`.
pub const SUMMARY: &str = "docs/SUMMARY.md";
/// The index of the decisions; below it the book has a page a decision.
pub const DECISIONS: &str = "docs/decisions/README.md";
/// The page of the commands; below it the built book has a page a command.
pub const COMMANDS: &str = "docs/commands.md";

/// A page of the table of contents.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// Line in [`SUMMARY`].
    pub line: usize,
    /// Path from the root.
    pub path: String,
}

/// The pages that [`SUMMARY`] lists, in its order.
pub fn entries(files: &[SourceFile]) -> Vec<Entry> {
    let Some(summary) = files.iter().find(|file| file.path == SUMMARY) else {
        return Vec::new();
    };
    let targets = links::targets(summary).into_iter();
    targets.map(|(line, path)| Entry { line, path }).collect()
}

/// The headings of the parts of [`SUMMARY`], without its title.
pub fn parts(files: &[SourceFile]) -> Vec<&str> {
    let summary = files.iter().find(|file| file.path == SUMMARY);
    let lines = summary.map_or("", |file| &file.text).lines();
    lines
        .filter_map(|line| line.strip_prefix("# "))
        .skip(1)
        .collect()
}

/// The decisions in their index: path from the root, and title.
pub fn decisions(files: &[SourceFile]) -> Vec<(String, String)> {
    let index = files.iter().find(|file| file.path == DECISIONS);
    let rows = index.map_or("", |file| &file.text).lines();
    let decision = |row: &str| {
        let (number, rest) = row.strip_prefix("| [")?.split_once("](")?;
        let (name, title) = rest.split_once(") | ")?;
        let title = title.trim_end_matches('|').trim().replace('`', "");
        Some((
            format!("docs/decisions/{name}"),
            format!("{number} {title}"),
        ))
    };
    rows.filter_map(decision).collect()
}

/// The table of contents that mdBook reads: links from the root; decisions and commands below their indexes.
pub fn for_mdbook(files: &[SourceFile], commands: &[Page]) -> String {
    let summary = files.iter().find(|file| file.path == SUMMARY);
    let entries = entries(files);
    let mut text = String::new();
    for (at, line) in summary.map_or("", |file| &file.text).lines().enumerate() {
        let Some(entry) = entries.iter().find(|entry| entry.line == at + 1) else {
            let _ = writeln!(text, "{line}");
            continue;
        };
        let title = line.split("](").next().unwrap_or_default();
        let _ = writeln!(text, "{title}]({})", entry.path);
        let indent = title.len() - title.trim_start().len() + 2;
        let below: Vec<(String, String)> = match entry.path.as_str() {
            DECISIONS => decisions(files),
            COMMANDS => commands
                .iter()
                .map(|it| (it.path(), it.name.clone()))
                .collect(),
            _ => Vec::new(),
        };
        for (path, title) in below {
            let _ = writeln!(text, "{:indent$}- [{title}]({path})", "");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::samples::file;

    fn sample() -> [SourceFile; 2] {
        [
            file(
                SUMMARY,
                "# Summary\n\n[Kadenz](../README.md)\n\n# Reference\n\n- [Commands](commands.md)\n\
                 \n# Contribute\n\n- [Style](STYLE.md)\n  - [Decisions](decisions/README.md)\n",
            ),
            file(
                DECISIONS,
                "| decision | |\n|---|---|\n| [0001](0001-a.md) | Why `a` |\n",
            ),
        ]
    }

    #[test]
    fn pages_and_parts_are_read_in_their_order() {
        let files = sample();
        let paths: Vec<String> = entries(&files).into_iter().map(|it| it.path).collect();
        assert_eq!(paths, ["README.md", COMMANDS, "docs/STYLE.md", DECISIONS]);
        assert_eq!(parts(&files), ["Reference", "Contribute"]);
    }

    #[test]
    fn decisions_and_commands_stand_below_their_indexes() {
        let page = Page {
            name: "kadenz check".to_owned(),
            text: String::new(),
        };
        let expected = "# Summary\n\n[Kadenz](README.md)\n\n# Reference\n\n- [Commands](docs/commands.md)\n  \
                        - [kadenz check](docs/commands/kadenz-check.md)\n\n# Contribute\n\n- [Style](docs/STYLE.md)\n  \
                        - [Decisions](docs/decisions/README.md)\n    \
                        - [0001 Why a](docs/decisions/0001-a.md)\n";
        assert_eq!(for_mdbook(&sample(), &[page]), expected);
    }
}
