//! The comparison of several runs: the difference first, and with more than two the trend of each percentile from run
//! to run.

use super::markup::Markup;
use super::page::{Page, SeriesOnPage};
use super::verdict::h1;
use crate::compare::{CompareOptions, Comparison};
use crate::figures::{count, printed, significant, span};
use crate::statistics::Percent;

/// The section's link in the page's navigation.
pub(super) const LINK: &str = "<a href=\"#trend\">Trend</a>";

/// Whether there are enough runs for a trend.
pub(super) fn is_there(page: &Page<'_>) -> bool {
    page.runs.len() > 2 && names(page).next().is_some()
}

/// The first sentence of the comparison; the others are returned.
pub(super) fn headline(out: &mut Markup, page: &Page<'_>) -> String {
    let comparison = Comparison::new(page.summaries, &CompareOptions::default());
    let answer = comparison.answer(page.summaries);
    let (first, rest) = answer.split_once(". ").unwrap_or((&answer, ""));
    let last = comparison.runs.len().saturating_sub(1);
    let candidates = comparison.series.iter().flat_map(|it| &it.candidates);
    let figures = candidates
        .filter(|it| it.run == last)
        .flat_map(|it| &it.figures);
    let marked = figures.filter(|it| it.significant == Some(true));
    let slower: Vec<bool> = marked.filter_map(|it| Some(it.ratio? > 1.0)).collect();
    let (class, icon) = match (slower.contains(&true), slower.contains(&false)) {
        (true, _) => ("mixed", "#i-mixed"),
        (false, true) => ("kept", "#i-kept"),
        (false, false) => ("unknown", "#i-unknown"),
    };
    h1(out, class, icon, &printed(first.trim_end_matches('.')));
    rest.to_owned()
}

/// The names of series that every run has; those with a deadline, if there are any.
fn names<'p>(page: &'p Page<'_>) -> impl Iterator<Item = &'p str> {
    let judged = page.judged().next().is_some();
    let first = page.series.iter().filter(move |it| {
        it.run == 0 && it.summary.count > 0 && (it.summary.verdict.is_some() || !judged)
    });
    let names = first.map(|it| it.summary.series.name.as_str());
    names.filter(|name| of_runs(page, name).count() == page.runs.len())
}

/// The series of this name, in the order of the runs.
fn of_runs<'p, 'a>(
    page: &'p Page<'a>,
    name: &'p str,
) -> impl Iterator<Item = &'p SeriesOnPage<'a>> {
    let same = move |it: &&SeriesOnPage<'_>| it.summary.series.name == name;
    page.series
        .iter()
        .filter(same)
        .filter(|it| it.summary.count > 0)
}

