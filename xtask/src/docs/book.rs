//! `cargo xtask book`: docs/ as an mdBook, in `target/book/html`.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::{Page, command_pages, links};
use crate::files;
use crate::process;
use crate::repository::{Repository, SourceFile, text_of};
use crate::tools;

pub(crate) const HELP: &str = "\
Build the book: the pages that docs/SUMMARY.md lists, with a page for each command of the program, in
target/book/html. It opens from the folder, without a network, and can be searched. Needs mdBook.

Usage: cargo xtask book
";

/// The command that installs mdBook where [`tools::mdbook`] looks for it.
const INSTALL: &str = "cargo install mdbook --locked --root target/mdbook";

/// Builds the book.
pub(crate) fn main(repository: &Repository, options: &[&str]) -> Result<bool> {
    ensure!(options.is_empty(), "book takes no options");
    let Some(mdbook) = tools::mdbook(&repository.target()) else {
        bail!("there is no mdbook on the path; `{INSTALL}` installs it for this command alone");
    };
    let program = crate::cargo::program_of_tests(repository)?;
    let commands = command_pages(&|words| super::help(repository, &program, words))?;
    let folder = repository.target().join("book");
    stage(repository, &commands, &folder)?;
    let mut command = repository.command(&mdbook);
    if !process::run(command.arg("build").arg(&folder))? {
        return Ok(false);
    }
    println!("written: {}", folder.join("html/index.html").display());
    Ok(true)
}

/// Writes mdBook's input. Removes the files of an earlier build first.
fn stage(repository: &Repository, commands: &[Page], folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    let source = folder.join("src");
    let files = repository.files()?;
    for path in copied(&files) {
        let to = beneath(&source, &path)?;
        std::fs::copy(repository.path(&path), &to)
            .with_context(|| format!("cannot copy {path} to {}", to.display()))?;
    }
    for file in generated(&files, commands) {
        files::write(&beneath(&source, &file.path)?, &file.text)?;
    }
    let settings = std::fs::read_to_string(repository.path("docs/book.toml"))
        .context("cannot read docs/book.toml")?;
    files::write(&folder.join("book.toml"), &settings)
}

/// A path below a folder, with the folders on the way there.
fn beneath(folder: &Path, path: &str) -> Result<std::path::PathBuf> {
    let path = folder.join(path);
    files::make_folder(path.parent().unwrap_or(folder))?;
    Ok(path)
}

/// The committed pages of the book.
pub(crate) fn pages(files: &[SourceFile]) -> Vec<&SourceFile> {
    let listed = entries(files).into_iter().map(|(_, path)| path);
    let decisions = decisions(files).into_iter().map(|(path, _)| path);
    let paths: Vec<String> = listed.chain(decisions).collect();
    files
        .iter()
        .filter(|file| paths.contains(&file.path))
        .collect()
}

/// The paths of the copied files: the pages, and every file that one of them links to. They keep their places in the
/// repository, so that their links hold.
fn copied(files: &[SourceFile]) -> Vec<String> {
    let pages = pages(files);
    let linked = pages
        .iter()
        .flat_map(|page| links::targets(page))
        .map(|(_, path)| path)
        .filter(|path| files.iter().any(|file| file.path == *path));
    let own = pages.iter().map(|page| page.path.clone());
    let mut paths: Vec<String> = own.chain(linked).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// The pages that only the built book has.
fn generated(files: &[SourceFile], commands: &[Page]) -> Vec<SourceFile> {
    let summary = SourceFile::new("SUMMARY.md".to_owned(), for_mdbook(files, commands));
    let page = |page: &Page| SourceFile::new(page.path(), page.text.clone());
    std::iter::once(summary)
        .chain(commands.iter().map(page))
        .collect()
}

// The table of contents, docs/SUMMARY.md: the book's pages, and mdBook's input made from it.

/// The table of contents as it is committed: parts as headings, pages as links from `docs/`.
pub(crate) const SUMMARY: &str = "docs/SUMMARY.md";
/// The index of the decisions; below it the book has a page for each decision.
pub(crate) const DECISIONS: &str = "docs/decisions/README.md";
/// The page of the commands; below it the built book has a page for each command.
pub(crate) const COMMANDS: &str = "docs/commands.md";

/// The pages that [`SUMMARY`] lists, in its order: line there, and path from the root.
pub(crate) fn entries(files: &[SourceFile]) -> Vec<(usize, String)> {
    let summary = files.iter().find(|file| file.path == SUMMARY);
    summary.map(links::targets).unwrap_or_default()
}

/// The headings of the parts of [`SUMMARY`], without its title.
pub(crate) fn parts(files: &[SourceFile]) -> Vec<&str> {
    let lines = text_of(files, SUMMARY).unwrap_or_default().lines();
    let headings = lines.filter_map(|line| line.strip_prefix("# "));
    headings.skip(1).collect()
}

/// The decisions in their index: path from the root, and title.
pub(crate) fn decisions(files: &[SourceFile]) -> Vec<(String, String)> {
    let rows = text_of(files, DECISIONS).unwrap_or_default().lines();
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
pub(crate) fn for_mdbook(files: &[SourceFile], commands: &[Page]) -> String {
    let summary = text_of(files, SUMMARY).unwrap_or_default();
    let entries = entries(files);
    let mut text = String::new();
    for (at, line) in summary.lines().enumerate() {
        let Some((_, path)) = entries.iter().find(|(line, _)| *line == at + 1) else {
            let _ = writeln!(text, "{line}");
            continue;
        };
        let title = line.split("](").next().unwrap_or_default();
        let _ = writeln!(text, "{title}]({path})");
        let indent = title.len() - title.trim_start().len() + 2;
        let below: Vec<(String, String)> = match path.as_str() {
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

    /// The input of mdBook, of this repository.
    fn staged() -> Vec<SourceFile> {
        let files = Repository::of_this_build().files().expect("a tree");
        let commands = [Page {
            name: "kadenz".to_owned(),
            text: "# kadenz\n".to_owned(),
        }];
        let paths = copied(&files);
        let copied = files.iter().filter(|file| paths.contains(&file.path));
        copied
            .cloned()
            .chain(generated(&files, &commands))
            .collect()
    }

    #[test]
    fn every_link_in_the_built_book_leads_somewhere() {
        let staged = staged();
        assert!(staged.len() > 100, "{}", staged.len());
        assert_eq!(links::dead(&staged), []);
    }

    #[test]
    fn every_page_of_the_built_book_stands_in_its_contents_once() {
        let staged = staged();
        let contents = staged.iter().find(|file| file.path == "SUMMARY.md");
        let listed = links::targets(contents.expect("contents"));
        let count = |path: &str| listed.iter().filter(|(_, it)| it == path).count();
        let pages = staged
            .iter()
            .filter(|file| file.is("md") && file.path != "SUMMARY.md");
        let astray: Vec<&str> = pages
            .map(|file| file.path.as_str())
            .filter(|path| count(path) != 1)
            .collect();
        assert_eq!(astray, [""; 0]);
    }
}

#[cfg(test)]
mod summary_tests {
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
        let paths: Vec<String> = entries(&files).into_iter().map(|it| it.1).collect();
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
