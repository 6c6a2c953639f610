//! The page of a campaign: its tables, and every run at once. It needs no script.

mod grid;
mod heat;
mod ridges;

use super::blocks;
use super::document::{CHARSET, HEAD, STYLE};
use super::markup::Markup;
use super::policy;
use crate::campaign::{CampaignReport, CampaignRun, series_of};
use crate::document::Answer as _;
use grid::{Grid, Order};

const DRAWN: &str = include_str!("../../../assets/campaign.css");

/// The whole page.
pub(super) fn render(report: &CampaignReport, runs: &[CampaignRun]) -> String {
    let style = format!("{STYLE}\n{DRAWN}");
    let mut out = Markup::default();
    out.tag("<!doctype html>\n<html lang=\"en\"><head>")
        .tag(CHARSET)
        .tag("<meta http-equiv=\"Content-Security-Policy\"")
        .attr("content", policy::of(&[], &style))
        .tag(">")
        .tag(HEAD)
        .element(
            "title",
            format!("{} · Kadenz campaign", report.facts().name),
        );
    out.tag("<style>")
        .tag(STYLE)
        .tag("\n")
        .tag(DRAWN)
        .tag("</style></head>\n<body><main id=\"content\">");
    out.element("h1", &report.facts().name);
    out.tag("<section id=\"figures\">");
    blocks::write(&mut out, &report.document());
    out.tag("</section>");
    for series in series_of(runs) {
        section(&mut out, report, runs, series);
    }
    out.tag("</main><footer><p>Made by Kadenz ")
        .text(env!("CARGO_PKG_VERSION"))
        .tag(". This file is complete in itself and loads nothing.</p></footer></body></html>\n");
    out.finish()
}

fn section(out: &mut Markup, report: &CampaignReport, runs: &[CampaignRun], series: &str) {
    out.tag("<section><h2>Every run: ")
        .text(series)
        .tag("</h2>");
    let measured = Grid::of(runs, series, Order::AsMeasured);
    out.tag("<p class=\"hint\">A row is a run, the first at the top; to the right values grow, each line ten times the ");
    out.tag("one before; the darker, the more values (logarithmic).</p>");
    heat::draw(out, &measured, None);
    if report.facts().varied.iter().any(|it| it.values.len() > 1) {
        out.tag("<h3>The same, by combination</h3>");
        let sorted = Grid::of(runs, series, Order::ByCombination);
        heat::draw(out, &sorted, Some(&report.facts().varied));
    }
    out.tag("<h3>The same in three dimensions</h3>");
    out.tag("<p class=\"hint\">To the right values grow, to the back runs follow each other, upwards is how many values ");
    out.tag("there are (logarithmic); as the long-term plots of Sticha 2014.</p>");
    ridges::draw(out, &measured);
    out.tag("</section>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::CampaignFacts;
    use crate::campaign::{CampaignSeries, Varied};

    fn runs() -> Vec<CampaignRun> {
        let run = |number: usize| CampaignRun {
            number,
            round: 1,
            combination: number % 2,
            series: vec![CampaignSeries {
                value: "<i>late".to_owned(),
                count: 11,
                bins: vec![(80, 10), (88 + (number % 3) as u16, 1)],
                ..CampaignSeries::default()
            }],
        };
        (1..=300).map(run).collect()
    }

    fn page(runs: &[CampaignRun]) -> String {
        let facts = CampaignFacts {
            name: "a</style><b>".to_owned(),
            varied: vec![Varied {
                option: "policy".to_owned(),
                values: vec!["other".to_owned(), "<fifo>".to_owned()],
            }],
            ..CampaignFacts::default()
        };
        render(&CampaignReport::of(facts, runs), runs)
    }

    #[test]
    fn every_run_is_drawn_and_nothing_of_a_plan_is_markup() {
        let page = page(&runs());
        assert_eq!(page.matches("<svg").count(), 3);
        assert!(page.contains("policy &lt;fifo&gt;"));
        for markup in ["<fifo>", "<i>late", "<b>", "<script", " style="] {
            assert!(!page.contains(markup), "{markup}");
        }
        assert!(!page.contains("NaN") && !page.contains("inf"));
    }

    #[test]
    fn the_style_is_the_one_that_the_policy_allows() {
        let page = page(&runs());
        let style = page.split("<style>").nth(1).unwrap();
        let style = style.split("</style>").next().unwrap();
        let policy = policy::of(&[], style).replace('\'', "&#39;");
        assert!(page.contains(&policy));
    }

    #[test]
    fn without_a_run_there_is_a_page_without_drawings() {
        let page = page(&[]);
        assert!(!page.contains("<svg") && page.ends_with("</html>\n"));
    }
}
