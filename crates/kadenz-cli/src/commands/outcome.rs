//! What every measuring command says at its end: words and a table, or JSON; and the exit code.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kadenz_lab::measuring::ExperimentError;
use kadenz_record::run::messages::ONE_WAY;
use kadenz_record::run::network::RESPONSE;
use kadenz_report::json::Output;
use kadenz_report::matrix::{self, Matrix};
use kadenz_report::summary::{SeriesSummary, Summary};
use kadenz_report::terminal::{self, Style};
use kadenz_report::verdict::budget::Budget;
use kadenz_report::verdict::{messages, packets};
use kadenz_report::{html, import, verdict};
use serde::Serialize;

use super::check::cheapest::Cheapest;
use crate::output::{self, Outcome};

/// What is to be told.
pub(crate) struct Telling<'a> {
    /// The run folder.
    pub(crate) folder: &'a Path,
    /// Whether as JSON.
    pub(crate) json: bool,
    /// Whether `report.html` is written into the folder.
    pub(crate) report: bool,
    /// Further runs that belong to it.
    pub(crate) also: &'a [PathBuf],
    /// The series whose deadlines decide; every one that has a deadline if `None`.
    pub(crate) deciding: Option<&'a [&'a str]>,
    /// What a check found to be the cheapest tuning.
    pub(crate) cheapest: Option<&'a Cheapest>,
}

/// The stable output with what only a measuring command knows.
#[derive(Serialize)]
struct Measured<'a> {
    #[serde(flatten)]
    output: Output,
    /// The run folder.
    run: &'a Path,
    /// The page, where one was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<PathBuf>,
    /// The answer in words; `null` without a deadline.
    answer: Option<String>,
    /// The cheapest tuning that keeps the deadline, where it was looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    cheapest: Option<&'a Cheapest>,
}

/// Reads back what was measured, tells it and says what it came to.
pub(crate) fn tell(telling: &Telling<'_>) -> anyhow::Result<Outcome> {
    let folders = std::iter::once(telling.folder).chain(telling.also.iter().map(PathBuf::as_path));
    let runs = read(folders)?;
    let report = telling.report.then(|| telling.folder.join("report.html"));
    if let Some(page) = &report {
        html::write(&runs, page)
            .with_context(|| format!("the run is in {}", telling.folder.display()))?;
    }
    if telling.json {
        output::json(&Measured {
            output: Output::new(&runs),
            run: telling.folder,
            report,
            answer: answer(&runs[0], telling.cheapest),
            cheapest: telling.cheapest,
        })?;
    } else {
        output::say(&terminal::summaries(&runs, Style::of_stdout()));
        if let Some(cheapest) = telling.cheapest {
            output::say(&format!("\n{}", cheapest.told()));
        }
        output::note(&whereabouts(telling.folder, report.as_deref()));
    }
    Ok(judge(&runs, telling.deciding))
}

/// Tells of a run on standard error, where standard output belongs to a started program.
pub(crate) fn tell_aside(folder: &Path) -> anyhow::Result<()> {
    let runs = read(std::iter::once(folder))?;
    output::note(&terminal::summaries(&runs, Style::plain()));
    output::note(&whereabouts(folder, None));
    Ok(())
}

/// The answer in words, with where the time goes and what a check found to be the cheapest tuning.
fn answer(run: &Summary, cheapest: Option<&Cheapest>) -> Option<String> {
    let mut sentences = vec![verdict::answer(run)?];
    sentences.extend(Budget::all(run).iter().map(Budget::to_string));
    sentences.extend(cheapest.map(|cheapest| cheapest.sentence.clone()));
    Some(sentences.join(" "))
}

/// What is read of runs beside their figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Nothing more.
    Figures,
    /// What recurs in their series, which takes seconds.
    Modes,
}

impl Depth {
    /// What an option `--modes` asks for.
    pub(crate) fn with_modes(wanted: bool) -> Self {
        if wanted { Self::Modes } else { Self::Figures }
    }
}

