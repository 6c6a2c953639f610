//! The page from its first byte to its last, with its content security policy: the page's own scripts may run, and
//! nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::markup::Markup;
use super::page::Page;
use super::sections::{Link, SectionContents};
use super::{charts, data, findings, machine, matrix, sections, table, verdict};
use crate::figures::lasting;
use crate::matrix::Matrix;

const STYLE: &str = include_str!("../../assets/report.css");
const ICONS: &str = include_str!("../../assets/icons.svg");
const ECHARTS: &str = include_str!("../../assets/vendor/echarts/echarts.min.js");
const ECHARTS_NOTICE: &str = include_str!("../../assets/vendor/echarts/NOTICE");
const ECHARTS_LICENCE: &str = include_str!("../../assets/vendor/echarts/LICENSE");
const D3_LICENCE: &str = include_str!("../../assets/vendor/echarts/LICENSE-d3");

/// Our scripts, in the order in which they run.
const SCRIPTS: [&str; 14] = [
    include_str!("../../assets/js/units.js"),
    include_str!("../../assets/js/theme.js"),
    include_str!("../../assets/js/series.js"),
    include_str!("../../assets/js/figure.js"),
    include_str!("../../assets/js/axes.js"),
    include_str!("../../assets/js/percentiles.js"),
    include_str!("../../assets/js/extremes.js"),
    include_str!("../../assets/js/histogram.js"),
    include_str!("../../assets/js/jitter.js"),
    include_str!("../../assets/js/gaussian.js"),
    include_str!("../../assets/js/effects.js"),
    include_str!("../../assets/js/panels.js"),
    include_str!("../../assets/js/deadline.js"),
    include_str!("../../assets/js/page.js"),
];

/// All scripts of the page, in the order in which they run.
fn scripts() -> Vec<&'static str> {
    [ECHARTS].into_iter().chain(SCRIPTS).collect()
}

const META: &str = concat!(
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
    "<meta name=\"color-scheme\" content=\"light dark\">",
    "<meta name=\"generator\" content=\"Kadenz\">",
    "<link rel=\"icon\" href=\"data:,\">",
);

const LINKS: [Link; 5] = [
    ("series", "Figures"),
    ("percentiles", "Charts"),
    ("host", "Machine"),
    ("warnings", "Warnings"),
    ("repeat", "Repeat"),
];

/// The whole page.
pub(super) fn render(page: &Page<'_>) -> String {
    let data = data::of(page);
    let json = serde_json::to_string(&data).unwrap_or_default();
    let findings = findings::all(page);
    let contents = sections::of(page, sections::ALL);
    let links = navigation([("verdict", "Verdict")], &contents, LINKS);
    around(page, &links, &json, |out| {
        verdict::section(out, page, &findings);
        sections::all(out, &contents);
        table::section(out, page);
        out.tag("<div class=\"plots\">");
        charts::sections(out, page, &data);
        out.tag("</div>");
        machine::host(out, page);
        findings::section(out, &findings);
        machine::tuning(out, page, &findings);
        machine::repeat(out, page);
    })
}

/// The whole page of a matrix.
pub(super) fn render_matrix(page: &Page<'_>, matrix: &Matrix) -> String {
    let data = matrix::data(page, matrix);
    let json = serde_json::to_string(&data).unwrap_or_default();
    let recurring = sections::of(page, [sections::MODES]);
    let links = navigation(matrix::LINKS, &recurring, matrix::LAST_LINKS);
    around(page, &links, &json, |out| {
        matrix::sections(out, page, matrix, &recurring);
    })
}

/// Links around those of the sections with content.
fn navigation(
    first: impl IntoIterator<Item = Link>,
    contents: &[SectionContents],
    last: impl IntoIterator<Item = Link>,
) -> Vec<Link> {
    let contents = contents.iter().map(|it| (it.section.id, it.section.name));
    first.into_iter().chain(contents).chain(last).collect()
}

/// The common frame of all pages around their sections: style, header, data and scripts.
fn around(
    page: &Page<'_>,
    links: &[Link],
    json: &str,
    sections: impl FnOnce(&mut Markup),
) -> String {
    let mut out = Markup::default();
    head(&mut out, &title(page), &scripts());
    out.tag("<body>").tag(ICONS);
    top_bar(&mut out, links);
    out.tag("\n<main id=\"content\">");
    header(&mut out, page);
    sections(&mut out);
    out.tag("</main>\n");
    footer(&mut out);
    out.tag("<script type=\"application/json\" id=\"kadenz-data\">")
        .json(json);
    out.tag("</script>\n");
    for script in scripts() {
        out.tag("<script>").tag(script).tag("</script>\n");
    }
    out.tag("</body></html>\n");
    out.finish()
}

