//! The work of each step of `cargo xtask test`.

use std::process::Command;

use anyhow::Result;

use super::Outcome;
use super::tally::Tally;
use crate::attack;
use crate::cargo::{self, Crate};
use crate::fuzz;
use crate::process::{self, Stream};
use crate::repository::{Repository, SourceFile};
use crate::tools;

/// How long each fuzz target runs in this step; `cargo xtask fuzz` runs one for longer.
const FUZZ_SECONDS: u32 = 5;

/// Modules that Miri can test, by crate: those that share memory between threads.
const SHARING_MODULES: [(&str, &[&str]); 2] = [
    ("kadenz-record", &["phaser::", "recorder::", "ring::"]),
    ("kadenz-msg", &["log::record::ring::"]),
];

/// `cargo test --workspace`, with the tools for the tests that need them. The libraries for other languages, which no
/// test links, are built before, by the same command, so that nothing is built twice.
pub(crate) fn workspace(repository: &Repository, tally: &mut Tally) -> Result<Outcome> {
    if !process::run(&mut repository.cargo("build --workspace --lib --tests"))? {
        return Ok(Outcome::Failed("the workspace does not build".to_owned()));
    }
    let mut command = repository.cargo("test --workspace --no-fail-fast -- --show-output");
    name_tools(&mut command, tally);
    let libraries = repository.target().join("debug");
    command.env("KADENZ_C_LIBRARY", libraries.join("libkadenz.so"));
    let success = watch(&mut command, tally)?;
    Ok(Outcome::of(success, "cargo test --workspace"))
}

/// The feature that needs libraries of the system.
const OF_THE_SYSTEM: &str = "ffmpeg";

/// The messages' providers and logs with every feature, which a plain build leaves out. Only kadenz-msg has tests of
/// these names; the command names the workspace, so that crates shared with a plain build are not built again. Then the
/// cameras' decoders with libavcodec, where the system has it.
pub(crate) fn features(repository: &Repository, tally: &mut Tally) -> Result<Outcome> {
    let crates = cargo::crates(repository)?;
    let features: Vec<String> = crates.iter().flat_map(portable_features).collect();
    let mut command = repository.cargo("test --workspace --no-fail-fast --features");
    command.arg(features.join(","));
    command.args(["--test=providers", "--test=logs_golden"]);
    command.args(["--", "--show-output"]);
    name_tools(&mut command, tally);
    let success = watch(&mut command, tally)?;
    if !success || !has_libavcodec() {
        if success {
            let remedy = "apt-get install libavcodec-dev libavformat-dev libavutil-dev libclang-dev pkg-config";
            let line = format!("skipped: decoders of the feature ffmpeg: no libavcodec: {remedy}");
            println!("{line}");
            tally.read(&line);
        }
        return Ok(Outcome::of(success, "cargo test with all features"));
    }
    let words =
        format!("test -p kadenz-camera --features {OF_THE_SYSTEM} --lib decode:: -- --show-output");
    let success = watch(&mut repository.cargo(&words), tally)?;
    Ok(Outcome::of(success, "cargo test of the feature ffmpeg"))
}

/// Every feature of a crate that needs no library of the system, as `crate/feature`.
fn portable_features(of: &Crate) -> Vec<String> {
    let is_portable = |it: &&String| *it != OF_THE_SYSTEM && *it != "default";
    let features = of.features.iter().filter(is_portable);
    features
        .map(|feature| format!("{}/{feature}", of.name))
        .collect()
}

fn has_libavcodec() -> bool {
    let mut command = Command::new("pkg-config");
    process::succeeds(command.args(["--exists", "libavcodec", "libavformat"]))
}

/// Every attack for a minute or two, against the program that the tests of the workspace ran.
pub(crate) fn attack(repository: &Repository, tally: &mut Tally) -> Result<Outcome> {
    if tools::on_path(&["strace"]).is_none() {
        return Ok(Outcome::skipped("no strace", "apt-get install strace"));
    }
    let program = match cargo::program_of_tests(repository) {
        Ok(program) => program,
        Err(error) => return Ok(Outcome::Failed(format!("{error:#}"))),
    };
    let clean = attack::all(repository, &program)?;
    clean.iter().for_each(|it| tally.count(*it));
    Ok(Outcome::of(clean.iter().all(|it| *it), "an attack"))
}

