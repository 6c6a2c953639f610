//! The workspace's data from cargo.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result};
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
    /// Names of its features, also of those that no test needs.
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
    let mut command = repository.cargo("metadata --format-version=1 --no-deps --offline");
    let metadata: Value = serde_json::from_str(&process::output(&mut command)?)
        .context("`cargo metadata` did not print JSON")?;
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let packages = metadata["packages"].as_array();
    let packages = packages.context("`cargo metadata` names no packages")?;
    let read = |package| read_crate(package, root);
    Ok(packages.iter().map(read).collect())
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
    let words =
        "tree --offline --locked --target x86_64-unknown-linux-gnu --edges=normal --prefix=none";
    let tree = process::output(repository.cargo(words).args(selection))?;
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
    process::must(&mut repository.cargo("test --no-run --workspace --test foreign_text"))?;
    Ok(repository.target().join("debug/kadenz"))
}

/// An example of a crate, built as the tests of the workspace build it; see [`program_of_tests`].
pub(crate) fn example_of_tests(repository: &Repository, name: &str) -> Result<PathBuf> {
    process::must(&mut repository.cargo(&format!("build --workspace --example {name}")))?;
    Ok(repository.target().join("debug/examples").join(name))
}

/// Builds the program as for users.
pub(crate) fn release_program(repository: &Repository) -> Result<PathBuf> {
    process::must(&mut repository.cargo("build --release -p kadenz-cli"))?;
    Ok(repository.target().join("release/kadenz"))
}

/// Builds an example of a crate as for users.
pub(crate) fn release_example(
    repository: &Repository,
    package: &str,
    name: &str,
) -> Result<PathBuf> {
    process::must(
        &mut repository.cargo(&format!("build --release -p {package} --example {name}")),
    )?;
    Ok(repository.target().join("release/examples").join(name))
}

fn read_crate(package: &Value, root: &str) -> Crate {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let manifest = text(&package["manifest_path"]);
    let folder = manifest
        .trim_start_matches(root)
        .trim_end_matches("Cargo.toml")
        .trim_matches('/');
    let targets = || package["targets"].as_array().into_iter().flatten();
    let of_kind = |kind: &'static str| targets().filter(move |it| it["kind"][0] == kind);
    let needed = targets().flat_map(|it| it["required-features"].as_array().into_iter().flatten());
    let features = package["features"].as_object().into_iter().flatten();
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    Crate {
        name: text(&package["name"]),
        folder: folder.to_owned(),
        library: of_kind("lib").chain(of_kind("proc-macro")).next().is_some(),
        needed_features: needed.map(text).collect(),
        features: features.map(|(name, _)| name.clone()).collect(),
        has_examples: of_kind("example").next().is_some(),
        tests: of_kind("test").map(|it| text(&it["name"])).collect(),
        dependencies: dependencies
            .map(|it| Dependency {
                name: text(&it["name"]),
                dev: it["kind"] == "dev",
            })
            .collect(),
    }
}
