//! The table of series: what was counted, the percentiles it can carry, and how far the worst lies.

use super::figures::{bound, count, duration, percent, plural, rate, significant, span};
use super::markup::Markup;
use super::page::{Page, SeriesOnPage, kind_in_words};
use crate::statistics::Percent;
use crate::verdict::Verdict;

/// What one cell says: the figure, and in small print what it rests on or why it is absent.
struct Cell {
    figure: String,
    note: String,
}

impl Cell {
    fn plain(figure: impl Into<String>) -> Self {
        Self {
            figure: figure.into(),
            note: String::new(),
        }
    }

    fn noted(figure: impl Into<String>, note: impl Into<String>) -> Self {
        Self {
            figure: figure.into(),
            note: note.into(),
        }
    }

    fn absent(reason: impl Into<String>) -> Self {
        Self::noted("—", reason)
    }

    fn duration(ns: Option<f64>) -> Self {
        ns.map_or_else(
            || Self::absent("nothing recorded"),
            |ns| Self::plain(duration(ns)),
        )
    }
}

/// The section.
pub(super) fn section(out: &mut Markup, page: &Page<'_>) {
    out.tag("<section id=\"series\"><h2>The figures</h2>");
    out.tag("<p class=\"lead\">Percentiles, with the number of samples beyond each: what the figure rests on. ");
    out.tag("Mean and deviation alone would hide what matters: the last rows say how far.</p>");
    if page.series.is_empty() {
        out.tag("<p class=\"missing\">This run has no series.</p></section>");
        return;
    }
    out.tag("<div class=\"scroll\" role=\"region\" aria-label=\"Table of series\" tabindex=\"0\"><table>");
    out.tag("<caption>All series, values in the unit that suits them</caption><thead><tr><th scope=\"col\">Figure</th>");
    for (index, series) in page.series.iter().enumerate() {
        out.tag("<th scope=\"col\"><i")
            .attr("class", format!("swatch s{}", index % 8))
            .tag("></i>");
        out.text(&series.label).tag("<small>");
        out.tag(kind_in_words(series.summary.series.kind))
            .tag("</small></th>");
    }
    out.tag("</tr></thead>");
    counts(out, page);
    percentiles(out, page);
    shape(out, page);
    deadlines(out, page);
    out.tag("</table></div>");
    extremes(out, page);
    out.tag("</section>");
}

fn group(out: &mut Markup, name: &'static str) {
    out.tag("<tbody><tr class=\"group\"><th scope=\"rowgroup\" colspan=\"99\">")
        .tag(name)
        .tag("</th></tr>");
}

fn row(out: &mut Markup, page: &Page<'_>, name: &str, cell: impl Fn(&SeriesOnPage<'_>) -> Cell) {
    out.tag("<tr><th scope=\"row\">").text(name).tag("</th>");
    for series in &page.series {
        let cell = cell(series);
        out.tag("<td>").text(cell.figure);
        if !cell.note.is_empty() {
            out.tag("<small>").text(cell.note).tag("</small>");
        }
        out.tag("</td>");
    }
    out.tag("</tr>");
}

