//! `cargo xtask wheel`: the package for Python with the program inside, so that `pip install` brings both.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::cargo;
use crate::process;
use crate::repository::Repository;
use crate::tools;

pub(crate) const HELP: &str = "\
Build the package for Python as a wheel, with the program `kadenz` inside.
Needs a Python with maturin: python3 -m venv ~/.cache/kadenz/python && ~/.cache/kadenz/python/bin/pip install maturin

Usage: cargo xtask wheel [--out DIR]

  --out DIR   where to [default: target/wheels]

Example: cargo xtask wheel && pip install target/wheels/kadenz-*.whl && kadenz check
";

/// The build that is packed: as for users, or that of the workspace's tests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Optimised, as users get it.
    Release,
    /// For tests.
    Dev,
}

/// Builds the wheel of a release.
pub(crate) fn main(repository: &Repository, options: &[&str]) -> Result<bool> {
    let out = match *options {
        [] => repository.target().join("wheels"),
        ["--out", folder] => PathBuf::from(folder),
        _ => bail!("wheel takes --out DIR alone; `cargo xtask wheel --help` says more"),
    };
    let python = tools::python_that("import maturin")
        .context("no Python with maturin; `cargo xtask wheel --help` says how")?;
    let wheel = build(repository, &python, Profile::Release, &out)?;
    println!("{}", wheel.display());
    Ok(true)
}

/// Builds the program and the wheel around it; returns the wheel's path.
pub(crate) fn build(
    repository: &Repository,
    python: &Path,
    profile: Profile,
    out: &Path,
) -> Result<PathBuf> {
    let program = match profile {
        Profile::Dev => cargo::program_of_tests(repository)?,
        Profile::Release => cargo::release_program(repository)?,
    };
    let wheel = maturin(repository, python, profile, out)?;
    let mut add = repository.command(python);
    add.arg("bindings/python/add_program.py").arg(&wheel);
    process::output(add.arg(&program))?;
    Ok(wheel)
}

fn maturin(
    repository: &Repository,
    python: &Path,
    profile: Profile,
    out: &Path,
) -> Result<PathBuf> {
    let _ = std::fs::remove_dir_all(out);
    let mut command = repository.command(python);
    command.args(["-m", "maturin", "build", "--quiet", "--profile"]);
    command.arg(match profile {
        Profile::Release => "release",
        Profile::Dev => "dev",
    });
    command.args(["--manifest-path", "bindings/python/Cargo.toml", "--out"]);
    if !process::run(command.arg(out))? {
        bail!("the wheel does not build");
    }
    let wheel = std::fs::read_dir(out)?
        .flatten()
        .find(|it| it.file_name().to_string_lossy().ends_with(".whl"));
    Ok(wheel.context("maturin left no wheel")?.path())
}
