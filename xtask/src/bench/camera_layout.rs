//! yuv420p to planes of columns, beside libswscale and OpenCV.
//!
//! Each program measures all its conversions at all sizes and prints a fast time of each, the first decile, since other
//! load of the machine lengthens most of the times. Every round measures all programs, each round begins with another
//! one, and ratios are taken within a round.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::figure::{Cells, Figure};
use super::quantile::Spread;
use super::{BenchOptions, NOTHING_MEASURED};
use crate::cargo;
use crate::files;
use crate::process;
use crate::repository::Repository;

const ROUNDS: u32 = 7;
/// Milliseconds for each conversion at each size.
const MILLISECONDS: &str = "200";
const OPENCV: &str = "opencv-python-headless==5.0.0.93";
const SIZES: [&str; 4] = ["480p", "720p", "1080p", "4K"];
/// The pairs of comparison: Kadenz's conversion, and the others.
const PAIRS: [(&str, &[&str]); 2] = [
    (
        "rgb-column-major",
        &[
            "swscale gbrp",
            "swscale bgr24",
            "opencv split",
            "opencv whole",
            "copy of rgb-column-major",
        ],
    ),
    (
        "gray-column-major",
        &["swscale gray", "opencv gray", "copy of gray-column-major"],
    ),
];

/// Nanoseconds of each conversion at each size.
type Times = BTreeMap<(String, String), f64>;

/// A program, and the prefix of its conversions' names.
struct LayoutProgram {
    prefix: &'static str,
    command: Vec<String>,
}

/// Builds the programs that can be built here, and measures all.
pub(crate) fn take(repository: &Repository, options: &BenchOptions) -> Result<Figure> {
    let contestants = contestants(repository)?;
    let rounds = options.rounds.unwrap_or(ROUNDS) as usize;
    let mut all = Vec::new();
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        let mut times = Times::new();
        for turn in 0..contestants.len() {
            let contestant = &contestants[(turn + round) % contestants.len()];
            times.extend(measure(repository, contestant)?);
        }
        all.push(times);
    }
    figure(&all)
}

fn contestants(repository: &Repository) -> Result<Vec<LayoutProgram>> {
    let folder = repository.target().join("peers");
    files::make_folder(&folder)?;
    let mut all = vec![ours(repository)?];
    let peers: [(&'static str, Result<Vec<String>>, &str); 2] = [
        (
            "swscale ",
            swscale(repository, &folder),
            "apt-get install libswscale-dev",
        ),
        (
            "opencv ",
            opencv(repository, &folder),
            "pip install opencv-python-headless",
        ),
    ];
    for (prefix, built, remedy) in peers {
        match built {
            Ok(command) => all.push(LayoutProgram { prefix, command }),
            Err(error) => eprintln!("left out: {prefix}: {error:#} ({remedy})"),
        }
    }
    Ok(all)
}

fn ours(repository: &Repository) -> Result<LayoutProgram> {
    let program = cargo::release_example(repository, "kadenz-camera", "layout_cost")?;
    let command = [&program.to_string_lossy(), "--milliseconds", MILLISECONDS];
    let layouts = PAIRS.iter().map(|(layout, _)| *layout);
    Ok(LayoutProgram {
        prefix: "",
        command: command
            .into_iter()
            .chain(layouts)
            .map(str::to_owned)
            .collect(),
    })
}

fn swscale(repository: &Repository, folder: &Path) -> Result<Vec<String>> {
    let program = folder.join("swscale").to_string_lossy().into_owned();
    let mut compile = repository.command("cc");
    compile.args(["-O2", "-Wall", "-o", &program]);
    compile.arg(repository.path("xtask/peers/swscale/peer.c"));
    process::output(compile.arg("-lswscale"))?;
    Ok(vec![program, MILLISECONDS.to_owned()])
}

/// OpenCV in a Python environment of its own.
fn opencv(repository: &Repository, folder: &Path) -> Result<Vec<String>> {
    let python = super::python_that(repository, &folder.join("opencv"), "import cv2", &[OPENCV])?;
    let script = repository.path("xtask/peers/opencv/peer.py");
    let paths = [python, script].map(|it| it.to_string_lossy().into_owned());
    Ok(paths.into_iter().chain([MILLISECONDS.to_owned()]).collect())
}

fn measure(repository: &Repository, contestant: &LayoutProgram) -> Result<Times> {
    let [program, arguments @ ..] = &contestant.command[..] else {
        bail!("a contestant without a program");
    };
    let said = process::output(repository.command(program).args(arguments))?;
    let said: Value = serde_json::from_str(&said).context("it said no JSON")?;
    Ok(read(&said, contestant.prefix))
}

fn read(said: &Value, prefix: &str) -> Times {
    let mut times = Times::new();
    for (way, sizes) in said.as_object().into_iter().flatten() {
        for (size, ns) in sizes.as_object().into_iter().flatten() {
            let key = (format!("{prefix}{way}"), size.clone());
            times.extend(ns.as_f64().map(|ns| (key, ns)));
        }
    }
    times
}

fn figure(rounds: &[Times]) -> Result<Figure> {
    let (mut cells, mut result) = (Cells::new(), Vec::new());
    let spread = |of: &dyn Fn(&Times) -> Option<f64>| Spread::of(rounds.iter().filter_map(of));
    for (ours, others) in PAIRS {
        for size in SIZES {
            let key = |way: &str| (way.to_owned(), size.to_owned());
            let us = |way: &str| spread(&|times| Some(times.get(&key(way))? / 1e3));
            for way in [ours].iter().chain(others) {
                let ratio = spread(&|times| Some(times.get(&key(ours))? / times.get(&key(way))?));
                let (Some(time), Some(ratio)) = (us(way), ratio) else {
                    continue;
                };
                result.push(json!({
                    "way": way, "size": size, "us": time.json(), "ratio_of_ours": ratio.json(),
                }));
                cells.push((format!("{size} {way}, us"), format!("{:.1}", time.median)));
                if *way != ours {
                    cells.push((format!("{size} {ours} / {way}"), ratio.cell()));
                }
            }
        }
    }
    ensure!(!result.is_empty(), NOTHING_MEASURED);
    Ok(Figure {
        method: format!(
            "yuv420p (BT.601, limited range; gray: luma of full range) to planes of columns, one thread, {MILLISECONDS} ms of each way \
             and size in a round; the first decile of a round; median of the rounds; ratios within a round, \
             median (smallest to largest); swscale gbrp: sws_scale to GBRP and a transpose by SSE2; swscale bgr24: \
             sws_scale to BGR24 and plain loops; opencv split: split and transpose of a BGR image that is there; opencv \
             whole: the same after cvtColor from I420; gray: the transpose of luma"
        ),
        result: Value::Array(result),
        cells,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_a_round_and_a_missing_one_has_none() {
        let ours = |ns: u64| read(&json!({ "rgb-column-major": { "4K": ns } }), "");
        let theirs = |ns: u64| read(&json!({ "split": { "4K": ns } }), "opencv ");
        let mut rounds = vec![ours(1000), ours(3000)];
        rounds[0].extend(theirs(2000));
        rounds[1].extend(theirs(3000));
        let figure = figure(&rounds).expect("two rounds");
        let names: Vec<_> = figure.cells.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "4K rgb-column-major, us",
            "4K opencv split, us",
            "4K rgb-column-major / opencv split",
        ];
        assert_eq!(names, expected);
        assert_eq!(figure.cells[2].1, "0.750 (0.500 to 1.000)");
        assert!(super::figure(&[]).is_err());
    }
}
