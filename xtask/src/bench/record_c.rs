//! The cost of a record from C beside Rust, interleaved.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::json;

use super::figure::Figure;
use super::quantile::Spread;
use super::{BenchOptions, absent, must};
use crate::process;
use crate::repository::Repository;

const ROUNDS: u32 = 9;

pub(crate) fn take(repository: &Repository, options: &BenchOptions) -> Result<Figure> {
    let home = absent(&repository.target().join("bench/record-c"))?;
    std::fs::create_dir_all(&home)?;
    let mut build = repository.command("cargo");
    must(build.args([
        "build",
        "--release",
        "-p",
        "kadenz",
        "--example",
        "durations_cost",
    ]))?;
    let mut install = repository.command("cargo");
    must(
        install
            .args(["run", "-q", "-p", "xtask", "--", "install-c", "--prefix"])
            .arg(&home),
    )?;
    let program = home.join("record");
    let mut compile = Command::new("cc");
    compile
        .args(["-O2", "-std=c11", "-I"])
        .arg(home.join("include"))
        .arg("-L")
        .arg(home.join("lib"));
    compile.arg(format!("-Wl,-rpath,{}", home.join("lib").display()));
    compile
        .arg(repository.path("xtask/peers/languages/record.c"))
        .arg("-o")
        .arg(&program);
    must(compile.arg("-lkadenz"))?;
    let rust = repository.target().join("release/examples/durations_cost");
    let cost = |command: &mut Command| -> Result<f64> {
        process::output(command)?
            .trim()
            .parse()
            .context("no figure")
    };
    let mut pairs = Vec::new();
    for round in 0..options.rounds.unwrap_or(ROUNDS) {
        let of_rust = || cost(Command::new(&rust).arg(absent(&home.join("run"))?));
        let of_c = || cost(Command::new(&program).arg(absent(&home.join("run"))?));
        // Each round begins with the other language.
        pairs.push(match round % 2 {
            0 => (of_rust()?, of_c()?),
            _ => {
                let c = of_c()?;
                (of_rust()?, c)
            }
        });
    }
    let spread = |of: fn(&(f64, f64)) -> f64| Spread::of(pairs.iter().map(of)).context("no round");
    let (rust, c, more) = (
        spread(|it| it.0)?,
        spread(|it| it.1)?,
        spread(|it| it.1 - it.0)?,
    );
    Ok(Figure {
        groups: Vec::new(),
        method: "20 million records into a series, release builds, medians of the rounds; differences within a round".to_owned(),
        result: json!({ "rust_ns": rust.json(), "c_ns": c.json(), "more_ns": more.json() }),
        cells: vec![
            ("Rust, ns".to_owned(), format!("{:.2}", rust.median)),
            ("C, ns".to_owned(), format!("{:.2}", c.median)),
            ("C less Rust, ns".to_owned(), more.cell()),
        ],
    })
}
