//! What cargo knows about the workspace.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;
use crate::repository::Repository;

/// A crate of the workspace.
#[derive(Clone, Debug, Default)]
pub struct Crate {
    /// Its name, `kadenz-rt`.
    pub name: String,
    /// Its folder from the root, `crates/kadenz-rt`.
    pub folder: String,
    /// What it depends on.
    pub dependencies: Vec<Dependency>,
    /// Whether it is a library; else it is a program and no more.
    pub library: bool,
    /// Names of its integration tests.
    pub tests: Vec<String>,
}

/// A dependency as `Cargo.toml` states it.
#[derive(Clone, Debug)]
pub struct Dependency {
    /// Name of the package.
    pub name: String,
    /// Whether only tests, examples and benches see it.
    pub dev: bool,
}

/// The crates of the workspace with their direct dependencies.
pub fn crates(repository: &Repository) -> Result<Vec<Crate>> {
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
