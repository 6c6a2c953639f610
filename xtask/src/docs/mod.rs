//! `cargo xtask docs`: all documents for users, in `target/docs`.

pub(crate) mod book;
pub(crate) mod links;
mod reference;

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::cargo;
use crate::process;
use crate::repository::Repository;

const HELP: &str = "\
Build the documentation: rustdoc in target/doc; manual pages, completions and the command reference
in target/docs. Checks that links between the repository's pages lead somewhere.

Usage: cargo xtask docs
";

const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "elvish", "powershell"];

/// Builds all of it; true if there is no dead link and no warning of rustdoc.
pub(crate) fn main(repository: &Repository, options: &[String]) -> Result<bool> {
    match options.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {}
        ["--help" | "-h"] => {
            print!("{HELP}");
            return Ok(true);
        }
        _ => bail!("docs takes no options"),
    }
    let mut well = rustdoc(repository)?;
    let folder = repository.target().join("docs");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let program = cargo::program_of_tests(repository)?;
    pages(repository, &program, &folder)?;
    completions(repository, &program, &folder)?;
    reference(repository, &program, &folder)?;
    println!("written: {}", folder.display());
    for dead in links::dead(&repository.files()?) {
        println!("{}: the link {} leads nowhere", dead.place, dead.link);
        well = false;
    }
    Ok(well)
}

/// rustdoc without warnings: no dead link, no unnamed code block.
pub(crate) fn rustdoc(repository: &Repository) -> Result<bool> {
    let mut command = repository.command("cargo");
    command.env("RUSTDOCFLAGS", "-D warnings");
    process::run(command.args(["doc", "--workspace", "--no-deps"]))
}

fn pages(repository: &Repository, program: &Path, folder: &Path) -> Result<()> {
    let mut command = repository.command(&program.to_string_lossy());
    process::output(command.args(["man", "--out"]).arg(folder.join("man")))?;
    Ok(())
}

fn completions(repository: &Repository, program: &Path, folder: &Path) -> Result<()> {
    let folder = folder.join("completions");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    for shell in SHELLS {
        let mut command = repository.command(&program.to_string_lossy());
        let script = process::output(command.args(["completions", shell]))?;
        write(&folder.join(format!("kadenz.{shell}")), &script)?;
    }
    Ok(())
}

fn reference(repository: &Repository, program: &Path, folder: &Path) -> Result<()> {
    let pages = reference::pages(&mut |words| help(repository, program, words))?;
    let text: String = pages.into_iter().map(|page| page.text).collect();
    write(&folder.join("cli.md"), &text)
}

fn help(repository: &Repository, program: &Path, words: &[String]) -> Result<String> {
    let mut command = repository.command(&program.to_string_lossy());
    process::output(command.args(words).arg("--help").env("COLUMNS", "84"))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
