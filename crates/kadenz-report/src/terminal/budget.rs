//! The budget: where a deadline's time goes, a row a layer.

use super::Style;
use super::table::{Cell, Table};
use super::text::{Text, wrap};
use crate::numbers;
use crate::summary::Summary;
use crate::verdict::budget::{Budget, Layer};

/// Each budget in words and by layer; none in a run without round trips and messages, or without a
/// deadline.
pub(super) fn budgets(summary: &Summary, style: Style) -> Vec<Text> {
    let all = Budget::all(summary);
    all.iter().map(|budget| table(budget, style)).collect()
}

fn table(budget: &Budget, style: Style) -> Text {
    let mut table = Table::new(style);
    table.set_header(["budget", "50 %", "99.9 %", "max"]);
    for layer in &budget.layers {
        table.add_row(row(layer));
        if let Some(wire) = layer.on_the_wire() {
            table.add_row(row(&wire));
        }
    }
    table.add_row(row(&budget.whole));
    let left = [None, budget.left_p99_9_ns(), budget.left_max_ns()];
    let limit = numbers::span(budget.limit_ns as f64);
    let cells = [Cell::new(format!("left of {limit}"))];
    table.add_row(cells.into_iter().chain(left.map(value)));
    table.align_right_from(1);
    let words = wrap(&budget.to_string(), style.width);
    Text::join([words.into(), table.text()], "\n\n")
}

fn row(layer: &Layer) -> Vec<Cell> {
    let values = [layer.p50_ns, layer.p99_9_ns, layer.max_ns];
    let name = [Cell::new(layer.name)];
    name.into_iter().chain(values.map(value)).collect()
}

fn value(ns: Option<i64>) -> Cell {
    Cell::new(ns.map_or_else(String::new, |ns| numbers::value(ns as f64)))
}
