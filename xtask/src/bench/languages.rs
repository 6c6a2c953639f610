//! The loop through a controller in each language, and the cost of a frame in two of them:
//! examples/hardware-in-the-loop and xtask/peers/languages, one after another in each round.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::figure::{Cells, Figure};
use super::quantile::Spread;
use super::{BenchOptions, NOTHING_MEASURED, python};
use crate::cargo;
use crate::files::absent;
use crate::process::{self, must};
use crate::repository::Repository;

const ROUNDS: u32 = 3;
const SECONDS: u32 = 10;
const RATES: [(&str, f64); 2] = [("100Hz", 1e7), ("1kHz", 1e6)];
const LANGUAGES: [&str; 4] = ["C++", "Python", "Java", "Octave"];
/// The names for `--only`.
const PARTS: [&str; 2] = ["loops", "frames"];
/// The languages that take frames.
const FRAMES: [&str; 2] = ["Python", "Octave"];
const URL: &str = "udpm://239.255.76.67:7719?ttl=0";

/// All programs, built as for users.
struct Built {
    folder: PathBuf,
    example: PathBuf,
    program: PathBuf,
    plant: PathBuf,
    python: PathBuf,
}

/// The result of a controller.
#[derive(Clone, Copy)]
struct Loop {
    round_trip_p50_us: f64,
    round_trip_p99_us: f64,
    /// The average cost of receiving and publishing in the controller, in per cent of the period.
    share: f64,
}

/// A language, and the rate of its loop.
struct Controller(&'static str, (&'static str, f64));

impl fmt::Display for Controller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} at {}", self.0, self.1.0)
    }
}

pub(crate) fn take(repository: &Repository, options: &BenchOptions) -> Result<Figure> {
    let parts = super::chosen(&options.only, &PARTS)?;
    let built = Built::new(repository)?;
    let seconds = options.seconds.unwrap_or(SECONDS);
    let of = |part: &str| match parts.contains(&part) {
        true => options.rounds.unwrap_or(ROUNDS),
        false => 0,
    };
    let all: Vec<Controller> = RATES
        .iter()
        .flat_map(|rate| LANGUAGES.map(|language| Controller(language, *rate)))
        .collect();
    let loops = super::rounds(of("loops"), &all, |it| built.measure(it.0, it.1, seconds));
    let frames = super::rounds(of("frames"), &FRAMES, |language| {
        built.frames(repository, language)
    });
    figure(&all, &loops, &frames, seconds)
}

impl Built {
    fn new(repository: &Repository) -> Result<Self> {
        let folder = absent(&repository.target().join("bench/languages"))?;
        std::fs::create_dir_all(&folder)?;
        let built = Self {
            program: cargo::release_program(repository)?,
            plant: cargo::release_example(repository, "kadenz", "hardware_in_the_loop")?,
            python: python::environment(repository)?,
            example: repository.path("examples/hardware-in-the-loop"),
            folder,
        };
        built.cpp_and_octave(repository)?;
        built.java(repository)?;
        Ok(built)
    }

    fn types(&self, language: &str) -> Result<PathBuf> {
        let out = self.folder.join(format!("types-{language}"));
        let mut generate = Command::new(&self.program);
        generate.args(["msg", "gen"]);
        generate.arg(self.example.join("arm.lcm"));
        must(generate.args(["--lang", language, "--out"]).arg(&out))?;
        Ok(out)
    }

    fn cpp_and_octave(&self, repository: &Repository) -> Result<()> {
        let prefix = self.folder.join("prefix");
        let mut install = repository.cargo("run -q -p xtask -- install-c --prefix");
        must(install.arg(&prefix))?;
        let (types, libraries) = (self.types("cpp")?, prefix.join("lib"));
        let mut compile = Command::new("c++");
        compile.args(["-std=c++17", "-O2", "-I"]).arg(types);
        compile.arg("-I").arg(prefix.join("include"));
        compile.arg(self.example.join("controller.cpp"));
        compile.arg("-o").arg(self.folder.join("controller"));
        compile.arg("-L").arg(&libraries);
        compile.arg(format!("-Wl,-rpath,{}", libraries.display()));
        must(compile.arg("-lkadenz"))?;
        self.types("matlab")?;
        let mut copy = Command::new("cp");
        copy.arg("-r").arg(repository.path("bindings/matlab"));
        must(copy.arg(self.folder.join("matlab")))?;
        let script = format!(
            "addpath('{0}/matlab'); kadenz.install('{0}/prefix')",
            self.folder.display()
        );
        must(Command::new("octave-cli").args(["--eval", &script]))
    }

    fn java(&self, repository: &Repository) -> Result<()> {
        must(&mut repository.cargo("run -q -p xtask -- java"))?;
        let types = self.types("java")?;
        let jar = repository.target().join("java/kadenz.jar");
        let script = format!(
            "cp {} {folder}/kadenz.jar && javac -nowarn -cp {folder}/kadenz.jar -d {folder}/classes {} $(find {} -name '*.java')",
            jar.display(),
            self.example.join("Controller.java").display(),
            types.display(),
            folder = self.folder.display()
        );
        must(Command::new("sh").args(["-ec", &script]))
    }

