//! How long a stranger waits: the release build in a fresh clone with an empty target folder.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use super::figure::Figure;
use super::{Wishes, absent, must, timed};
use crate::repository::Repository;

/// Clones what is committed, fetches, builds, and looks at what came out.
pub fn take(repository: &Repository, _: &Wishes) -> Result<Figure> {
    let folder = absent(&repository.target().join("bench/build"))?;
    let clone = folder.to_string_lossy().into_owned();
    must(
        repository
            .command("git")
            .args(["clone", "--quiet", ".", &clone]),
    )?;
    let fetch_s = timed(&mut cargo(repository, &folder, &["fetch", "--locked"]))?;
    let build = ["build", "--release", "--locked", "--offline"];
    let build_s = timed(&mut cargo(repository, &folder, &build))?;
    let program = std::fs::metadata(folder.join("target/release/kadenz"))?.len();
    std::fs::remove_dir_all(&folder)
        .with_context(|| format!("cannot remove {}", folder.display()))?;
    Ok(Figure {
        groups: Vec::new(),
        method: "git clone, cargo fetch, then cargo build --release of the default members"
            .to_owned(),
        result: json!({ "fetch_s": fetch_s, "build_s": build_s, "program_bytes": program }),
        cells: vec![
            ("build".to_owned(), format!("{build_s:.0} s")),
            (
                "fetch, with what the registry cache had".to_owned(),
                format!("{fetch_s:.1} s"),
            ),
            (
                "program".to_owned(),
                format!("{:.1} MB", program as f64 / 1e6),
            ),
        ],
    })
}

/// cargo in the clone, with nothing that this machine may have set to share builds.
fn cargo(repository: &Repository, folder: &Path, arguments: &[&str]) -> std::process::Command {
    let mut command = repository.command("cargo");
    command.current_dir(folder).args(arguments);
    for variable in [
        "CARGO_BUILD_BUILD_DIR",
        "CARGO_TARGET_DIR",
        "RUSTFLAGS",
        "RUSTC_WRAPPER",
    ] {
        command.env_remove(variable);
    }
    command
}
