//! `cargo xtask attack`: hostile files, datagrams, connections, processes and disks against the program.
//!
//! Each attack compares the program with the promises of SECURITY.md. A finding names the command that repeats it.

mod camera;
mod child;
mod connections;
mod datagrams;
mod inputs;
mod mutate;
mod recorders;
mod running;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::cargo;
use crate::files;
use crate::repository::Repository;

pub(crate) const HELP: &str = "\
Attack the program, and say what it did not withstand.

Usage: cargo xtask attack [NAME...] [--count N] [--duration S] [--seed N] [--program PATH]

  inputs     damaged files, to every command that reads one
  datagrams  hostile datagrams to every listener, and Ctrl-C in a flood of them
  server     idle and hostile connections to `kadenz msg server` beside an honest one
  control    held connections to the control socket of an EtherCAT loop beside `ethercat stop`
  kill       recorders killed at any time
  disk       recorders whose disk is full or broken from any write on (needs strace)
  camera     a camera with faults at random, its server and readers killed at any time (--duration 1800 is the soak)

  --count N       cases of each attack [default: what CI affords]
  --duration S    end each attack after so many seconds
  --seed N        another seed gives other cases [default: 1]
  --program PATH  the program to attack [default: the release build, made now]

Exit code: 0 nothing found, 1 something found, 2 the attack could not be made.
";

/// An attack, by its name.
type NamedAttack = (&'static str, fn(&Request<'_>) -> Result<Report>);

const ATTACKS: &[NamedAttack] = &[
    ("inputs", inputs::attack),
    ("datagrams", datagrams::attack),
    ("server", connections::server),
    ("control", connections::control),
    ("kill", recorders::kill),
    ("disk", recorders::disk),
    ("camera", camera::attack),
];

/// The options of an attack.
pub(crate) struct Request<'a> {
    repository: &'a Repository,
    /// The program under attack.
    program: PathBuf,
    /// The folder for cases; those of findings stay.
    folder: PathBuf,
    count: Option<u64>,
    seed: u64,
    until: Option<Instant>,
}

impl Request<'_> {
    /// Whether the time of the attack is over.
    fn expired(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() > until)
    }
}

/// Runs attacks; true if nothing was found.
pub(crate) fn main(repository: &Repository, options: &[&str]) -> Result<bool> {
    let options = read(options)?;
    let program = match &options.program {
        Some(path) => path
            .canonicalize()
            .with_context(|| format!("no program {}", path.display()))?,
        None => cargo::release_program(repository)?,
    };
    let one = |it: &NamedAttack| carry_out(repository, &program, &options, it);
    let reports: Vec<Report> = options.chosen().map(one).collect::<Result<_>>()?;
    let clean = reports.iter().filter(|it| it.clean()).count();
    println!("{clean} passed, {} failed", reports.len() - clean);
    Ok(clean == reports.len())
}

/// Runs all attacks for the time that CI has, against this program; returns for each whether it found nothing. `inputs`
/// keeps the CPUs busy and `kill` measures lost data; the others wait most of the time, so they run beside these.
pub(crate) fn all(repository: &Repository, program: &Path) -> Result<Vec<bool>> {
    let options = read(&[])?;
    let one = |it: &NamedAttack| carry_out(repository, program, &options, it);
    let (first, beside): (Vec<_>, Vec<_>) = options
        .chosen()
        .partition(|(name, _)| ["inputs", "kill"].contains(name));
    let reports = std::thread::scope(|scope| {
        let beside = scope.spawn(|| beside.into_iter().map(one).collect::<Result<Vec<_>>>());
        let mut reports = first.into_iter().map(one).collect::<Result<Vec<_>>>()?;
        let others = beside.join();
        reports.extend(others.unwrap_or_else(|_| bail!("an attack panicked"))?);
        Ok::<_, anyhow::Error>(reports)
    })?;
    Ok(reports.iter().map(Report::clean).collect())
}

/// Runs one attack.
fn carry_out(
    repository: &Repository,
    program: &Path,
    options: &Options,
    (name, attack): &NamedAttack,
) -> Result<Report> {
    // A folder for each: a long attack may run beside others.
    let folder = files::absent(&repository.target().join("attack").join(name))?;
    let report = attack(&Request {
        repository,
        program: program.to_owned(),
        folder,
        count: options.count,
        seed: options.seed,
        until: options.duration.map(|it| Instant::now() + it),
    })?;
    println!("{}", report.text());
    Ok(report)
}

