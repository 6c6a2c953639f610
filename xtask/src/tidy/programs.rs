//! Checks by other programs: format, lints, rustdoc, licences and origins.

use anyhow::Result;

use crate::docs;
use crate::process;
use crate::repository::Repository;
use crate::tools;

/// A remedy short enough to be named with the check that needs it.
const DENY_REMEDY: &str = "cargo install --locked cargo-deny";

/// Runs all of them, also after one has failed; true if all pass.
pub(crate) fn check(repository: &Repository) -> Result<bool> {
    let mut well = true;
    for check in [format, lints, docs::rustdoc, origins, advisories] {
        well &= check(repository)?;
    }
    Ok(well)
}

/// `cargo fmt`.
pub(crate) fn format(repository: &Repository) -> Result<bool> {
    process::run(&mut repository.cargo("fmt --all --check"))
}

fn lints(repository: &Repository) -> Result<bool> {
    process::run(&mut repository.cargo("clippy --workspace --all-targets -- -D warnings"))
}

fn origins(repository: &Repository) -> Result<bool> {
    if !has_deny() {
        println!("skipped: deny: no cargo-deny: {DENY_REMEDY}");
        return Ok(!tools::skips_nothing());
    }
    process::run(&mut repository.cargo("deny --workspace check bans licenses sources"))
}

/// Known vulnerabilities of dependencies, where their database can be reached.
fn advisories(repository: &Repository) -> Result<bool> {
    if !has_deny() {
        return Ok(true);
    }
    if !process::succeeds(&mut repository.cargo("deny fetch db")) {
        println!(
            "skipped: advisories: their database cannot be reached from here: \
             run `cargo deny check advisories` where it can"
        );
        return Ok(true);
    }
    process::run(&mut repository.cargo("deny --workspace check advisories"))
}

fn has_deny() -> bool {
    tools::cargo_has(&["deny", "--version"])
}
