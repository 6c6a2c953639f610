//! The page of a matrix: the answer with its commands, the cells as a heat table, the effect of each measure, the
//! control periods side by side, and Yoon's tables.

mod heat;

use std::slice;

use serde::Serialize;

use super::blocks::section;
use super::data::{Buckets, RunData, buckets};
use super::findings;
use super::machine::{self, measures_table};
use super::markup::Markup;
use super::page::{Page, grouped};
use super::sections::{self, Link, SectionContents};
use crate::document::{ChartControl, Document, Finding};
use crate::figures::duration;
use crate::matrix::{
    Combination, Contribution, EffectFigure, Load, Matrix, Permanent, Recommendation,
    RecommendationStanding, document,
};
use crate::summary::Summary;
use heat::{heat, loads, title};

/// The navigation of the page of a matrix.
pub(super) const LINKS: [Link; 5] = [
    ("verdict", "Answer"),
    ("cells", "Cells"),
    ("effects", "Measures"),
    ("periods", "Periods"),
    ("paper", "[Yoon2009]"),
];

/// The rest of the navigation.
pub(super) const LAST_LINKS: [Link; 3] = [
    ("warnings", "Warnings"),
    ("host", "Machine"),
    ("repeat", "Repeat"),
];

/// The matrix of a page, where its only run is a matrix.
pub(super) fn of(summaries: &[Summary]) -> Option<Matrix> {
    match summaries {
        [only] => Matrix::of(only),
        _ => None,
    }
}

/// Everything on the page between its header and its end.
pub(super) fn sections(
    out: &mut Markup,
    page: &Page<'_>,
    matrix: &Matrix,
    recurring: &[SectionContents],
) {
    let findings = findings::all(page);
    section(out, "verdict", "", &answer(matrix, &findings));
    for (id, title, document) in [
        ("cells", "Every combination under every load", heat(matrix)),
        ("effects", "Effect of each measure", effects(matrix)),
        ("periods", "Control periods, cell by cell", periods(matrix)),
        ("paper", "Tables of [Yoon2009]", tables(matrix)),
    ] {
        section(out, id, title, &document);
    }
    sections::all(out, recurring);
    findings::section(out, &findings);
    refused(out, matrix);
    machine::host(out, page);
    machine::repeat(out, page);
}

/// The answer first and in large words, with the commands and files that establish it.
fn answer(matrix: &Matrix, findings: &[Finding]) -> Document {
    let recommendation = &matrix.recommendation;
    let class = match recommendation.standing {
        RecommendationStanding::Keeps => "kept",
        RecommendationStanding::SoFar { .. } => "mixed",
        RecommendationStanding::NoneKeeps => "missed",
        RecommendationStanding::Unknown => "unknown",
    };
    let document = Document::new()
        .headline(class, headline(recommendation))
        .and(findings::beside_the_verdict(findings));
    let sentences = recommendation.sentences.iter();
    let document = sentences.fold(document, |document, it| document.answer("", it));
    match &recommendation.permanent {
        Some(permanent) => document.columns("steps", how(permanent)),
        None => document,
    }
}

fn headline(recommendation: &Recommendation) -> String {
    let none = recommendation.combination == Some(Combination::NONE);
    let name = match recommendation.combination {
        Some(Combination::NONE) | None => "The untuned thread".to_owned(),
        Some(combination) => combination.to_string(),
    };
    match recommendation.standing {
        RecommendationStanding::Keeps if none => "Nothing is needed".to_owned(),
        RecommendationStanding::Keeps => format!("{name} is enough"),
        RecommendationStanding::SoFar { .. } => format!("{name} kept the deadline so far"),
        RecommendationStanding::NoneKeeps => "No combination keeps the deadline".to_owned(),
        RecommendationStanding::Unknown => "Nothing can be recommended".to_owned(),
    }
}

/// How to try a combination, and how to keep it.
fn how(permanent: &Permanent) -> Vec<Document> {
    let mut first =
        Document::new()
            .heading("Try it")
            .copyable("copy-try", "the command", &permanent.command);
    if let Some(parameters) = &permanent.kernel_parameters {
        first = first
            .heading("Keep the CPU free from the start")
            .hint("On the kernel’s command line:")
            .copyable("copy-kernel", "the kernel parameters", parameters);
    }
    if let Some(sentence) = &permanent.idle_states {
        first = first.hint(sentence);
    }
    let last = Document::new()
        .heading("For good")
        .hint("As a systemd unit:")
        .copyable("copy-unit", "the unit", permanent.unit.trim_end());
    vec![first, last]
}

/// The effect of each measure, as points with intervals and as sentences; and the ranking.
fn effects(matrix: &Matrix) -> Document {
    let lead = "How many times lower p99.9 of the lateness is with the measure than without it: the geometric mean \
                over all pairs of cells that differ in it alone. A bar is the interval that holds it at 95\u{a0}% \
                confidence; one that reaches across 1 shows no difference.";
    let mut document = Document::new().lead(lead);
    let words = document::effects(matrix);
    let has_ratio = |it: &Contribution| it.figure == EffectFigure::P99_9 && it.ratio.is_some();
    if words.is_empty() {
        document = document.missing(
            "No two cells were measured that differ in one measure alone and were granted what they requested.",
        );
    } else if matrix.contributions.iter().any(has_ratio) {
        let loads = loads(matrix).into_iter();
        let key = loads.map(|load| (load.name(), load.words())).collect();
        let effects = format!("Effect of each measure. {}.", words.join(". "));
        document = document.chart(effects, vec![ChartControl::Key(key)]);
    }
    document.list(words).and(document::ranking(matrix))
}

