//! Final report of every measuring command: words and a table, or JSON; and the exit code.

#[cfg(all(test, target_os = "linux"))]
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use kadenz::ethercat::AxesReport;
use kadenz::ethercat::control::timing::Snapshot;
use kadenz::lab::measuring::ExperimentError;
use kadenz::record::run::model::EndedBy;
use kadenz::report::answers::budget::Budget;
use kadenz::report::answers::{Headline, HeadlineAnswer};
use kadenz::report::document::{Answer, Document};
use kadenz::report::json::Output;
use kadenz::report::matrix::{self, Matrix};
use kadenz::report::run_documents::{self, BriefAdditions};
#[cfg(all(test, target_os = "linux"))]
use kadenz::report::schema::SchemaFile;
use kadenz::report::summary::{SeriesSummary, Summary, SummaryOptions};
use kadenz::report::text::{Style, shell_path};
use kadenz::report::verdict::packets;
use kadenz::report::{answers, html};
use schemars::JsonSchema;
#[cfg(all(test, target_os = "linux"))]
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use super::cheapest::Cheapest;
use crate::options::{MeasureOptions, Progress, Span, waiting};
use crate::output::{self, Outcome, Reply};

/// Options of a measurement's report.
pub(crate) struct OutcomeOptions<'a> {
    /// The run folder.
    pub(crate) folder: &'a Path,
    /// The options of the measurement, also for JSON and full output.
    pub(crate) measure: &'a MeasureOptions,
    /// Whether `report.html` is written into the folder.
    pub(crate) report: bool,
    /// Further runs of the same command.
    pub(crate) also: &'a [PathBuf],
    /// The cheapest tuning that a check found.
    pub(crate) cheapest: Option<Cheapest>,
    /// Whether a run without a sample is as good as any, as that of a server without clients.
    pub(crate) may_be_empty: bool,
    /// The counts of a loop over a segment.
    pub(crate) fieldbus: Option<FieldbusReport>,
}

impl<'a> OutcomeOptions<'a> {
    /// Options for a single run, every deadline of which decides.
    pub(crate) fn of(folder: &'a Path, measure: &'a MeasureOptions) -> Self {
        Self {
            folder,
            measure,
            report: false,
            also: &[],
            cheapest: None,
            may_be_empty: false,
            fieldbus: None,
        }
    }
}

/// Answer of a measuring command: the stable output, with the fields of such a command.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MeasurementReport {
    /// The run, with the further runs of the command.
    #[serde(flatten)]
    runs: RunsAnswer,
    /// The run folder.
    run: PathBuf,
    /// Page of the run, if the command wrote one.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<PathBuf>,
    /// The answer in words; `null` without a deadline.
    answer: Option<String>,
    /// The cheapest tuning that keeps the deadline, if the command searched for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cheapest: Option<Cheapest>,
    /// The counts of the loop, if the command ran one over a segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    fieldbus: Option<FieldbusReport>,
}

/// The counts of a loop over a segment.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FieldbusReport {
    /// Devices on the segment.
    pub(crate) devices: usize,
    /// Frames in a cycle.
    pub(crate) frames_per_cycle: usize,
    /// The timing of the cycles, and the lost frames.
    pub(crate) timing: Snapshot,
    /// How well the axes of the motion followed it.
    pub(crate) axes: AxesReport,
    /// Control periods, for people.
    #[serde(skip)]
    pub(crate) periods: Option<Document>,
    /// The counts in words.
    #[serde(skip)]
    pub(crate) words: String,
}

impl Answer for FieldbusReport {
    fn document(&self) -> Document {
        let periods = self.periods.clone().unwrap_or_default();
        periods.sentence(self.words.as_str())
    }
}

