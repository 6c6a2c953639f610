//! The figures that scripts draw: percentiles, maxima over time, histogram, jitter.

use super::blocks;
use super::data::PageData;
use super::machine::grouped;
use super::markup::Markup;
use super::page::{Page, SeriesOnPage};
use super::table::table;
use crate::document::Document;
use crate::figures::{count, duration, lasting, span};
use crate::sections::series::FigureGroup;
use crate::statistics::{JitterFacts, Percent};

const SCALE: &str = concat!(
    "<div class=\"choice scale\" role=\"group\" aria-label=\"Scale\">",
    "<button type=\"button\" value=\"linear\">linear</button>",
    "<button type=\"button\" value=\"log\">logarithmic</button></div>",
);

const SPANS: &str = concat!(
    "<div class=\"choice spans\" role=\"group\" aria-label=\"Zoom to the worst\"><span>Worst within</span>",
    "<button type=\"button\" value=\"0\">all</button>",
    "<button type=\"button\" value=\"3600000\">1 h</button>",
    "<button type=\"button\" value=\"600000\">10 min</button>",
    "<button type=\"button\" value=\"60000\">1 min</button>",
    "<button type=\"button\" value=\"10000\">10 s</button></div>",
);

const HOW_TO_ZOOM: &str = concat!(
    "<p class=\"hint keys\">Zoom these charts with the slider, with <kbd>Ctrl</kbd> and the wheel, or click a plot and ",
    "use the wheel, <kbd>+</kbd> <kbd>−</kbd> <kbd>←</kbd> <kbd>→</kbd>, <kbd>0</kbd> for all.</p>",
    "<p class=\"hint touch\">Zoom with the slider below the plot.</p>",
);

/// The four sections.
pub(super) fn sections(out: &mut Markup, page: &Page<'_>, data: &PageData) {
    if page.series.iter().all(|series| series.summary.count == 0) {
        return;
    }
    percentiles(out, page);
    extremes(out, page, data);
    histogram(out, page);
    jitter(out, page);
}

/// Where a script shows which deadline lies above the plot.
const ABOVE: &str = "<p class=\"above hint\"></p>";

/// The plot itself, described in words for screen readers.
pub(super) fn plot(out: &mut Markup, zooms: bool, words: &str) {
    out.tag("<div class=\"plot\" role=\"img\"")
        .attr("aria-label", words);
    out.tag(if zooms {
        " tabindex=\"0\"></div>"
    } else {
        "></div>"
    });
    out.tag("<noscript><p class=\"missing\">This chart needs JavaScript; the figures above do not.</p></noscript>");
}

fn percentiles(out: &mut Markup, page: &Page<'_>) {
    out.tag("<section id=\"percentiles\"><h2>Percentiles</h2><p class=\"lead\">The value that a share of all ");
    out.tag("samples stays below. Each step to the right is one more nine: ten times fewer samples lie ");
    out.tag("beyond. A diamond marks the largest value of all.</p>");
    out.tag("<div class=\"controls\"><div class=\"legend\"></div>")
        .tag(SCALE)
        .tag("</div>");
    let words = each(page, |s| {
        let at = |p| {
            s.summary
                .percentile(p)
                .map(|ns| format!("{p} % below {}", span(ns)))
        };
        let carried = [Percent::P50, Percent::P99, Percent::P99_9]
            .into_iter()
            .filter_map(at);
        let max = s.summary.max_ns.map(|ns| format!("largest {}", span(ns)));
        carried.chain(max).collect::<Vec<_>>().join(", ")
    });
    plot(out, false, &format!("Percentile plot. {words}"));
    out.tag(ABOVE).tag("</section>");
}

