//! From a simulated camera to an array, beside OpenCV, PyAV and GStreamer.
//!
//! One camera serves all contestants, one after the other: every round measures all of them, each round begins with
//! another one, and ratios are taken within a round. A picture's age is counted from the time that is painted into it
//! until it is in an array of height x width x 3.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::figure::{Cells, Figure};
use super::quantile::Spread;
use super::{BenchOptions, NOTHING_MEASURED};
use crate::cargo;
use crate::files;
use crate::process::{self, must};
use crate::repository::Repository;

const ROUNDS: u32 = 3;
const SECONDS: u32 = 10;
const PACKAGES: [&str; 3] = ["av", "numpy", "opencv-python-headless==5.0.0.93"];
/// Debian's Python, which has GStreamer's bindings.
const SYSTEM_PYTHON: &str = "/usr/bin/python3";
const OURS: &str = "kadenz";
/// The other contestants, and their additional arguments.
const PEERS: [(&str, &[&str]); 7] = [
    ("opencv", &[]),
    ("opencv-tuned", &[]),
    ("pyav", &[]),
    ("pyav-tuned", &[]),
    ("gstreamer", &[]),
    ("gstreamer-tuned", &[]),
    ("opencv asleep", &["100"]),
];
/// Kadenz with a reader that sleeps 100 ms between two frames.
const ASLEEP: &str = "kadenz asleep";

/// A contestant's results of a round, in milliseconds.
#[derive(Clone, Copy)]
struct Ages {
    p50: f64,
    p99: f64,
}

/// The simulator, which ends when this is dropped.
struct Camera {
    child: Child,
    url: String,
}

impl Camera {
    fn start(repository: &Repository, program: &Path, size: &str) -> Result<Self> {
        let mut command = repository.command(program);
        command.args(["camera", "sim", "--listen", "127.0.0.1:0", "--size", size]);
        let mut child = command
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        let notes = BufReader::new(child.stderr.take().context("no standard error")?);
        let mut lines = notes.lines().map_while(Result::ok);
        let line = lines.find(|line| line.starts_with("rtsp://"));
        let url = line.context("the simulator did not start")?;
        let url = url.split(' ').next().unwrap_or_default().to_owned();
        // Its later output is short, and is discarded.
        std::thread::spawn(move || lines.count());
        Ok(Self { child, url })
    }
}

