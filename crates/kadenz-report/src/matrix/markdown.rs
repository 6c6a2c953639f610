//! A matrix as Markdown.

use std::fmt::Write as _;

use super::contribution::Bought;
use super::layout::{self, Layout, microseconds};
use super::terminal::remark;
use super::{Load, Matrix, paper, words};
use crate::numbers;
use crate::statistics::Percent;

/// The answer, the lateness of every cell, what each measure bought, the ranking, how to use what
/// is recommended, and the control periods in the rows and columns of Yoon's figures, with the
/// paper's own table after each.
///
/// ```
/// use kadenz_report::matrix::{self, Matrix};
/// use kadenz_report::summary::Summary;
///
/// let mut summary = Summary::default();
/// summary.run.experiment = matrix::EXPERIMENT.to_owned();
/// let text = matrix::markdown(&Matrix::of(&summary).expect("a matrix"));
/// assert!(text.starts_with("No deadline was stated"));
/// ```
#[must_use]
pub fn markdown(matrix: &Matrix) -> String {
    let mut parts = matrix.recommendation.sentences.clone();
    parts.extend(how(matrix));
    for &load in &matrix.loads {
        parts.push(format!("## Lateness {}", load.words()));
        parts.push(lateness(matrix, load));
    }
    let told = matrix
        .contributions
        .iter()
        .filter(|contribution| contribution.figure == Bought::P99_9)
        .map(|contribution| format!("- {}", words::contribution(contribution)));
    let told: Vec<String> = told.collect();
    if !told.is_empty() {
        parts.push("## What each measure bought".to_owned());
        parts.push(told.join("\n"));
    }
    parts.extend(ranking(matrix));
    for &load in &matrix.loads {
        parts.extend(beside_the_paper(matrix, load));
    }
    parts.join("\n\n") + "\n"
}

fn how(matrix: &Matrix) -> Vec<String> {
    let Some(permanent) = &matrix.recommendation.permanent else {
        return Vec::new();
    };
    let mut parts = vec![
        format!("To try it:\n\n```sh\n{}\n```", permanent.command),
        format!(
            "For good, as a systemd unit:\n\n```ini\n{}```",
            permanent.unit
        ),
    ];
    if let Some(parameters) = &permanent.kernel_parameters {
        parts.push(format!(
            "And on the kernel's command line, so that the CPU is free from the start:\n\n\
             ```text\n{parameters}\n```"
        ));
    }
    parts.extend(permanent.idle_states.clone());
    parts
}

fn lateness(matrix: &Matrix, load: Load) -> String {
    let mut text = "| | samples | p50 | p99 | p99.9 | max | misses | |\n\
                    |---|---:|---:|---:|---:|---:|---:|---|"
        .to_owned();
    for cell in matrix.of_load(load) {
        let value = |ns: Option<i64>| ns.map_or_else(String::new, |ns| numbers::value(ns as f64));
        let at = |percent| value(cell.percentile(percent));
        let misses = cell
            .verdict
            .map_or_else(String::new, |v| numbers::thousands(v.misses));
        let _ = write!(
            text,
            "\n| {} | {} | {} | {} | {} | {} | {misses} | {} |",
            cell.combination,
            numbers::thousands(cell.count),
            at(Percent::P50),
            at(Percent::P99),
            at(Percent::P99_9),
            value(cell.max_ns),
            remark(matrix, cell)
        );
    }
    text
}

fn ranking(matrix: &Matrix) -> Vec<String> {
    let mut parts = matrix.ranking_words();
    if !parts.is_empty() {
        parts.insert(0, "## Ranking".to_owned());
    }
    let pairs = matrix.rankings.iter().flat_map(|ranking| &ranking.paper);
    let lines: Vec<String> = pairs
        .map(|pair| format!("- {}", words::paper_pair(pair)))
        .collect();
    if !lines.is_empty() {
        parts.push(lines.join("\n"));
    }
    parts
}

fn beside_the_paper(matrix: &Matrix, load: Load) -> Vec<String> {
    let Some(here) = layout::here(matrix, load) else {
        return Vec::new();
    };
    let figure = paper::table(load).figure;
    vec![
        format!("## Control periods {} (us)", load.words()),
        table(&here),
        format!(
            "Yoon's figure {figure} (Yoon, Song, Lee 2009; 1 ms, Linux 2.6.26.8-rt16, 4 CPUs \
             at 2.4 GHz):"
        ),
        table(&layout::published(load)),
    ]
}

fn table(layout: &Layout) -> String {
    let mut text = format!("| | | {} |\n|---|---|", layout.columns.join(" | "));
    text.push_str(&"---:|".repeat(layout.columns.len()));
    let mut range = "";
    for row in &layout.rows {
        // As in Yoon, a range is named once.
        let shown = if row.range == range { "" } else { &row.range };
        range = &row.range;
        let _ = write!(text, "\n| {shown} | {} |", row.figure);
        for cell in &row.cells {
            let _ = write!(text, " {} |", cell.map_or_else(String::new, microseconds));
        }
    }
    text
}