/// The beginning of every page, with its style and the policy that allows it and these scripts.
pub(super) fn head(out: &mut Markup, title: &str, scripts: &[&str]) {
    out.tag("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">")
        .tag("<meta http-equiv=\"Content-Security-Policy\"")
        .attr("content", content_security_policy(scripts, STYLE))
        .tag(">")
        .tag(META);
    out.element("title", title);
    out.tag("<style>").tag(STYLE).tag("</style></head>\n");
}

fn title(page: &Page<'_>) -> String {
    let labels: Vec<&str> = page.runs.iter().map(|run| run.label.as_str()).collect();
    match labels.is_empty() {
        true => String::from("Kadenz report"),
        false => format!("{} · Kadenz report", labels.join(" / ")),
    }
}

fn top_bar(out: &mut Markup, links: &[Link]) {
    out.tag(concat!(
        "<a class=\"skip\" href=\"#content\">Skip to the report</a>",
        "<div class=\"top\"><div class=\"top-in\">",
        "<span class=\"brand\"><svg aria-hidden=\"true\"><use href=\"#i-beat\"/></svg>Kadenz</span>",
        "<nav aria-label=\"Sections\">",
    ));
    for (id, name) in links {
        out.tag("<a").attr("href", format!("#{id}")).tag(">");
        out.text(name).tag("</a>");
    }
    out.tag(concat!(
        "</nav>",
        "<button type=\"button\" id=\"theme-toggle\" aria-label=\"Switch colours\">",
        "<svg aria-hidden=\"true\"><use href=\"#i-theme\"/></svg></button>",
        "</div></div>",
    ));
}

/// The names of the runs, and at the very top why one of them is incomplete.
fn header(out: &mut Markup, page: &Page<'_>) {
    for run in page.runs.iter().filter(|run| !run.summary.run.complete) {
        out.tag("<p class=\"banner\" role=\"note\">")
            .icon("warning");
        out.tag("<span><strong>Incomplete run.</strong> ")
            .text(&run.label);
        out.tag(" was killed, could not be written, or is still being measured. This page shows what had been written ");
        out.tag("when it was made; at most one interval is missing.</span></p>");
    }
    out.tag("<header class=\"runs\">");
    for run in &page.runs {
        let about = &run.summary.run;
        out.tag("<p><strong>").text(&run.label).tag("</strong>");
        let mut facts = vec![about.experiment.clone(), started(&about.started_at)];
        if about.duration_ns > 0 {
            facts.push(lasting(about.duration_ns));
        }
        facts.extend(about.host.cpu.clone());
        facts.extend(about.host.kernel.clone());
        for fact in facts.iter().filter(|fact| !fact.is_empty()) {
            out.tag(" <span>").text(fact).tag("</span>");
        }
        out.tag("</p>");
    }
    out.tag("</header>");
}

/// `2026-05-09T07:29:33.186Z` as `2026-05-09 07:29:33 UTC`; anything else as it stands.
fn started(at: &str) -> String {
    match at.parse::<jiff::Timestamp>() {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Err(_) => at.to_owned(),
    }
}

fn footer(out: &mut Markup) {
    out.tag("<footer>");
    made_by(out);
    out.tag("<details><summary>Charts by Apache ECharts 6.1.0, Apache-2.0: notice and licence</summary><pre>");
    out.text(ECHARTS_NOTICE)
        .tag("\n\n")
        .text(ECHARTS_LICENCE)
        .tag("\n\n")
        .text(D3_LICENCE);
    out.tag("</pre></details></footer>\n");
}

/// The last words of every page.
pub(super) fn made_by(out: &mut Markup) {
    out.tag("<p>Made by Kadenz ")
        .text(env!("CARGO_PKG_VERSION"));
    out.tag(". This file is complete in itself and loads nothing.</p>");
}

/// The policy of a page with these scripts and this style, each given by its hash: markup injected by a name from a run
/// neither runs nor styles, and nothing is loaded.
///
/// Source: W3C, "Content Security Policy Level 3", 2.3.1 and 8.4.
fn content_security_policy(scripts: &[&str], style: &str) -> String {
    let hashes: Vec<String> = scripts.iter().map(|it| hash(it)).collect();
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        hashes.join(" "),
        hash(style)
    )
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::render;
    use crate::summary::Summary;

    #[test]
    fn no_script_can_end_its_element_early() {
        for script in scripts() {
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
    }

    #[test]
    fn a_start_that_is_no_time_stands_as_it_is() {
        assert_eq!(
            started("2026-05-09T07:29:33.186Z"),
            "2026-05-09 07:29:33 UTC"
        );
        assert_eq!(started("yesterday"), "yesterday");
    }

    /// The example of the specification's section 8.4.
    #[test]
    fn a_hash_is_that_of_the_specification() {
        assert_eq!(
            hash("alert('Hello, world.');"),
            "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"
        );
    }

    #[test]
    fn a_page_allows_what_stands_in_it_and_nothing_inline_besides() {
        let page = render(&[Summary::default()]);
        let head = page.split("<title>").next().unwrap_or_default();
        assert!(!head.contains("unsafe"), "{head}");
        for (open, close) in [("<script>", "</script>"), ("<style>", "</style>")] {
            for part in page.split(open).skip(1) {
                let content = part.split(close).next().unwrap_or_default();
                let hash = hash(content).replace('\'', "&#39;");
                assert!(head.contains(&hash), "{open} without its hash {hash}");
            }
        }
        let written = page.split("<script").next().unwrap_or_default();
        for inline in [" style=", " onclick=", "javascript:"] {
            assert!(
                !written.contains(inline),
                "the policy would refuse {inline}"
            );
        }
    }
}
