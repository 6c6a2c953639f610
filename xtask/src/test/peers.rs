//! ethercrab's own tests, as its crate ships them, on Kadenz's segment in place of the devices that they name.
//!
//! The step copies them out of the crate's source beside a manifest of its own, which names the tests' dependencies and
//! leaves out those of ethercrab's benchmarks, which take minutes to build.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use super::Outcome;
use super::steps::watch_again;
use super::tally::Tally;
use crate::cargo;
use crate::files;
use crate::process;
use crate::repository::Repository;

/// Tries of a test, and its words when it overran a limit of its own: it waits 10 ms for a device's memory, and a
/// machine that is busy, or whose host is, takes longer in any case.
const TRIES: usize = 10;
const OVERRUN: &str = "Timeout(";

/// The exit code of `beside_segment` where rights are missing.
const NO_RIGHTS: i32 = 77;

/// ethercrab's tests, each with the devices that it names.
const TESTS: [(&str, &[&str]); 8] = [
    ("replay-dc", &["ek1100", "el2828", "el2889"]),
    ("replay-ek1100-alias-address", &["ek1100"]),
    (
        "replay-ek1100-el2828-el2889",
        &["ek1100", "el2828", "el2889"],
    ),
    ("replay-ek1914-el3004-configure", &["ek1914", "el3004"]),
    ("replay-ek1914-el3004-mailbox", &["ek1914", "el3004"]),
    ("replay-ek1914-no-complete-access", &["ek1914"]),
    ("replay-ek1914-segmented-upload", &["ek1914"]),
    ("replay-issue-255", &["ek1100", "el2828"]),
];

/// Runs all of them.
pub(crate) fn ethercrab(repository: &Repository, tally: &mut Tally) -> Result<Outcome> {
    if !cfg!(target_os = "linux") {
        return Ok(Outcome::skipped("no raw frames here", "run it on Linux"));
    }
    let folder = repository.target().join("peers/ethercrab");
    let beside = match cargo::example_of_tests(repository, "beside_segment") {
        Ok(beside) => beside,
        Err(error) => return Ok(Outcome::Failed(format!("{error:#}"))),
    };
    if !may(repository, &beside, &folder)? {
        let missing = "no right to make a network namespace";
        return Ok(Outcome::skipped(missing, "run it as root"));
    }
    if let Err(error) = copy(repository, &folder) {
        let missing = format!("ethercrab's source is not to be had: {error:#}");
        return Ok(Outcome::skipped(missing, "let cargo reach its registry"));
    }
    if !build(repository, &folder)? {
        return Ok(Outcome::Failed("ethercrab's tests do not build".to_owned()));
    }
    let mut success = true;
    for (test, devices) in TESTS {
        let segment = segment(&folder, devices)?;
        let mut command = repository.command(&beside);
        command.env("INTERFACE", "ec0").arg(segment);
        command.args("cargo test --offline --quiet --manifest-path".split(' '));
        command.arg(folder.join("Cargo.toml"));
        command.arg("--target-dir").arg(folder.join("target"));
        success &= watch_again(command.args(["--test", test]), TRIES, OVERRUN, tally)?;
    }
    Ok(Outcome::of(success, "a test of ethercrab's"))
}

/// Whether the rights are there.
fn may(repository: &Repository, beside: &Path, folder: &Path) -> Result<bool> {
    files::make_folder(folder)?;
    let mut command = repository.command(beside);
    command.arg(segment(folder, &["ek1100"])?).arg("true");
    let output = command.output()?;
    if output.status.code() == Some(NO_RIGHTS) {
        return Ok(false);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "no segment: {complaint}");
    Ok(true)
}

/// Copies manifest and tests. The manifest also names a benchmark's program; an empty one takes its place.
fn copy(repository: &Repository, folder: &Path) -> Result<()> {
    let ours = repository.path("xtask/peers/ethercrab");
    std::fs::create_dir_all(folder.join("src"))?;
    let manifest = folder.join("Cargo.toml");
    std::fs::copy(ours.join("Cargo.toml"), &manifest)?;
    std::fs::write(folder.join("src/main.rs"), "fn main() {}\n")?;
    let tests = folder.join("tests");
    if tests.exists() {
        std::fs::remove_dir_all(&tests)?;
    }
    std::fs::create_dir(&tests)?;
    let mut metadata = repository.cargo("metadata --format-version=1 --manifest-path");
    let metadata = process::output(metadata.arg(&manifest))?;
    let theirs = source(&metadata).context("cargo names no folder of ethercrab's")?;
    for file in std::fs::read_dir(theirs.join("tests"))? {
        let file = file?;
        std::fs::copy(file.path(), tests.join(file.file_name()))?;
    }
    Ok(())
}

/// Builds the tests, while there is a network.
fn build(repository: &Repository, folder: &Path) -> Result<bool> {
    let mut cargo = repository.cargo("test --no-run --quiet --manifest-path");
    cargo.arg(folder.join("Cargo.toml"));
    process::run(cargo.arg("--target-dir").arg(folder.join("target")))
}

/// The folder in which cargo keeps the crate's source.
fn source(metadata: &str) -> Option<PathBuf> {
    let metadata: Value = serde_json::from_str(metadata).ok()?;
    let mut packages = metadata["packages"].as_array()?.iter();
    let ethercrab = packages.find(|it| it["name"] == "ethercrab")?;
    let manifest = Path::new(ethercrab["manifest_path"].as_str()?);
    Some(manifest.parent()?.to_path_buf())
}

/// Writes a file that describes these devices, one behind the other.
fn segment(folder: &Path, devices: &[&str]) -> Result<PathBuf> {
    let describe = |it: &&str| format!("[[device]]\nname = \"{it}\"\nmodel = \"{it}\"\n");
    let text: String = devices.iter().map(describe).collect();
    let path = folder.join(format!("{}.toml", devices.join("-")));
    files::write(&path, text)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_has_a_table_for_each_device() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = segment(folder.path(), &["ek1100", "el2828"]).expect("writable");
        let text = std::fs::read_to_string(path).expect("it was written");
        assert_eq!(text.matches("[[device]]").count(), 2);
        assert!(text.ends_with("name = \"el2828\"\nmodel = \"el2828\"\n"));
    }

    #[test]
    fn the_crate_s_source_is_where_its_manifest_is() {
        let metadata = r#"{"packages": [{"name": "log"},
            {"name": "ethercrab", "manifest_path": "/there/ethercrab-0.7.1/Cargo.toml"}]}"#;
        assert_eq!(
            source(metadata),
            Some(PathBuf::from("/there/ethercrab-0.7.1"))
        );
        assert_eq!(source("{}"), None);
    }
}
