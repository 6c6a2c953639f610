//! `cargo xtask test`: every test this machine can run, and a plain list of what it could not.

mod cross;
mod failing;
mod peers;
mod plan;
mod steps;
mod tally;

use std::time::Instant;

use anyhow::{Result, bail};

use plan::{STEPS, Step};
pub use steps::isolated;
use tally::Tally;

use crate::repository::Repository;

const HELP: &str = "\
Run every test this machine can run, and name what was skipped and how to get it.

Usage: cargo xtask test [--all] [--only STEP[,STEP]] [--list]

  --all    a skip is a failure, as with KADENZ_SKIP_NOTHING=1
  --only   run these steps
  --list   name the steps
";

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wishes {
    skip_nothing: bool,
    only: Vec<String>,
    list: bool,
    help: bool,
}

/// Runs the steps; true if nothing failed.
pub fn main(repository: &Repository, options: &[String]) -> Result<bool> {
    let mut wishes = read(options)?;
    wishes.skip_nothing |= std::env::var_os("KADENZ_SKIP_NOTHING").is_some_and(|it| it == "1");
    if wishes.help {
        print!("{HELP}");
        return Ok(true);
    }
    if wishes.list {
        STEPS
            .iter()
            .for_each(|step| println!("{:<10} {}", step.name, step.about));
        return Ok(true);
    }
    let steps = chosen(&wishes.only)?;
    let mut tally = Tally::new(wishes.skip_nothing, not_to_be_had());
    for step in steps {
        perform(step, repository, &mut tally)?;
    }
    print!("{}", tally.report());
    Ok(tally.passed())
}

fn perform(step: &Step, repository: &Repository, tally: &mut Tally) -> Result<()> {
    eprintln!("\n== {}: {}", step.name, step.about);
    let start = Instant::now();
    let outcome = (step.run)(repository, tally)?;
    tally.close(step.name, outcome, start.elapsed());
    Ok(())
}

fn read(options: &[String]) -> Result<Wishes> {
    let mut wishes = Wishes::default();
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match option.as_str() {
            "--all" => wishes.skip_nothing = true,
            "--list" => wishes.list = true,
            "--help" | "-h" => wishes.help = true,
            "--only" => match options.next() {
                Some(names) => wishes.only.extend(names.split(',').map(str::to_owned)),
                None => bail!("--only needs the name of a step; --list names them"),
            },
            other => bail!("test knows no option {other:?}; `cargo xtask test --help` lists them"),
        }
    }
    Ok(wishes)
}

fn chosen(only: &[String]) -> Result<Vec<&'static Step>> {
    if let Some(stranger) = only
        .iter()
        .find(|name| STEPS.iter().all(|it| it.name != **name))
    {
        bail!("there is no step {stranger:?}; `cargo xtask test --list` names them");
    }
    let wanted = |step: &&Step| only.is_empty() || only.iter().any(|name| name == step.name);
    Ok(STEPS.iter().filter(wanted).collect())
}

/// Whether there is a step of this name.
pub fn has_step(name: &str) -> bool {
    STEPS.iter().any(|step| step.name == name)
}

/// Steps whose tools cannot be had on this machine, so that even `--all` may go on without them.
fn not_to_be_had() -> Vec<String> {
    let names = std::env::var("KADENZ_NOT_TO_BE_HAD").unwrap_or_default();
    names
        .split(',')
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn options_are_understood_and_strangers_refused() {
        let wishes = read(&words("--all --only loom,miri --only fuzz")).expect("known options");
        assert!(wishes.skip_nothing);
        assert_eq!(wishes.only, ["loom", "miri", "fuzz"]);
        assert!(read(&words("--quick")).is_err());
        assert!(read(&words("--only")).is_err());
    }

    #[test]
    fn only_known_steps_can_be_chosen() {
        assert_eq!(chosen(&[]).expect("all").len(), STEPS.len());
        assert_eq!(chosen(&words("loom")).expect("loom exists").len(), 1);
        assert!(chosen(&words("moon")).is_err());
    }
}
