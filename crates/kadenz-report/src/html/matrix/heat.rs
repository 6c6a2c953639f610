//! The cells as a heat table: colour by how near p99.9 comes to the deadline, and a sign and words for readers without
//! colours.

use crate::document::Document;
use crate::figures::{count, plural, span};
use crate::html::blocks::write;
use crate::html::markup::Markup;
use crate::matrix::document::{cells, chosen};
use crate::matrix::{Cell, Combination, Load, Matrix};
use crate::statistics::Percent;
use crate::verdict::Standing;

/// How near p99.9 comes to the deadline, and the words of the legend.
const STEPS: [(f64, &str); 5] = [
    (0.1, "below 10\u{a0}% of the deadline"),
    (0.5, "below half"),
    (1.0, "below the deadline"),
    (10.0, "above the deadline"),
    (f64::INFINITY, "more than 10 times the deadline"),
];

/// The section.
pub(super) fn section(out: &mut Markup, matrix: &Matrix) {
    out.tag("<section id=\"cells\"><h2>Every combination under every load</h2><p class=\"lead\">");
    out.tag("Lateness that 99.9&#160;% of the wake-ups stay below; in small print the largest of all and the ");
    out.tag(
        "misses. P: real-time priority, M: locked memory, C: a shielded CPU, S: a spinning sleep, ",
    );
    out.tag("I: idle states held off by PM QoS (<code>/dev/cpu_dma_latency</code>).</p>");
    if matrix.cells.is_empty() {
        out.tag("<p class=\"missing\">No cell of this matrix was measured.</p></section>");
        return;
    }
    out.tag("<div class=\"scroll\" role=\"region\" aria-label=\"Table of cells\" tabindex=\"0\"><table class=\"heat\">");
    out.tag("<caption>p99.9 of the lateness, the cheapest combination first</caption><thead><tr>");
    out.tag("<th scope=\"col\">Measures</th>");
    let loads: Vec<Load> = loads(matrix);
    for load in &loads {
        out.tag("<th scope=\"col\">")
            .text(title(*load))
            .tag("</th>");
    }
    out.tag("</tr></thead><tbody>");
    for combination in combinations(matrix) {
        row(out, matrix, combination, &loads);
    }
    out.tag("</tbody></table></div>");
    legend(out, matrix);
    more(out, matrix);
    out.tag("</section>");
}

/// The loads that have cells, in the order of Yoon.
pub(super) fn loads(matrix: &Matrix) -> Vec<Load> {
    let any = |load: &Load| matrix.of_load(*load).next().is_some();
    Load::ALL.into_iter().filter(any).collect()
}

pub(super) fn title(load: Load) -> &'static str {
    match load {
        Load::Unloaded => "Without load",
        Load::Heavy => "Under heavy load",
    }
}

/// All combinations that have a cell, by their cost.
fn combinations(matrix: &Matrix) -> Vec<Combination> {
    let mut all: Vec<Combination> = Combination::all()
        .filter(|c| matrix.cells.iter().any(|cell| cell.combination == *c))
        .collect();
    all.sort_by_key(|combination| combination.cost());
    all
}

fn row(out: &mut Markup, matrix: &Matrix, combination: Combination, loads: &[Load]) {
    let recommendation = &matrix.recommendation;
    out.tag("<tr><th scope=\"row\"><b>")
        .text(combination)
        .tag("</b>");
    if recommendation.combination == Some(combination) {
        out.tag("<span class=\"chosen\">")
            .tag(chosen(recommendation.standing))
            .tag("</span>");
    }
    out.tag("<small>")
        .text(combination.words())
        .tag("</small></th>");
    for &load in loads {
        match matrix.cell(load, combination).filter(|cell| cell.count > 0) {
            Some(cell) => figure(out, matrix, cell),
            None => {
                out.tag("<td class=\"heat-none\">— <small>not measured</small></td>");
            }
        }
    }
    out.tag("</tr>");
}

fn figure(out: &mut Markup, matrix: &Matrix, cell: &Cell) {
    let p99_9 = cell.percentile(Percent::P99_9);
    // The colour would praise a combination that was not in force.
    let heat = step(p99_9, matrix.deadline_ns).filter(|_| cell.granted());
    let heat = heat.map_or_else(|| "none".to_owned(), |step| step.to_string());
    let (sign, class) = sign(cell);
    out.tag("<td").attr("class", format!("heat-{heat} {class}"));
    out.tag("><span class=\"sign\" aria-hidden=\"true\">")
        .tag(sign)
        .tag("</span> ");
    match p99_9 {
        Some(ns) => out.text(span(ns)),
        None => out.tag("— <small>p99.9 needs 1,000 samples</small>"),
    };
    if let Some(max) = cell.max_ns {
        out.tag("<small>largest ").text(span(max)).tag("</small>");
    }
    if let Some(verdict) = &cell.verdict {
        let misses = match verdict.misses {
            0 => "no miss".to_owned(),
            misses => plural(misses, "miss", "misses"),
        };
        let all = count(verdict.count);
        out.tag("<small>")
            .text(format!("{misses} in {all}"))
            .tag("</small>");
    }
    if !cell.granted() {
        let letters: String = cell.lacking.iter().map(|m| m.letter()).collect();
        out.tag("<small class=\"ungranted\">without ")
            .text(letters)
            .tag(": not granted</small>");
    }
    out.tag("</td>");
}

/// Kept, missed, or too few samples: as a sign and as a class.
fn sign(cell: &Cell) -> (&'static str, &'static str) {
    match cell.verdict.map(|verdict| verdict.standing) {
        Some(Standing::Kept) => ("✓", "all-kept"),
        Some(Standing::Missed) => ("✗", "some-missed"),
        Some(Standing::TooFew) | None => ("–", "unsure"),
    }
}

fn step(p99_9: Option<i64>, deadline_ns: Option<u64>) -> Option<usize> {
    let part = p99_9? as f64 / deadline_ns? as f64;
    STEPS.iter().position(|(limit, _)| part < *limit)
}

fn legend(out: &mut Markup, matrix: &Matrix) {
    if matrix.deadline_ns.is_none() {
        return;
    }
    out.tag("<p class=\"heat-key\"><span>p99.9 is</span>");
    for (place, (_, words)) in STEPS.iter().enumerate() {
        out.tag("<span><i")
            .attr("class", format!("heat-{place}"))
            .tag("></i>")
            .text(words)
            .tag("</span>");
    }
    out.tag("</p><p class=\"hint\">✓ no miss in enough samples, ✗ at least one miss, – too few samples.</p>");
}

/// All percentiles, for readers who want more than the colour.
fn more(out: &mut Markup, matrix: &Matrix) {
    let tables = loads(matrix).into_iter().map(|load| cells(matrix, load));
    let tables = tables.fold(Document::new(), Document::table);
    let hint = "Excess: the 99.9th percentile of the control period less the requested period, and how it stands \
                to that of no tuning.";
    let summary = "All figures of every cell".to_owned();
    write(out, &Document::new().folded(summary, tables.hint(hint)));
}
