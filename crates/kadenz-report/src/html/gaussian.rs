//! What was measured against the Gaussian that its mean and deviation claim (Enner's figure 6).

use super::charts::plot;
use super::figures::{count, duration, significant, span};
use super::markup::Markup;
use super::normal;
use super::page::{Page, SeriesOnPage};

/// What is drawn how.
const KEY: &str = concat!(
    "<span class=\"key\"><i class=\"measured\"></i>measured</span>",
    "<span class=\"key\"><i class=\"claimed\"></i>Gaussian of the same mean and deviation</span>",
);

/// The section; absent when no series has a spread.
pub(super) fn section(out: &mut Markup, page: &Page<'_>) {
    let spread: Vec<(usize, &SeriesOnPage<'_>, f64)> = page
        .series
        .iter()
        .enumerate()
        .filter_map(|(index, series)| Some((index, series, series.summary.max_in_stddevs?)))
        .filter(|(_, series, _)| series.summary.count > 1)
        .collect();
    if spread.is_empty() {
        return;
    }
    out.tag("<section id=\"gaussian\"><h2>Latency is not Gaussian</h2><p class=\"lead\">The distribution that was ");
    out.tag("measured, and in dashes the bell curve of the same mean and standard deviation: all that these ");
    out.tag("two figures can tell.</p><div class=\"controls\">");
    if spread.len() > 1 {
        out.tag("<label class=\"pick\">Series <select>");
        for (index, series, _) in &spread {
            out.tag("<option")
                .attr("value", index)
                .tag(">")
                .text(&series.label)
                .tag("</option>");
        }
        out.tag("</select></label>");
    }
    out.tag(KEY).tag("</div>");
    plot(
        out,
        true,
        "Measured distribution against a Gaussian of the same mean and standard deviation; the sentences below tell the difference.",
    );
    for (index, series, times) in &spread {
        out.tag("<p class=\"told\"")
            .attr("data-series", index)
            .tag(">");
        out.text(told(series, *times)).tag("</p>");
    }
    out.tag("</section>");
}

/// The difference in words.
fn told(series: &SeriesOnPage<'_>, times: f64) -> String {
    let summary = series.summary;
    let (mean, sd) = (
        summary.mean_ns.unwrap_or(0.0),
        summary.stddev_ns.unwrap_or(0.0),
    );
    let claimed = mean + sd * normal::expected_largest(summary.count);
    let max = summary.max_ns.unwrap_or(0);
    format!(
        "{}: a Gaussian with mean {} and deviation {} would have the largest of {} samples near {}. \
         The largest measured is {}, which lies {} deviations above the mean.",
        series.label,
        duration(mean),
        duration(sd),
        count(summary.count),
        duration(claimed),
        span(max),
        significant(times, 3),
    )
}
