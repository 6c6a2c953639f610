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

use crate::files;
use crate::process::{self, must};
use crate::repository::Repository;
use figure::{Figure, Machine};

pub(crate) const HELP: &str = "\
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
                an unknown name tells them all
  --rounds N    rounds of cyclic, udp and camera-layout [default: 7], of messages [default: 5],
                of hlog-report, ethercat and camera [default: 3],
                days of each noise of modes-found [default: 1], of modes-nothing [default: 10]
  --seconds N   length of each run of cyclic [default: 10], of udp [default: 4],
                of messages [default: 5], of ethercat [default: 3]
  --samples N   how many samples to read [default: 184000000, Sticha's number]
";

const PAGE: &str = "docs/benchmarks.md";

/// The options of the command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BenchOptions {
    name: String,
    append: bool,
    /// The contestants to measure, where a benchmark has several; all, if it is empty.
    pub(crate) only: Vec<String>,
    /// Rounds, where the benchmark has some.
    pub(crate) rounds: Option<u32>,
    /// Length of each run, where the benchmark has some.
    pub(crate) seconds: Option<u32>,
    /// How many samples to read.
    pub(crate) samples: u64,
}

/// Takes a figure.
type Benchmark = fn(&Repository, &BenchOptions) -> Result<Figure>;

/// The benchmark of a name.
fn named(name: &str) -> Option<Benchmark> {
    let benchmark: Benchmark = match name {
        "record" => |it, _| examples::run(it, "kadenz-record", "record_cost", &[]),
        "samples" => examples::samples,
        "modes" => |it, _| examples::run(it, "kadenz-report", "modes_cost", &[]),
        // One day of each noise, or `--rounds` of them; ten where nothing recurs.
        "modes-found" => {
            |it, options| examples::modes_days(it, "found", options.rounds.unwrap_or(1))
        }
        "modes-nothing" => {
            |it, options| examples::modes_days(it, "nothing", options.rounds.unwrap_or(10))
        }
        "modes-limits" => |it, _| examples::modes_days(it, "limits", 1),
        "cyclic" => |it, options| cyclic::take(it, options, cyclic::Idle::HeldOff),
        "cyclic-idle" => |it, options| cyclic::take(it, options, cyclic::Idle::LeftAlone),
        "udp" => |it, options| udp::take(it, options, udp::Scheduling::Ordinary),
        "udp-fifo" => |it, options| udp::take(it, options, udp::Scheduling::Fifo),
        "messages" => |it, options| messages::take(it, options, "--policies other"),
        "messages-fifo" => |it, options| messages::take(it, options, "--policies fifo:80"),
        "messages-large" => messages::large,
        "ethercat" => |it, options| ethercat::take(it, options, false),
        "ethercat-fifo" => |it, options| ethercat::take(it, options, true),
        "hlog-report" => hlog_report::take,
        "camera" => |it, options| camera::take(it, options, "1080p"),
        "camera-4k" => |it, options| camera::take(it, options, "4K"),
        "camera-layout" => camera_layout::take,
        "languages" => languages::take,
        "python" => python::take,
        "record-c" => record_c::take,
        "socket-copy" => socket_copy::take,
        "build" => build,
        _ => return None,
    };
    Some(benchmark)
}

