//! The table of series: the counts, the percentiles that the sample supports, how far the worst lies, and the colour
//! and dash of each series in all charts.

use super::blocks::cell;
use super::markup::Markup;
use super::page::{Page, SeriesGroup, SeriesOnPage, kind_in_words};
use crate::document::TableCell;
use crate::figures::{bound, count, duration, percent, plural, rate, significant, span};
use crate::statistics::Percent;
use crate::verdict::Verdict;

fn noted(figure: impl Into<String>, note: impl Into<String>) -> TableCell {
    TableCell::text(figure).noted(Some(note.into()))
}

fn absent(reason: impl Into<String>) -> TableCell {
    noted("—", reason)
}

fn lasting(ns: Option<f64>) -> TableCell {
    ns.map_or_else(
        || absent("nothing recorded"),
        |ns| TableCell::text(duration(ns)),
    )
}

/// A column of a table with one row per series.
type SeriesColumn<'c> = (String, Box<dyn Fn(&SeriesOnPage<'_>) -> TableCell + 'c>);

fn column<'c>(name: &str, cell: impl Fn(&SeriesOnPage<'_>) -> TableCell + 'c) -> SeriesColumn<'c> {
    (name.to_owned(), Box::new(cell))
}

/// The section: one row per series with the most important figures, and everything else folded away.
pub(super) fn section(out: &mut Markup, page: &Page<'_>) {
    out.tag("<section id=\"series\"><h2>The figures</h2>");
    if page.series.is_empty() {
        out.tag("<p class=\"missing\">This run has no series.</p></section>");
        return;
    }
    out.tag("<p class=\"lead\">Below each percentile stands how many samples lie beyond it: what it rests on.</p>");
    let groups: Vec<SeriesGroup> = SeriesGroup::ALL
        .into_iter()
        .filter(|it| any(page, *it))
        .collect();
    for (place, &group) in groups.iter().enumerate() {
        let number = page.series.iter().filter(|it| it.group == group).count();
        let words = format!(
            "{}: {}",
            group.name(),
            plural(number as u64, "series", "series")
        );
        let folded = place > 0;
        if folded {
            out.tag("<details><summary>").text(&words).tag("</summary>");
        }
        let caption = if groups.len() > 1 {
            words
        } else {
            "All series".to_owned()
        };
        table(out, page, &caption, &main_columns(page), |it| {
            it.group == group
        });
        out.tag(if folded { "</details>" } else { "" });
    }
    out.tag("<details><summary>All figures of every series</summary>");
    for (caption, columns) in [
        ("Samples", counts(page)),
        ("Percentiles", percentiles(page)),
        ("Extremes and shape", shape(page)),
        ("Deadline", deadlines(page)),
    ] {
        if !columns.is_empty() {
            table(out, page, caption, &columns, |_| true);
        }
    }
    out.tag("<p class=\"hint\">Mean and deviation alone would hide what matters: (max − mean) / SD says how far.</p></details>");
    extremes(out, page);
    out.tag("</section>");
}

fn any(page: &Page<'_>, group: SeriesGroup) -> bool {
    page.series.iter().any(|series| series.group == group)
}

fn table(
    out: &mut Markup,
    page: &Page<'_>,
    caption: &str,
    columns: &[SeriesColumn<'_>],
    wanted: impl Fn(&SeriesOnPage<'_>) -> bool,
) {
    out.tag("<div class=\"scroll\" role=\"region\" tabindex=\"0\"");
    out.attr("aria-label", format!("Table: {caption}"));
    out.tag("><table class=\"rows\"><caption>").text(caption);
    out.tag("</caption><thead><tr><th scope=\"col\">Series</th>");
    for (name, _) in columns {
        out.tag("<th scope=\"col\">").text(name).tag("</th>");
    }
    out.tag("</tr></thead><tbody>");
    for (index, series) in page.series.iter().enumerate().filter(|(_, it)| wanted(it)) {
        out.tag("<tr><th scope=\"row\">");
        mark(out, index);
        out.text(&series.label).tag("<small>");
        out.tag(kind_in_words(series.summary.series.kind))
            .tag("</small></th>");
        for (_, of) in columns {
            out.tag("<td>");
            cell(out, &of(series));
            out.tag("</td>");
        }
        out.tag("</tr>");
    }
    out.tag("</tbody></table></div>");
}

fn main_columns<'c>(page: &Page<'_>) -> Vec<SeriesColumn<'c>> {
    let at = |it: Percent| column(&percent(it.percent()), move |s| percentile_cell(s, it));
    let mut columns = vec![
        column("Samples", |s| TableCell::text(count(s.summary.count))),
        at(Percent::P50),
        at(Percent::P99),
        at(Percent::P99_9),
        column("Largest", |s| lasting(s.summary.max_ns.map(|ns| ns as f64))),
    ];
    if page.judged().next().is_some() {
        columns.push(column("Misses", |s| match &s.summary.verdict {
            Some(it) => noted(
                count(it.misses),
                format!("of {}", duration(it.limit_ns as f64)),
            ),
            None => TableCell::text("—"),
        }));
    }
    columns
}