#[derive(Debug, Default)]
struct Options {
    names: Vec<String>,
    count: Option<u64>,
    duration: Option<Duration>,
    seed: u64,
    program: Option<PathBuf>,
}

impl Options {
    /// The named attacks, or all.
    fn chosen(&self) -> impl Iterator<Item = &'static NamedAttack> {
        ATTACKS
            .iter()
            .filter(|(name, _)| self.names.is_empty() || self.names.iter().any(|it| it == name))
    }
}

fn read(words: &[&str]) -> Result<Options> {
    let mut options = Options {
        seed: 1,
        ..Options::default()
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .with_context(|| format!("{word} needs a value"))
        };
        let number = |text: &str| {
            let number = text.replace('_', "").parse::<u64>();
            number.with_context(|| format!("{word} needs a number, not {text:?}"))
        };
        match *word {
            "--count" => options.count = Some(number(value()?)?),
            "--duration" => options.duration = Some(Duration::from_secs(number(value()?)?)),
            "--seed" => options.seed = number(value()?)?,
            "--program" => options.program = Some(PathBuf::from(value()?)),
            name if ATTACKS.iter().any(|(known, _)| *known == name) => {
                options.names.push(name.to_owned());
            }
            other => bail!(
                "attack knows no {other:?}; `cargo xtask attack --help` lists attacks and options"
            ),
        }
    }
    Ok(options)
}

// Counts and findings of an attack.

/// The result of one attack.
#[derive(Debug)]
struct Report {
    name: &'static str,
    /// Number of cases.
    tried: u64,
    /// Each fault, and the command that shows it.
    findings: Vec<(String, String)>,
    figures: Vec<(String, String)>,
}

impl Report {
    /// A report without a case.
    fn new(name: &'static str) -> Self {
        Self {
            name,
            tried: 0,
            findings: Vec::new(),
            figures: Vec::new(),
        }
    }

    /// Adds a finding, with the command that shows it.
    fn finding(&mut self, fault: String, reproduce: String) {
        eprintln!("{}: {fault}\n  {reproduce}", self.name);
        self.findings.push((fault, reproduce));
    }

    /// Adds a measured value.
    fn figure(&mut self, name: &str, value: String) {
        self.figures.push((name.to_owned(), value));
    }

    /// Whether nothing was found in at least one case.
    fn clean(&self) -> bool {
        self.findings.is_empty() && self.tried > 0
    }

    /// As text: a line of totals, a line for each figure, a line for each finding.
    fn text(&self) -> String {
        let (name, tried, count) = (self.name, self.tried, self.findings.len());
        let mut text = format!("{name}: {tried} tried, {count} findings");
        for (name, value) in &self.figures {
            text += &format!("\n  {name}: {value}");
        }
        for (fault, reproduce) in &self.findings {
            let fault = fault.replace('\n', " | ");
            text += &format!("\n  FOUND {fault}\n    {reproduce}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_line(line: &str) -> Result<Options> {
        read(&line.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn options_are_understood_and_unknown_ones_refused() {
        let options =
            read_line("inputs --count 1_000 --seed 7 --duration 60").expect("known options");
        assert_eq!((options.count, options.seed), (Some(1000), 7));
        assert_eq!(options.chosen().count(), 1);
        assert_eq!(read_line("").expect("all").chosen().count(), ATTACKS.len());
        for wrong in ["outputs", "--count", "--count many", "--fast"] {
            assert!(read_line(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn help_names_every_attack() {
        for (name, _) in ATTACKS {
            assert!(HELP.contains(&format!("\n  {name} ")), "{name}");
        }
    }
}

#[cfg(test)]
mod report_tests {
    use super::*;

    #[test]
    fn an_attack_that_tried_nothing_is_not_clean() {
        let mut report = Report::new("inputs");
        assert!(!report.clean());
        report.tried = 1;
        assert!(report.clean());
        report.finding("panicked".to_owned(), "kadenz show x".to_owned());
        assert!(!report.clean());
        assert!(report.text().contains("kadenz show x"));
    }
}