impl Answer for MeasurementReport {
    fn document(&self) -> Document {
        let folder = shell_path(&self.run);
        let page = match &self.report {
            Some(page) => format!("page: {}", page.display()),
            None => format!("page: kadenz report {folder}"),
        };
        let cheapest = self.cheapest.as_ref();
        let sentence = cheapest.map(|it| it.sentence.clone());
        let document = self.runs.shown(&BriefAdditions {
            kept: self.runs.kept,
            sentences: sentence.as_slice(),
            remedy: cheapest.and_then(Cheapest::command),
            places: &[page, format!("more: kadenz show {folder} --details")],
        });
        if output::is_quiet() {
            return document;
        }
        let fieldbus = self.fieldbus.as_ref().map(Answer::document);
        let fieldbus = fieldbus.unwrap_or_default();
        let cheapest = cheapest.filter(|_| self.runs.details);
        let cheapest = cheapest.map(Cheapest::document).unwrap_or_default();
        fieldbus.and(document).and(cheapest)
    }
}

/// Schema of the JSON of measuring commands.
#[cfg(all(test, target_os = "linux"))]
pub(crate) fn schemas() -> [SchemaFile; 1] {
    let title = "Output of commands that measure with --json";
    [SchemaFile::root::<MeasurementReport>("measured", 1).titled(title)]
}

/// [`MeasurementReport`] in the schema of a group: a reference to that of all measuring commands.
#[cfg(all(test, target_os = "linux"))]
pub(crate) struct Measures;

#[cfg(all(test, target_os = "linux"))]
impl JsonSchema for Measures {
    fn schema_name() -> Cow<'static, str> {
        "Measures".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "$ref": "urn:kadenz:schema:measured:1" })
    }
}

/// Reads the run back, judges it, and writes its page where one is asked for.
pub(crate) fn report_run(options: OutcomeOptions<'_>) -> anyhow::Result<Reply> {
    let folders = std::iter::once(options.folder).chain(options.also.iter().map(PathBuf::as_path));
    let runs = read(folders)?;
    let page = options.report.then(|| options.folder.join("report.html"));
    // The answer does not depend on the page: it is given also where that cannot be written.
    let unwritten = page.as_ref().and_then(|it| html::write(&runs, it).err());
    let report = page.filter(|_| unwritten.is_none());
    let emptiness = |run: &Summary| emptiness(run).filter(|_| !options.may_be_empty);
    let silent = runs.iter();
    let silent = silent.filter_map(|it| silence(it).or_else(|| emptiness(it)));
    let silent: Vec<String> = silent.collect();
    let judged = judge(&runs);
    let outcome = judged.or_incomplete(!silent.is_empty() || unwritten.is_some());
    let details = options.measure.details;
    let places = paths_of_run(options.folder, report.as_deref());
    let reply = Reply::from(MeasurementReport {
        answer: answer(&runs[0], options.cheapest.as_ref()),
        runs: RunsAnswer {
            all: runs,
            details,
            kept: outcome == Outcome::Kept,
        },
        run: options.folder.to_owned(),
        report,
        cheapest: options.cheapest,
        fieldbus: options.fieldbus,
    });
    let places = (details && !output::is_json()).then_some(places);
    let reply = reply.notes(places);
    let unwritten = unwritten.map(|it| format!("{it}; the run is in {}", options.folder.display()));
    let complaints = silent.into_iter().chain(unwritten);
    Ok(reply.complaints(complaints).with(outcome))
}

/// Explains, with the remedy, that nothing was measured: a run without a sample keeps no deadline.
fn emptiness(run: &Summary) -> Option<String> {
    let judged = run.series.iter().filter(|it| it.verdict.is_some());
    let judged: Vec<&SeriesSummary> = judged.collect();
    let is_empty = match judged.is_empty() {
        true => run.series.iter().all(|it| it.count == 0),
        false => judged.iter().all(|it| it.count == 0),
    };
    let remedy = match run.run.ended_by {
        Some(EndedBy::Interrupted) => {
            "nothing was measured: the run was ended before its first sample; measure longer"
        }
        Some(EndedBy::ProgramEnded) => {
            "nothing was measured: the program ended before the first sample"
        }
        _ => {
            "nothing was measured: no value was recorded; measure longer, and see the run's warnings"
        }
    };
    is_empty.then(|| remedy.to_owned())
}

