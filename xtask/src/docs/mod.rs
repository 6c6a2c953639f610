//! `cargo xtask docs`: all documents for users, in `target/docs`.

pub(crate) mod book;
pub(crate) mod links;

use std::path::Path;

use anyhow::{Result, ensure};

use crate::cargo;
use crate::files;
use crate::process;
use crate::repository::Repository;

pub(crate) const HELP: &str = "\
Build the documentation: rustdoc in target/doc; manual pages, completions and the command reference
in target/docs. Checks that links between the repository's pages lead somewhere.

Usage: cargo xtask docs
";

const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "elvish", "powershell"];

/// Builds all of it; true if there is no dead link and no warning of rustdoc.
pub(crate) fn main(repository: &Repository, options: &[&str]) -> Result<bool> {
    ensure!(options.is_empty(), "docs takes no options");
    let mut well = rustdoc(repository)?;
    let folder = repository.target().join("docs");
    files::make_folder(&folder)?;
    let program = cargo::program_of_tests(repository)?;
    let mut manual = repository.command(&program);
    process::output(manual.args(["man", "--out"]).arg(folder.join("man")))?;
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
    let mut command = repository.cargo("doc --workspace --no-deps");
    process::run(command.env("RUSTDOCFLAGS", "-D warnings"))
}

fn completions(repository: &Repository, program: &Path, folder: &Path) -> Result<()> {
    let folder = folder.join("completions");
    files::make_folder(&folder)?;
    for shell in SHELLS {
        let mut command = repository.command(program);
        let script = process::output(command.args(["completions", shell]))?;
        files::write(&folder.join(format!("kadenz.{shell}")), &script)?;
    }
    Ok(())
}

fn reference(repository: &Repository, program: &Path, folder: &Path) -> Result<()> {
    let pages = command_pages(&|words| help(repository, program, words))?;
    let text: String = pages.into_iter().map(|page| page.text).collect();
    files::write(&folder.join("cli.md"), &text)
}

fn help(repository: &Repository, program: &Path, words: &[String]) -> Result<String> {
    let mut command = repository.command(program);
    process::output(command.args(words).arg("--help").env("COLUMNS", "84"))
}

// The command reference: the `--help` text of every command.

/// A page of the reference: a command, with the commands below it.
#[derive(Debug)]
pub(crate) struct Page {
    /// The command, `kadenz timer`.
    pub(crate) name: String,
    /// The page in Markdown.
    pub(crate) text: String,
}

impl Page {
    /// The page's path in the book.
    pub(crate) fn path(&self) -> String {
        format!("docs/commands/{}.md", self.name.replace(' ', "-"))
    }
}

/// Returns the help for the words after `kadenz`.
type Help<'h> = &'h dyn Fn(&[String]) -> Result<String>;

/// A page for the program, then one for each command.
pub(crate) fn command_pages(help: Help<'_>) -> Result<Vec<Page>> {
    let top = help(&[])?;
    let mut pages = vec![Page {
        name: "kadenz".to_owned(),
        text: section(1, "kadenz", &top),
    }];
    for command in commands(&top) {
        let name = format!("kadenz {command}");
        let mut text = String::new();
        add(&mut text, &[command], help)?;
        pages.push(Page { name, text });
    }
    Ok(pages)
}

fn add(page: &mut String, words: &[String], help: Help<'_>) -> Result<()> {
    let text = help(words)?;
    let name = format!("kadenz {}", words.join(" "));
    page.push_str(&section(words.len().min(2), &name, &text));
    for command in commands(&text) {
        let words: Vec<String> = words.iter().cloned().chain([command]).collect();
        add(page, &words, help)?;
    }
    Ok(())
}

fn section(level: usize, name: &str, help: &str) -> String {
    let (marks, help) = ("#".repeat(level), help.trim_end());
    format!("{marks} {name}\n\n```text\n{help}\n```\n\n")
}

/// The names in the list under `Commands:`, without `help`.
fn commands(text: &str) -> Vec<String> {
    let list = text.lines().skip_while(|line| *line != "Commands:").skip(1);
    let list = list.take_while(|line| line.is_empty() || line.starts_with("  "));
    let names = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: &str = "Can it?\n\nUsage: kadenz <COMMAND>\n\nCommands:\n  check  Can this machine\n         \
                       keep a rate?\n  timer  Does a timer\n  help   Print this\n\nOptions:\n  -h  Help\n";

    #[test]
    fn commands_are_read_from_the_list_and_from_nowhere_else() {
        assert_eq!(commands(TOP), ["check", "timer"]);
        assert!(commands("Usage: kadenz check\n\nOptions:\n  -h  Help\n").is_empty());
    }

    #[test]
    fn a_command_has_a_page_with_the_commands_below_it() {
        let help = |words: &[String]| {
            Ok(match words.join(" ").as_str() {
                "" => TOP.to_owned(),
                "timer" => "Commands:\n  cyclic  A rate\n".to_owned(),
                other => format!("help of {other}\n"),
            })
        };
        let pages = command_pages(&help).expect("all have help");
        let headings = |page: &Page| -> Vec<String> {
            let lines = page.text.lines().filter(|line| line.starts_with('#'));
            lines.map(str::to_owned).collect()
        };
        let headings: Vec<Vec<String>> = pages.iter().map(headings).collect();
        assert_eq!(
            headings,
            [
                vec!["# kadenz"],
                vec!["# kadenz check"],
                vec!["# kadenz timer", "## kadenz timer cyclic"]
            ]
        );
        assert!(pages[2].text.contains("help of timer cyclic"));
        assert_eq!(pages[2].path(), "docs/commands/kadenz-timer.md");
    }
}
