//! `cargo xtask test`: every test that this machine can run, and a list of those that it cannot.

mod cross;
mod peers;
mod prebuild;
mod python;
mod quick;
mod steps;
mod tally;

use std::time::Instant;

use anyhow::{Context, Result, bail};

use prebuild::{Builds, Prebuilds};
use tally::Tally;

use crate::fuzz;
use crate::repository::Repository;
use crate::tools;

pub(crate) const HELP: &str = "\
Run every test this machine can run, and name what was skipped and how to get it.

Usage: cargo xtask test [--all] [--only STEP[,STEP]] [--list]
       cargo xtask test --quick [--since REVISION] [--all]

  --all     a skip is a failure, as with KADENZ_SKIP_NOTHING=1
  --only    run these steps
  --list    name the steps
  --quick   run what a change needs, in minutes: all tests of the crates that it touches, the unit tests of
            what depends on them, tidy's rules and format; name what is left out and the command that runs it
  --since   the change since this revision, committed or not [default: since the branch left its upstream;
            on a trunk, what is not committed]
";

/// The options of the command line.
#[derive(Debug, Default, PartialEq, Eq)]
struct TestOptions {
    skip_nothing: bool,
    only: Vec<String>,
    quick: bool,
    since: Option<String>,
    list: bool,
}

impl TestOptions {
    fn steps(&self) -> Result<Vec<&'static TestStep>> {
        match self.quick {
            true => Ok(Vec::new()),
            false => chosen(&self.only),
        }
    }
}

/// Runs the steps; true if nothing failed.
pub(crate) fn main(repository: &Repository, arguments: &[&str]) -> Result<bool> {
    let mut options = read(arguments)?;
    options.skip_nothing |= tools::skips_nothing();
    if options.list {
        STEPS
            .iter()
            .for_each(|step| println!("{:<10} {}", step.name, step.about));
        return Ok(true);
    }
    let mut tally = Tally::new(options.skip_nothing, not_to_be_had());
    if options.quick {
        quick::run(repository, options.since.as_deref(), &mut tally)?;
    }
    let steps = options.steps()?;
    let prebuilds = Prebuilds::begin(repository, &steps);
    for step in steps {
        timed(step.name, step.about, &mut tally, |tally| {
            prebuilds.wait(step.name);
            (step.run)(repository, tally)
        })?;
    }
    print!("{}", tally.report());
    Ok(tally.passed())
}

/// Runs a step, and records it with the time that it took.
fn timed(
    name: &str,
    about: &str,
    tally: &mut Tally,
    run: impl FnOnce(&mut Tally) -> Result<Outcome>,
) -> Result<()> {
    eprintln!("\n== {name}: {about}");
    let start = Instant::now();
    let outcome = run(tally)?;
    tally.close(name, outcome, start.elapsed());
    Ok(())
}

fn read(arguments: &[&str]) -> Result<TestOptions> {
    let mut options = TestOptions::default();
    let mut arguments = arguments.iter();
    while let Some(option) = arguments.next() {
        match *option {
            "--all" => options.skip_nothing = true,
            "--quick" => options.quick = true,
            "--since" => {
                let revision = arguments.next();
                let revision = revision.context("--since needs a revision, as HEAD~1")?;
                options.since = Some((*revision).to_owned());
            }
            "--list" => options.list = true,
            "--only" => {
                let names = arguments.next();
                let names = names.context("--only needs the name of a step; --list names them")?;
                options.only.extend(names.split(',').map(str::to_owned));
            }
            other => bail!("test knows no option {other:?}; `cargo xtask test --help` lists them"),
        }
    }
    if options.quick && !options.only.is_empty() {
        bail!("--quick chooses by what changed; leave --only out");
    }
    if options.since.is_some() && !options.quick {
        bail!("--since belongs to --quick");
    }
    Ok(options)
}

fn chosen(only: &[String]) -> Result<Vec<&'static TestStep>> {
    let is_step = |name: &String| STEPS.iter().any(|it| it.name == *name);
    if let Some(unknown) = only.iter().find(|name| !is_step(name)) {
        bail!("there is no step {unknown:?}; `cargo xtask test --list` names them");
    }
    let wanted = |step: &&TestStep| only.is_empty() || only.iter().any(|name| name == step.name);
    Ok(STEPS.iter().filter(wanted).collect())
}

/// Steps whose tools this machine cannot have, so that even `--all` may go on without them.
fn not_to_be_had() -> Vec<String> {
    let names = std::env::var("KADENZ_NOT_TO_BE_HAD").unwrap_or_default();
    names
        .split(',')
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
}