/// The distribution of the control period of each cell, side by side on the same axes: the lower
/// halves of Yoon's figures 7 and 8.
fn periods(matrix: &Matrix) -> Document {
    let interval = matrix.interval_ns.map_or_else(
        || "the requested period".to_owned(),
        |ns| duration(ns as f64),
    );
    let lead = format!(
        "How often each control period came, as the time it was longer (right) or shorter (left) than {interval}. All \
         panels have the same axes, both logarithmic, so that a narrow tower is a steady beat and every sample of a \
         tail still shows."
    );
    let panels = loads(matrix)
        .into_iter()
        .map(|load| (load, period_words(matrix, load)));
    let panels = panels.filter(|(_, words)| !words.is_empty());
    let panels = panels.fold(Document::new(), |document, (load, words)| {
        let id = format!("periods-{}", load.name());
        let words = format!(
            "Distributions of the control period {}. {words}",
            load.words()
        );
        document.heading(title(load)).chart_of_id(id, words)
    });
    Document::new().lead(lead).and(or_no_periods(panels))
}

/// A document, or that there are no control periods for it.
fn or_no_periods(document: Document) -> Document {
    match document.is_empty() {
        true => document.missing("No control periods were recorded."),
        false => document,
    }
}

/// The panels in words, for screen readers.
fn period_words(matrix: &Matrix, load: Load) -> String {
    let sentences: Vec<String> = matrix
        .of_load(load)
        .filter_map(|cell| {
            let periods = cell.periods.as_ref()?;
            let longest = periods.row(None)?.max_ns;
            Some(format!(
                "{}: from {} to {}.",
                cell.combination,
                duration(periods.min_ns),
                duration(longest)
            ))
        })
        .collect();
    sentences.join(" ")
}

const PERIODS_LEAD: &str = "Control periods in microseconds: the shortest, then largest, mean and standard deviation of the \
     lowest 99\u{a0}%, 99.9\u{a0}% and so on, which leave the peaks out. Rows that the sample cannot carry are missing. \
     Below each stands the table of H. Yoon, J. Song and J. Lee, “Real-Time Performance Analysis in Linux-Based \
     Robotic Systems” (Linux Symposium 2009): Linux 2.6.26.8-rt16 on 4 CPUs at 2.4 GHz, 1 ms, 10 minutes a cell.";

/// The control periods in the rows and columns of Yoon's figures, and Yoon's own.
fn tables(matrix: &Matrix) -> Document {
    let found = loads(matrix)
        .into_iter()
        .map(|load| (load, document::control_periods(matrix, load)));
    let found = found.filter(|(_, it)| !it.is_empty());
    let found = found.fold(Document::new(), |all, (load, it)| {
        all.heading(title(load)).and(it)
    });
    Document::new().lead(PERIODS_LEAD).and(or_no_periods(found))
}

/// The measures that the cells requested and did not get, each once; absent where everything was granted.
fn refused(out: &mut Markup, matrix: &Matrix) {
    let refused = matrix.cells.iter().flat_map(|cell| {
        let measures = cell.refused.iter().map(slice::from_ref);
        measures.map(|it| (it, cell.combination.to_string()))
    });
    let table = measures_table("Refused settings by cell", &grouped(refused), &[]);
    if !table.rows.is_empty() {
        let document = Document::new().table(table);
        section(out, "tuning", "What was not granted", &document);
    }
}

/// Points of histogram that a panel may carry.
const MAX_BUCKETS: usize = 500;

/// The JSON object of the page of a matrix.
#[derive(Debug, Serialize)]
pub(super) struct MatrixPageData {
    runs: Vec<RunData>,
    /// The control periods of each cell less the interval; the fields are named as on other pages, so that the charts'
    /// common code works for them.
    series: Vec<PanelData>,
    effects: Vec<EffectData>,
}

#[derive(Debug, Serialize)]
struct PanelData {
    label: String,
    load: &'static str,
    count: u64,
    min: i64,
    max: i64,
    deadline: Option<u64>,
    p99_9: Option<i64>,
    buckets: Buckets,
}

#[derive(Debug, Serialize)]
struct EffectData {
    measure: String,
    load: &'static str,
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// The page's data.
pub(super) fn data(page: &Page<'_>, matrix: &Matrix) -> MatrixPageData {
    let runs = page.runs.iter().map(RunData::of);
    let panels = matrix.cells.iter().filter_map(|cell| {
        let jitter = page.runs.first()?.summary.series.get(cell.jitter_series?)?;
        Some(PanelData {
            label: cell.combination.to_string(),
            load: cell.load.name(),
            count: jitter.count,
            min: jitter.min_ns?,
            max: jitter.max_ns?,
            deadline: None,
            p99_9: cell.excess_ns,
            buckets: buckets(&jitter.distribution, MAX_BUCKETS),
        })
    });
    let effects = matrix
        .contributions
        .iter()
        .filter(|contribution| contribution.figure == EffectFigure::P99_9)
        .filter_map(|contribution| {
            let ratio = contribution.ratio?;
            Some(EffectData {
                measure: contribution.measure.letter().to_string(),
                load: contribution.load.name(),
                ratio: ratio.ratio,
                low: ratio.interval.map(|(low, _)| low),
                high: ratio.interval.map(|(_, high)| high),
            })
        });
    MatrixPageData {
        runs: runs.collect(),
        series: panels.collect(),
        effects: effects.collect(),
    }
}