/// Tests marked `cfg(loom)`: the file `tests/loom.rs` of a crate, and its modules named `loom`.
pub(crate) fn loom(repository: &Repository, tally: &mut Tally) -> Result<Outcome> {
    let crates = crates_that_say(repository, "cfg(loom)")?;
    if crates.is_empty() {
        return Ok(Outcome::skipped("no crate has loom tests", "write one"));
    }
    let mut success = true;
    for what in loom_tests(&crates) {
        let mut command = loom_command(repository, &crates);
        command.arg(what);
        if what == "--lib" {
            command.args(["--", "loom"]);
        }
        success &= watch(&mut command, tally)?;
    }
    Ok(Outcome::of(success, "a loom test"))
}

/// The builds of [`loom`].
pub(crate) fn loom_builds(repository: &Repository) -> Vec<Command> {
    let crates = crates_that_say(repository, "cfg(loom)").unwrap_or_default();
    let build = |what: &&str| {
        let mut command = loom_command(repository, &crates);
        command.args([what, "--no-run"]);
        command
    };
    loom_tests(&crates).iter().map(build).collect()
}

/// The arguments for cargo: unit tests, and the file of tests where a crate has one.
fn loom_tests(crates: &[Crate]) -> Vec<&'static str> {
    let mut tests = crates.iter().flat_map(|it| &it.tests);
    let file = tests.any(|it| it == "loom").then_some("--test=loom");
    let units = (!crates.is_empty()).then_some("--lib");
    units.into_iter().chain(file).collect()
}

/// One command for all crates, so that what they share is built once.
///
/// Models spend their time in loom, which alone is worth optimising: a crate's models are a few of its tests, and
/// optimising all of the crate takes longer than they run.
fn loom_command(repository: &Repository, crates: &[Crate]) -> Command {
    let mut command = repository.isolated("cargo", "loom");
    command.env("RUSTFLAGS", "--cfg loom");
    let levels = ["loom", "generator"].map(|it| (it, 2));
    let ours = crates.iter().map(|it| (it.name.as_str(), 0));
    for (package, level) in levels.into_iter().chain(ours) {
        let level = format!("profile.dev.package.{package}.opt-level={level}");
        command.args(["--config", &level]);
    }
    command.arg("test");
    for it in crates {
        command.args(["-p", &it.name]);
    }
    // The code of features, above all shared memory, has no loom model and takes half of the build.
    command.args(["--no-default-features", "--no-fail-fast"]);
    command
}

/// The tests of the sharing modules in Miri, on a nightly toolchain.
pub(crate) fn miri(repository: &Repository, tally: &mut Tally) -> Result<Outcome> {
    if !tools::cargo_has(&["+nightly", "miri", "--version"]) {
        let remedy = "rustup toolchain install nightly --profile minimal -c miri,rust-src";
        return Ok(Outcome::skipped("no Miri", remedy));
    }
    let mut success = true;
    for (package, modules) in SHARING_MODULES {
        let mut command = miri_command(repository, package);
        command.arg("--").args(modules);
        success &= watch(&mut command, tally)?;
    }
    Ok(Outcome::of(success, "a test in Miri"))
}

/// The builds of [`miri`].
pub(crate) fn miri_builds(repository: &Repository) -> Vec<Command> {
    let build = |(package, _): &(&str, &[&str])| {
        let mut command = miri_command(repository, package);
        command.arg("--no-run");
        command
    };
    SHARING_MODULES.iter().map(build).collect()
}

fn miri_command(repository: &Repository, package: &str) -> Command {
    let mut command = repository.isolated("cargo", "miri");
    // The crates have no unsafe code, so borrows hold by construction; the step looks for races and orderings, and
    // without the check of borrows Miri is twice as fast.
    command.env(
        "MIRIFLAGS",
        "-Zmiri-disable-isolation -Zmiri-disable-stacked-borrows",
    );
    command.args(["+nightly", "miri", "test", "-p", package, "--lib"]);
    command
}

