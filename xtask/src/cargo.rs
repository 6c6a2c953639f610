//! The workspace's data from cargo.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process;
use crate::repository::Repository;

/// A crate of the workspace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crate {
    /// Its name, `kadenz-rt`.
    pub(crate) name: String,
    /// Its folder from the root, `crates/kadenz-rt`.
    pub(crate) folder: String,
    /// What it depends on.
    pub(crate) dependencies: Vec<Dependency>,
    /// Whether it is a library; else it is only a program.
    pub(crate) library: bool,
    /// Names of its integration tests.
    pub(crate) tests: Vec<String>,
    /// Features that one of its tests or examples needs.
    pub(crate) needed_features: Vec<String>,
    /// Its features.
    pub(crate) features: Vec<String>,
    /// Whether it has examples, which its tests may run.
    pub(crate) has_examples: bool,
}

/// A dependency as `Cargo.toml` states it.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    /// Name of the package.
    pub(crate) name: String,
    /// Whether only tests, examples and benches see it.
    pub(crate) dev: bool,
}

/// The crates of the workspace with their direct dependencies.
pub(crate) fn crates(repository: &Repository) -> Result<Vec<Crate>> {
    let mut command = repository.command("cargo");
    command.args(["metadata", "--format-version=1", "--no-deps", "--offline"]);
    let metadata: Value = serde_json::from_str(&process::output(&mut command)?)
        .context("`cargo metadata` did not print JSON")?;
    let root = metadata["workspace_root"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let packages = metadata["packages"]
        .as_array()
        .context("`cargo metadata` names no packages")?;
    Ok(packages
        .iter()
        .map(|package| read_crate(package, &root))
        .collect())
}

/// Counts the packages of others in a build for Linux, as decision 0406 does.
///
/// # Errors
/// Where cargo would have to download a package, or to change `Cargo.lock`.
pub(crate) fn third_party(
    repository: &Repository,
    ours: &[Crate],
    selection: &[&str],
) -> Result<usize> {
    let mut command = repository.command("cargo");
    command.args(["tree", "--offline", "--locked", "--target"]);
    command.args(["x86_64-unknown-linux-gnu", "--edges=normal"]);
    let tree = process::output(command.args(["--prefix=none"]).args(selection))?;
    let package = |line: &str| -> Option<(String, String)> {
        let mut words = line.split_whitespace().map(str::to_owned);
        Some((words.next()?, words.next()?))
    };
    let all: BTreeSet<_> = tree.lines().filter_map(package).collect();
    let is_ours = |name: &String| ours.iter().any(|it| it.name == *name);
    Ok(all.iter().filter(|(name, _)| !is_ours(name)).count())
}

/// Builds the program as the tests of the workspace build it; it lies beside each test that runs it.
///
/// cargo chooses the features of shared crates by the packages that a command names, and by whether it needs the
/// dependencies of tests and examples: another command would build many crates a second time.
pub(crate) fn program_of_tests(repository: &Repository) -> Result<PathBuf> {
    build(
        repository,
        &["test", "--no-run", "--workspace", "--test", "foreign_text"],
    )?;
    Ok(repository.target().join("debug/kadenz"))
}

/// An example of a crate, built as the tests of the workspace build it; see [`program_of_tests`].
pub(crate) fn example_of_tests(repository: &Repository, name: &str) -> Result<PathBuf> {
    build(repository, &["build", "--workspace", "--example", name])?;
    Ok(repository.target().join("debug/examples").join(name))
}

fn build(repository: &Repository, arguments: &[&str]) -> Result<()> {
    let mut command = repository.command("cargo");
    if !process::run(command.args(arguments))? {
        bail!("`{}` failed", process::spelled(&command));
    }
    Ok(())
}

fn read_crate(package: &Value, root: &str) -> Crate {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let manifest = text(&package["manifest_path"]);
    let folder = manifest
        .trim_start_matches(root)
        .trim_end_matches("Cargo.toml")
        .trim_matches('/');
    let list = |name: &str| {
        package[name]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default()
    };
    Crate {
        name: text(&package["name"]),
        folder: folder.to_owned(),
        library: list("targets")
            .iter()
            .any(|it| it["kind"][0] == "lib" || it["kind"][0] == "proc-macro"),
        needed_features: list("targets")
            .iter()
            .flat_map(|it| it["required-features"].as_array().into_iter().flatten())
            .map(text)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect(),
        features: package["features"]
            .as_object()
            .map(|all| all.keys().cloned().collect())
            .unwrap_or_default(),
        has_examples: list("targets").iter().any(|it| it["kind"][0] == "example"),
        tests: list("targets")
            .iter()
            .filter(|it| it["kind"][0] == "test")
            .map(|it| text(&it["name"]))
            .collect(),
        dependencies: list("dependencies")
            .iter()
            .map(|it| Dependency {
                name: text(&it["name"]),
                dev: it["kind"] == "dev",
            })
            .collect(),
    }
}
