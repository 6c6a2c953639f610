//! Damaged files, for every command that reads one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};

use super::child::{self, Ended, Limits};
use super::mutate::{Random, mutated};
use super::{Report, Request};
use crate::files;
use crate::process;

/// The promised limits: memory beyond the file, CPU time, and output as a multiple of the input.
const MEMORY_BYTES: u64 = 512 << 20;
const CPU_S: u32 = 10;
const OUTPUT_FACTOR: u64 = 100;
/// The output of a page and of a log's head, which does not depend on the input.
const OUTPUT_BYTES: u64 = 8 << 20;
const WALL: Duration = Duration::from_secs(60);

/// The commands that read one kind of file.
struct Reader {
    /// Valid examples, from the root of the repository: files, or folders of files.
    seeds: &'static [&'static str],
    /// Whether each seed is a folder of which one file is damaged.
    folders: bool,
    /// Commands of the program; `{in}` is the damaged file, `{out}` a folder to write to, `{seed}` the
    /// undamaged file.
    commands: &'static [&'static str],
}

const READERS: &[Reader] = &[
    Reader {
        seeds: &["conformance/runs/complete", "conformance/runs/killed"],
        folders: true,
        commands: &[
            "show {in}",
            "show {in} --details",
            "show {in} --json",
            "report {in} --out {out}/page.html",
            "compare {in} {seed}",
            "compare {seed} {in} --fail-if p99>1.2x",
            "modes {in}",
            "export {in} --format csv --out {out}/csv",
            "export {in} --format hgrm --out {out}/hgrm",
            "export {in} --format parquet --out {out}/parquet",
            "import {in}/wakeup.hlog --out {out}/run",
        ],
    },
    Reader {
        seeds: &["conformance/hlog", "conformance/import"],
        folders: false,
        commands: &[
            "show {in}",
            "compare {in} {seed}",
            "import {in} --out {out}/run",
            "report {in} --out {out}/page.html",
        ],
    },
    Reader {
        seeds: &["conformance/logs"],
        folders: false,
        commands: &[
            "log info {in}",
            "log info {in} --thorough",
            "log info {in} --json",
            "log convert {in} --out {out}/log.mcap",
            "log convert {in} --out {out}/log.lcmlog",
            "log convert {in} --out {out}/log.csv",
            "log convert {in} --out {out}/log.parquet",
            "log convert {in} --to json --out {out}/json.mcap",
            "log cut {in} --from 1s --out {out}/cut.mcap",
            "log merge {in} {seed} --out {out}/both.mcap",
            "log recover {in} --out {out}/whole.mcap",
            "log play {in} --url memq:// --speed 0",
        ],
    },
    Reader {
        seeds: &["conformance/lcm-types/types"],
        folders: false,
        commands: &[
            "msg type {in}",
            "msg gen {in} --lang rust --out {out}/src",
            "msg diff {in} {seed}",
        ],
    },
    Reader {
        seeds: &["conformance/ethercat/esi"],
        folders: false,
        commands: &[
            "ethercat pdo --sim 3 --esi {in}",
            "ethercat scan --sim 3 --esi {in}",
        ],
    },
    Reader {
        seeds: &["conformance/ethercat/segment"],
        folders: false,
        commands: &["ethercat scan --sim {in}", "ethercat pdo --sim {in}"],
    },
    Reader {
        seeds: &["conformance/camera/films"],
        folders: false,
        commands: &[
            "camera show {in}?rate=1kHz --png {out}/a.png --timeout 1s",
            "camera record {in}?rate=1kHz --duration 300ms --timeout 1s --barcode --out {out}/run",
        ],
    },
    Reader {
        seeds: &["conformance/camera/scripts"],
        folders: false,
        commands: &["camera sim --script {in} --size 160x144 --duration 10ms --listen 127.0.0.1:0"],
    },
    Reader {
        seeds: &["conformance/ethercat/sii"],
        folders: false,
        commands: &["ethercat sii write 2 {in} --sim 3"],
    },
];

/// Runs `count` damaged files through their commands.
pub(crate) fn attack(request: &Request<'_>) -> Result<Report> {
    let count = request.count.unwrap_or(10_000);
    let seeds = seeds(&request.repository.path(""))?;
    let report = Mutex::new(Report::new("inputs"));
    let (next, slowest_ms) = (AtomicU64::new(0), AtomicU64::new(0));
    let worker = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count || request.expired() {
                return Ok(());
            }
            let case = Case::make(request, &seeds, number)?;
            let ended = case.run()?;
            let took = u64::try_from(ended.wall.as_millis()).unwrap_or(u64::MAX);
            slowest_ms.fetch_max(took, Ordering::Relaxed);
            let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
            case.judge(&ended, &mut report)?;
        }
    };
    process::on_every_cpu(worker)?;
    let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
    let slowest = format!("{} ms", slowest_ms.into_inner());
    report.figure("slowest command, wall time", slowest);
    let limit = format!("{} MiB", MEMORY_BYTES >> 20);
    report.figure("memory limit beyond the file", limit);
    Ok(report)
}