/// A figure of the trend.
type TrendFigure = (
    &'static str,
    Option<Percent>,
    fn(&SeriesOnPage<'_>) -> Option<i64>,
);

const FIGURES: [TrendFigure; 4] = [
    ("50 %", Some(Percent::P50), |it| {
        it.summary.percentile(Percent::P50)
    }),
    ("99 %", Some(Percent::P99), |it| {
        it.summary.percentile(Percent::P99)
    }),
    ("99.9 %", Some(Percent::P99_9), |it| {
        it.summary.percentile(Percent::P99_9)
    }),
    ("Largest", None, |it| it.summary.max_ns),
];

/// The section; nothing for fewer than three runs.
pub(super) fn trend(out: &mut Markup, page: &Page<'_>) {
    if !is_there(page) {
        return;
    }
    out.tag("<section id=\"trend\"><h2>Trend</h2><p class=\"lead\">From run to run, in the order in which they were ");
    out.tag("named. The scale of each line starts at zero.</p>");
    for name in names(page) {
        table(out, page, name);
    }
    out.tag("</section>");
}

fn table(out: &mut Markup, page: &Page<'_>, name: &str) {
    let series: Vec<_> = of_runs(page, name).collect();
    out.tag("<div class=\"scroll\" role=\"region\" tabindex=\"0\"");
    out.attr("aria-label", format!("Trend of {name}"));
    out.tag("><table class=\"rows\"><caption>").text(name);
    out.tag("</caption><thead><tr><th scope=\"col\">Run</th>");
    for (title, ..) in FIGURES {
        out.tag("<th scope=\"col\">").text(title).tag("</th>");
    }
    out.tag("<th scope=\"col\">Misses</th></tr></thead><tbody>");
    for one in &series {
        out.tag("<tr><th scope=\"row\">")
            .text(&page.runs[one.run].label)
            .tag("</th>");
        for (_, percent, figure) in FIGURES {
            let mut of_percent = one.summary.percentiles.iter();
            let found = of_percent.find(|it| Some(it.percent) == percent);
            let is_coarse = found.is_some_and(|it| it.coarseness().is_some());
            let edge = if is_coarse { "≤\u{a0}" } else { "" };
            let text = figure(one).map(|ns| format!("{edge}{}", span(ns)));
            out.element("td", text.unwrap_or_else(|| "—".to_owned()));
        }
        let misses = one.summary.verdict.map(|it| count(it.misses));
        out.element("td", misses.unwrap_or_else(|| "—".to_owned()))
            .tag("</tr>");
    }
    out.tag("<tr class=\"whole\"><th scope=\"row\">First to last</th>");
    for (title, _, figure) in FIGURES {
        let values: Option<Vec<i64>> = series.iter().map(|it| figure(it)).collect();
        out.tag("<td>");
        match values {
            Some(values) => line(out, title, &values),
            None => {
                out.tag("—");
            }
        }
        out.tag("</td>");
    }
    out.tag("<td></td></tr></tbody></table></div>");
}

/// A line through the values, and by how much the last differs from the first.
fn line(out: &mut Markup, title: &str, values: &[i64]) {
    let most = values.iter().copied().max().unwrap_or(1).max(1) as f64;
    let wide = 100.0 / (values.len().max(2) - 1) as f64;
    let points: Vec<String> = (values.iter().enumerate())
        .map(|(at, &ns)| {
            format!(
                "{:.1},{:.1}",
                at as f64 * wide,
                29.0 - 27.0 * ns.max(0) as f64 / most
            )
        })
        .collect();
    let spans: Vec<String> = values.iter().map(|&ns| span(ns)).collect();
    out.tag(
        "<svg class=\"shape\" role=\"img\" preserveAspectRatio=\"none\" viewBox=\"0 0 100 30\"",
    );
    out.attr(
        "aria-label",
        format!("{title} over the runs: {}", spans.join(", ")),
    );
    out.tag("><polyline")
        .attr("points", points.join(" "))
        .tag("/></svg>");
    if let (Some(&first), Some(&last)) = (values.first(), values.last())
        && first > 0
    {
        let change = 100.0 * (last as f64 / first as f64 - 1.0);
        let sign = if change < 0.0 { "−" } else { "+" };
        let words = format!("{sign}{}\u{a0}%", significant(change.abs(), 2));
        out.tag("<small>").text(words).tag("</small>");
    }
}

#[cfg(test)]
mod tests {
    use kadenz_record::run::model::Kind;

    use super::*;
    use crate::testing::{named, run_of, series_of};

    fn run(folder: &str, typical_ns: i64, misses: u64) -> crate::summary::Summary {
        let mut series = named("wakeup", Kind::Lateness);
        series.deadline_ns = Some(400_000);
        run_of(
            folder,
            vec![series_of(series, &[(typical_ns, 5000), (500_000, misses)])],
        )
    }

    #[test]
    fn the_headline_is_the_first_sentence_of_the_terminal() {
        let runs = [run("before", 50_000, 2), run("after", 60_000, 9)];
        let said = Comparison::new(&runs, &CompareOptions::default()).answer(&runs);
        let mut out = Markup::default();
        let rest = headline(&mut out, &Page::of(&runs));
        assert_eq!(
            said,
            "after misses 9 of 5,009 deadlines, before 2 of 5,002."
        );
        assert!(out.finish().contains(said.trim_end_matches('.')));
        assert_eq!(rest, "");
    }

    #[test]
    fn three_runs_have_a_trend_and_two_have_none() {
        let runs = ["a", "b", "c"].map(|it| run(it, 50_000, 1));
        let written = |runs: &[crate::summary::Summary]| {
            let mut out = Markup::default();
            trend(&mut out, &Page::of(runs));
            out.finish()
        };
        assert_eq!(written(&runs[..2]), "");
        let page = written(&runs);
        assert_eq!(page.matches("<th scope=\"row\">").count(), 4, "{page}");
        assert!(
            page.contains("50 % over the runs: 50.02\u{a0}µs, 50.02\u{a0}µs, 50.02\u{a0}µs"),
            "{page}"
        );
    }
}
