//! `kadenz tune`.

mod bus;
mod plan;
mod rights;
mod rounds;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Parser, ValueEnum};
use kadenz::lab::load::ForeignProgram;
use kadenz::lab::matrix::{self, MatrixError, MatrixPlan};
use kadenz::record::run::folder::RunReader;
use kadenz::record::run::matrix::Combination;
use kadenz::record::run::model::{EndedBy, Run};
use kadenz::report::document::{Answer, Document, Version};
use kadenz::report::html;
use kadenz::report::matrix::{Matrix, RecommendationStanding};
use kadenz::report::run_documents;
use kadenz::report::statistics::Percent;
use kadenz::report::summary::Summary;
use kadenz::report::text::{shell_path, shell_quoted};
use kadenz::rt::beat::{Overrun, Rate};
use kadenz::rt::tuning::CpuSet;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::outcome;
use crate::options::{Span, StdinOption, complete, folder, pace};
use crate::output::{self, Outcome, Reply};
pub(crate) use bus::Bus;
use rounds::ChildRounds;

/// Measure what each real-time measure gains on this machine
///
/// Keeps a beat under combinations of P (real-time priority), M (memory locked), C (CPU shielded), S (spinning sleep)
/// and I (idle states held off by PM QoS, /dev/cpu_dma_latency; costs power), on the machine as it is and under heavy
/// load. Prints the cheapest combination that keeps the deadline, the contribution of each measure, and the commands
/// that make it permanent. The combinations alternate in short rounds, so that drift of the machine affects all of
/// them. Ctrl-C ends it and keeps the data; `--resume` continues.
///
/// Source: [Yoon2009] (docs/bibliography.md), sections 3.3 and 3.4, for P, M, C and S.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz tune                                       1 kHz, 400 us, twelve combinations, both loads
  kadenz tune --rate 1kHz --load heavy              under heavy load only
  kadenz tune --cells none,P,PMCS --duration 10s    a quick look
  kadenz tune --confidence 99.999                   as long as that claim needs
  kadenz tune --cells none,I,PM,PMI                 what holding idle states off gains
  kadenz tune --bus 59 --pace relative              on the fieldbus of [Yoon2009], 59 devices
  kadenz tune --resume kadenz-tune-2026-11-22T10-00-00

Exit codes: 0 a combination keeps the deadline, 1 none does, 2 it was interrupted, nothing can be decided, or \
combinations were left out and none of the others keeps it.")]
pub(crate) struct Options {
    /// Rate of the beat
    #[arg(long, value_name = "RATE", default_value = "1kHz")]
    rate: Rate,

    /// The limit: a wake-up later than this is a miss
    #[arg(long, value_name = "SPAN", default_value = "400us")]
    deadline: Span,

    /// Combinations to measure: none and letters of PMCSI [default: the nine of [Yoon2009], none,M,C,MC,P,
    /// PM,PC,PMC,PMCS, and I,PMI,PMCI where there are idle states to hold off]
    #[arg(long, value_name = "CELLS", value_delimiter = ',', value_parser = complete::<Combination>(Combination::all()),
          hide_possible_values = true)]
    cells: Vec<Combination>,

    /// The machine as it is, under heavy load (large writes, message storms, localhost flood,
    /// file-tree walk), or both in turn
    #[arg(long, value_name = "LOAD", default_value = "both")]
    load: LoadChoice,

    /// The share of beats that must keep the deadline, in percent: each combination is measured for as long as that
    /// claim needs
    #[arg(long, value_name = "PERCENT", default_value = "99.99")]
    confidence: Percent,

    /// How long to measure each combination under each load [default: as long as the claim needs]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    /// Length of a round
    #[arg(long, value_name = "SPAN", default_value = "5s")]
    round: Span,

    /// What the loop does after a late wake-up: skip (leave missed beats out; they are still recorded as late),
    /// catch-up or relative (each period from the last wake-up)
    #[arg(long, value_name = "PACE", default_value = "skip", value_parser = pace())]
    pace: Overrun,

    /// Exchange process data with an EtherCAT segment in every cycle, as the robot of [Yoon2009] does: an interface,
    /// or a virtual one with this many devices or from a file (59, arm.toml)
    #[arg(long, value_name = "SEGMENT")]
    bus: Option<Bus>,

    /// P: the SCHED_FIFO priority
    #[arg(long, value_name = "1..99", default_value_t = 80, value_parser = clap::value_parser!(u8).range(1..=99), help_heading = "Tuning")]
    priority: u8,

    /// C: the CPUs to shield [default: the isolated ones, else the last]
    #[arg(long, value_name = "CPUS", help_heading = "Tuning")]
    shield: Option<CpuSet>,

    /// S: how long before its beat the loop wakes up to spin
    #[arg(
        long,
        value_name = "SPAN",
        default_value = "50us",
        help_heading = "Tuning"
    )]
    spin_margin: Span,

    /// Let this program make the load: stress-ng
    #[arg(long, value_name = "PROGRAM", value_parser = complete::<ForeignProgram>([ForeignProgram::StressNg]),
          help_heading = "Load")]
    with: Option<ForeignProgram>,

    /// Folder of the disk load's file [default: the system's temporary folder]
    #[arg(long, value_name = "DIR", value_parser = folder(), help_heading = "Load")]
    load_dir: Option<PathBuf>,

    /// Run folder to write [default: kadenz-tune-<TIME> in this folder]
    #[arg(long, value_name = "DIR", value_parser = folder(), help_heading = "Output")]
    out: Option<PathBuf>,

    /// Continue an interrupted matrix, under its own options
    #[arg(long, value_name = "DIR", value_parser = folder(), help_heading = "Output",
          conflicts_with_all = ["rate", "deadline", "cells", "load", "confidence", "duration", "round", "pace",
                                "bus", "priority", "shield", "spin_margin", "with", "out"])]
    resume: Option<PathBuf>,

    #[command(flatten)]
    ends: StdinOption,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LoadChoice {
    None,
    Heavy,
    Both,
}