/// An example and its commands.
struct Seed {
    reader: &'static Reader,
    path: PathBuf,
}

/// All commands' examples; all are files, except those of `folders`.
fn seeds(root: &Path) -> Result<Vec<Vec<Seed>>> {
    let of = |reader: &'static Reader| -> Result<Vec<Seed>> {
        let mut paths = Vec::new();
        for seed in reader.seeds {
            match reader.folders {
                true => paths.push(root.join(seed)),
                false => files_below(&root.join(seed), &mut paths)?,
            }
        }
        paths.sort();
        let seed = |path| Seed { reader, path };
        Ok(paths.into_iter().map(seed).collect())
    };
    READERS.iter().map(of).collect()
}

fn files_below(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(path).with_context(|| format!("cannot list {}", path.display()))?;
    for entry in entries {
        let path = entry?.path();
        let aside = path.extension().is_some_and(|it| it == "md" || it == "py");
        match path.is_dir() {
            true => files_below(&path, files)?,
            false if !aside => files.push(path),
            false => {}
        }
    }
    Ok(())
}

/// One damaged file and the command that reads it, in a folder of its own.
struct Case {
    number: u64,
    folder: PathBuf,
    input_bytes: u64,
    command: Vec<String>,
}

impl Case {
    fn make(request: &Request<'_>, seeds: &[Vec<Seed>], number: u64) -> Result<Self> {
        let mut random = Random::of(request.seed, number);
        let examples = random.one_of(seeds);
        let seed = random.one_of(examples);
        let folder = request.folder.join(number.to_string());
        let out = folder.join("out");
        files::make_folder(&out)?;
        let name = seed.path.file_name().unwrap_or_default();
        let input = folder.join(name);
        let (victim, source) = match seed.reader.folders {
            false => (input.clone(), seed.path.clone()),
            true => copy_folder(&seed.path, &input, &mut random)?,
        };
        let bytes =
            fs::read(&source).with_context(|| format!("cannot read {}", source.display()))?;
        let bytes = mutated(&bytes, &mut random);
        fs::write(&victim, &bytes)?;
        let words = random.one_of(seed.reader.commands).split(' ').map(|word| {
            word.replace("{in}", &input.to_string_lossy())
                .replace("{seed}", &seed.path.to_string_lossy())
                .replace("{out}", &out.to_string_lossy())
        });
        let program = request.program.to_string_lossy().into_owned();
        Ok(Self {
            number,
            input_bytes: size(&input),
            command: std::iter::once(program).chain(words).collect(),
            folder,
        })
    }

    fn run(&self) -> Result<Ended> {
        let limits = Limits {
            memory_bytes: MEMORY_BYTES + self.input_bytes,
            cpu_s: CPU_S,
            output_bytes: self.most_output(),
            wall: WALL,
        };
        child::run(&self.command, limits, &self.folder)
    }

    fn most_output(&self) -> u64 {
        OUTPUT_BYTES + OUTPUT_FACTOR * self.input_bytes
    }

    /// Counts the case, and removes its folder where there is no finding.
    fn judge(&self, ended: &Ended, report: &mut Report) -> Result<()> {
        let written = size(&self.folder.join("out")) + size(&self.folder.join("stdout"));
        let too_much = written > self.most_output();
        let too_much = || too_much.then(|| format!("wrote {written} bytes"));
        match ended.fault().or_else(too_much) {
            Some(fault) => {
                let fault = format!("case {}: {fault}", self.number);
                report.finding(fault, self.command.join(" "));
            }
            None => files::remove_folder(&self.folder)?,
        }
        report.tried += 1;
        Ok(())
    }
}

/// Copies a run's folder; returns the file to damage, and its original.
fn copy_folder(from: &Path, to: &Path, random: &mut Random) -> Result<(PathBuf, PathBuf)> {
    fs::create_dir_all(to)?;
    let mut files = Vec::new();
    files_below(from, &mut files)?;
    files.sort();
    for file in &files {
        fs::copy(file, to.join(file.file_name().unwrap_or_default()))?;
    }
    let source = random.one_of(&files).clone();
    Ok((to.join(source.file_name().unwrap_or_default()), source))
}

/// The bytes of a file, or of all files below a folder.
fn size(path: &Path) -> u64 {
    let mut files = Vec::new();
    match path.is_dir() {
        true => files_below(path, &mut files).unwrap_or_default(),
        false => files.push(path.to_owned()),
    }
    let length = |path: &PathBuf| path.metadata().map_or(0, |it| it.len());
    files.iter().map(length).sum()
}
