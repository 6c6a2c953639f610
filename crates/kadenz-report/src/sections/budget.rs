//! The budget: where a deadline's time goes, a row a layer. On a page, a bar's whole width is the deadline.

use crate::answers::budget::{Budget, Layer};
use crate::document::{Bar, Cell, Column, Document, Row, Table};
use crate::figures;
use crate::numbers;
use crate::summary::Summary;

/// Each budget in words and by layer; none in a run without round trips and messages, or without a deadline.
pub(crate) fn of(summary: &Summary) -> Vec<Document> {
    Budget::all(summary).iter().map(document).collect()
}

fn document(budget: &Budget) -> Document {
    let limit = i64::try_from(budget.limit_ns).unwrap_or(i64::MAX);
    let columns = vec![
        Column::new("budget", "Layer").words(),
        Column::on_page(format!("Of {}", figures::span(limit))),
        Column::new("50 %", "Median"),
        Column::new("99.9 %", "99.9 %"),
        Column::new("max", "Largest"),
    ];
    let mut table = Table::captioned("Where the time goes", columns);
    table.label = "Table of the budget".into();
    table.class = Some("budget");
    for layer in &budget.layers {
        table.push(row(budget, layer, None));
        let wire = layer.on_the_wire();
        table
            .rows
            .extend(wire.map(|it| row(budget, &it, Some("part"))));
    }
    table.push(row(budget, &budget.whole, Some("whole")));
    let left = format!("left of {}", numbers::span(budget.limit_ns as f64));
    table.push(vec![
        Cell::either(left, "Left for the control law"),
        Cell::text(""),
        Cell::text(""),
        Cell::span(budget.left_p99_9_ns()),
        Cell::span(budget.left_max_ns()),
    ]);
    Document::new().lead(budget.to_string()).table(table)
}

fn row(budget: &Budget, layer: &Layer, class: Option<&'static str>) -> Row {
    let bar = |ns: Option<i64>, class| {
        let percent = 100.0 * ns? as f64 / budget.limit_ns.max(1) as f64;
        Some(Bar { percent, class })
    };
    // Where 99.9 % are not carried, the longest stands in their place.
    let most = bar(layer.p99_9_ns.or(layer.max_ns), "most");
    let bars = most.into_iter().chain(bar(layer.p50_ns, "median"));
    Row {
        class,
        cells: vec![
            Cell::text(layer.name),
            Cell::bars(bars.collect()),
            Cell::span(layer.p50_ns),
            Cell::span(layer.p99_9_ns),
            Cell::span(layer.max_ns),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::budget::Journey;

    fn layer(p50_ns: i64, p99_9_ns: Option<i64>) -> Layer {
        Layer {
            name: "wake-up",
            series: "lateness",
            p50_ns: Some(p50_ns),
            p99_9_ns,
            max_ns: Some(600_000),
            wire_ns: None,
        }
    }

    fn budget() -> Budget {
        Budget {
            journey: Journey::RoundTrip,
            limit_ns: 400_000,
            path: String::new(),
            packets: 5000,
            unanswered: 0,
            whole: layer(100_000, Some(500_000)),
            layers: vec![layer(-5_000, Some(50_000))],
        }
    }

    #[test]
    fn a_bar_is_its_part_of_the_deadline_and_ends_with_it() {
        let text = document(&budget()).html();
        assert!(text.contains("class=\"most\" width=\"12.50\""), "{text}");
        assert!(
            text.contains("class=\"median\" width=\"0.25\""),
            "early: {text}"
        );
        assert!(
            text.contains("class=\"most over\" width=\"100.00\""),
            "{text}"
        );
        assert!(
            text.contains("<td>−100\u{a0}µs</td><td>−200\u{a0}µs</td>"),
            "{text}"
        );
    }

    #[test]
    fn the_wire_is_a_part_of_its_layer() {
        let mut wired = budget();
        wired.layers[0].wire_ns = Some(80_000);
        let text = document(&wired).html();
        let part = text.split("<tr class=\"part\">").nth(1).unwrap_or_default();
        assert!(
            part.starts_with("<th scope=\"row\">of it on the wire (computed)</th>"),
            "{text}"
        );
        assert!(part.contains("width=\"20.00\""), "{text}");
    }

    #[test]
    fn the_longest_stands_for_a_percentile_that_is_not_carried() {
        let mut few = budget();
        few.whole = layer(100_000, None);
        let text = document(&few).html();
        let whole = text.split("<tr class=\"whole\">").nth(1);
        let whole = whole
            .and_then(|it| it.split("</tr>").next())
            .unwrap_or_default();
        assert!(
            whole.contains("most over") && whole.contains("<td>—</td>"),
            "{text}"
        );
    }
}
