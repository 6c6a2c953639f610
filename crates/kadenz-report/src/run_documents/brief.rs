//! The answer on one screen: the verdict, a table of a few series, the first remedies, the places of the rest.

use std::collections::BTreeSet;

use kadenz_record::run::model::{TuningMeasure, Warning};

use crate::answers::answer;
use crate::answers::budget::Budget;
use crate::document::{Document, DocumentLine, Medium, Table, TableCell};
use crate::import::{LOST, MAYBE_LOST};
use crate::matrix::Matrix;
use crate::numbers;
use crate::statistics::{Percent, Percentile};
use crate::summary::{SeriesSummary, Summary};
use crate::text::Emphasis;
use crate::verdict::{messages, packets};

/// Lines and columns of the smallest screen.
const LINES: usize = 25;
const COLUMNS: u16 = 80;
/// Series in the table, at most and at least; lines of the verdict and of a remedy; remedies.
const ROWS: usize = 8;
const MIN_ROWS: usize = 3;
const VERDICT: usize = 7;
const REMEDY: usize = 2;
const REMEDIES: usize = 3;
/// Lines on warnings of [`BELOW_VERDICT`].
const WARNINGS: usize = 3;
/// Ids of the warnings that qualify a verdict, and so stand below it, the most important first: values are missing.
const BELOW_VERDICT: [&str; 14] = [
    LOST,
    MAYBE_LOST,
    "truncated",
    "incomplete",
    "log_damaged",
    "log_unreadable",
    "counts_differ",
    "log_incomplete",
    "log_truncated",
    "series_unreadable",
    "samples_unreadable",
    "samples_damaged",
    "samples_truncated",
    "camera_lost",
];
/// The verdict without a deadline.
const NO_DEADLINE: &str =
    "No deadline was stated, so nothing is judged; `--deadline 400us` states one.";

/// A command's own additions to its runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct BriefAdditions<'a> {
    /// Whether the command considers the deadlines kept, which need not be all of them.
    pub kept: bool,
    /// Sentences that belong to the verdict.
    pub sentences: &'a [String],
    /// A command that applies the result of a sentence; it comes first of the remedies.
    pub remedy: Option<&'a str>,
    /// The places of the page and of everything else, a line each.
    pub places: &'a [String],
}

/// The verdict, at most three warnings that values are missing, a table of at most 8 series, at most three remedies and
/// the places: on a terminal of 80 columns or more 24 lines at most, except for places that are longer and where
/// `places` are many; on a narrower one its sentences take more lines. [`super::summaries`] has everything.
///
/// ```
/// use kadenz_report::run_documents::{BriefAdditions, brief};
/// use kadenz_report::summary::Summary;
///
/// let document = brief(&[Summary::default()], &BriefAdditions::default());
/// assert!(document.markdown().starts_with("No deadline was stated"));
/// ```
#[must_use]
pub fn brief(runs: &[Summary], additions: &BriefAdditions<'_>) -> Document {
    let mut verdict = verdict(runs, additions);
    verdict.extend(missing_values(runs));
    // Blank lines between the parts, and the header of the table.
    let taken = height(&verdict) + additions.places.len() + 4;
    let left = LINES.saturating_sub(taken);
    let remedies = remedies(runs, additions.remedy, left.saturating_sub(MIN_ROWS));
    let mut document = Document::new().lines(verdict);
    if let Some(table) = table(runs, left.saturating_sub(height(&remedies))) {
        document = document.table(table);
    }
    let document = document.lines(remedies).within(COLUMNS);
    document.sentences(additions.places.iter().cloned())
}

/// Lines of the smallest screen that these take.
fn height(lines: &[DocumentLine]) -> usize {
    lines.iter().map(|it| it.height(COLUMNS)).sum()
}

/// The warnings that values are missing, a line each; of too many the last line has the number.
pub(super) fn missing_values(runs: &[Summary]) -> Vec<DocumentLine> {
    let rank = |warning: &Warning| BELOW_VERDICT.iter().position(|it| *it == warning.id);
    let mut all: Vec<(usize, String)> = Vec::new();
    for run in runs {
        for (rank, warning) in run.warnings.iter().filter_map(|it| Some((rank(it)?, it))) {
            let text = match run.folder.file_name().filter(|_| runs.len() > 1) {
                Some(name) => format!("{}: {}", name.display(), warning.text),
                None => warning.text.clone(),
            };
            all.push((rank, text));
        }
    }
    all.sort_by_key(|(rank, _)| *rank);
    let shown = match all.len() {
        0..=WARNINGS => WARNINGS,
        _ => WARNINGS - 1,
    };
    let rest = all.len().saturating_sub(shown);
    let rest = (rest > 0).then(|| match rest {
        1 => "1 more warning; see --details".to_owned(),
        _ => format!("{rest} more warnings; see --details"),
    });
    let texts = all.into_iter().take(shown).map(|(_, text)| text);
    let line = |text: String| DocumentLine::labelled("warning: ", 9, text).at_most(1);
    texts.chain(rest).map(line).collect()
}

