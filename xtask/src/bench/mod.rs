//! `cargo xtask bench`: takes one of the figures in docs/benchmarks.md.
//!
//! A benchmark does not judge: it prints its results, with the machine and the day.

mod camera;
mod camera_layout;
mod cyclic;
mod ethercat;
mod examples;
mod figure;
mod hlog_report;
mod languages;
mod messages;
mod pictures;
mod python;
mod quantile;
mod record_c;
mod socket_copy;
mod udp;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::process;
use crate::repository::Repository;
use figure::{Figure, Machine};

const HELP: &str = "\
Take one of the figures in docs/benchmarks.md: prints JSON, then a row for its table.

Usage: cargo xtask bench <NAME> [--append] [--only NAMES] [--rounds N] [--seconds N] [--samples N]

  record        cost of one record beside a bare hdrhistogram
  record-c      the same from C beside Rust, interleaved
  cyclic        lateness beside cyclictest, interleaved, both with idle states held off (needs root)
  cyclic-idle   the same with idle states left alone by both (cyclictest --default-system)
  udp           round trips beside sockperf and irtt, interleaved (needs root, sockperf and irtt)
  udp-fifo      the same with SCHED_FIFO for all
  messages      one-way latency of messages beside the bare libraries, interleaved
  messages-fifo the same with SCHED_FIFO for all (needs the right)
  messages-large
                1 MB at 100 Hz and 10 MB at 10 Hz by multicast beside liblcm: loss and bandwidth
  socket-copy   what the kernel takes for 1 MiB, by the place of a page that it is sent from
  ethercat      process data of 59 devices beside ethercrab and SOEM, interleaved (needs root)
  ethercat-fifo the same with SCHED_FIFO for all
  camera        from a simulated camera (1080p) to an array beside OpenCV, PyAV and GStreamer, interleaved
  camera-4k     the same with 4K
  camera-layout pictures to planes of columns beside libswscale and OpenCV, interleaved
  languages     a loop through a controller in C++, Python, Java and Octave; frames in Python and Octave
  python        messages of 200 B between Python processes beside lcm, pyzmq, zenoh and cyclonedds, interleaved
  samples       reading and summarising raw samples
  modes         a day at 100 Hz searched for recurring modes
  modes-found   what is found of three modes in days of many noises
  modes-nothing what is invented in days in which nothing recurs
  modes-limits  how much noise hides a mode
  hlog-report   a day of hiccups to an HTML report
  build         cold release build in a fresh clone
  pictures      measures nothing: draws the pictures of docs/benchmarks.md from the tables above them

  --append      write the row into docs/benchmarks.md
  --only NAMES  contestants of messages, with commas between, as kadenz-udpm,lcm (those of `kadenz experiment
                messages`); of ethercat, camera and python; loops or frames of languages;
                a name that is none tells them all
  --rounds N    rounds of cyclic, udp and camera-layout [default: 7], of messages [default: 5],
                of hlog-report, ethercat and camera [default: 3],
                days of each noise of modes-found [default: 1], of modes-nothing [default: 10]
  --seconds N   length of each run of cyclic [default: 10], of udp [default: 4],
                of messages [default: 5], of ethercat [default: 3]
  --samples N   how many samples to read [default: 184000000, Sticha's number]
";

/// The options of the command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BenchOptions {
    name: String,
    append: bool,
    help: bool,
    /// The contestants to measure, where a benchmark has several; all, if it is empty.
    pub(crate) only: Vec<String>,
    /// Rounds, where the benchmark has some.
    pub(crate) rounds: Option<u32>,
    /// Length of each run, where the benchmark has some.
    pub(crate) seconds: Option<u32>,
    /// How many samples to read.
    pub(crate) samples: u64,
}

/// Benchmarks that measure several contestants or parts, of which `--only` names some.
const WITH_CONTESTANTS: [&str; 9] = [
    "messages",
    "messages-fifo",
    "messages-large",
    "ethercat",
    "ethercat-fifo",
    "camera",
    "camera-4k",
    "languages",
    "python",
];

