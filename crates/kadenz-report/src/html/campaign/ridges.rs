//! The long-term view of Sticha 2014 ("Validating the Real-Time Capabilities of the ROS Communication Middleware"): a
//! line a run, one behind the other.

use std::fmt::Write as _;

use super::grid::Grid;
use super::heat::text;
use crate::html::markup::Markup;
use crate::numbers;

const WIDTH: f64 = 900.0;
/// How far the last run lies to the right of the first, and above it.
const DEPTH: (f64, f64) = (180.0, 240.0);
/// How high the most values stand.
const HEIGHT: f64 = 130.0;
const LEFT: f64 = 20.0;
/// For the number of a run.
const RIGHT: f64 = 80.0;
const BOTTOM: f64 = 30.0;
/// More lines than these are not told apart.
const MAX_LINES: usize = 80;

/// Draws the runs, the last one first, so that those in front hide what is behind them.
pub(super) fn draw(out: &mut Markup, grid: &Grid) {
    if grid.rows.is_empty() {
        return;
    }
    let floor = HEIGHT + DEPTH.1;
    let across = WIDTH - DEPTH.0 - LEFT - RIGHT;
    out.tag("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"All runs in three dimensions\"><svg class=\"runs-ridges\" role=\"img\" aria-label=\"All runs in three dimensions\"")
        .attr("viewBox", format!("0 0 {WIDTH} {:.0}", floor + BOTTOM))
        .tag(">");
    for (ns, at) in grid.decades() {
        let x = LEFT + across * at / f64::from(grid.columns);
        let (back_x, back_y) = (x + DEPTH.0, floor - DEPTH.1);
        out.tag("<path class=\"floor\"")
            .attr("d", format!("M{x:.1} {floor:.1}L{back_x:.1} {back_y:.1}"))
            .tag("/>");
        text(out, x, floor + 18.0, "middle", &numbers::span(ns));
    }
    let every = grid.rows.len().div_ceil(MAX_LINES);
    let places = (0..grid.rows.len()).step_by(every);
    for place in places.rev() {
        let deep = place as f64 / grid.rows.len().saturating_sub(1).max(1) as f64;
        let (x, y) = (LEFT + DEPTH.0 * deep, floor - DEPTH.1 * deep);
        out.tag("<path")
            .attr("d", line(grid, place, across, x, y))
            .tag("/>");
        if place == 0 || place + every >= grid.rows.len() {
            let number = format!("run {}", grid.rows[place].number);
            text(out, x + across + 8.0, y, "start", &number);
        }
    }
    out.tag("</svg></div>");
}

fn line(grid: &Grid, place: usize, across: f64, x: f64, y: f64) -> String {
    let column = across / f64::from(grid.columns);
    let mut path = format!("M{x:.1} {y:.1}");
    for at in 0..grid.columns {
        let count = grid.rows[place].counts.get(&(grid.first + at));
        let up = HEIGHT * grid.share(count.copied().unwrap_or(0));
        let middle = x + column * (f64::from(at) + 0.5);
        let _ = write!(path, "L{middle:.1} {:.1}", y - up);
    }
    let _ = write!(path, "L{:.1} {y:.1}Z", x + across);
    path
}