/// Explains, with the remedy, why no answer came, where a run lost every packet.
fn silence(run: &Summary) -> Option<String> {
    let network = run.run.network.as_ref()?;
    let total = packets::total(network);
    if total.sent == 0 || total.answered > 0 || total.lost < total.sent {
        return None;
    }
    Some(if total.late > 0 {
        "no answer came before the timeout: say with `--timeout` how long devices may take"
            .to_owned()
    } else {
        "no packet was answered: run `kadenz udp echo --bind 0.0.0.0` on the device, with the token that \
         is used here if there is one, and let its UDP port through the firewall; `kadenz udp discover` \
         lists the devices that answer"
            .to_owned()
    })
}

/// A run in words, for standard error where standard output belongs to a started program.
pub(crate) fn notes_of_run(folder: &Path) -> anyhow::Result<[String; 2]> {
    let runs = read(std::iter::once(folder))?;
    let run = run_documents::summaries(&runs).terminal(Style::plain());
    Ok([run.to_string(), paths_of_run(folder, None)])
}

/// The reply with the notes of a run, or with the error of reading that run.
pub(crate) fn with_notes_of_run(reply: Reply, folder: &Path) -> Reply {
    match notes_of_run(folder) {
        Ok(notes) => reply.notes(notes),
        Err(error) => reply.and_error(error),
    }
}

/// The answer in words, with the parts of the time and the cheapest tuning that a check found.
fn answer(run: &Summary, cheapest: Option<&Cheapest>) -> Option<String> {
    let mut sentences = vec![answers::answer(run)?];
    sentences.extend(Budget::all(run).iter().map(Budget::to_string));
    sentences.extend(cheapest.map(|cheapest| cheapest.sentence.clone()));
    Some(sentences.join(" "))
}

/// Options for reading runs.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Reading {
    /// The limit to judge by instead of those of the runs; without raw samples misses are counted from the histogram,
    /// to 0.1 % of the deadline [default: the runs']
    #[arg(long, value_name = "SPAN")]
    pub(crate) deadline: Option<Span>,

    /// Also search every series for periodic patterns: some seconds for a day at 100 Hz
    #[arg(long)]
    pub(crate) modes: bool,
}

/// Answer of a command that reads finished runs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunsAnswer {
    /// The runs in the form of every measuring command.
    #[serde(flatten, serialize_with = "as_output")]
    #[schemars(with = "Output<'static>")]
    all: Vec<Summary>,
    /// Whether to show every figure instead of one screen.
    #[serde(skip)]
    details: bool,
    /// Whether the command counts the deadlines as kept.
    #[serde(skip)]
    kept: bool,
}

/// Serialises runs in the form of every measuring command.
pub(crate) fn as_output<S: Serializer>(runs: &[Summary], to: S) -> Result<S::Ok, S::Error> {
    Output::new(runs).serialize(to)
}

impl RunsAnswer {
    /// Answer for these runs, with every figure or on one screen.
    pub(crate) fn of(runs: Vec<Summary>, details: bool) -> Self {
        Self {
            kept: judge(&runs) == Outcome::Kept,
            all: runs,
            details,
        }
    }

    fn shown(&self, additions: &BriefAdditions<'_>) -> Document {
        if output::is_quiet() {
            run_documents::headline(&self.all).into()
        } else if self.details {
            run_documents::summaries(&self.all)
        } else {
            run_documents::brief(&self.all, additions)
        }
    }