/// The names that `--only` chooses, or all; a name with spaces is also written with `-`.
fn chosen<'n>(only: &[String], names: &[&'n str]) -> Result<Vec<&'n str>> {
    let is = |name: &str, word: &String| name == word || name.replace(' ', "-") == *word;
    for word in only {
        if !names.iter().any(|name| is(name, word)) {
            let names = names.join(", ").replace(' ', "-").replace(",-", ", ");
            bail!("there is no {word:?} here; take one of {names}");
        }
    }
    let is_chosen = |name: &&&str| only.is_empty() || only.iter().any(|word| is(name, word));
    Ok(names.iter().filter(is_chosen).copied().collect())
}

/// Runs the benchmark and prints its figure.
pub(crate) fn main(repository: &Repository, arguments: &[String]) -> Result<bool> {
    let options = read(arguments)?;
    if options.help {
        print!("{HELP}");
        return Ok(true);
    }
    if options.name == "pictures" {
        return pictures::draw(repository);
    }
    let take: fn(&Repository, &BenchOptions) -> Result<Figure> = match options.name.as_str() {
        "record" => examples::record,
        "samples" => examples::samples,
        "modes" => examples::modes,
        "modes-found" => examples::modes_found,
        "modes-nothing" => examples::modes_nothing,
        "modes-limits" => examples::modes_limits,
        "cyclic" => cyclic::held_off,
        "cyclic-idle" => cyclic::left_alone,
        "udp" => udp::ordinary,
        "udp-fifo" => udp::fifo,
        "messages" => messages::ordinary,
        "messages-fifo" => messages::fifo,
        "messages-large" => messages::large,
        "ethercat" => ethercat::ordinary,
        "ethercat-fifo" => ethercat::fifo,
        "hlog-report" => hlog_report::take,
        "camera" => camera::full_hd,
        "camera-4k" => camera::ultra_hd,
        "camera-layout" => camera_layout::take,
        "languages" => languages::take,
        "python" => python::take,
        "record-c" => record_c::take,
        "socket-copy" => socket_copy::take,
        "build" => take,
        other => bail!("there is no benchmark {other:?}; `cargo xtask bench --help` lists them"),
    };
    if !options.only.is_empty() && !WITH_CONTESTANTS.contains(&options.name.as_str()) {
        bail!("{} has no contestants that --only could name", options.name);
    }
    let machine = Machine::look(repository);
    let figure = take(repository, &options)?;
    println!("{:#}", figure.json(&options.name, &machine));
    for (mark, cells) in figure.tables(&options.name) {
        let (head, row) = (figure::head(cells), figure::row(cells, &machine));
        println!("\n{mark}\n{head}\n{row}");
        if options.append {
            append(repository, &mark, &head, &row)?;
        }
    }
    Ok(true)
}

fn append(repository: &Repository, mark: &str, head: &str, row: &str) -> Result<()> {
    let path = repository.path("docs/benchmarks.md");
    let page = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let page = figure::with_row(&page, mark, head, row)?;
    std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))
}

fn read(arguments: &[String]) -> Result<BenchOptions> {
    let mut options = BenchOptions {
        name: String::new(),
        append: false,
        help: arguments.is_empty(),
        only: Vec::new(),
        rounds: None,
        seconds: None,
        samples: 184_000_000,
    };
    let mut arguments = arguments.iter();
    while let Some(option) = arguments.next() {
        let mut number = || -> Result<u64> {
            let value = arguments
                .next()
                .and_then(|it| it.replace('_', "").parse().ok());
            value
                .filter(|it| *it > 0)
                .with_context(|| format!("{option} needs a number above 0"))
        };
        match option.as_str() {
            "--append" => options.append = true,
            "--only" => {
                let names = arguments.next().context("--only needs names")?;
                options.only = names.split(',').map(str::to_owned).collect();
            }
            "--help" | "-h" => options.help = true,
            "--rounds" => options.rounds = Some(u32::try_from(number()?)?),
            "--seconds" => options.seconds = Some(u32::try_from(number()?)?),
            "--samples" => options.samples = number()?,
            name if options.name.is_empty() && !name.starts_with('-') => {
                name.clone_into(&mut options.name);
            }
            other => bail!("bench knows no {other:?}; `cargo xtask bench --help` says more"),
        }
    }
    Ok(options)
}

