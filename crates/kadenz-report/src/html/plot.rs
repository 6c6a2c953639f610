//! Charts and drawings on a page, and the marks of the series in them.

use super::markup::Markup;
use crate::document::{Chart, ChartControl, Drawing, Key, SvgElement};

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

/// Writes a chart: its controls, a place for its script to draw in, and its words for screen readers.
pub(super) fn chart(out: &mut Markup, chart: &Chart) {
    if let Some(id) = &chart.id {
        out.tag("<div class=\"panels\"").attr("id", id).tag(">");
    }
    if !chart.controls.is_empty() {
        out.tag("<div class=\"controls\">");
        chart.controls.iter().for_each(|it| control(out, it));
        out.tag("</div>");
    }
    out.tag("<div class=\"plot\" role=\"img\"")
        .attr("aria-label", &chart.words);
    if chart.controls.contains(&ChartControl::Zoom) {
        out.tag(" tabindex=\"0\"");
    }
    out.tag("></div><noscript><p class=\"missing\">This chart needs JavaScript; the figures above do not.</p></noscript>");
    if chart.controls.contains(&ChartControl::Spans) {
        out.tag(HOW_TO_ZOOM);
    }
    out.tag(if chart.id.is_some() { "</div>" } else { "" });
}

fn control(out: &mut Markup, control: &ChartControl) {
    match control {
        ChartControl::Legend => out.tag("<div class=\"legend\"></div>"),
        ChartControl::Key(names) => key(out, names),
        ChartControl::Scale => out.tag(SCALE),
        ChartControl::Spans => out.tag(SPANS),
        ChartControl::Series(all) => {
            out.tag("<label class=\"pick\">Series <select>");
            for (number, name) in all {
                out.tag("<option").attr("value", number).tag(">");
                out.text(name).tag("</option>");
            }
            out.tag("</select></label>")
        }
        ChartControl::Zoom => out,
    };
}

/// Writes names, each after its sign.
pub(super) fn key<'m>(out: &'m mut Markup, names: &Key) -> &'m mut Markup {
    for (class, words) in names {
        out.tag("<span class=\"key\"><i").attr("class", class);
        out.tag("></i>").text(words).tag("</span>");
    }
    out
}

/// Writes a drawing.
pub(super) fn drawing(out: &mut Markup, drawing: &Drawing) {
    out.tag("<div class=\"scroll\" role=\"region\" tabindex=\"0\"")
        .attr("aria-label", drawing.words)
        .tag("><svg role=\"img\"")
        .attr("class", drawing.class)
        .attr("aria-label", drawing.words);
    let (width, height) = drawing.size;
    out.attr("viewBox", format!("0 0 {width} {height:.0}"))
        .tag(">");
    for SvgElement(name, attributes, text) in &drawing.elements {
        out.tag("<").tag(name);
        for (name, value) in attributes {
            out.attr(name, value);
        }
        out.tag(">").text(text).tag("</").tag(name).tag(">");
    }
    out.tag("</svg></div>");
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
    fn no_two_of_64_series_look_the_same() {
        let looks: BTreeSet<_> = (0..64).map(|it| (it % COLOURS, dash(it))).collect();
        assert_eq!(looks.len(), 64);
        let first: BTreeSet<_> = (0..8).map(dash).collect();
        assert_eq!(first.len(), 8);
    }
}