fn extremes(out: &mut Markup, page: &Page<'_>, data: &PageData) {
    out.tag("<section id=\"extremes\"><h2>Maxima over time</h2><p class=\"lead\">The largest value of each ");
    out.tag("interval. A mean would smooth a stall away; a maximum cannot.</p>");
    let Some(shown) = data
        .series
        .iter()
        .find_map(|series| series.extremes.as_ref())
    else {
        out.tag("<p class=\"missing\">The run holds no intervals, only totals.</p></section>");
        return;
    };
    out.tag("<div class=\"controls\"><div class=\"legend\"></div>")
        .tag(SPANS)
        .tag(SCALE)
        .tag("</div>");
    let words = each(page, |s| {
        match s.summary.intervals.iter().max_by_key(|i| i.max_ns) {
            Some(worst) => {
                let at = lasting((worst.start_s.max(0.0) * 1e9) as u64);
                format!("worst {} after {at}", span(worst.max_ns))
            }
            None => String::from("no intervals"),
        }
    });
    plot(
        out,
        true,
        &format!("Largest value of each interval over the time of the run. {words}"),
    );
    out.tag(ABOVE).tag(HOW_TO_ZOOM);
    if shown.merged > 1 {
        out.tag("<p class=\"hint\">To keep this page small, each point is the maximum of ");
        out.text(shown.merged)
            .tag(" neighbouring intervals, together ");
        out.text(duration(shown.covers_s * 1e9))
            .tag("; the run folder holds every one.</p>");
    }
    out.tag("</section>");
}

fn histogram(out: &mut Markup, page: &Page<'_>) {
    out.tag("<section id=\"histogram\"><h2>Histogram</h2><p class=\"lead\">How often each value came. Counts are ");
    out.tag("logarithmic, so that a single sample still shows beside a million");
    if page.series.iter().any(SeriesOnPage::has_early) {
        out.tag("; values left of zero were early");
    }
    out.tag(".</p><div class=\"controls\"><div class=\"legend\"></div>")
        .tag(SCALE)
        .tag("</div>");
    let words = each(page, |s| {
        let ends = s.summary.min_ns.zip(s.summary.max_ns);
        ends.map_or(String::new(), |(min, max)| {
            format!(
                "{} samples from {} to {}",
                count(s.summary.count),
                span(min),
                span(max)
            )
        })
    });
    plot(
        out,
        true,
        &format!("Histogram with logarithmic counts. {words}"),
    );
    out.tag("</section>");
}

fn jitter(out: &mut Markup, page: &Page<'_>) {
    out.tag("<section id=\"jitter\"><h2>Jitter against the ideal signal</h2><p class=\"lead\">The interval between ");
    out.tag("two samples less the interval of the ideal signal: zero is the beat, above it an interval was ");
    out.tag("too long, below it too short.</p>");
    if page.series.iter().any(|series| series.jitter.is_ok()) {
        out.tag("<div class=\"controls\"><div class=\"legend\"></div></div>");
        let words = each(page, |s| match facts(s) {
            Some(facts) => format!("between {} and {}", span(facts.min_ns), span(facts.max_ns)),
            None => String::from("not known"),
        });
        plot(
            out,
            true,
            &format!("Jitter over the time of the run. {words}"),
        );
    }
    jitter_table(out, page);
    let series = page.series.iter();
    let missing =
        series.filter_map(|it| Some((it.jitter.as_ref().err()?.as_str(), it.label.clone())));
    for (reason, labels) in grouped(missing) {
        out.tag("<p class=\"missing\"><b>")
            .text(labels.join(", "))
            .tag("</b>: ")
            .ticked(reason)
            .tag("</p>");
    }
    out.tag("</section>");
}

fn facts<'a>(series: &SeriesOnPage<'a>) -> Option<&'a JitterFacts> {
    series.summary.samples.as_ref()?.jitter.as_ref()
}

fn jitter_table(out: &mut Markup, page: &Page<'_>) {
    let caption = "Jitter from interval to interval";
    let is_known = |it: &SeriesOnPage<'_>| facts(it).is_some();
    let table = table(page, caption, is_known, |it| {
        it.group == FigureGroup::Jitter
    });
    if !table.rows.is_empty() {
        let figures = Document::new().table(table);
        let summary = "Jitter in figures".to_owned();
        blocks::write(out, &Document::new().folded(summary, figures));
    }
}

/// `label: words. label: words.`
fn each(page: &Page<'_>, words: impl Fn(&SeriesOnPage<'_>) -> String) -> String {
    let recorded = page.series.iter().filter(|series| series.summary.count > 0);
    let sentences = recorded.map(|series| format!("{}: {}.", series.label, words(series)));
    sentences.collect::<Vec<_>>().join(" ")
}