/// The options of an earlier attempt, from its run.
#[derive(Parser)]
struct EarlierOptions {
    #[command(flatten)]
    options: Options,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let resumed = options.resume.as_deref();
    let resumed = resumed.map(|it| of_earlier_attempt(it, options));
    let resumed = resumed.transpose()?;
    let options = resumed.as_ref().unwrap_or(options);
    let plan = plan::of(options)?;
    let stop = options.ends.stop()?;
    let run = {
        let mut rounds = ChildRounds::new(options, &plan, &stop);
        matrix::measure(&plan.matrix, resumed.is_some(), &mut rounds, &stop)
    };
    let interrupted = match run {
        Ok(run) => run.ended_by == Some(EndedBy::Interrupted),
        Err(error) => {
            use MatrixError::{Finish, Load, Round};
            let folder = &plan.matrix.session.out;
            let begun = matches!(error, Load(_) | Round { .. } | Finish(_));
            if begun && RunReader::open(folder).is_ok_and(|it| !it.run().series.is_empty()) {
                note_what_is_kept(&plan.matrix);
            }
            return Err(error.into());
        }
    };
    if interrupted {
        note_what_is_kept(&plan.matrix);
    }
    result(&plan, interrupted)
}

/// The matrix as JSON, with the fields of the measuring command.
#[derive(Serialize, JsonSchema)]
pub(super) struct TuneReport {
    /// Version of this form.
    version: Version<1>,
    /// Result of the matrix.
    matrix: Matrix,
    /// Path of the run folder.
    run: PathBuf,
    /// Page of the result.
    report: PathBuf,
    #[serde(skip)]
    summary: Summary,
}

impl Answer for TuneReport {
    fn document(&self) -> Document {
        if output::is_quiet() {
            let answer = self.matrix.recommendation.sentences.join(" ");
            return run_documents::first_sentence(&answer).to_owned().into();
        }
        run_documents::summary_of_matrix(&self.summary, &self.matrix)
    }
}

fn result(plan: &plan::TunePlan, interrupted: bool) -> anyhow::Result<Reply> {
    let folder = &plan.matrix.session.out;
    let summary = Summary::of_run(folder)?;
    let matrix = Matrix::of(&summary).context("the run holds no matrix")?;
    let page = folder.join("report.html");
    html::write_matrix(&summary, &matrix, &page)
        .with_context(|| format!("the run is in {}", folder.display()))?;
    let outcome = judge(&matrix, plan.cells_left_out).or_incomplete(interrupted);
    let paths = (!output::is_json()).then(|| outcome::paths_of_run(folder, Some(&page)));
    let report = TuneReport {
        version: Version,
        matrix,
        run: folder.clone(),
        report: page,
        summary,
    };
    Ok(Reply::from(report).notes(paths).with(outcome))
}