/// The first sentence of the verdict on the first run, short enough for one line of a script's output.
#[must_use]
pub fn headline(runs: &[Summary]) -> String {
    let first = runs
        .first()
        .map(sentences)
        .and_then(|all| all.into_iter().next());
    let first = first.unwrap_or_default();
    first_sentence(&first).to_owned()
}

/// The verdicts of all runs, the first sentence in bold and in its colour.
fn verdict(runs: &[Summary], additions: &BriefAdditions<'_>) -> Vec<DocumentLine> {
    let each = (VERDICT / runs.len().max(1)).max(1);
    let mut lines = Vec::new();
    for (index, run) in runs.iter().take(VERDICT).enumerate() {
        let mut sentences = sentences(run);
        if index == 0 {
            sentences.extend_from_slice(additions.sentences);
            sentences.extend(Budget::all(run).iter().filter_map(left));
        }
        if runs.len() > 1 {
            let name = run.folder.file_name().unwrap_or(run.folder.as_os_str());
            sentences[0] = format!("{}: {}", name.display(), sentences[0]);
        }
        let emphasis = match sentences[0].contains(NO_DEADLINE) {
            true => Emphasis::Bold,
            false if additions.kept => Emphasis::Good,
            false => Emphasis::Bad,
        };
        let strong = first_sentence(&sentences[0]).chars().count();
        let line = DocumentLine::from(sentences.join(" ")).at_most(each);
        lines.push(line.emphasised(strong, emphasis));
    }
    lines
}

fn sentences(run: &Summary) -> Vec<String> {
    if let Some(recommendation) = Matrix::recommendation_of(run) {
        return recommendation.sentences;
    }
    let mut all = vec![answer(run).unwrap_or_else(|| NO_DEADLINE.to_owned())];
    let of_check = run.run.experiment == "check";
    let network = run.run.network.as_ref();
    let is_shown = |network: &&_| !of_check || packets::total(network).lost > 0;
    all.extend(network.filter(is_shown).map(packets::answer));
    let counted = run.run.messages.as_ref();
    let is_shown = |counted: &&_| !of_check || messages::lost(counted) > 0;
    all.extend(counted.filter(is_shown).map(messages::answer));
    all
}

/// The rest of a deadline, in the words of [`Budget`] without its layers.
fn left(budget: &Budget) -> Option<String> {
    let (takes, left) = (budget.whole.p99_9_ns?, budget.left_p99_9_ns()?);
    let one = budget.kind.one();
    let span = |ns: i64| numbers::span(ns.unsigned_abs() as f64);
    let left = match left {
        0.. => format!("{} are left", span(left)),
        _ => format!("that is {} too long", span(left)),
    };
    let limit = numbers::span(budget.limit_ns as f64);
    Some(format!(
        "Of the {limit}, {one} {} takes {} in 99.9 %; {left}.",
        budget.path,
        span(takes)
    ))
}

/// A text's first sentence, as `--quiet` prints it.
///
/// ```
/// use kadenz_report::run_documents::first_sentence;
///
/// assert_eq!(first_sentence("It takes 1.5 ms. That is much."), "It takes 1.5 ms.");
/// ```
#[must_use]
pub fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |at| &text[..=at])
}

/// The most important series: those with a deadline, then those of whole round trips and messages, then the others.
fn chosen(runs: &[Summary]) -> Vec<(&Summary, &SeriesSummary)> {
    const WHOLE: [&str; 7] = [
        "response", "rtt", "one-way", "measured", "hiccup", "lateness", "floor",
    ];
    let mut all: Vec<_> = runs
        .iter()
        .filter(|run| !Matrix::is_in(run))
        .flat_map(|run| run.by_themselves().map(move |series| (run, series)))
        .filter(|(_, series)| series.count > 0 || series.series.counts.recorded > 0)
        .collect();
    all.sort_by_key(|(_, series)| {
        let value = series.series.value();
        let whole = WHOLE.iter().position(|it| *it == value);
        (series.verdict.is_none(), whole.unwrap_or(WHOLE.len()))
    });
    all
}

/// Minimum width of a name and of a figure, and the gap between columns.
const MIN_NAME: usize = 22;
const MIN_COLUMN: usize = 7;
const BETWEEN: usize = 3;

/// The table, in at most this many lines.
fn table(runs: &[Summary], most: usize) -> Option<Table> {
    let chosen = chosen(runs);
    let rows = chosen.iter().take(most.min(ROWS)).map(|(run, series)| {
        let folder = run.folder.file_name().filter(|_| runs.len() > 1);
        let folder = folder.map_or_else(String::new, |it| format!("{}: ", it.display()));
        row(&format!("{folder}{}", series.series.name), series)
    });
    let mut rows: Vec<_> = rows.collect();
    let room = columns_of_names(&rows);
    let names = names(&rows, room);
    // A name in full may take several lines.
    let mut taken = 0;
    let fitting = names.iter().take_while(|name| {
        taken += name.chars().count().div_ceil(room);
        taken <= most
    });
    rows.truncate(fitting.count().max(1));
    for (row, name) in rows.iter_mut().zip(names) {
        row[0] = TableCell::text(name);
    }
    let header = ["series", "samples", "50 %", "99.9 %", "max", "misses"];
    (!chosen.is_empty()).then(|| Table::of(header, rows).without_lines())
}