/// The mark of a benchmark's table on the page, where the languages have other tables, too.
fn mark_of(name: &str) -> &str {
    match name {
        "languages" => "languages loops",
        name => name,
    }
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
pub(crate) fn main(repository: &Repository, arguments: &[&str]) -> Result<bool> {
    if arguments.is_empty() {
        print!("{HELP}");
        return Ok(true);
    }
    let options = read(arguments)?;
    let name = options.name.as_str();
    if name == "pictures" {
        return pictures::draw(repository);
    }
    let Some(take) = named(name) else {
        bail!("there is no benchmark {name:?}; `cargo xtask bench --help` lists them");
    };
    if !options.only.is_empty() && !WITH_CONTESTANTS.contains(&name) {
        bail!("{name} has no contestants that --only could name");
    }
    let (page, mark) = (repository.path(PAGE), mark_of(name));
    if options.append {
        // Before the figure is taken, which takes minutes.
        figure::place_of(&files::read(&page)?, mark)?;
    }
    let machine = Machine::look(repository);
    let figure = take(repository, &options)?;
    println!("{:#}", figure.json(name, &machine));
    // Where all that was measured has no place in the table, there is no row.
    if !figure.cells.is_empty() {
        let (head, row) = (figure.head(), figure.row(&machine));
        println!("\n{mark}\n{head}\n{row}");
        if options.append {
            let text = files::read(&page)?;
            files::write(&page, figure::with_row(&text, mark, &head, &row)?)?;
        }
    }
    Ok(true)
}

fn read(arguments: &[&str]) -> Result<BenchOptions> {
    let mut options = BenchOptions {
        name: String::new(),
        append: false,
        only: Vec::new(),
        rounds: None,
        seconds: None,
        samples: 184_000_000,
    };
    let mut arguments = arguments.iter();
    while let Some(option) = arguments.next() {
        let mut number = || -> Result<u64> {
            let value = arguments.next();
            let value = value.and_then(|it| it.replace('_', "").parse().ok());
            value
                .filter(|it| *it > 0)
                .with_context(|| format!("{option} needs a number above 0"))
        };
        match *option {
            "--append" => options.append = true,
            "--only" => {
                let names = arguments.next().context("--only needs names")?;
                options.only = names.split(',').map(str::to_owned).collect();
            }
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

/// Where no contestant has a result.
const NOTHING_MEASURED: &str = "no contestant could measure; their messages stand above";

/// A Python environment in a folder of its own that can run these imports; where it cannot, it is made with these
/// packages.
fn python_that(
    repository: &Repository,
    home: &Path,
    imports: &str,
    packages: &[&str],
) -> Result<PathBuf> {
    let python = home.join("bin/python");
    let imports = || process::output(repository.command(&python).args(["-c", imports]));
    if imports().is_err() {
        let mut create = repository.command("python3");
        process::output(create.args(["-m", "venv"]).arg(home))?;
        let mut pip = repository.command(&python);
        process::output(pip.args(["-m", "pip", "install", "--quiet"]).args(packages))?;
        imports()?;
    }
    Ok(python)
}

/// Runs a command that must end with 0, and returns the seconds that it took.
fn timed(command: &mut Command) -> Result<f64> {
    let start = Instant::now();
    must(command)?;
    Ok(start.elapsed().as_secs_f64())
}

/// How long a new user waits: clones the committed state, fetches, and builds with an empty target folder.
fn build(repository: &Repository, _: &BenchOptions) -> Result<Figure> {
    let folder = files::absent(&repository.target().join("bench/build"))?;
    let mut clone = repository.command("git");
    must(clone.args(["clone", "--quiet", "."]).arg(&folder))?;
    // Without settings of this machine that share builds.
    let cargo = |words| {
        let mut command = repository.cargo(words);
        command.current_dir(&folder);
        command.env_remove("CARGO_BUILD_BUILD_DIR");
        command.env_remove("CARGO_TARGET_DIR");
        command.env_remove("RUSTFLAGS").env_remove("RUSTC_WRAPPER");
        command
    };
    let fetch_s = timed(&mut cargo("fetch --locked"))?;
    let build_s = timed(&mut cargo("build --release --locked --offline"))?;
    let program = std::fs::metadata(folder.join("target/release/kadenz"))?.len();
    files::remove_folder(&folder)?;
    let megabytes = format!("{:.1} MB", program as f64 / 1e6);
    Ok(Figure {
        method: "git clone, cargo fetch, then cargo build --release of the default members"
            .to_owned(),
        result: json!({ "fetch_s": fetch_s, "build_s": build_s, "program_bytes": program }),
        cells: figure::cells([
            ("build", format!("{build_s:.0} s")),
            (
                "fetch, with what the registry cache had",
                format!("{fetch_s:.1} s"),
            ),
            ("program", megabytes),
        ]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<&str> {
        line.split(' ').collect()
    }

    #[test]
    fn every_benchmark_of_the_help_is_one_and_has_its_mark_on_the_page() {
        let page = Repository::of_this_build().path(PAGE);
        let page = files::read(&page).expect("the page is there");
        let is_name = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
        let names = HELP.lines().filter(is_name).map(str::trim_start);
        let names = names.filter(|line| !line.starts_with("--"));
        let names: Vec<_> = names.filter_map(|line| line.split(' ').next()).collect();
        assert!(names.len() > 20, "{names:?}");
        for name in names.into_iter().filter(|it| *it != "pictures") {
            assert!(named(name).is_some(), "{name}");
            figure::place_of(&page, mark_of(name)).expect("a mark");
        }
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
