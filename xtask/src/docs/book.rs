//! `cargo xtask book`: docs/ as an mdBook, in `target/book/html`.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::reference::Page;
use super::{links, reference, summary, write};
use crate::process;
use crate::repository::{Repository, SourceFile};
use crate::tools;

const HELP: &str = "\
Build the book: the pages that docs/SUMMARY.md lists, with a page for each command of the program, in
target/book/html. It opens from the folder, without a network, and can be searched. Needs mdBook.

Usage: cargo xtask book
";

/// How mdBook comes into a folder where [`tools::mdbook`] looks for it.
const INSTALL: &str = "cargo install mdbook --locked --root target/mdbook";

/// Builds the book.
pub fn main(repository: &Repository, options: &[String]) -> Result<bool> {
    match options.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {}
        ["--help" | "-h"] => {
            print!("{HELP}");
            return Ok(true);
        }
        _ => bail!("book takes no options"),
    }
    let Some(mdbook) = tools::mdbook(&repository.target()) else {
        bail!("there is no mdbook on the path; `{INSTALL}` installs it for this command alone");
    };
    let program = crate::cargo::program_of_tests(repository)?;
    let commands = reference::pages(&mut |words| super::help(repository, &program, words))?;
    let folder = repository.target().join("book");
    stage(repository, &commands, &folder)?;
    let mut command = repository.command(&mdbook.to_string_lossy());
    if !process::run(command.arg("build").arg(&folder))? {
        return Ok(false);
    }
    println!("written: {}", folder.join("html/index.html").display());
    Ok(true)
}

/// Lays out what mdBook reads. What an earlier build left there goes first.
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
        write(&beneath(&source, &file.path)?, &file.text)?;
    }
    let settings = std::fs::read_to_string(repository.path("docs/book.toml"))
        .context("cannot read docs/book.toml")?;
    write(&folder.join("book.toml"), &settings)
}

/// A path below a folder, with the folders on the way there.
fn beneath(folder: &Path, path: &str) -> Result<std::path::PathBuf> {
    let path = folder.join(path);
    let parent = path.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    Ok(path)
}

/// The committed pages of the book.
pub fn pages(files: &[SourceFile]) -> Vec<&SourceFile> {
    let listed = summary::entries(files).into_iter().map(|it| it.path);
    let decisions = summary::decisions(files).into_iter().map(|(path, _)| path);
    let paths: Vec<String> = listed.chain(decisions).collect();
    files
        .iter()
        .filter(|file| paths.contains(&file.path))
        .collect()
}

/// The paths of what is copied: the pages, and every file that one of them links to. They lie as in the
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

/// What stands in the built book alone.
fn generated(files: &[SourceFile], commands: &[Page]) -> Vec<SourceFile> {
    let summary = SourceFile {
        path: "SUMMARY.md".to_owned(),
        text: summary::for_mdbook(files, commands),
    };
    let page = |page: &Page| SourceFile {
        path: page.path(),
        text: page.text.clone(),
    };
    std::iter::once(summary)
        .chain(commands.iter().map(page))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The book as mdBook gets it, of this repository.
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