    /// Outcome of the runs: incomplete where no value of a series with a deadline can be read.
    pub(crate) fn outcome(&self) -> Outcome {
        let all = self.all.iter().flat_map(|run| &run.series);
        let unread = all
            .filter_map(|it| it.verdict)
            .any(|verdict| verdict.count == 0);
        match self.kept {
            true => Outcome::Kept.or_incomplete(unread),
            false => Outcome::Missed,
        }
    }
}

impl Answer for RunsAnswer {
    fn document(&self) -> Document {
        self.shown(&BriefAdditions {
            kept: self.kept,
            ..BriefAdditions::default()
        })
    }
}

/// Summaries of run folders, or of files of other programs in their place.
pub(crate) fn read<'a>(runs: impl Iterator<Item = &'a Path>) -> anyhow::Result<Vec<Summary>> {
    read_with(runs, Reading::default())
}

/// As [`read`], with the parts of `reading` besides the figures.
pub(crate) fn read_with<'a>(
    runs: impl Iterator<Item = &'a Path>,
    reading: Reading,
) -> anyhow::Result<Vec<Summary>> {
    let options = SummaryOptions {
        deadline_ns: reading.deadline.map(Span::as_ns),
        ..SummaryOptions::default()
    };
    let read = |run| {
        let mut summary = Summary::of(run, options)?;
        if reading.modes {
            summary.search_modes()?;
        }
        Ok(summary)
    };
    let words = match reading.modes {
        true => "searching for periodic patterns",
        false => "reading the measurement",
    };
    waiting(words, || runs.map(read).collect())
}

/// Runs an experiment, with progress. Where its run could not be written in full, this shows the readable part and
/// returns the error.
pub(crate) fn measured<T>(
    words: &'static str,
    total: Option<Duration>,
    folder: &Path,
    experiment: impl FnOnce(&mut Progress) -> Result<T, ExperimentError>,
) -> anyhow::Result<T> {
    // The progress ends before anything else is printed.
    let result = experiment(&mut Progress::new(words, total));
    if matches!(result, Err(ExperimentError::Finish(_)))
        && let Ok(summary) = Summary::of_run(folder)
    {
        output::note(&run_documents::summaries(&[summary]).terminal(Style::plain()));
    }
    Ok(result?)
}

/// Whether the runs kept what was asked of them. A matrix does if one combination keeps the deadline.
pub(crate) fn judge(runs: &[Summary]) -> Outcome {
    let missed = |run: &Summary| match run.run.experiment == matrix::EXPERIMENT {
        true => Matrix::recommendation_of(run)
            .is_some_and(|it| it.standing == matrix::RecommendationStanding::NoneKeeps),
        false => Headline::of(run).answer == HeadlineAnswer::No,
    };
    Outcome::missed_if(runs.iter().any(missed))
}

/// The paths of a run and its page.
pub(crate) fn paths_of_run(folder: &Path, report: Option<&Path>) -> String {
    match report {
        Some(page) => format!("run: {}\nreport: {}", folder.display(), page.display()),
        None => format!(
            "run: {}   (kadenz report {} makes a page of it)",
            folder.display(),
            shell_path(folder)
        ),
    }
}

#[cfg(test)]
mod tests {
    use kadenz::report::verdict::Verdict;

    use super::*;

    #[test]
    fn a_run_without_a_sample_has_measured_nothing() {
        let series = |count, is_judged: bool| SeriesSummary {
            count,
            verdict: is_judged.then(|| Verdict::new(400_000, count, 0, 0, 0)),
            ..SeriesSummary::default()
        };
        let run = |series| Summary {
            series,
            ..Summary::default()
        };
        let is_empty = |series| emptiness(&run(series)).is_some();
        assert!(is_empty(vec![]));
        assert!(is_empty(vec![series(0, false)]));
        assert!(is_empty(vec![series(9, false), series(0, true)]));
        assert!(!is_empty(vec![series(9, false), series(0, false)]));
        assert!(!is_empty(vec![series(0, false), series(9, true)]));
    }
}