fn counts<'c>(page: &Page<'_>) -> Vec<SeriesColumn<'c>> {
    let mut columns = vec![
        column("Recorded", |s| TableCell::text(count(s.summary.count))),
        column("Expected interval", |s| {
            match s.summary.series.expected_interval_ns {
                Some(ns) => TableCell::text(duration(ns as f64)),
                None => absent("none stated"),
            }
        }),
    ];
    let any = |of: fn(&SeriesOnPage<'_>) -> u64| page.series.iter().any(|s| of(s) > 0);
    if any(|s| s.summary.series.counts.early) {
        columns.push(column("Early (below zero)", |s| {
            let early = s.summary.series.counts.early;
            let share = early as f64 / s.summary.count.max(1) as f64;
            noted(count(early), rate(share))
        }));
    }
    if any(|s| s.summary.early_clusters.len() as u64) {
        columns.push(column("Groups of early wake-ups", early_groups));
    }
    if any(|s| s.summary.series.counts.dropped) {
        columns.push(column("Dropped raw samples", |s| {
            noted(
                count(s.summary.series.counts.dropped),
                "counted nevertheless",
            )
        }));
    }
    if any(|s| s.summary.series.counts.saturated) {
        columns.push(column("Beyond one hour", |s| {
            TableCell::text(count(s.summary.series.counts.saturated))
        }));
    }
    columns
}

fn early_groups(series: &SeriesOnPage<'_>) -> TableCell {
    let words = |group: &crate::statistics::Cluster| {
        format!("{} near {}", rate(group.share), span(group.centre_ns))
    };
    match series.summary.early_clusters.as_slice() {
        [] => TableCell::text("none"),
        groups => TableCell::text(groups.iter().map(words).collect::<Vec<_>>().join("; ")),
    }
}

/// Every percentile that some series supports, and the first that none does.
fn percentiles<'c>(page: &Page<'_>) -> Vec<SeriesColumn<'c>> {
    let most = page.series.iter().map(|s| s.summary.count).max();
    let most = most.unwrap_or(0);
    let carried = Percent::LADDER.iter().filter(|p| p.is_carried_by(most));
    let shown = Percent::LADDER.into_iter().take(carried.count() + 1);
    let columns = shown.map(|it| column(&percent(it.percent()), move |s| percentile_cell(s, it)));
    columns.collect()
}

fn percentile_cell(series: &SeriesOnPage<'_>, percent: Percent) -> TableCell {
    let mut rows = series.summary.percentiles.iter();
    match rows.find(|row| row.percent == percent) {
        Some(row) => {
            let beyond = format!("{} beyond", count(row.beyond));
            match row.coarseness() {
                None => noted(span(row.value_ns), beyond),
                Some(_) => noted(
                    format!("{} to {}", span(row.at_least_ns), span(row.value_ns)),
                    format!("{beyond}; the log is coarse"),
                ),
            }
        }
        None => {
            let needed = needed(percent);
            absent(format!("needs {}", plural(needed, "sample", "samples")))
        }
    }
}

/// The smallest sample that supports a percentile.
fn needed(percent: Percent) -> u64 {
    let near = (1.0 / (1.0 - percent.fraction())) as u64;
    (near.saturating_sub(near / 1000 + 1)..)
        .find(|count| percent.is_carried_by(*count))
        .unwrap_or(near)
}

