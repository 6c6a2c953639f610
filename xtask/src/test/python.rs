//! The package for Python: its wheel, built and installed in a fresh environment, its tests there, and its types.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::tally::Tally;
use super::{Outcome, steps};
use crate::process;
use crate::repository::Repository;
use crate::tools;
use crate::wheel::{self, Profile};

/// The packages that the tests import beside Kadenz.
const PACKAGES: [&str; 7] = [
    "matplotlib",
    "mypy",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "pytest",
];

/// Builds the wheel, installs it, and tests the installed package.
pub(super) fn package(repository: &Repository, tally: &mut Tally) -> Result<Outcome> {
    let Some(python) = tools::python_that("import maturin, venv, ensurepip") else {
        let remedy = "python3 -m venv ~/.cache/kadenz/python && ~/.cache/kadenz/python/bin/pip install maturin";
        return Ok(Outcome::skipped("no Python with maturin", remedy));
    };
    let home = repository.target().join("python");
    let wheel = match wheel::build(repository, &python, Profile::Dev, &home.join("wheels")) {
        Ok(wheel) => wheel,
        Err(error) => return Ok(Outcome::Failed(format!("{error:#}"))),
    };
    let environment = home.join("environment");
    let mut create = repository.command(&python);
    process::output(create.args(["-m", "venv", "--clear"]).arg(&environment))?;
    let fresh = environment.join("bin/python");
    let install = || {
        let mut install = run(repository, &fresh, "-m pip install --quiet");
        process::output(install.arg(&wheel).args(PACKAGES))
    };
    // An index that does not answer for a moment must not end the steps that follow.
    if let Err(error) = install().or_else(|_| install()) {
        return Ok(Outcome::Failed(format!("{error:#}")));
    }

    // The wheel also installs the program.
    let mut version = repository.command(environment.join("bin/kadenz"));
    let printed = process::output(version.arg("--version"))?;
    tally.count(printed.contains(env!("CARGO_PKG_VERSION")));

    // Run outside of the tree, so that the tests import the installed package.
    let tests = repository.path("bindings/python/tests");
    let mut tested = run(repository, &fresh, "-m pytest -q -p no:cacheprovider");
    let examples = repository.target().join("debug/examples");
    let arm = examples.join("hardware_in_the_loop");
    let success = steps::watch(tested.arg(tests).env("KADENZ_ARM", arm), tally)?;
    tally.count(success);
    let words = "-m mypy --strict --cache-dir /dev/null --package kadenz";
    let mut typed = run(repository, &fresh, words);
    let is_typed = steps::watch(&mut typed, tally)?;
    tally.count(is_typed);
    let what = "a test of the package for Python";
    Ok(Outcome::of(success && is_typed, what))
}

fn run(repository: &Repository, python: &Path, words: &str) -> Command {
    let mut command = repository.command(python);
    command.args(words.split(' '));
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}
