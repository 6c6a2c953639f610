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
    match dispatch(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs a task. `Ok(false)` means that the task ran and found a fault.
fn dispatch(arguments: &[String]) -> Result<bool> {
    let Some((task, options)) = arguments.split_first() else {
        print!("{HELP}");
        return Ok(true);
    };
    let repository = Repository::of_this_build();
    match task.as_str() {
        "test" => test::main(&repository, options),
        "tidy" => tidy::main(&repository, options),
        "bench" => bench::main(&repository, options),
        "docs" => docs::main(&repository, options),
        "book" => docs::book::main(&repository, options),
        "fuzz" => fuzz::main(&repository, options),
        "java" => java::main(&repository, options),
        "attack" => attack::main(&repository, options),
        "install-c" => install_c::main(&repository, options),
        "wheel" => wheel::main(&repository, options),
        "size" => size::main(&repository, options),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(true)
        }
        other => bail!("there is no task {other:?}; `cargo xtask help` lists them"),
    }
}