/// Kept if some combination keeps the deadline. If none does, and some combinations were left out, the question stays
/// open.
fn judge(matrix: &Matrix, cells_left_out: bool) -> Outcome {
    match matrix.recommendation.standing {
        RecommendationStanding::Keeps | RecommendationStanding::SoFar { .. } => Outcome::Kept,
        RecommendationStanding::NoneKeeps if !cells_left_out => Outcome::Missed,
        RecommendationStanding::NoneKeeps | RecommendationStanding::Unknown => Outcome::Incomplete,
    }
}

fn note_what_is_kept(plan: &MatrixPlan) {
    let folder = shell_path(&plan.session.out);
    output::note(&format!(
        "ended before its last round; what was measured is kept\ngo on: kadenz tune --resume {folder}"
    ));
}

/// The options under which a matrix was begun, except for the condition of its end, which the caller that continues
/// it states again, and the folder of the load, if it names another.
fn of_earlier_attempt(folder: &Path, options: &Options) -> anyhow::Result<Options> {
    let reader = RunReader::open(folder)?;
    let run = reader.run();
    let again = EarlierOptions::try_parse_from(words(run)).ok();
    let command: Vec<_> = run.command.iter().map(|it| shell_quoted(it)).collect();
    let (again, asked) = again.zip(run.tune.as_ref()).with_context(|| {
        format!(
            "{} holds a run of `{}`, which `tune --resume` cannot continue",
            folder.display(),
            command.join(" ")
        )
    })?;
    // If the matrix was begun without a choice of cells, its own cells, whatever the default is now.
    Ok(Options {
        out: Some(folder.to_owned()),
        cells: asked.cells.clone(),
        ends: options.ends,
        load_dir: options.load_dir.clone().or(again.options.load_dir),
        ..again.options
    })
}

/// The options in a run as a command line: their values then, whatever the defaults are now. For a run without
/// recorded options, its command.
fn words(run: &Run) -> Vec<String> {
    if run.request.is_empty() {
        return run.command.iter().skip(1).cloned().collect();
    }
    let mut words = vec![run.experiment.clone()];
    for (name, value) in &run.request {
        match value {
            Value::String(text) => words.push(format!("--{name}={text}")),
            Value::Array(texts) => {
                let texts = texts.iter().filter_map(Value::as_str);
                words.extend(texts.map(|text| format!("--{name}={text}")));
            }
            Value::Bool(true) => words.push(format!("--{name}")),
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use kadenz::record::run::folder::RunWriter;
    use kadenz::record::run::tune::Tune;

    use super::*;

    #[test]
    fn what_ends_a_matrix_is_of_today() {
        let folder = tempfile::tempdir().unwrap();
        for (then, today) in [(true, false), (false, true)] {
            let run = Run {
                experiment: "tune".to_owned(),
                request: [("until-stdin-closes".to_owned(), then.into())].into(),
                tune: Some(Tune::default()),
                ..Run::default()
            };
            let out = folder.path().join(then.to_string());
            drop(
                RunWriter::create(&out, run)
                    .unwrap()
                    .start(std::time::Duration::from_secs(1)),
            );
            let mut options = EarlierOptions::try_parse_from(["tune"]).unwrap().options;
            options.ends.until_stdin_closes = today;
            let options = of_earlier_attempt(&out, &options).unwrap();
            assert_eq!(options.ends.until_stdin_closes, today);
        }
    }

    /// The recorded options take precedence over the command: `kadenz --json tune` has an option that `tune` itself
    /// does not have.
    #[test]
    fn a_matrix_goes_on_with_the_options_it_was_begun_under() {
        let mut run = Run {
            experiment: "tune".to_owned(),
            command: ["kadenz", "tune", "--cells", "none,PM"]
                .map(str::to_owned)
                .into(),
            ..Run::default()
        };
        let again = EarlierOptions::try_parse_from(words(&run)).unwrap().options;
        assert_eq!(again.cells.len(), 2);
        let request = [
            ("rate", "500Hz".into()),
            ("cells", serde_json::json!(["none", "PMI"])),
            ("priority", "70".into()),
            ("fsync", false.into()),
        ];
        run.command.insert(1, "--json".to_owned());
        run.request = request.map(|(name, value)| (name.to_owned(), value)).into();
        let again = EarlierOptions::try_parse_from(words(&run)).unwrap().options;
        let cells: Vec<String> = again.cells.iter().map(ToString::to_string).collect();
        assert_eq!(
            (cells.join(" "), again.priority),
            ("none PMI".to_owned(), 70)
        );
        assert_eq!(again.rate.to_string(), "500 Hz");
    }
}
