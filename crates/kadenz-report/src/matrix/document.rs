//! A matrix as a document: the answer, one row per cell for each load, the effect of each measure, the ranking, and how
//! to use the recommendation.

use super::cell::Cell;
use super::contribution::EffectFigure;
use super::layout::{self, Layout, microseconds};
use super::{Combination, Load, Matrix, RecommendationStanding, yoon2009};
use crate::document::{Column, Document, Medium, Table, TableCell};
use crate::figures::{bound, significant};
use crate::statistics::Percent;

/// The matrix as a document, the answer first.
///
/// ```
/// use kadenz_report::matrix::{self, Matrix};
/// use kadenz_report::summary::Summary;
///
/// let mut summary = Summary::default();
/// summary.run.experiment = matrix::EXPERIMENT.to_owned();
/// let matrix = Matrix::of(&summary).expect("a matrix");
/// assert!(matrix::document(&matrix).markdown().starts_with("No deadline was stated"));
/// ```
#[must_use]
pub fn document(matrix: &Matrix) -> Document {
    let sentences = matrix.recommendation.sentences.iter().cloned();
    let mut document = Document::new().sentences(sentences);
    for &load in &matrix.loads {
        let title = format!("Lateness {}", load.words());
        document = document.heading(title).table(cells(matrix, load));
    }
    let effects = effects(matrix);
    if !effects.is_empty() {
        document = document.heading("Effect of each measure").list(effects);
    }
    document.and(ranking(matrix)).and(how(matrix))
}

/// The measures in the order of their effects; a page has the pairs of which Yoon published the order, too.
pub(crate) fn ranking(matrix: &Matrix) -> Document {
    let ranking = matrix.ranking_words();
    let pairs = Document::new().list(pairs(matrix));
    match ranking.is_empty() {
        true => Document::new(),
        false => Document::new()
            .heading("Ranking")
            .list(ranking)
            .folded("Yoon’s order, pair by pair".to_owned(), pairs),
    }
}

/// The control periods in the rows and columns of Yoon's figures, with Yoon's own table after each; and Yoon's
/// order, pair by pair.
#[must_use]
pub fn beside_yoon2009(matrix: &Matrix) -> Document {
    let loads = matrix.loads.iter();
    let periods = loads.map(|&load| control_periods(matrix, load));
    periods.fold(Document::new().list(pairs(matrix)), Document::and)
}

/// The control periods under a load, and Yoon's own; nothing where none were recorded.
pub(crate) fn control_periods(matrix: &Matrix, load: Load) -> Document {
    let Some(here) = layout::here(matrix, load) else {
        return Document::new();
    };
    let title = format!("Figure {} of [Yoon2009]", yoon2009::table(load).figure);
    let published = format!("{title} (1 ms, Linux 2.6.26.8-rt16, 4 CPUs at 2.4 GHz):");
    let caption = format!("Measured here {}, in microseconds", load.words());
    let theirs = periods(
        &layout::published(load),
        format!("{title}, in microseconds"),
    );
    let theirs = Document::new().table(theirs);
    let heading = format!("Control periods {} (us)", load.words());
    Document::new()
        .only(Medium::Terminal, Document::new().heading(heading))
        .table(periods(&here, caption))
        .only(Medium::Terminal, published.into())
        .only(Medium::Terminal, theirs.clone())
        .folded(title, theirs)
}

/// The table of a load's cells; a page shows more of each.
pub(crate) fn cells(matrix: &Matrix, load: Load) -> Table {
    let columns = vec![
        Column::new(load.words(), "Measures").words(),
        Column::new("samples", "Samples"),
        Column::new("p50", "p50"),
        Column::new("p99", "p99"),
        Column::new("p99.9", "p99.9"),
        Column::on_page("p99.99"),
        Column::new("max", "Largest"),
        Column::new("misses", "Misses"),
        Column::on_page("At most, at 95\u{a0}%"),
        Column::on_page("Excess of the period"),
        Column::on_terminal("").words(),
    ];
    let mut table = Table::captioned(format!("Lateness {}", load.words()), columns);
    for cell in matrix.of_load(load) {
        table.push(row(matrix, cell));
    }
    table
}