    fn controller(&self, language: &str, run: &Path) -> Command {
        let folder = self.folder.display();
        let mut command = match language {
            "C++" => Command::new(self.folder.join("controller")),
            "Python" => {
                let mut python = Command::new(&self.python);
                python.arg(self.example.join("controller.py"));
                python
            }
            "Java" => {
                let classes = format!("{folder}/kadenz.jar:{folder}/classes");
                let mut java = Command::new("java");
                java.args(["-cp", &classes, "Controller"]);
                java
            }
            _ => {
                let (example, run) = (self.example.display(), run.display());
                let script = format!(
                    "addpath('{folder}/matlab'); addpath('{folder}/types-matlab'); addpath('{example}'); \
                     controller('{run}', '{URL}')"
                );
                let mut octave = Command::new("octave-cli");
                octave.args(["--eval", &script]);
                return octave;
            }
        };
        command.arg(run).arg(URL);
        command
    }

    fn measure(
        &self,
        language: &str,
        (rate, period_ns): (&str, f64),
        seconds: u32,
    ) -> Result<Loop> {
        let plant = absent(&self.folder.join("run-arm"))?;
        let controller = absent(&self.folder.join("run-controller"))?;
        let mut controlling = self.controller(language, &controller);
        let mut controlling = controlling.stdout(Stdio::null()).spawn()?;
        let mut arm = Command::new(&self.plant);
        let moved = process::output(arm.arg(&plant).args([URL, rate, &seconds.to_string()]));
        if moved.is_err() {
            let _ = controlling.kill();
        }
        let ended = controlling.wait()?;
        moved?;
        if !ended.success() {
            bail!("the controller ended with {ended}");
        }
        let (arm, controller) = (self.show(&plant)?, self.show(&controller)?);
        let trip = series(&arm, "round-trip")?;
        let [receive, publish] = ["receive", "publish"].map(|it| series(&controller, it));
        let number = |it: &Value| it.as_f64().context("a figure is missing: too few messages");
        Ok(Loop {
            round_trip_p50_us: number(&trip["percentiles"]["50"])? / 1e3,
            round_trip_p99_us: number(&trip["percentiles"]["99"])? / 1e3,
            share: 100.0 * (number(&receive?["mean_ns"])? + number(&publish?["mean_ns"])?)
                / period_ns,
        })
    }

    fn show(&self, run: &Path) -> Result<Value> {
        let mut show = Command::new(&self.program);
        process::json(show.arg("show").arg(run).arg("--json"))
    }

    /// Milliseconds, by layout and size.
    fn frames(&self, repository: &Repository, language: &str) -> Result<Value> {
        let peers = repository.path("xtask/peers/languages");
        let said = match language {
            "Python" => process::output(Command::new(&self.python).arg(peers.join("frames.py")))?,
            _ => {
                let (folder, peers) = (self.folder.display(), peers.display());
                let script = format!("addpath('{folder}/matlab'); addpath('{peers}'); frames()");
                process::output(Command::new("octave-cli").args(["--eval", &script]))?
            }
        };
        let line = said.lines().find(|it| it.starts_with('{'));
        Ok(serde_json::from_str(line.context("no figures")?)?)
    }
}

fn series<'v>(answer: &'v Value, name: &str) -> Result<&'v Value> {
    let mut all = answer["series"].as_array().into_iter().flatten();
    all.find(|it| it["name"] == name)
        .with_context(|| format!("no series {name}"))
}

fn figure(
    all: &[Controller],
    loops: &[Vec<Option<Loop>>],
    frames: &[Vec<Option<Value>>],
    seconds: u32,
) -> Result<Figure> {
    let (mut cells, mut result) = (Cells::new(), Vec::new());
    for (at, Controller(language, (rate, _))) in all.iter().enumerate() {
        let of = |of: fn(&Loop) -> f64| Spread::over(loops, at, of);
        let (Some(p50), Some(p99), Some(share)) = (
            of(|it| it.round_trip_p50_us),
            of(|it| it.round_trip_p99_us),
            of(|it| it.share),
        ) else {
            continue;
        };
        let name = format!("{language}, {rate}");
        cells.push((format!("{name}: p50, us"), format!("{:.0}", p50.median)));
        cells.push((format!("{name}: p99, us"), format!("{:.0}", p99.median)));
        cells.push((format!("{name}: share, %"), format!("{:.2}", share.median)));
        result.push(json!({ "language": language, "rate": rate, "p50_us": p50.json(), "p99_us": p99.json(), "share": share.json() }));
    }
    for (at, language) in FRAMES.iter().enumerate() {
        let rounds: Vec<&Value> = frames.iter().filter_map(|it| it[at].as_ref()).collect();
        let Some(first) = rounds.first().and_then(|it| it.as_object()) else {
            continue;
        };
        for name in first.keys() {
            if let Some(spread) = Spread::of(rounds.iter().filter_map(|it| it[name].as_f64())) {
                result.push(json!({ "language": language, "frame": name, "ms": spread.json() }));
            }
        }
    }
    ensure!(!result.is_empty(), NOTHING_MEASURED);
    Ok(Figure {
        method: format!(
            "a simulated arm in Rust and a controller in each language over udpm on this host, {seconds} s of each in a round: from a feedback \
             to the command that answers it, and what receiving (from the message's arrival in the process) and publishing took of the \
             controller's period on average; frames: the newest one copied into an array of columns; medians of the rounds"
        ),
        result: Value::Array(result),
        cells,
    })
}
