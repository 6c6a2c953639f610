//! The budget: where a deadline's time goes, a bar a layer. The whole width is the deadline.

use super::figures::{printed, span};
use super::markup::Markup;
use super::page::{Page, RunOnPage};
use crate::verdict::budget::{Budget, Layer};

/// The section's link in the page's navigation.
pub(super) const LINK: &str = "<a href=\"#budget\">Budget</a>";

/// Whether a run of the page has a budget.
pub(super) fn is_there(page: &Page<'_>) -> bool {
    budgets(page).next().is_some()
}

fn budgets<'p>(page: &'p Page<'_>) -> impl Iterator<Item = (&'p RunOnPage<'p>, Budget)> {
    page.runs.iter().flat_map(|run| {
        Budget::all(run.summary)
            .into_iter()
            .map(move |it| (run, it))
    })
}

/// The section; nothing where no run has round trips and a deadline.
pub(super) fn section(out: &mut Markup, page: &Page<'_>) {
    if !is_there(page) {
        return;
    }
    out.tag("<section id=\"budget\"><h2>Budget</h2><div class=\"side\">");
    for (run, budget) in budgets(page) {
        out.tag("<div>");
        if page.compares() {
            out.element("h3", &run.label);
        }
        out.tag("<p class=\"lead\">")
            .text(printed(&budget.to_string()))
            .tag("</p>");
        table(out, &budget);
        out.tag("</div>");
    }
    out.tag("</div>").tag(
        "<p class=\"hint\">A bar's whole width is the deadline. Dark is the median, light what ",
    );
    out.tag(
        "99.9 % take. The layers' percentiles do not add up: the slowest wake-up and the slowest ",
    );
    out.tag("answer are seldom of one packet. The response is measured, not summed.</p></section>");
}

fn table(out: &mut Markup, budget: &Budget) {
    out.tag(
        "<div class=\"scroll\" role=\"region\" aria-label=\"Table of the budget\" tabindex=\"0\">",
    );
    out.tag("<table class=\"budget\"><caption>Where the time goes</caption>");
    out.tag("<thead><tr><th scope=\"col\">Layer</th><th scope=\"col\">Of ")
        .text(span(i64::try_from(budget.limit_ns).unwrap_or(i64::MAX)));
    out.tag("</th><th scope=\"col\">Median</th><th scope=\"col\">99.9 %</th>");
    out.tag("<th scope=\"col\">Largest</th></tr></thead><tbody>");
    for layer in &budget.layers {
        out.tag("<tr>");
        row(out, budget, layer);
        if let Some(wire) = layer.on_the_wire() {
            out.tag("<tr class=\"part\">");
            row(out, budget, &wire);
        }
    }
    out.tag("<tr class=\"whole\">");
    row(out, budget, &budget.whole);
    out.tag("<tr><th scope=\"row\">Left for the control law</th><td></td><td></td>");
    for left in [budget.left_p99_9_ns(), budget.left_max_ns()] {
        value(out, left);
    }
    out.tag("</tr></tbody></table></div>");
}

fn row(out: &mut Markup, budget: &Budget, layer: &Layer) {
    out.tag("<th scope=\"row\">").text(layer.name).tag("</th>");
    out.tag("<td><svg class=\"share\" aria-hidden=\"true\" viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\">");
    // Where 99.9 % are not carried, the longest stands in their place.
    bar(out, budget, layer.p99_9_ns.or(layer.max_ns), "most");
    bar(out, budget, layer.p50_ns, "median");
    out.tag("</svg></td>");
    for ns in [layer.p50_ns, layer.p99_9_ns, layer.max_ns] {
        value(out, ns);
    }
    out.tag("</tr>");
}

/// A bar as long as its part of the deadline; one that is longer than that is cut off and says so.
fn bar(out: &mut Markup, budget: &Budget, ns: Option<i64>, class: &'static str) {
    let Some(ns) = ns else {
        return;
    };
    let percent = 100.0 * ns as f64 / budget.limit_ns.max(1) as f64;
    let over = if percent > 100.0 { " over" } else { "" };
    out.tag("<rect height=\"1\"")
        .attr("class", format!("{class}{over}"));
    // A bar of no width would not be seen at all.
    out.attr("width", format!("{:.2}", percent.clamp(0.25, 100.0)));
    out.tag("/>");
}

fn value(out: &mut Markup, ns: Option<i64>) {
    out.element("td", ns.map_or_else(|| "—".to_owned(), span));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::budget::Journey;

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
        let mut out = Markup::default();
        table(&mut out, &budget());
        let text = out.finish();
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
        let mut out = Markup::default();
        table(&mut out, &wired);
        let text = out.finish();
        let part = text.split("<tr class=\"part\">").nth(1).unwrap_or_default();
        assert!(
            part.starts_with("<th scope=\"row\">of it on the wire (computed)</th>"),
            "{text}"
        );
        assert!(part.contains("width=\"20.00\""), "{text}");
    }

    #[test]
    fn the_longest_stands_for_a_percentile_that_is_not_carried() {
        let mut out = Markup::default();
        let mut few = budget();
        few.whole = layer(100_000, None);
        row(&mut out, &few, &few.whole);
        let text = out.finish();
        assert!(
            text.contains("most over") && text.contains("<td>—</td>"),
            "{text}"
        );
    }
}
