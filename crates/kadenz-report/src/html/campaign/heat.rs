//! A heat map: a row a run, a column a size of values, a colour for how many.

use super::grid::Grid;
use crate::campaign::{Varied, values};
use crate::html::markup::Markup;
use crate::numbers;

const WIDTH: f64 = 900.0;
/// For the numbers of runs, or the names of combinations.
const LEFT: f64 = 60.0;
const LEFT_OF_NAMES: f64 = 260.0;
const BOTTOM: f64 = 24.0;
/// Rows are no higher than text, and all together no higher than a screen.
const MAX_ROW: f64 = 14.0;
const MAX_HEIGHT: f64 = 560.0;

/// Draws the runs; where combinations are told, the first row of each has its name.
pub(super) fn draw(out: &mut Markup, grid: &Grid, named: Option<&[Varied]>) {
    if grid.rows.is_empty() {
        return;
    }
    let left = if named.is_some() { LEFT_OF_NAMES } else { LEFT };
    let row = (MAX_HEIGHT / grid.rows.len() as f64).min(MAX_ROW);
    let column = (WIDTH - left) / f64::from(grid.columns);
    let height = row * grid.rows.len() as f64;
    out.tag("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Heat map of all runs\"><svg class=\"runs-map\" role=\"img\" aria-label=\"Heat map of all runs\"")
        .attr("viewBox", format!("0 0 {WIDTH} {:.0}", height + BOTTOM))
        .tag(">");
    for (place, it) in grid.rows.iter().enumerate() {
        for (bin, count) in &it.counts {
            out.tag("<rect")
                .attr(
                    "x",
                    format!("{:.1}", left + column * f64::from(bin - grid.first)),
                )
                .attr("y", format!("{:.1}", row * place as f64))
                .attr("width", format!("{column:.2}"))
                .attr("height", format!("{row:.2}"))
                .attr(
                    "fill-opacity",
                    format!("{:.2}", grid.share(*count).max(0.08)),
                )
                .tag("/>");
        }
    }
    decades(out, grid, left, column, height);
    match named {
        Some(varied) => names(out, grid, varied, row),
        None => numbers_of_runs(out, grid, row),
    }
    out.tag("</svg></div>");
}

fn decades(out: &mut Markup, grid: &Grid, left: f64, column: f64, height: f64) {
    for (ns, at) in grid.decades() {
        let x = left + column * at;
        out.tag("<path")
            .attr("d", format!("M{x:.1} 0V{height:.1}"))
            .tag("/>");
        text(out, x, height + 16.0, "middle", &numbers::span(ns));
    }
}

fn numbers_of_runs(out: &mut Markup, grid: &Grid, row: f64) {
    let every = grid.rows.len().div_ceil(12);
    for (place, it) in grid.rows.iter().enumerate().step_by(every) {
        let y = row * place as f64 + 10.0;
        text(out, LEFT - 6.0, y, "end", &it.number.to_string());
    }
}

fn names(out: &mut Markup, grid: &Grid, varied: &[Varied], row: f64) {
    let mut before = None;
    let mut free = 0.0;
    for (place, it) in grid.rows.iter().enumerate() {
        let y = row * place as f64;
        // Names that would lie over each other are left out.
        if before == Some(it.combination) || y < free {
            continue;
        }
        before = Some(it.combination);
        free = y + 12.0;
        let options = varied.iter().zip(values(varied, it.combination));
        let name: Vec<String> = options
            .map(|(varied, value)| format!("{} {value}", varied.option))
            .collect();
        text(out, LEFT_OF_NAMES - 6.0, y + 10.0, "end", &name.join(", "));
    }
}

pub(super) fn text(out: &mut Markup, x: f64, y: f64, anchor: &str, words: &str) {
    out.tag("<text")
        .attr("x", format!("{x:.1}"))
        .attr("y", format!("{y:.1}"))
        .attr("text-anchor", anchor)
        .tag(">")
        .text(words)
        .tag("</text>");
}