/// The report in a browser, by node's own test runner.
pub(crate) fn browser(repository: &Repository, tally: &mut Tally) -> Result<Outcome> {
    let Some(node) = tools::on_path(&["node"]) else {
        return Ok(Outcome::skipped("no node", "apt-get install nodejs npm"));
    };
    if tools::chromium().is_none() {
        return Ok(Outcome::skipped("no Chromium", "apt-get install chromium"));
    }
    let playwright = repository.path("tests/browser/node_modules/playwright-core");
    if !playwright.is_dir() {
        let remedy = "npm ci --prefix tests/browser";
        return Ok(Outcome::skipped("no playwright-core", remedy));
    }
    let tests = browser_tests(repository)?;
    let example = match cargo::example_of_tests(repository, "sample_report") {
        Ok(example) => example,
        Err(error) => return Ok(Outcome::Failed(format!("{error:#}"))),
    };
    let mut command = repository.command(&node);
    command.env("KADENZ_SAMPLE_REPORT", example);
    command.arg("--test").args(tests);
    name_tools(&mut command, tally);
    let success = watch(&mut command, tally)?;
    Ok(Outcome::of(success, "a browser test"))
}

/// Node 22 no longer takes a folder, so every file is named.
fn browser_tests(repository: &Repository) -> Result<Vec<String>> {
    let is_test = |path: &str| path.starts_with("tests/browser/") && path.contains(".test.");
    let files = repository.files()?.into_iter().map(|file| file.path);
    Ok(files.filter(|path| is_test(path)).collect())
}

/// Every fuzz target for a few seconds from its seeds.
pub(crate) fn fuzz(repository: &Repository, tally: &mut Tally) -> Result<Outcome> {
    if !tools::cargo_has(&["fuzz", "--version"]) {
        let remedy = "cargo install --locked cargo-fuzz";
        return Ok(Outcome::skipped("no cargo-fuzz", remedy));
    }
    if tools::on_path(&["c++"]).is_none() {
        let remedy = "apt-get install g++";
        return Ok(Outcome::skipped("no C++ compiler for libFuzzer", remedy));
    }
    // Tried once more: the linker itself has crashed among the many programs that it links at once.
    if !fuzz::build(repository)? && !fuzz::build(repository)? {
        return Ok(Outcome::Failed("the fuzz targets do not build".to_owned()));
    }
    let mut crashed = Vec::new();
    for (name, success) in fuzz::run_all(repository, FUZZ_SECONDS)? {
        tally.count(success);
        crashed.extend((!success).then_some(name));
    }
    let what = format!("fuzz target {}", crashed.join(", "));
    Ok(Outcome::of(crashed.is_empty(), &what))
}

/// How many tests run at once for each CPU. Most of them wait, for a measurement to end or for another process: two at
/// once used a fifth of two CPUs.
const TESTS_A_CPU: usize = 3;

/// Sets the environment of the workspace's tests: how many run at once, and the tools that were found.
pub(super) fn name_tools(command: &mut Command, tally: &Tally) {
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        let count = TESTS_A_CPU * process::cpus();
        command.env("RUST_TEST_THREADS", count.to_string());
    }
    let found = [
        ("KADENZ_HDRHISTOGRAM_JAR", tools::hdrhistogram_jar()),
        ("KADENZ_PYTHON", tools::python_with_libraries()),
        ("KADENZ_CHROMIUM", tools::chromium()),
    ];
    command.envs(found.into_iter().filter_map(|(name, it)| Some((name, it?))));
    if tally.skip_nothing() {
        command.env("KADENZ_SKIP_NOTHING", "1");
    }
}

fn crates_that_say(repository: &Repository, words: &str) -> Result<Vec<Crate>> {
    let files = repository.files()?;
    let says = |it: &Crate| {
        let folder = format!("{}/", it.folder);
        let is_own = |file: &&SourceFile| file.is("rs") && file.path.starts_with(&folder);
        let mut own = files.iter().filter(is_own);
        it.folder.starts_with("crates/") && own.any(|file| file.text.contains(words))
    };
    let crates = cargo::crates(repository)?.into_iter();
    Ok(crates.filter(says).collect())
}

