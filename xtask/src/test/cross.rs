//! Type-checks Kadenz for another operating system, and builds the parts for firmware for a processor without one.
//! Nothing is linked or run.
//!
//! The standard library of the target comes from rustup where it gives one, else it is built from
//! source: with a nightly toolchain that has `rust-src`, or with Debian's `rustc-web`.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::Outcome;
use super::tally::Tally;
use crate::process;
use crate::repository::Repository;
use crate::tools;

/// Where Debian's packages `cargo-web` and `rustc-web` put their programs.
const DEBIAN_BIN: &str = "/usr/bin";
const DEBIAN_SOURCE: &str = "/usr/lib/rustlib/src/rust/library/std/Cargo.toml";

/// Where the standard library of a target comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Library {
    Rustup,
    NightlySource,
    DebianSource,
}

/// A part of Kadenz that is compiled for another target, and the libraries that it needs.
#[derive(Clone, Copy)]
struct Part {
    package: &'static str,
    verb: &'static str,
    needs: &'static str,
}

const PROGRAM: Part = Part {
    package: "kadenz-cli",
    verb: "check",
    needs: "std,panic_abort",
};

const FIRMWARE: Part = Part {
    package: "kadenz-udp",
    verb: "build",
    needs: "core",
};

/// Type-checks the program, and so every crate, for `target`.
pub(crate) fn check(repository: &Repository, target: &str, tally: &mut Tally) -> Result<Outcome> {
    compile(repository, PROGRAM, target, tally)
}

/// The command of [`check`], where there is a standard library for it.
pub(crate) fn check_commands(repository: &Repository, target: &str) -> Vec<Command> {
    let command = |it| command(repository, PROGRAM, target, it);
    library(target).map(command).into_iter().collect()
}

/// Builds the parts for firmware for a Cortex-M3, without an operating system.
pub(crate) fn firmware(repository: &Repository, tally: &mut Tally) -> Result<Outcome> {
    compile(repository, FIRMWARE, "thumbv7m-none-eabi", tally)
}

fn compile(
    repository: &Repository,
    part: Part,
    target: &str,
    tally: &mut Tally,
) -> Result<Outcome> {
    let Some(library) = library(target) else {
        let remedy = format!(
            "rustup target add {target}, or apt-get install cargo-web rustc-web rust-web-src \
             binutils-mingw-w64-x86-64"
        );
        let missing = format!("no standard library for {target}");
        return Ok(Outcome::skipped(missing, remedy));
    };
    let success = process::run(&mut command(repository, part, target, library))?;
    tally.count(success);
    let what = format!("cargo {} for {target}", part.verb);
    Ok(Outcome::of(success, &what))
}

fn library(target: &str) -> Option<Library> {
    let active = tools::sysroot(None).is_some_and(|it| tools::has_target(&it, target));
    let nightly =
        || tools::sysroot(Some("+nightly")).is_some_and(|it| tools::has_standard_source(&it));
    choose(active, nightly, || Path::new(DEBIAN_SOURCE).is_file())
}

fn choose(active: bool, nightly: impl Fn() -> bool, debian: impl Fn() -> bool) -> Option<Library> {
    let nightly = || nightly().then_some(Library::NightlySource);
    let debian = || debian().then_some(Library::DebianSource);
    let active = active.then_some(Library::Rustup);
    active.or_else(nightly).or_else(debian)
}

fn command(repository: &Repository, part: Part, target: &str, library: Library) -> Command {
    let program = match library {
        Library::DebianSource => format!("{DEBIAN_BIN}/cargo"),
        Library::Rustup | Library::NightlySource => "cargo".to_owned(),
    };
    let mut command = repository.isolated(&program, "cross");
    if library == Library::NightlySource {
        command.arg("+nightly");
    }
    command.args([part.verb, "-p", part.package, "--target", target]);
    if library != Library::Rustup {
        command.arg(format!("-Zbuild-std={}", part.needs));
    }
    if library == Library::DebianSource {
        command.env("RUSTC_BOOTSTRAP", "1");
        command.env("RUSTC", format!("{DEBIAN_BIN}/rustc"));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_library_is_taken() {
        assert_eq!(choose(true, || true, || true), Some(Library::Rustup));
        assert_eq!(
            choose(false, || true, || true),
            Some(Library::NightlySource)
        );
        assert_eq!(
            choose(false, || false, || true),
            Some(Library::DebianSource)
        );
        assert_eq!(choose(false, || false, || false), None);
    }

    #[test]
    fn only_a_library_from_source_asks_cargo_to_build_one() {
        let repository = Repository::of_this_build();
        let spelled =
            |library| process::spelled(&command(&repository, PROGRAM, "a-target", library));
        assert!(!spelled(Library::Rustup).contains("build-std"));
        assert!(spelled(Library::NightlySource).contains("+nightly"));
        assert!(spelled(Library::DebianSource).contains("RUSTC_BOOTSTRAP=1"));
    }

    #[test]
    fn firmware_gets_no_more_of_the_library_than_its_core() {
        let repository = Repository::of_this_build();
        let command = command(&repository, FIRMWARE, "a-target", Library::NightlySource);
        let spelled = process::spelled(&command);
        assert!(spelled.contains("build -p kadenz-udp"), "{spelled}");
        assert!(spelled.ends_with("-Zbuild-std=core"), "{spelled}");
    }
}