/// The names of the rows in the columns that the other cells leave; in full where they would no longer differ.
fn names(rows: &[Vec<TableCell>], room: usize) -> Vec<String> {
    let full: Vec<String> = rows
        .iter()
        .map(|row| row[0].shown(Medium::Terminal).into_owned())
        .collect();
    let short: Vec<String> = full.iter().map(|it| shortened(it, room)).collect();
    let differ = |names: &[String]| names.iter().collect::<BTreeSet<_>>().len();
    match differ(&short) == differ(&full) {
        true => short,
        false => full,
    }
}

/// The columns that the smallest screen leaves to the names beside the widest cells of the other columns.
fn columns_of_names(rows: &[Vec<TableCell>]) -> usize {
    let width = |place: usize| {
        let cells = rows.iter().filter_map(|row| row.get(place));
        let widths = cells.map(|it| it.shown(Medium::Terminal).chars().count());
        widths.max().unwrap_or(0).max(MIN_COLUMN)
    };
    let others: usize = (1..6).map(|place| width(place) + BETWEEN).sum();
    usize::from(COLUMNS)
        .saturating_sub(others + BETWEEN)
        .max(MIN_NAME)
}

/// A name in at most this many characters: its beginning and its end, because names of one run differ in the end and
/// those of several runs in the beginning.
fn shortened(name: &str, room: usize) -> String {
    let letters = name.chars().count();
    if letters <= room {
        return name.to_owned();
    }
    let end = name.chars().skip(letters - room / 2);
    let begin = name.chars().take(room - room / 2 - 1);
    begin.chain(['…']).chain(end).collect()
}

fn row(name: &str, series: &SeriesSummary) -> Vec<TableCell> {
    let percentile = |percent| {
        let found = series.percentiles.iter().find(|row| row.percent == percent);
        TableCell::text(found.map_or_else(String::new, Percentile::words))
    };
    let judged = series.verdict.filter(|it| it.count > 0);
    vec![
        TableCell::text(name),
        TableCell::count(series.count),
        percentile(Percent::P50),
        percentile(Percent::P99_9),
        TableCell::span(series.max_ns),
        TableCell::count(judged.map(|it| it.misses)).judged(judged.map(|it| it.kept())),
    ]
}

/// The first remedies, in at most this many lines: for refusals, then for other findings.
fn remedies(runs: &[Summary], first: Option<&str>, room: usize) -> Vec<DocumentLine> {
    let measures = runs.iter().flat_map(|run| &run.series);
    let measures = measures.flat_map(|series| &series.series.tuning);
    let refused = measures
        .filter(|measure| !measure.ok)
        .filter_map(of_measure);
    let warnings = runs.iter().flat_map(|run| &run.warnings);
    let spoilt = warnings
        .filter(|warning| warning.tuning.is_none())
        .filter_map(of_warning);
    let mut all: Vec<(String, &str)> = Vec::new();
    all.extend(first.map(|it| ("the cheapest tuning".to_owned(), it)));
    for (what, remedy) in refused.chain(spoilt) {
        if all.iter().all(|(_, known)| *known != remedy) {
            all.push((what, remedy));
        }
    }
    let items = all.iter().take(REMEDIES).map(|(what, remedy)| {
        DocumentLine::labelled("- ", 2, format!("{what}: {remedy}")).at_most(REMEDY)
    });
    let mut height = 1;
    let items: Vec<DocumentLine> = items
        .take_while(|item| {
            height += item.height(COLUMNS);
            height <= room
        })
        .collect();
    let heading = match all.len() - items.len() {
        _ if items.is_empty() => return items,
        0 => "Fix first:".to_owned(),
        more => format!("Fix first ({more} more with --details):"),
    };
    [heading.into()].into_iter().chain(items).collect()
}

/// A remedy of several lines is shown by its first.
fn of_measure(measure: &TuningMeasure) -> Option<(String, &str)> {
    let remedy = measure.remedy.as_deref()?.lines().next()?;
    Some((format!("{} was not granted", measure.requested), remedy))
}

fn of_warning(warning: &Warning) -> Option<(String, &str)> {
    let remedy = warning.remedy.as_deref()?.lines().next()?;
    // A URL has colons of its own.
    let ends = [": ", ";", "("]
        .iter()
        .filter_map(|end| warning.text.find(end));
    let title = &warning.text[..ends.min().unwrap_or(warning.text.len())];
    Some((title.trim_end().to_owned(), remedy))
}
