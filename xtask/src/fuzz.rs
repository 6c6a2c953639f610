//! `cargo xtask fuzz`: the fuzz targets of `fuzz/`, listed or run.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::files;
use crate::process;
use crate::repository::Repository;

pub(crate) const HELP: &str = "\
List the fuzz targets, or run them from their seeds.

Usage: cargo xtask fuzz [TARGET...] [--all] [--seconds N] [--longest N] [--no-sanitizer]

  --all           run every target
  --seconds N     how long each runs [default: 60]
  --longest N     inputs have at most so many bytes [default: as the longest seed]
  --no-sanitizer  without AddressSanitizer, ten times as fast and more: panics, endless loops and
                  memory without bound are found nevertheless, and parsers have no `unsafe`
";

/// cargo-fuzz's one unit for each crate would leave one CPU idle behind the largest crates.
const CODEGEN_UNITS: &str = "--codegen-units=16";

/// A fuzz target: a binary of `fuzz/Cargo.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The name of the binary.
    pub(crate) name: String,
    /// Folder with valid examples, from the root, where one is named in `package.metadata.seeds`.
    pub(crate) seeds: Option<PathBuf>,
}

/// Lists the targets, or runs them.
pub(crate) fn main(repository: &Repository, arguments: &[&str]) -> Result<bool> {
    let options = read(arguments)?;
    let targets = targets(repository)?;
    if let Some(unknown) = options
        .names
        .iter()
        .find(|name| targets.iter().all(|it| it.name != **name))
    {
        bail!("there is no fuzz target {unknown:?}; `cargo xtask fuzz` lists them");
    }
    let mut well = true;
    for target in &targets {
        if options.all || options.names.contains(&target.name) {
            well &= process::run(&mut command(repository, target, &options)?)?;
        } else if options.names.is_empty() {
            println!("{}", target.name);
        }
    }
    Ok(well)
}

#[derive(Debug, PartialEq, Eq)]
struct FuzzOptions {
    names: Vec<String>,
    all: bool,
    seconds: u32,
    longest: Option<u32>,
    bare: bool,
}

impl FuzzOptions {
    fn lasting(seconds: u32) -> Self {
        Self {
            names: Vec::new(),
            all: false,
            seconds,
            longest: None,
            bare: false,
        }
    }
}

fn read(arguments: &[&str]) -> Result<FuzzOptions> {
    let mut options = FuzzOptions::lasting(60);
    let mut arguments = arguments.iter();
    while let Some(option) = arguments.next() {
        let mut number = || {
            let number = arguments.next().and_then(|it| it.parse().ok());
            number.with_context(|| format!("{option} needs a number"))
        };
        match *option {
            "--all" => options.all = true,
            "--no-sanitizer" => options.bare = true,
            "--longest" => options.longest = Some(number()?),
            "--seconds" => options.seconds = number()?,
            name if !name.starts_with('-') => options.names.push(name.to_owned()),
            other => bail!("fuzz knows no option {other:?}; `cargo xtask fuzz --help` lists them"),
        }
    }
    Ok(options)
}

/// The targets in the manifest; empty if there is no fuzz folder.
pub(crate) fn targets(repository: &Repository) -> Result<Vec<Target>> {
    let manifest = repository.path("fuzz/Cargo.toml");
    if !manifest.is_file() {
        return Ok(Vec::new());
    }
    let mut command = repository.cargo("metadata --format-version=1 --no-deps --manifest-path");
    let metadata = process::json(command.arg(manifest))?;
    Ok(read_targets(&metadata["packages"][0]))
}

fn read_targets(package: &Value) -> Vec<Target> {
    let all = package["targets"].as_array().into_iter().flatten();
    let binaries = all.filter(|it| it["kind"][0] == "bin");
    let target = |name: &str| {
        let seeds = package["metadata"]["seeds"][name].as_str();
        Target {
            name: name.to_owned(),
            seeds: seeds.map(PathBuf::from),
        }
    };
    let names = binaries.filter_map(|it| it["name"].as_str());
    names.map(target).collect()
}

/// Builds all targets at once, which is faster than one after the other.
pub(crate) fn build(repository: &Repository) -> Result<bool> {
    process::run(&mut build_command(repository)?)
}

