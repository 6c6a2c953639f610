//! Tasks of the workspace: `cargo xtask test | tidy | bench | docs | book | java | fuzz | attack | install-c | wheel | size`.
//!
//! The program is for developers of Kadenz; nothing that Kadenz ships depends on it.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task talks to the person who started it"
)]
#![allow(
    unreachable_pub,
    reason = "in a program `pub` marks what a module offers to the others"
)]

mod attack;
mod bench;
mod cargo;
mod docs;
mod files;
mod fuzz;
mod install_c;
mod java;
mod process;
mod repository;
mod scan;
mod size;
mod test;
mod tidy;
mod tools;
mod wheel;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::repository::Repository;

const HELP: &str = "\
Tasks of the workspace.

Usage: cargo xtask <TASK> [OPTIONS]

Tasks:
  test   Run every test this machine can run, and name what was skipped
  tidy   Check the invariants of docs/invariants.md, format, lints and rustdoc
  bench  Take one of the figures in docs/benchmarks.md
  docs   Build rustdoc, man pages, completions and the command reference; check links
  book   Build docs/ with mdBook, to be read and searched offline
  fuzz   List the fuzz targets, or run them
  java   Build the package for Java, as a jar
  attack Attack the program with hostile files, datagrams and connections
  install-c  Install the library for C and C++
  wheel  Build the package for Python, with the program inside
  size   Count lines of code, files and public items, by crate

`cargo xtask <TASK> --help` says more.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match dispatch(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs a task with its options.
type Run = fn(&Repository, &[&str]) -> Result<bool>;

/// The tasks: name, what `--help` prints, and function.
const TASKS: [(&str, &str, Run); 11] = [
    ("test", test::HELP, test::main),
    ("tidy", tidy::HELP, tidy::main),
    ("bench", bench::HELP, bench::main),
    ("docs", docs::HELP, docs::main),
    ("book", docs::book::HELP, docs::book::main),
    ("fuzz", fuzz::HELP, fuzz::main),
    ("java", java::HELP, java::main),
    ("attack", attack::HELP, attack::main),
    ("install-c", install_c::HELP, install_c::main),
    ("wheel", wheel::HELP, wheel::main),
    ("size", size::HELP, size::main),
];

/// Runs a task. `Ok(false)` means that the task ran and found a fault.
fn dispatch(arguments: &[&str]) -> Result<bool> {
    let asks_for_help = |it: &&str| ["--help", "-h"].contains(it);
    let (task, options) = arguments.split_first().unwrap_or((&"help", &[]));
    let help = match TASKS.iter().find(|(name, ..)| name == task) {
        Some((_, help, _)) if options.iter().any(asks_for_help) => help,
        Some((_, _, run)) => return run(&Repository::of_this_build(), options),
        None if *task == "help" || asks_for_help(task) => HELP,
        None => bail!("there is no task {task:?}; `cargo xtask help` lists them"),
    };
    print!("{help}");
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_task() {
        for (name, ..) in TASKS {
            assert!(HELP.contains(&format!("\n  {name} ")), "{name}");
        }
    }
}