/// Shows runs that were taken before.
pub(crate) fn show(folders: &[PathBuf], json: bool, depth: Depth) -> anyhow::Result<Outcome> {
    let runs = read_to(folders.iter().map(PathBuf::as_path), depth)?;
    if json {
        output::json(&Output::new(&runs))?;
    } else {
        output::say(&terminal::summaries(&runs, Style::of_stdout()));
    }
    Ok(judge(&runs, None))
}

/// Summaries of run folders, or of files of other programs in their place.
pub(crate) fn read<'a>(runs: impl Iterator<Item = &'a Path>) -> anyhow::Result<Vec<Summary>> {
    read_to(runs, Depth::Figures)
}

/// As [`read`], with more than the figures.
pub(crate) fn read_to<'a>(
    runs: impl Iterator<Item = &'a Path>,
    depth: Depth,
) -> anyhow::Result<Vec<Summary>> {
    runs.map(|run| {
        if run.is_file() {
            read_file(run, depth)
        } else {
            read_folder(run, depth)
        }
    })
    .collect()
}

fn read_folder(run: &Path, depth: Depth) -> anyhow::Result<Summary> {
    let mut summary = Summary::of_run(run)?;
    if depth == Depth::Modes {
        summary.search_modes()?;
    }
    Ok(summary)
}

/// Summary of a file that can be imported, by way of a run that goes again.
fn read_file(file: &Path, depth: Depth) -> anyhow::Result<Summary> {
    let format = import::detect(file)?;
    let folder = tempfile::tempdir().context("cannot make a temporary folder for the import")?;
    let run = folder.path().join("run");
    import::import(file, format, &run)?;
    let mut summary = read_folder(&run, depth)?;
    file.clone_into(&mut summary.folder);
    Ok(summary)
}

/// What an experiment gave. Where it could not be written in full, what can be read back is shown
/// and the error stays.
pub(crate) fn finished<T>(result: Result<T, ExperimentError>, folder: &Path) -> anyhow::Result<T> {
    if matches!(result, Err(ExperimentError::Finish(_)))
        && let Ok(summary) = Summary::of_run(folder)
    {
        output::note(&terminal::summaries(&[summary], Style::plain()));
    }
    Ok(result?)
}

fn judge(runs: &[Summary], deciding: Option<&[&str]>) -> Outcome {
    let matrix_missed = |run: &Summary| {
        Matrix::recommendation_of(run).map(|it| it.standing == matrix::Standing::NoneKeeps)
    };
    // Of a matrix it is asked whether some combination keeps the deadline, not whether all do.
    let no_cell_keeps = runs.iter().filter_map(matrix_missed).any(|missed| missed);
    let missed = runs
        .iter()
        .filter(|run| run.run.experiment != matrix::EXPERIMENT)
        .flat_map(|run| &run.series)
        .filter(|series| deciding.is_none_or(|it| it.contains(&series.series.name.as_str())))
        .filter_map(|series| series.verdict.as_ref())
        .any(|verdict| verdict.misses > 0);
    // Where answers have a deadline, one that never came has missed it.
    let lost = runs.iter().any(|run| {
        let network = run.run.network.as_ref();
        let judged = run.named(RESPONSE).is_some_and(|it| it.verdict.is_some());
        judged && network.is_some_and(|network| packets::total(network).lost > 0)
    });
    let messages_lost = runs.iter().any(|run| {
        let judged = |it: &SeriesSummary| it.verdict.is_some() && of_messages(it);
        let counted = run.run.messages.as_ref();
        run.series.iter().any(judged) && counted.is_some_and(|it| messages::lost(it) > 0)
    });
    if missed || lost || messages_lost || no_cell_keeps {
        Outcome::Missed
    } else {
        Outcome::Kept
    }
}

/// Whether it is of messages that came; one that never came has missed its deadline, too.
fn of_messages(series: &SeriesSummary) -> bool {
    let name = &series.series.name;
    name.rsplit('.').next() == Some(ONE_WAY)
}

/// Where a run and its page are.
pub(crate) fn whereabouts(folder: &Path, report: Option<&Path>) -> String {
    match report {
        Some(page) => format!("run: {}\nreport: {}", folder.display(), page.display()),
        None => format!(
            "run: {}   (kadenz report {} makes a page of it)",
            folder.display(),
            folder.display()
        ),
    }
}