fn counts(out: &mut Markup, page: &Page<'_>) {
    group(out, "Samples");
    row(out, page, "Recorded", |s| {
        Cell::plain(count(s.summary.count))
    });
    row(out, page, "Expected interval", |s| {
        match s.summary.series.expected_interval_ns {
            Some(ns) => Cell::plain(duration(ns as f64)),
            None => Cell::absent("none stated"),
        }
    });
    let any = |of: fn(&SeriesOnPage<'_>) -> u64| page.series.iter().any(|s| of(s) > 0);
    if any(|s| s.summary.series.counts.early) {
        row(out, page, "Early (below zero)", |s| {
            let early = s.summary.series.counts.early;
            Cell::noted(
                count(early),
                rate(early as f64 / s.summary.count.max(1) as f64),
            )
        });
    }
    if any(|s| s.summary.early_clusters.len() as u64) {
        row(out, page, "Groups of early wake-ups", early_groups);
    }
    if any(|s| s.summary.series.counts.dropped) {
        row(out, page, "Dropped raw samples", |s| {
            Cell::noted(
                count(s.summary.series.counts.dropped),
                "counted above all the same",
            )
        });
    }
    if any(|s| s.summary.series.counts.saturated) {
        row(out, page, "Beyond one hour", |s| {
            Cell::plain(count(s.summary.series.counts.saturated))
        });
    }
    out.tag("</tbody>");
}

fn early_groups(series: &SeriesOnPage<'_>) -> Cell {
    let words = |group: &crate::statistics::Cluster| {
        format!("{} near {}", rate(group.share), span(group.centre_ns))
    };
    match series.summary.early_clusters.as_slice() {
        [] => Cell::plain("none"),
        groups => Cell::plain(groups.iter().map(words).collect::<Vec<_>>().join("; ")),
    }
}

/// Every percentile that some series carries, and the first that none does.
fn percentiles(out: &mut Markup, page: &Page<'_>) {
    let most = page
        .series
        .iter()
        .map(|s| s.summary.count)
        .max()
        .unwrap_or(0);
    let carried = Percent::LADDER
        .iter()
        .filter(|p| p.is_carried_by(most))
        .count();
    group(out, "Percentiles");
    for percentile in Percent::LADDER.iter().take(carried + 1) {
        row(out, page, &percent(percentile.percent()), |s| {
            percentile_cell(s, *percentile)
        });
    }
    out.tag("</tbody>");
}

fn percentile_cell(series: &SeriesOnPage<'_>, percent: Percent) -> Cell {
    let found = series
        .summary
        .percentiles
        .iter()
        .find(|row| row.percent == percent);
    match found {
        Some(row) => {
            let beyond = format!("{} beyond", count(row.beyond));
            match row.coarseness() {
                None => Cell::noted(span(row.value_ns), beyond),
                Some(_) => Cell::noted(
                    format!("{} to {}", span(row.at_least_ns), span(row.value_ns)),
                    format!("{beyond}; the log is coarse"),
                ),
            }
        }
        None => {
            let needed = needed(percent);
            Cell::absent(format!("needs {}", plural(needed, "sample", "samples")))
        }
    }
}

/// The smallest sample that carries a percentile.
fn needed(percent: Percent) -> u64 {
    let near = (1.0 / (1.0 - percent.fraction())) as u64;
    (near.saturating_sub(near / 1000 + 1)..)
        .find(|count| percent.is_carried_by(*count))
        .unwrap_or(near)
}

fn shape(out: &mut Markup, page: &Page<'_>) {
    group(out, "Extremes and shape");
    row(out, page, "Smallest", |s| {
        Cell::duration(s.summary.min_ns.map(|ns| ns as f64))
    });
    row(out, page, "Largest", |s| {
        Cell::duration(s.summary.max_ns.map(|ns| ns as f64))
    });
    row(out, page, "Mean", |s| Cell::duration(s.summary.mean_ns));
    row(out, page, "Standard deviation (SD)", |s| {
        Cell::duration(s.summary.stddev_ns)
    });
    row(out, page, "(max − mean) / SD", |s| {
        match s.summary.max_in_stddevs {
            Some(times) => Cell::plain(significant(times, 3)),
            None => Cell::absent("all values are equal"),
        }
    });
    if page
        .series
        .iter()
        .any(|s| s.summary.hiccup_total_ns.is_some())
    {
        row(out, page, "All hiccups together", |s| {
            match s.summary.hiccup_total_ns {
                Some(ns) => Cell::plain(duration(ns)),
                None => Cell::absent("not hiccups"),
            }
        });
    }
    out.tag("</tbody>");
}

fn deadlines(out: &mut Markup, page: &Page<'_>) {
    if page.judged().next().is_none() {
        return;
    }
    group(out, "Deadline");
    let mut line = |name: &str, figure: fn(&Verdict) -> String| {
        row(out, page, name, |s| match &s.summary.verdict {
            Some(verdict) => Cell::plain(figure(verdict)),
            None if name == "Limit" => Cell::absent("none stated"),
            None => Cell::plain("—"),
        });
    };
    line("Limit", |v| duration(v.limit_ns as f64));
    line("Misses", |v| count(v.misses));
    line("Rate of misses", |v| rate(v.rate));
    line("Upper bound of the rate, 95 %", |v| bound(v.upper_bound_95));
    line("Longest run of misses", |v| count(v.longest_run));
    out.tag("</tbody>");
}

/// The ten highest and lowest samples of each series that kept its samples.
fn extremes(out: &mut Markup, page: &Page<'_>) {
    for series in &page.series {
        let Some(facts) = &series.summary.samples else {
            continue;
        };
        out.tag("<details><summary>Highest and lowest samples of ")
            .text(&series.label);
        out.tag("</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\"");
        out.attr(
            "aria-label",
            format!("Highest and lowest samples of {}", series.label),
        );
        out.tag("><table><caption>Sample number and value</caption><thead><tr><th scope=\"col\">Highest</th>");
        out.tag("<th scope=\"col\">Value</th><th scope=\"col\">Lowest</th><th scope=\"col\">Value</th></tr></thead><tbody>");
        for (high, low) in facts.highest.iter().zip(&facts.lowest) {
            out.tag("<tr>");
            for one in [high, low] {
                out.tag("<td>")
                    .text(count(one.index))
                    .tag("</td><td>")
                    .text(span(one.value_ns))
                    .tag("</td>");
            }
            out.tag("</tr>");
        }
        out.tag("</tbody></table></div></details>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_as_many_samples_as_it_has_nines() {
        assert_eq!(needed(Percent::P50), 2);
        for (nines, percent) in Percent::LADDER.into_iter().enumerate().skip(1) {
            assert_eq!(needed(percent), 10_u64.pow(nines as u32));
        }
    }
}