/// Runs a test runner, shows its output and counts its tests.
pub(super) fn watch(command: &mut Command, tally: &mut Tally) -> Result<bool> {
    let mut screen = Screen::default();
    let status = process::tee(command, |stream, line| screen.take(stream, line, tally))?;
    Ok(status.success())
}

/// As [`watch`], for a runner that fails on a busy machine and then prints `by_the_machine`: it has some tries, of
/// which the first that does not fail for that reason, or the last, is shown and counted.
pub(super) fn watch_again(
    command: &mut Command,
    tries: usize,
    by_the_machine: &str,
    tally: &mut Tally,
) -> Result<bool> {
    for _ in 1..tries {
        let mut lines = Vec::new();
        let keep = |stream, line: &str| lines.push((stream, line.to_owned()));
        let status = process::tee(command, keep)?;
        let why = lines.iter().find(|(_, line)| line.contains(by_the_machine));
        match why {
            Some((_, why)) if !status.success() => println!("tried again, after \"{why}\""),
            _ => {
                let mut screen = Screen::default();
                for (stream, line) in lines {
                    screen.take(stream, &line, tally);
                }
                return Ok(status.success());
            }
        }
    }
    watch(command, tally)
}

/// Hides what `--show-output` prints of tests that passed, except their skips.
#[derive(Default)]
struct Screen {
    hiding: bool,
}

impl Screen {
    /// Counts a line, and shows it where it is of interest.
    fn take(&mut self, stream: Stream, line: &str, tally: &mut Tally) {
        tally.read(line);
        if self.shows(line) {
            match stream {
                Stream::Out => println!("{line}"),
                Stream::Err => eprintln!("{line}"),
            }
        }
    }

    fn shows(&mut self, line: &str) -> bool {
        if line == "successes:" {
            self.hiding = true;
        } else if line == "failures:" || line.starts_with("test result:") {
            self.hiding = false;
        }
        !self.hiding || line.starts_with("skipped:")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command that fails so often with this complaint, and then passes. Its output is unlike a test runner's; else
    /// the runner of this test would count it.
    fn failing(fails: usize, complaint: &str, folder: &std::path::Path) -> Command {
        let mut command = Command::new("sh");
        let script = format!(
            "echo x >> tries; test $(wc -l < tries) -gt {fails} && exit; echo '{complaint}'; exit 101"
        );
        command.arg("-c").arg(script).current_dir(folder);
        command
    }

    #[test]
    fn a_runner_that_the_machine_failed_is_tried_again_and_no_other() {
        let tried = |fails, complaint| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let mut tally = Tally::new(false, Vec::new());
            let mut command = failing(fails, complaint, folder.path());
            let passed = watch_again(&mut command, 3, "Late(", &mut tally).expect("it runs");
            let tries = std::fs::read_to_string(folder.path().join("tries")).expect("it ran");
            (passed, tries.lines().count())
        };
        assert_eq!(tried(0, "Late(Eeprom)"), (true, 1));
        assert_eq!(tried(2, "Late(Eeprom)"), (true, 3));
        assert_eq!(tried(3, "Late(Eeprom)"), (false, 3));
        assert_eq!(tried(1, "NotFound"), (false, 1));
    }

    #[test]
    fn output_of_tests_that_passed_is_hidden_but_skips_and_failures_are_shown() {
        let mut screen = Screen::default();
        let shown: Vec<&str> = [
            "test a ... ok",
            "successes:",
            "---- a stdout ----",
            "chatter",
            "skipped: a: no java: apt-get install default-jre",
            "successes:",
            "    a",
            "failures:",
            "---- b stdout ----",
            "why b failed",
            "test result: FAILED. 1 passed; 1 failed",
        ]
        .into_iter()
        .filter(|line| screen.shows(line))
        .collect();
        assert_eq!(
            shown,
            [
                "test a ... ok",
                "skipped: a: no java: apt-get install default-jre",
                "failures:",
                "---- b stdout ----",
                "why b failed",
                "test result: FAILED. 1 passed; 1 failed",
            ]
        );
    }
}
