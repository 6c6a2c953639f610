//! The cost of a record from C beside Rust, interleaved.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::json;

use super::BenchOptions;
use super::figure::{self, Figure};
use super::quantile::Spread;
use crate::cargo;
use crate::files;
use crate::process::{self, must};
use crate::repository::Repository;

const ROUNDS: u32 = 9;

pub(crate) fn take(repository: &Repository, options: &BenchOptions) -> Result<Figure> {
    let home = files::absent(&repository.target().join("bench/record-c"))?;
    std::fs::create_dir_all(&home)?;
    let rust = cargo::release_example(repository, "kadenz", "durations_cost")?;
    let mut install = repository.cargo("run -q -p xtask -- install-c --prefix");
    must(install.arg(&home))?;
    let (program, libraries) = (home.join("record"), home.join("lib"));
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-std=c11", "-I"]);
    compile.arg(home.join("include")).arg("-L").arg(&libraries);
    compile.arg(format!("-Wl,-rpath,{}", libraries.display()));
    compile.arg(repository.path("xtask/peers/languages/record.c"));
    must(compile.arg("-o").arg(&program).arg("-lkadenz"))?;
    let cost = |program: &Path| -> Result<f64> {
        let run = files::absent(&home.join("run"))?;
        let said = process::output(Command::new(program).arg(run))?;
        said.trim().parse().context("no figure")
    };
    let mut pairs = Vec::new();
    for round in 0..options.rounds.unwrap_or(ROUNDS) {
        // Each round begins with the other language.
        pairs.push(match round % 2 {
            0 => (cost(&rust)?, cost(&program)?),
            _ => {
                let c = cost(&program)?;
                (cost(&rust)?, c)
            }
        });
    }
    let spread = |of: fn(&(f64, f64)) -> f64| Spread::of(pairs.iter().map(of)).context("no round");
    let (rust, c) = (spread(|it| it.0)?, spread(|it| it.1)?);
    let more = spread(|it| it.1 - it.0)?;
    Ok(Figure {
        method: "20 million records into a series, release builds, medians of the rounds; differences within a round".to_owned(),
        result: json!({ "rust_ns": rust.json(), "c_ns": c.json(), "more_ns": more.json() }),
        cells: figure::cells([
            ("Rust, ns", format!("{:.2}", rust.median)),
            ("C, ns", format!("{:.2}", c.median)),
            ("C less Rust, ns", more.cell()),
        ]),
    })
}
