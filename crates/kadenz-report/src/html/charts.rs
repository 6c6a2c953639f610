//! The charts of a page of runs: percentiles, maxima over time, histogram, jitter.

use super::blocks;
use super::data::PageData;
use super::gaussian::gaussian;
use super::markup::Markup;
use super::page::{Page, SeriesOnPage, grouped};
use super::table::table;
use crate::document::ChartControl::{Legend, Scale, Spans, Zoom};
use crate::document::Document;
use crate::figures::{count, duration, lasting, span};
use crate::sections::series::FigureGroup;
use crate::statistics::{JitterFacts, Percent};

/// The sections, unless no series has a value.
pub(super) fn sections(out: &mut Markup, page: &Page<'_>, data: &PageData) {
    if page.series.iter().all(|series| series.summary.count == 0) {
        return;
    }
    let sections = [
        ("percentiles", "Percentiles", percentiles(page)),
        ("extremes", "Maxima over time", extremes(page, data)),
        ("histogram", "Histogram", histogram(page)),
        ("jitter", "Jitter against the ideal signal", jitter(page)),
        ("gaussian", "Latency is not Gaussian", gaussian(page)),
    ];
    for (id, title, document) in sections.iter().filter(|it| !it.2.is_empty()) {
        blocks::section(out, id, title, document);
    }
}

fn percentiles(page: &Page<'_>) -> Document {
    let words = each(page, |s| {
        let at = |p| {
            let ns = s.summary.percentile(p)?;
            Some(format!("{p} % below {}", span(ns)))
        };
        let supported = [Percent::P50, Percent::P99, Percent::P99_9];
        let max = s.summary.max_ns.map(|ns| format!("largest {}", span(ns)));
        let all = supported.into_iter().filter_map(at).chain(max);
        all.collect::<Vec<_>>().join(", ")
    });
    let lead = "The value that a share of all samples stays below. Each step to the right is one more nine: ten times \
                fewer samples lie beyond. A diamond marks the largest value of all.";
    Document::new()
        .lead(lead)
        .chart(format!("Percentile plot. {words}"), vec![Legend, Scale])
}

fn extremes(page: &Page<'_>, data: &PageData) -> Document {
    let lead =
        "The largest value of each interval. A mean would smooth a stall away; a maximum cannot.";
    let document = Document::new().lead(lead);
    let shown = data.series.iter().find_map(|it| it.extremes.as_ref());
    let Some(shown) = shown else {
        return document.missing("The run holds no intervals, only totals.");
    };
    let words = each(page, |s| {
        match s.summary.intervals.iter().max_by_key(|i| i.max_ns) {
            Some(worst) => {
                let at = lasting((worst.start_s.max(0.0) * 1e9) as u64);
                format!("worst {} after {at}", span(worst.max_ns))
            }
            None => String::from("no intervals"),
        }
    });
    let document = document.chart(
        format!("Largest value of each interval over the time of the run. {words}"),
        vec![Legend, Spans, Scale, Zoom],
    );
    match shown.merged {
        0..=1 => document,
        merged => document.hint(format!(
            "To keep this page small, each point is the maximum of {merged} neighbouring intervals, together {}; the \
             run folder holds every one.",
            duration(shown.covers_s * 1e9)
        )),
    }
}

fn histogram(page: &Page<'_>) -> Document {
    let early = match page.series.iter().any(SeriesOnPage::has_early) {
        true => "; values left of zero were early",
        false => "",
    };
    let words = each(page, |s| {
        let ends = s.summary.min_ns.zip(s.summary.max_ns);
        ends.map_or(String::new(), |(min, max)| {
            let samples = count(s.summary.count);
            format!("{samples} samples from {} to {}", span(min), span(max))
        })
    });
    let lead = "How often each value came. Counts are logarithmic, so that a single sample still shows beside a million";
    let document = Document::new().lead(format!("{lead}{early}."));
    document.chart(
        format!("Histogram with logarithmic counts. {words}"),
        vec![Legend, Scale, Zoom],
    )
}

fn jitter(page: &Page<'_>) -> Document {
    let lead = "The interval between two samples less the interval of the ideal signal: zero is the beat, above it an \
                interval was too long, below it too short.";
    let mut document = Document::new().lead(lead);
    if page.series.iter().any(|series| series.jitter.is_ok()) {
        let words = each(page, |s| match facts(s) {
            Some(facts) => format!("between {} and {}", span(facts.min_ns), span(facts.max_ns)),
            None => String::from("not known"),
        });
        document = document.chart(
            format!("Jitter over the time of the run. {words}"),
            vec![Legend, Zoom],
        );
    }
    let series = page.series.iter();
    let missing =
        series.filter_map(|it| Some((it.jitter.as_ref().err()?.as_str(), it.label.clone())));
    let document = document.folded("Jitter in figures".to_owned(), jitter_figures(page));
    grouped(missing)
        .into_iter()
        .fold(document, |document, (why, labels)| {
            document.missing_of(&labels, why)
        })
}

fn facts<'a>(series: &SeriesOnPage<'a>) -> Option<&'a JitterFacts> {
    series.summary.samples.as_ref()?.jitter.as_ref()
}

fn jitter_figures(page: &Page<'_>) -> Document {
    let caption = "Jitter from interval to interval";
    let is_known = |it: &SeriesOnPage<'_>| facts(it).is_some();
    let table = table(page, caption, is_known, |it| {
        it.group == FigureGroup::Jitter
    });
    match table.rows.is_empty() {
        true => Document::new(),
        false => Document::new().table(table),
    }
}

/// `label: words. label: words.`
fn each(page: &Page<'_>, words: impl Fn(&SeriesOnPage<'_>) -> String) -> String {
    let recorded = page.series.iter().filter(|series| series.summary.count > 0);
    let sentences = recorded.map(|series| format!("{}: {}.", series.label, words(series)));
    sentences.collect::<Vec<_>>().join(" ")
}