/// The command of [`build`].
pub(crate) fn build_command(repository: &Repository) -> Result<Command> {
    let mut command = cargo_fuzz(repository)?;
    command.args(["build", CODEGEN_UNITS]);
    Ok(command)
}

/// Runs every target for some seconds, as many at once as there are CPUs: a target runs on one. Returns their names,
/// and whether each found nothing; what one found lies in `fuzz/artifacts`.
pub(crate) fn run_all(repository: &Repository, seconds: u32) -> Result<Vec<(String, bool)>> {
    let targets = targets(repository)?;
    let (next, options) = (AtomicUsize::new(0), FuzzOptions::lasting(seconds));
    let worker = || -> Result<Vec<(String, bool)>> {
        let mut done = Vec::new();
        while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut command = command(repository, target, &options)?;
            done.push((target.name.clone(), process::run_beside(&mut command)?));
        }
        Ok(done)
    };
    let done = process::on_every_cpu(worker)?;
    Ok(done.into_iter().flatten().collect())
}

fn command(repository: &Repository, target: &Target, options: &FuzzOptions) -> Result<Command> {
    let corpus = repository.path("fuzz/corpus").join(&target.name);
    files::make_folder(&corpus)?;
    let mut command = cargo_fuzz(repository)?;
    command.arg("run");
    if options.bare {
        // In a target folder of its own; the crates of another build would be built again each time otherwise.
        command.env("CARGO_TARGET_DIR", repository.target().join("fuzz-bare"));
        command.args(["--sanitizer", "none"]);
    } else {
        command.arg(CODEGEN_UNITS);
    }
    command.arg(&target.name).arg(corpus);
    command.args(target.seeds.as_ref().map(|seeds| repository.path(seeds)));
    let time = format!("-max_total_time={}", options.seconds);
    command.args(["--", &time, "-timeout=10", "-rss_limit_mb=1024"]);
    command.args(options.longest.map(|it| format!("-max_len={it}")));
    Ok(command)
}

/// cargo-fuzz needs unstable flags; with this variable the stable compiler takes them, so no second
/// toolchain is needed.
fn cargo_fuzz(repository: &Repository) -> Result<Command> {
    take_over_versions(repository)?;
    let mut command = repository.isolated("cargo", "fuzz");
    command.env("RUSTC_BOOTSTRAP", "1").arg("fuzz");
    Ok(command)
}

/// The fuzz workspace has its own lock file, which is not committed: it starts from the main one, so that fuzzing tests
/// the versions that are released.
fn take_over_versions(repository: &Repository) -> Result<()> {
    let own = repository.path("fuzz/Cargo.lock");
    if own.is_file() {
        return Ok(());
    }
    std::fs::copy(repository.path("Cargo.lock"), &own)
        .with_context(|| format!("cannot write {}", own.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_the_binaries_with_their_seeds() {
        let package = serde_json::json!({
            "targets": [
                { "name": "hlog", "kind": ["bin"] },
                { "name": "helpers", "kind": ["lib"] },
                { "name": "run_json", "kind": ["bin"] },
            ],
            "metadata": { "seeds": { "hlog": "conformance/hlog" } },
        });
        let target = |name: &str, seeds: Option<&str>| Target {
            name: name.to_owned(),
            seeds: seeds.map(PathBuf::from),
        };
        let expected = [
            target("hlog", Some("conformance/hlog")),
            target("run_json", None),
        ];
        assert_eq!(read_targets(&package), expected);
    }

    #[test]
    fn options_are_understood_and_unknown_ones_refused() {
        let words = |line: &'static str| line.split(' ').collect::<Vec<_>>();
        let options = read(&words("hlog --seconds 5 --no-sanitizer --longest 99"));
        assert_eq!(
            options.expect("known options"),
            FuzzOptions {
                names: vec!["hlog".to_owned()],
                longest: Some(99),
                bare: true,
                ..FuzzOptions::lasting(5)
            }
        );
        assert!(read(&words("--longest")).is_err());
        assert!(read(&words("--seconds")).is_err());
        assert!(read(&words("--fast")).is_err());
    }
}
