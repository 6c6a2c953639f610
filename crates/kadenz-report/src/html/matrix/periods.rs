//! The distribution of the control period of each cell, side by side on the same axes: the lower
//! halves of Yoon's figures 7 and 8.

use super::heat::{loads, title};
use crate::html::charts::plot;
use crate::html::figures::duration;
use crate::html::markup::Markup;
use crate::matrix::{Load, Matrix};

/// The section.
pub(super) fn section(out: &mut Markup, matrix: &Matrix) {
    let interval = matrix.interval_ns.map_or_else(
        || "the period asked for".to_owned(),
        |ns| duration(ns as f64),
    );
    out.tag("<section id=\"periods\"><h2>Control periods, cell by cell</h2><p class=\"lead\">How often each ");
    out.tag("control period came, as the time it was longer (right) or shorter (left) than ");
    out.text(interval)
        .tag(". All panels have the same axes, both logarithmic, so that a narrow tower is a ");
    out.tag("steady beat and every sample of a tail still shows.</p>");
    let mut any = false;
    for load in loads(matrix) {
        let words = words(matrix, load);
        if words.is_empty() {
            continue;
        }
        any = true;
        out.tag("<div")
            .attr("id", format!("periods-{}", load.name()));
        out.tag(" class=\"panels\"><h3>")
            .tag(title(load))
            .tag("</h3>");
        plot(
            out,
            false,
            &format!(
                "Distributions of the control period {}. {words}",
                load.words()
            ),
        );
        out.tag("</div>");
    }
    if !any {
        out.tag("<p class=\"missing\">No control periods were recorded.</p>");
    }
    out.tag("</section>");
}

/// The panels for those who do not see them.
fn words(matrix: &Matrix, load: Load) -> String {
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
