//! Recurring modes: periodic interference, one row per mode.

use super::markup::Markup;
use super::page::{Page, RunOnPage};
use crate::figures::{count, printed, significant, span};
use crate::modes::{ABOUT, Mode, SeriesModes, Shape, Source, confidence, describe};
use crate::numbers;
use crate::summary::recurring::shapes;

/// The section's link in the page's navigation.
pub(super) const LINK: &str = "<a href=\"#modes\">Modes</a>";

const LEAD: &str = "<p class=\"lead\">What comes again and again. A latency that recurs has a cause with a \
     period of its own: a timer, a table that is aged, a lease that is renewed.</p>";

const HINT: &str = "<p class=\"hint\">Seen: how many occurrences there were, of as many as the period asks for. \
     Confidence: one less the probability that chance alone makes such a mode anywhere in the record; \
     below 98 % no mode is reported.</p>";

const HEAD: &str = concat!(
    "<thead><tr><th scope=\"col\">What recurs</th><th scope=\"col\">Series</th>",
    "<th scope=\"col\">Period</th><th scope=\"col\">Lasts</th><th scope=\"col\">Height</th>",
    "<th scope=\"col\">Seen</th><th scope=\"col\">Confidence</th><th scope=\"col\">Looks</th>",
    "</tr></thead><tbody>",
);

/// Whether a series of the page was searched.
pub(super) fn is_there(page: &Page<'_>) -> bool {
    page.runs.iter().any(|run| searched(run).next().is_some())
}

fn searched<'p>(run: &'p RunOnPage<'p>) -> impl Iterator<Item = &'p SeriesModes> {
    let all = run.summary.by_themselves();
    all.filter_map(|series| series.modes.as_ref())
}

/// The section; nothing where no series was searched.
pub(super) fn section(out: &mut Markup, page: &Page<'_>) {
    if !is_there(page) {
        return;
    }
    out.tag("<section id=\"modes\"><h2>Recurring modes</h2>")
        .tag(LEAD);
    for run in &page.runs {
        if page.compares() {
            out.element("h3", &run.label);
        }
        table(out, run);
        without(out, run);
    }
    out.tag(HINT).tag("</section>");
}

fn table(out: &mut Markup, run: &RunOnPage<'_>) {
    if searched(run).all(|it| it.modes.is_empty()) {
        return;
    }
    out.tag("<div class=\"scroll\" role=\"region\" aria-label=\"Table of recurring modes\" tabindex=\"0\">");
    out.tag("<table class=\"modes\"><caption>Recurring modes, the most certain of each series first</caption>");
    out.tag(HEAD);
    for series in searched(run) {
        let described = run.summary.named(&series.series);
        let shapes = described.map_or_else(Vec::new, |it| {
            shapes(&run.summary.folder, &it.series, series)
        });
        let shapes = shapes.into_iter().chain(std::iter::repeat(None));
        for (mode, shape) in series.modes.iter().zip(shapes) {
            row(out, series, mode);
            picture(out, shape.as_ref());
        }
    }
    out.tag("</tbody></table></div>");
}

fn row(out: &mut Markup, series: &SeriesModes, mode: &Mode) {
    let seconds = |seconds: f64| format!("{}\u{a0}s", significant(seconds, 4));
    out.tag("<tr><th scope=\"row\">")
        .text(printed(&describe(mode, series.kind)))
        .tag("</th>");
    out.element("td", &series.series);
    out.tag("<td>").text(seconds(mode.period_s));
    if mode.stray_s > ABOUT * mode.period_s {
        let stray = format!("strays by {}", seconds(mode.stray_s));
        out.tag("<small>").text(stray).tag("</small>");
    }
    out.tag("</td>");
    out.element("td", seconds(mode.duration_s));
    out.element("td", span(mode.height_ns));
    let seen = format!("{} of {}", count(mode.occurrences), count(mode.expected));
    out.element("td", seen);
    out.element("td", confidence(mode.confidence));
}

/// Width and height of a picture, in its own units.
const SIZE: (f64, f64) = (160.0, 40.0);

/// Ends a row with the picture of an occurrence.
fn picture(out: &mut Markup, shape: Option<&Shape>) {
    let Some(shape) = shape else {
        out.tag("<td>—</td></tr>");
        return;
    };
    let low = shape.bins.iter().map(|it| it.0).min().unwrap_or(0);
    let high = shape.bins.iter().map(|it| it.1).max().unwrap_or(0);
    let lasting = significant(shape.span_s, 3);
    let words = format!(
        "Median and 90th percentile over {lasting} s around an occurrence, from {} to {}",
        span(low),
        span(high)
    );
    out.tag("<td><svg class=\"shape\" role=\"img\" preserveAspectRatio=\"none\"")
        .attr("viewBox", format!("0 0 {} {}", SIZE.0, SIZE.1))
        .attr("aria-label", words)
        .tag(">");
    let line = |of: fn(&(i64, i64)) -> i64| {
        let values: Vec<i64> = shape.bins.iter().map(of).collect();
        points(&values, low, high)
    };
    out.tag("<polyline class=\"most\"")
        .attr("points", line(|it| it.1))
        .tag("/><polyline")
        .attr("points", line(|it| it.0))
        .tag("/></svg></td></tr>");
}

