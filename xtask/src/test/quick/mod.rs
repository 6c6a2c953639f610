//! `cargo xtask test --quick`: the tests that a change needs, in minutes, and a list of those left out.

mod choice;

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Result, bail};

use super::tally::Tally;
use super::{Outcome, STEPS, steps, timed};
use crate::cargo;
use crate::process;
use crate::repository::Repository;
use crate::tidy;
use choice::{Choice, choose};

/// The branches from which a change may have started, the likeliest first.
const TRUNKS: [&str; 4] = ["@{upstream}", "origin/HEAD", "main", "master"];

/// Tests the change, and prints what is left out.
pub(crate) fn run(repository: &Repository, since: Option<&str>, tally: &mut Tally) -> Result<()> {
    let change = Change::find(repository, since)?;
    let (crates, files) = (cargo::crates(repository)?, repository.files()?);
    let choice = choose(&change.paths, &crates, &files);
    println!("{} files changed since {}", change.paths.len(), change.base);
    timed("tidy", "rules and format", tally, |_| {
        Ok(Outcome::of(tidy::quick(repository)?, "tidy"))
    })?;
    if choice.crates().next().is_some() {
        timed("tests", "what the change needs", tally, |tally| {
            if let Some(mut examples) = examples(repository, &choice)
                && !process::run(&mut examples)?
            {
                return Ok(Outcome::Failed("the examples do not build".to_owned()));
            }
            let mut command = command(repository, &choice);
            steps::name_tools(&mut command, tally);
            let success = steps::watch(&mut command, tally)?;
            Ok(Outcome::of(success, "cargo test"))
        })?;
    }
    print!("{}", left_out(&choice));
    Ok(())
}

/// The changed files, and the state that they are compared with.
struct Change {
    base: String,
    /// Paths from the root.
    paths: Vec<String>,
}

impl Change {
    /// The changes since the branch left its base, committed or not; on the base itself, those that are not committed.
    fn find(repository: &Repository, since: Option<&str>) -> Result<Self> {
        if let Some(base) = since {
            return Self::since(repository, base);
        }
        for trunk in TRUNKS {
            let Ok(base) = repository.git(&format!("merge-base HEAD {trunk}")) else {
                continue;
            };
            let change = Self::since(repository, base.trim())?;
            if !change.paths.is_empty() {
                return Ok(change);
            }
        }
        let uncommitted = Self::since(repository, "HEAD")?;
        if !uncommitted.paths.is_empty() {
            return Ok(uncommitted);
        }
        bail!(
            "nothing is uncommitted, and no commit is ahead of {}; name the commit to test since: \
             cargo xtask test --quick --since HEAD~1",
            TRUNKS.join(", ")
        )
    }

    fn since(repository: &Repository, base: &str) -> Result<Self> {
        let mut diff = repository.command("git");
        diff.args(["diff", "--name-only", "--no-renames", "-z", base, "--"]);
        let changed = process::output(&mut diff)?;
        let new = repository.git("ls-files -z --others --exclude-standard")?;
        let paths = changed.split('\0').chain(new.split('\0'));
        let paths = paths.filter(|it| !it.is_empty());
        Ok(Self {
            base: base.to_owned(),
            paths: paths.map(str::to_owned).collect(),
        })
    }
}

/// Builds the examples that the tests may run, as cargo does only where no test is named; `None` where there are none.
fn examples(repository: &Repository, choice: &Choice) -> Option<Command> {
    let crates = packages(&choice.with_examples);
    let words = format!("build{crates}{} --examples", features(choice));
    (!crates.is_empty()).then(|| repository.cargo(&words))
}

/// One command for all tests, so that cargo builds what they share once.
fn command(repository: &Repository, choice: &Choice) -> Command {
    let (crates, features) = (packages(choice.crates()), features(choice));
    let library = if choice.library { " --lib" } else { "" };
    let tests = each(" --test ", &choice.tests);
    repository.cargo(&format!(
        "test{crates}{features} --no-fail-fast --bins{library}{tests} -- --show-output"
    ))
}

/// The crates as options of cargo.
fn packages<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    each(" -p ", names)
}

/// The features that the tests need, as options of cargo.
fn features(choice: &Choice) -> String {
    each(" --features ", &choice.features)
}

fn each<S: AsRef<str>>(option: &str, names: impl IntoIterator<Item = S>) -> String {
    let add = |words: String, name: S| words + option + name.as_ref();
    names.into_iter().fold(String::new(), add)
}

/// The tests that do not run, and the command that runs them.
fn left_out(choice: &Choice) -> String {
    let mut text = String::from("\nleft out, and the command that runs it:\n");
    let mut line = |what: &str, command: String| {
        let _ = writeln!(text, "  {what}: {command}");
    };
    if !choice.dependants.is_empty() {
        let what = "integration tests of what depends on the change";
        line(what, format!("cargo test{}", packages(&choice.dependants)));
    }
    if !choice.other_tests.is_empty() {
        let crates = packages(&choice.touched);
        let tests = each(" --test ", &choice.other_tests);
        line(
            "tests of other commands",
            format!("cargo test{crates}{tests}"),
        );
    }
    let all = packages(choice.crates());
    if !all.is_empty() {
        line("documentation's examples", format!("cargo test --doc{all}"));
    }
    line("lints, rustdoc and licences", "cargo xtask tidy".to_owned());
    let steps: Vec<&str> = STEPS.iter().skip(1).map(|step| step.name).collect();
    let steps = format!("cargo xtask test --only {}", steps.join(","));
    line("all other steps", steps);
    line("everything", "cargo xtask test".to_owned());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice() -> Choice {
        let set = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        Choice {
            touched: set(&["program"]),
            dependants: set(&["upper"]),
            library: true,
            tests: set(&["files"]),
            other_tests: set(&["run", "udp"]),
            features: set(&["program/deep"]),
            with_examples: set(&["program"]),
        }
    }

    #[test]
    fn one_command_runs_the_units_of_all_and_the_chosen_tests() {
        let command = command(&Repository::of_this_build(), &choice());
        assert_eq!(
            process::spelled(&command),
            "cargo test -p program -p upper --features program/deep --no-fail-fast --bins --lib --test files \
             -- --show-output"
        );
        let examples = examples(&Repository::of_this_build(), &choice()).unwrap();
        assert_eq!(
            process::spelled(&examples),
            "cargo build -p program --features program/deep --examples"
        );
    }

    #[test]
    fn whatever_is_left_out_is_named_with_its_command() {
        let said = left_out(&choice());
        for command in [
            "cargo test -p upper\n",
            "cargo test -p program --test run --test udp\n",
            "cargo test --doc -p program -p upper\n",
            "cargo xtask tidy\n",
            "cargo xtask test --only features,attack,",
            "cargo xtask test\n",
        ] {
            assert!(said.contains(command), "{command}: {said}");
        }
        let said = left_out(&Choice::default());
        assert!(!said.contains("cargo test"), "{said}");
    }
}