fn shape<'c>(page: &Page<'_>) -> Vec<SeriesColumn<'c>> {
    let mut columns = vec![
        column("Smallest", |s| {
            lasting(s.summary.min_ns.map(|ns| ns as f64))
        }),
        column("Largest", |s| lasting(s.summary.max_ns.map(|ns| ns as f64))),
        column("Mean", |s| lasting(s.summary.mean_ns)),
        column("Standard deviation (SD)", |s| lasting(s.summary.stddev_ns)),
        column("(max − mean) / SD", |s| match s.summary.max_in_stddevs {
            Some(times) => TableCell::text(significant(times, 3)),
            None => absent("all values are equal"),
        }),
    ];
    let hiccups = |s: &SeriesOnPage<'_>| s.summary.hiccup_total_ns;
    if page.series.iter().any(|s| hiccups(s).is_some()) {
        columns.push(column("All hiccups together", move |s| match hiccups(s) {
            Some(ns) => TableCell::text(duration(ns)),
            None => absent("not hiccups"),
        }));
    }
    columns
}

fn deadlines<'c>(page: &Page<'_>) -> Vec<SeriesColumn<'c>> {
    if page.judged().next().is_none() {
        return Vec::new();
    }
    let line = |name: &'static str, figure: fn(&Verdict) -> String| {
        column(name, move |s| match &s.summary.verdict {
            Some(verdict) => TableCell::text(figure(verdict)),
            None if name == "Limit" => absent("none stated"),
            None => TableCell::text("—"),
        })
    };
    vec![
        line("Limit", |v| duration(v.limit_ns as f64)),
        line("Misses", |v| count(v.misses)),
        line("Rate of misses", |v| rate(v.rate)),
        line("Upper bound of the rate, 95 %", |v| bound(v.upper_bound_95)),
        line("Longest run of misses", |v| count(v.longest_run)),
    ]
}

/// The ten highest and lowest samples of each series that kept its samples.
fn extremes(out: &mut Markup, page: &Page<'_>) {
    let kept = |it: &&SeriesOnPage<'_>| it.summary.samples.is_some();
    if page.series.iter().filter(kept).count() == 0 {
        return;
    }
    out.tag("<details><summary>Highest and lowest samples</summary>");
    for series in &page.series {
        let Some(facts) = &series.summary.samples else {
            continue;
        };
        out.tag("<div class=\"scroll\" tabindex=\"0\" role=\"region\"");
        let words = format!("Highest and lowest samples of {}", series.label);
        out.attr("aria-label", &words);
        out.tag("><table><caption>").text(words);
        out.tag(": sample number and value</caption><thead><tr><th scope=\"col\">Highest</th>");
        out.tag("<th scope=\"col\">Value</th><th scope=\"col\">Lowest</th><th scope=\"col\">Value</th></tr></thead><tbody>");
        for (high, low) in facts.highest.iter().zip(&facts.lowest) {
            out.tag("<tr>");
            for one in [high, low] {
                out.element("td", count(one.index))
                    .element("td", span(one.value_ns));
            }
            out.tag("</tr>");
        }
        out.tag("</tbody></table></div>");
    }
    out.tag("</details>");
}

/// Colours in the style sheet, `--series-0` and on.
const COLOURS: usize = 8;

/// Lengths of dashes and gaps in pixels; none is a solid line.
const DASHES: [&[u8]; COLOURS] = [
    &[],
    &[9, 4],
    &[2, 3],
    &[12, 4, 2, 4],
    &[5, 3],
    &[12, 3, 2, 3, 2, 3],
    &[3, 7],
    &[18, 5],
];

/// The dash of a series: the first eight differ, and so do eight of one colour.
pub(super) fn dash(index: usize) -> &'static [u8] {
    DASHES[(index + index / COLOURS) % COLOURS]
}

/// A short piece of the line that stands for a series.
pub(super) fn mark(out: &mut Markup, index: usize) {
    let dashes: Vec<String> = dash(index).iter().map(u8::to_string).collect();
    out.tag("<svg aria-hidden=\"true\" viewBox=\"0 0 30 8\"");
    out.attr("class", format!("mark k{}", index % COLOURS));
    out.tag("><path d=\"M0 4h30\"")
        .attr("stroke-dasharray", dashes.join(" "))
        .tag("/></svg>");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_percentile_needs_as_many_samples_as_it_has_nines() {
        assert_eq!(needed(Percent::P50), 2);
        for (nines, percent) in Percent::LADDER.into_iter().enumerate().skip(1) {
            assert_eq!(needed(percent), 10_u64.pow(nines as u32));
        }
    }

    #[test]
    fn no_two_of_64_series_look_the_same() {
        let looks: BTreeSet<_> = (0..64).map(|it| (it % COLOURS, dash(it))).collect();
        assert_eq!(looks.len(), 64);
        let first: BTreeSet<_> = (0..8).map(dash).collect();
        assert_eq!(first.len(), 8);
    }
}