impl Drop for Camera {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures pictures of this size at 30 Hz.
pub(crate) fn take(repository: &Repository, options: &BenchOptions, size: &str) -> Result<Figure> {
    let peers = PEERS.map(|(name, _)| name);
    let all: Vec<&str> = [OURS, ASLEEP].into_iter().chain(peers).collect();
    let names = super::chosen(&options.only, &all)?;
    let program = program(repository)?;
    let home = repository.target().join("peers/camera");
    let python = super::python_that(repository, &home, "import av, cv2, numpy", &PACKAGES)?;
    let camera = Camera::start(repository, &program, size)?;
    let seconds = options.seconds.unwrap_or(SECONDS);
    let programs = (program.as_path(), python.as_path());
    let all = super::rounds(options.rounds.unwrap_or(ROUNDS), &names, |name| {
        measure(repository, programs, name, &camera.url, seconds)
    });
    figure(&names, &all, size, seconds)
}

/// The program, with libavcodec where the system has it.
fn program(repository: &Repository) -> Result<PathBuf> {
    let mut probe = repository.command("pkg-config");
    if !process::succeeds(probe.args(["--exists", "libavcodec", "libavformat"])) {
        eprintln!(
            "without the feature ffmpeg: apt-get install libavcodec-dev libavformat-dev libavutil-dev libclang-dev"
        );
        return cargo::release_program(repository);
    }
    let target = repository.target().join("ffmpeg");
    let mut build =
        repository.cargo("build --release -p kadenz-cli --features ffmpeg --target-dir");
    must(build.arg(&target))?;
    Ok(target.join("release/kadenz"))
}

fn measure(
    repository: &Repository,
    (program, python): (&Path, &Path),
    name: &str,
    url: &str,
    seconds: u32,
) -> Result<Ages> {
    if name.starts_with(OURS) {
        return ours(repository, program, url, seconds, name == ASLEEP);
    }
    let python = match name.starts_with("gstreamer") {
        true => Path::new(SYSTEM_PYTHON),
        false => python,
    };
    let peer = PEERS.iter().find(|(peer, _)| *peer == name);
    let more = peer.map_or(&[][..], |(_, more)| more);
    let way = name.split(' ').next().unwrap_or(name);
    let mut command = repository.command(python);
    command.arg(repository.path("xtask/peers/camera/peer.py"));
    command.args([way, url, &seconds.to_string()]).args(more);
    let said = process::json(&mut command)?;
    let ages = said["ages_ns"].as_array().into_iter().flatten();
    let mut ages: Vec<f64> = ages.filter_map(Value::as_f64).collect();
    let (count, unreadable) = (ages.len(), &said["unreadable"]);
    ensure!(count >= 20, "{count} frames; {unreadable} were unreadable");
    ages.sort_by(f64::total_cmp);
    let at = |share: f64| ages[((count as f64 * share) as usize).min(count - 1)] / 1e6;
    Ok(Ages {
        p50: at(0.5),
        p99: at(0.99),
    })
}

fn ours(
    repository: &Repository,
    program: &Path,
    url: &str,
    seconds: u32,
    asleep: bool,
) -> Result<Ages> {
    let folder = files::absent(&repository.target().join("bench/camera"))?;
    let mut command = repository.command(program);
    command.args(["camera", "record", url, "--barcode", "--json"]);
    command.args(["--samples", "--layout", "rgb"]);
    command.args(["--duration", &format!("{seconds}s"), "--out"]);
    command.arg(&folder);
    if asleep {
        command.args(["--poll", "100ms"]);
    }
    let said = process::json(&mut command)?;
    let mut series = said["series"].as_array().context("no series")?.iter();
    let ours = series.find(|it| it["name"] == "end-to-end");
    let ours = ours.context("no painted time was read")?;
    let at = |percent: &str| ours["percentiles"][percent].as_f64().map(|ns| ns / 1e6);
    let p50 = at("50").context("no median")?;
    // With fewer than a hundred frames, the slowest stands in place of the p99.
    let slowest = ours["max_ns"].as_f64().unwrap_or_default() / 1e6;
    Ok(Ages {
        p50,
        p99: at("99").unwrap_or(slowest),
    })
}

fn figure(
    names: &[&str],
    rounds: &[Vec<Option<Ages>>],
    size: &str,
    seconds: u32,
) -> Result<Figure> {
    let (mut cells, mut result) = (Cells::new(), Vec::new());
    let ours = names.iter().position(|it| *it == OURS);
    for (at, name) in names.iter().enumerate() {
        let spread = |of: fn(&Ages) -> f64| Spread::over(rounds, at, of);
        let (Some(p50), Some(p99)) = (spread(|it| it.p50), spread(|it| it.p99)) else {
            continue;
        };
        let ratio = ours.and_then(|ours| Spread::of_ratios(rounds, (ours, at), |it| it.p50));
        cells.push((format!("{name} p50, ms"), format!("{:.1}", p50.median)));
        cells.push((format!("{name} p99, ms"), format!("{:.1}", p99.median)));
        if let Some(ratio) = ratio.filter(|_| Some(at) != ours) {
            cells.push((format!("{OURS} / {name}"), ratio.cell()));
        }
        let ratio = ratio.map(Spread::json);
        result.push(json!({ "name": name, "p50_ms": p50.json(), "p99_ms": p99.json(), "ratio_of_ours": ratio }));
    }
    ensure!(!result.is_empty(), NOTHING_MEASURED);
    Ok(Figure {
        method: format!(
            "{size} at 30 Hz, H.264 by RTSP over TCP from `kadenz camera sim`, {seconds} s of each in a round; from the painted time to \
             an array of height x width x 3; median of the rounds; ratios of medians within a round; asleep: the reader sleeps 100 ms \
             between two frames"
        ),
        result: Value::Array(result),
        cells,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_medians_within_a_round() {
        let ages = |p50| {
            Some(Ages {
                p50,
                p99: 2.0 * p50,
            })
        };
        let rounds = [
            vec![ages(2.0), ages(4.0), None],
            vec![ages(3.0), ages(3.0), None],
        ];
        let figure =
            figure(&["kadenz", "opencv", "pyav"], &rounds, "1080p", 10).expect("two rounds");
        let names: Vec<_> = figure.cells.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "kadenz p50, ms",
            "kadenz p99, ms",
            "opencv p50, ms",
            "opencv p99, ms",
            "kadenz / opencv",
        ];
        assert_eq!(names, expected);
        assert_eq!(figure.cells[4].1, "0.750 (0.500 to 1.000)");
    }
}