// The steps of `cargo xtask test`, in the order in which they run.

/// One step: a test runner with what it needs.
struct TestStep {
    /// Name for `--only` and for the summary.
    name: &'static str,
    /// What it tests, in a line.
    about: &'static str,
    /// Its builds that may run before it begins.
    prebuilds: Builds,
    /// Runs it.
    run: fn(&Repository, &mut Tally) -> Result<Outcome>,
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// Everything is well.
    Passed,
    /// There is a fault; the step's own output shows it.
    Failed(String),
    /// This machine lacks something.
    Skipped {
        /// What is missing.
        missing: String,
        /// How to get it.
        remedy: String,
    },
}

impl Outcome {
    /// The outcome by the success of a step's command.
    pub(crate) fn of(success: bool, what: &str) -> Self {
        match success {
            true => Self::Passed,
            false => Self::Failed(format!("{what} failed")),
        }
    }

    /// A step that cannot run here.
    pub(crate) fn skipped(missing: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Skipped {
            missing: missing.into(),
            remedy: remedy.into(),
        }
    }
}

const WINDOWS: &str = "x86_64-pc-windows-gnu";
const MACOS: &str = "aarch64-apple-darwin";

/// All steps. The first needs only Rust and a C compiler; each other one may be skipped.
const STEPS: &[TestStep] = &[
    TestStep {
        name: "workspace",
        about: "unit, integration and documentation tests of every crate",
        prebuilds: prebuild::none,
        run: steps::workspace,
    },
    TestStep {
        name: "features",
        about: "what plain Kadenz leaves out: shared memory, Zenoh, DDS, ROS 2's SQLite bags",
        prebuilds: prebuild::none,
        run: steps::features,
    },
    TestStep {
        name: "attack",
        about: "hostile files, datagrams, connections, kills and disks against the program",
        prebuilds: prebuild::none,
        run: steps::attack,
    },
    TestStep {
        name: "peers",
        about: "ethercrab's own tests on our virtual segment",
        prebuilds: prebuild::none,
        run: peers::ethercrab,
    },
    TestStep {
        name: "python",
        about: "the package for Python, from its wheel in a fresh environment",
        prebuilds: prebuild::none,
        run: python::package,
    },
    TestStep {
        name: "loom",
        about: "the phaser and the rings under every interleaving loom finds",
        prebuilds: steps::loom_builds,
        run: steps::loom,
    },
    TestStep {
        name: "miri",
        about: "the same code in Miri, which sees data races and undefined behaviour",
        prebuilds: steps::miri_builds,
        run: steps::miri,
    },
    TestStep {
        name: "browser",
        about: "the HTML report in a real browser, offline",
        prebuilds: prebuild::none,
        run: steps::browser,
    },
    TestStep {
        name: "windows",
        about: "types for x86_64-pc-windows-gnu",
        prebuilds: |it| cross::check_commands(it, WINDOWS),
        run: |it, tally| cross::check(it, WINDOWS, tally),
    },
    TestStep {
        name: "macos",
        about: "types for aarch64-apple-darwin",
        prebuilds: |it| cross::check_commands(it, MACOS),
        run: |it, tally| cross::check(it, MACOS, tally),
    },
    TestStep {
        name: "firmware",
        about: "what firmware takes, without the standard library, for thumbv7m-none-eabi",
        prebuilds: prebuild::none,
        run: cross::firmware,
    },
    TestStep {
        name: "fuzz",
        about: "every fuzz target for a few seconds",
        prebuilds: |it| fuzz::build_command(it).into_iter().collect(),
        run: steps::fuzz,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<&str> {
        line.split_whitespace().collect()
    }

    #[test]
    fn options_are_understood_and_unknown_ones_refused() {
        let options = read(&words("--all --only loom,miri --only fuzz")).expect("known options");
        assert!(options.skip_nothing);
        assert_eq!(options.only, ["loom", "miri", "fuzz"]);
        let options = read(&words("--quick --since HEAD~2")).expect("known options");
        assert_eq!(options.since.as_deref(), Some("HEAD~2"));
        assert!(options.steps().expect("no step is named").is_empty());
        for wrong in [
            "--fast",
            "--only",
            "--quick --since",
            "--since HEAD",
            "--quick --only loom",
        ] {
            assert!(read(&words(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_known_steps_can_be_chosen() {
        assert_eq!(chosen(&[]).expect("all").len(), STEPS.len());
        assert_eq!(chosen(&["loom".to_owned()]).expect("it exists").len(), 1);
        assert!(chosen(&["moon".to_owned()]).is_err());
    }
}