/// Measures all contestants in so many rounds, each of which begins with another one. In a round each contestant has
/// its place; that of a failed one is `None`, and its error is printed.
fn rounds<C: std::fmt::Display, M>(
    wanted: u32,
    contestants: &[C],
    mut measure: impl FnMut(&C) -> Result<M>,
) -> Vec<Vec<Option<M>>> {
    let count = contestants.len();
    let measure_all = |round: usize| {
        eprintln!("round {} of {wanted}", round + 1);
        let mut found: Vec<Option<M>> = contestants.iter().map(|_| None).collect();
        for at in (0..count).map(|turn| (turn + round) % count) {
            match measure(&contestants[at]) {
                Ok(measured) => found[at] = Some(measured),
                Err(error) => eprintln!("left out: {}: {error:#}", contestants[at]),
            }
        }
        found
    };
    (0..wanted as usize).map(measure_all).collect()
}

/// Builds the program as for users, and returns its path.
fn release_program(repository: &Repository) -> Result<String> {
    let mut command = repository.command("cargo");
    command.args(["build", "--release", "-p", "kadenz-cli"]);
    must(&mut command)?;
    Ok(repository
        .target()
        .join("release/kadenz")
        .to_string_lossy()
        .into_owned())
}

/// A path at which no file is left.
fn absent(path: &Path) -> Result<PathBuf> {
    if path.exists() {
        std::fs::remove_dir_all(path)
            .with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(path.to_path_buf())
}

/// Runs a command that must end with 0.
fn must(command: &mut Command) -> Result<()> {
    if !process::run(command)? {
        bail!("`{}` failed", process::spelled(command));
    }
    Ok(())
}

/// Runs a command that must end with 0, and returns the seconds that it took.
fn timed(command: &mut Command) -> Result<f64> {
    let start = Instant::now();
    must(command)?;
    Ok(start.elapsed().as_secs_f64())
}

// How long a new user waits: the release build in a fresh clone with an empty target folder.

/// Clones the committed state, fetches, builds, and checks the program.
pub(crate) fn take(repository: &Repository, _: &BenchOptions) -> Result<Figure> {
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

/// cargo in the clone, without settings of this machine that share builds.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_contestant_that_is_none_is_refused_with_those_that_there_are() {
        let names = ["kadenz", "kadenz asleep", "opencv"];
        assert_eq!(chosen(&[], &names).expect("all"), names);
        let only = ["opencv", "kadenz-asleep"].map(str::to_owned);
        assert_eq!(chosen(&only, &names).expect("two"), names[1..]);
        let refused = chosen(&["pyav".to_owned()], &names).expect_err("no such name");
        let expected = "there is no \"pyav\" here; take one of kadenz, kadenz-asleep, opencv";
        assert_eq!(refused.to_string(), expected);
    }

    #[test]
    fn options_are_understood_and_unknown_ones_refused() {
        let options =
            read(&words("cyclic --rounds 3 --seconds 5 --append")).expect("known options");
        assert_eq!(options.name, "cyclic");
        assert_eq!(
            (options.rounds, options.seconds, options.append),
            (Some(3), Some(5), true)
        );
        assert_eq!(
            read(&words("samples --samples 1_000"))
                .expect("known")
                .samples,
            1000
        );
        for wrong in [
            "cyclic twice",
            "cyclic --rounds",
            "cyclic --rounds 0",
            "cyclic --fast",
        ] {
            assert!(read(&words(wrong)).is_err(), "{wrong}");
        }
    }
}