/// The corners of a line through values between `low` and `high`.
fn points(values: &[i64], low: i64, high: i64) -> String {
    let wide = SIZE.0 / (values.len().max(2) - 1) as f64;
    let rise = (SIZE.1 - 2.0) / high.saturating_sub(low).max(1) as f64;
    let point = |(index, value): (usize, &i64)| {
        let (x, y) = (
            index as f64 * wide,
            SIZE.1 - 1.0 - value.saturating_sub(low) as f64 * rise,
        );
        format!("{x:.1},{y:.1}")
    };
    let all: Vec<String> = values.iter().enumerate().map(point).collect();
    all.join(" ")
}

/// The series in which nothing recurs, and notes on the others.
fn without(out: &mut Markup, run: &RunOnPage<'_>) {
    for series in searched(run) {
        if series.modes.is_empty() {
            let what = match series.source {
                Source::Samples => "samples",
                Source::Intervals => "intervals",
            };
            let over = numbers::span(series.span_s * 1e9);
            let words = format!(
                "{}: nothing recurs in {} {what} over {over}.",
                series.series,
                count(series.count)
            );
            out.tag("<p>").text(printed(&words)).tag("</p>");
        }
        for note in &series.notes {
            let words = format!("{}: {note}.", series.series);
            out.tag("<p class=\"hint\">").ticked(&words).tag("</p>");
        }
    }
}

#[cfg(test)]
mod tests {
    use kadenz_record::run::model::Kind;

    use super::*;
    use crate::html;
    use crate::modes::ModeKind;
    use crate::summary::Summary;
    use crate::testing::{self, named, run_of, series_of};

    fn searched(modes: Vec<Mode>) -> SeriesModes {
        SeriesModes {
            notes: vec!["the samples were <cut> off".into()],
            ..testing::searched("rtt", Kind::Latency, modes)
        }
    }

    fn ramp() -> Mode {
        Mode {
            stray_s: 40.0,
            occurrences: 23,
            expected: 24,
            confidence: 0.998_76,
            ..testing::mode_of(ModeKind::Ramp, 3_590.0, 10)
        }
    }

    fn page(modes: Option<SeriesModes>) -> String {
        let mut series = series_of(named("rtt", Kind::Latency), &[(193_000, 100)]);
        series.modes = modes;
        let run: Summary = run_of("night", vec![series]);
        html::render(&[run])
    }

    #[test]
    fn a_mode_is_a_row_with_its_words_and_figures() {
        let page = page(Some(searched(vec![ramp()])));
        let row = concat!(
            "<th scope=\"row\">about once an hour a ramp of up to 150\u{a0}µs over 10 packets</th>",
            "<td>rtt</td><td>3590\u{a0}s<small>strays by 40\u{a0}s</small></td>",
            "<td>0.1\u{a0}s</td><td>150\u{a0}µs</td><td>23 of 24</td><td>99.87 %</td>",
            "<td>—</td></tr>",
        );
        assert!(page.contains(row), "{}", around(&page));
        assert!(page.contains("were &lt;cut&gt; off"));
        assert!(page.contains(LINK));
    }

    #[test]
    fn a_search_that_found_nothing_says_so_and_none_says_nothing() {
        let nothing = page(Some(searched(Vec::new())));
        assert!(
            nothing.contains("rtt: nothing recurs in 8,640,000 samples over 24 h."),
            "{}",
            around(&nothing)
        );
        let unasked = page(None);
        assert!(!unasked.contains("id=\"modes\"") && !unasked.contains(LINK));
    }

    #[test]
    fn an_occurrence_is_drawn_between_its_lowest_and_highest() {
        let mut out = Markup::default();
        let shape = Shape {
            bins: vec![(100, 120), (300, 500), (100, 120)],
            span_s: 0.03,
        };
        picture(&mut out, Some(&shape));
        let drawn = out.finish();
        assert!(
            drawn.contains("points=\"0.0,37.1 80.0,1.0 160.0,37.1\""),
            "{drawn}"
        );
        assert!(
            drawn.contains("points=\"0.0,39.0 80.0,20.0 160.0,39.0\""),
            "{drawn}"
        );
        assert!(drawn.contains("over 0.03 s around an occurrence, from 100\u{a0}ns"));
    }

    #[test]
    fn a_picture_from_end_to_end_of_the_numbers_is_drawn() {
        let mut out = Markup::default();
        let shape = Shape {
            bins: vec![(i64::MIN, -1), (0, i64::MAX), (i64::MIN, i64::MAX)],
            span_s: 0.03,
        };
        picture(&mut out, Some(&shape));
        assert!(out.finish().contains("<polyline class=\"most\""));
    }

    /// The section alone: a page is long.
    fn around(page: &str) -> &str {
        let start = page.find("<section id=\"modes\"").unwrap_or(0);
        &page[start..page.len().min(start + 3000)]
    }
}