fn row(matrix: &Matrix, cell: &Cell) -> Vec<TableCell> {
    let at = |percent| TableCell::span(cell.percentile(percent));
    let verdict = cell.verdict.filter(|verdict| verdict.count > 0);
    let misses = TableCell::count(verdict.map(|it| it.misses));
    let bound = verdict.map(|it| TableCell::text(bound(it.upper_bound_95)));
    vec![
        TableCell::text(cell.combination.to_string()),
        TableCell::count(cell.lateness.count),
        at(Percent::P50),
        at(Percent::P99),
        at(Percent::P99_9),
        at(Percent::P99_99),
        TableCell::span(cell.lateness.max_ns),
        misses.judged(verdict.map(|it| it.misses == 0)),
        bound.unwrap_or(TableCell::count(None)),
        TableCell::span(cell.excess_ns).noted(against_none(cell)),
        TableCell::text(remark(matrix, cell)),
    ]
}

fn against_none(cell: &Cell) -> Option<String> {
    let ratio = cell.against_none?;
    let interval = ratio.interval.map_or_else(String::new, |(low, high)| {
        let [low, high] = [low, high].map(|it| significant(it, 3));
        format!(" (95\u{a0}%: {low} to {high})")
    });
    let ratio = significant(ratio.ratio, 3);
    Some(format!("{ratio}\u{a0}× {}{interval}", Combination::NONE))
}

/// A remark on a row besides its figures.
fn remark(matrix: &Matrix, cell: &Cell) -> &'static str {
    match () {
        () if cell.lateness.count == 0 => "not measured",
        () if !cell.granted => "not granted",
        () if matrix.recommendation.combination == Some(cell.combination) => {
            chosen(matrix.recommendation.standing)
        }
        () => "",
    }
}

/// The remark on the combination that a recommendation names.
pub(crate) fn chosen(standing: RecommendationStanding) -> &'static str {
    match standing {
        RecommendationStanding::Keeps => "recommended",
        RecommendationStanding::SoFar { .. } => "kept it so far",
        RecommendationStanding::NoneKeeps => "closest",
        RecommendationStanding::Unknown => "",
    }
}

/// The effect of each measure, a sentence each.
pub(crate) fn effects(matrix: &Matrix) -> Vec<String> {
    let all = matrix.contributions.iter();
    let of_p99_9 = all.filter(|contribution| contribution.figure == EffectFigure::P99_9);
    of_p99_9.map(|it| it.sentence.clone()).collect()
}

/// Yoon's order, a sentence per pair.
fn pairs(matrix: &Matrix) -> Vec<String> {
    let pairs = matrix.rankings.iter().flat_map(|it| &it.published);
    pairs.map(|it| it.sentence.clone()).collect()
}

/// A layout as a table.
fn periods(layout: &Layout, caption: String) -> Table {
    let names = layout.columns.iter();
    let names = names.map(|name| Column::new(name.clone(), name.clone()));
    let first = Column::new("", "Periods").words();
    let columns = [first].into_iter().chain(names).collect();
    let mut table = Table::captioned(caption, columns);
    table.class = Some("dense");
    for row in &layout.rows {
        let figures = row.cells.iter().map(|cell| match cell {
            Some(us) => TableCell::text(microseconds(*us)),
            None => TableCell::count(None),
        });
        let cells = [TableCell::text(row.label())].into_iter().chain(figures);
        table.push(cells.collect::<Vec<_>>());
    }
    table
}

fn how(matrix: &Matrix) -> Document {
    let Some(permanent) = &matrix.recommendation.permanent else {
        return Document::new();
    };
    let document = Document::new()
        .code("To try it:", &permanent.command)
        .code("For good, as a systemd unit:", &permanent.unit);
    let document = match &permanent.kernel_parameters {
        None => document,
        Some(parameters) => document.code(
            "And on the kernel's command line, so that the CPU is free from the start:",
            parameters,
        ),
    };
    document.sentences(permanent.idle_states.clone())
}
