//! The page of a campaign: its tables, and every run at once. It needs no script.
//!
//! Runs by sizes of values are drawn as a heat map (a row a run, a column a size of values, a colour for how many) and
//! as the long-term view of [Sticha2014]: a line a run, one behind the other.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::markup::Markup;
use super::{blocks, document};
use crate::campaign::{
    CampaignReport, CampaignRun, CampaignSeries, Varied, bin_edge_ns, series_of, values,
};
use crate::document::{Answer as _, Document, Drawing, SvgElement};
use crate::numbers;

/// The whole page.
pub(super) fn render(report: &CampaignReport, runs: &[CampaignRun]) -> String {
    let name = &report.facts().name;
    let mut out = Markup::default();
    document::head(&mut out, &format!("{name} · Kadenz campaign"), &[]);
    out.tag("<body><main id=\"content\">").element("h1", name);
    blocks::section(&mut out, "figures", "", &report.document());
    for series in series_of(runs) {
        out.tag("<section>")
            .element("h2", format!("Every run: {series}"));
        blocks::write(&mut out, &every_run(report, runs, series));
        out.tag("</section>");
    }
    out.tag("</main><footer>");
    document::made_by(&mut out);
    out.tag("</footer></body></html>\n");
    out.finish()
}

/// The drawings of a series.
fn every_run(report: &CampaignReport, runs: &[CampaignRun], series: &str) -> Document {
    let varied = &report.facts().varied;
    let measured = RunGrid::of(runs, series, RowOrder::AsMeasured);
    let mut document = Document::new()
        .hint(
            "A row is a run, the first at the top; to the right values grow, each line ten times the one before; the \
             darker, the more values (logarithmic).",
        )
        .drawing(heat_map(&measured, None));
    if varied.iter().any(|it| it.values.len() > 1) {
        let sorted = RunGrid::of(runs, series, RowOrder::ByCombination);
        document = document
            .heading("The same, by combination")
            .drawing(heat_map(&sorted, Some(varied)));
    }
    document
        .heading("The same in three dimensions")
        .hint(
            "To the right values grow, to the back runs follow each other, upwards is how many values there are \
             (logarithmic); as the long-term plots of [Sticha2014].",
        )
        .drawing(ridges(&measured))
}

/// The order of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowOrder {
    /// The first run first.
    AsMeasured,
    /// The runs of a combination together.
    ByCombination,
}

/// Number of values of each size in each row. Where there are more runs than visible rows, neighbours share a row.
#[derive(Debug)]
struct RunGrid {
    rows: Vec<HeatMapRow>,
    /// The bin of the first column.
    first: u16,
    columns: u16,
    /// The most values of a bin.
    most: u64,
}

/// One run, or neighbours that share a row.
#[derive(Debug, Default)]
struct HeatMapRow {
    /// The number of its first run.
    number: usize,
    /// The combination of its first run.
    combination: usize,
    /// By bin.
    counts: BTreeMap<u16, u64>,
}

/// The maximum number of distinguishable rows.
const MAX_ROWS: usize = 160;

impl RunGrid {
    /// The runs with a series, of which there is one at least.
    fn of(runs: &[CampaignRun], series: &str, order: RowOrder) -> Self {
        let mut all: Vec<(&CampaignRun, &CampaignSeries)> = runs
            .iter()
            .filter_map(|run| Some((run, run.of_value(series)?)))
            .collect();
        if order == RowOrder::ByCombination {
            all.sort_by_key(|(run, _)| (run.combination, run.number));
        }
        let together = all.len().div_ceil(MAX_ROWS).max(1);
        let rows: Vec<HeatMapRow> = all.chunks(together).map(HeatMapRow::of).collect();
        let bins = || rows.iter().flat_map(|it| it.counts.keys().copied());
        let first = bins().min().unwrap_or(0);
        let last = bins().max().unwrap_or(0);
        let counts = rows.iter().flat_map(|it| it.counts.values().copied());
        Self {
            first,
            columns: last - first + 1,
            most: counts.max().unwrap_or(1),
            rows,
        }
    }

    /// The height of a count among all, 0 to 1 on a logarithmic scale; one value is visible.
    fn share(&self, count: u64) -> f64 {
        (count as f64).ln_1p() / (self.most as f64).ln_1p()
    }

    /// The powers of ten among the columns: value in nanoseconds, and column.
    fn decades(&self) -> Vec<(f64, f64)> {
        let column = |ns: f64| {
            let first = bin_edge_ns(self.first);
            (ns / first).log2() / (bin_edge_ns(1).log2())
        };
        let all = (0..19).map(|power| 10_f64.powi(power));
        all.map(|ns| (ns, column(ns)))
            .filter(|(_, at)| (0.0..=f64::from(self.columns)).contains(at))
            .collect()
    }
}

impl HeatMapRow {
    fn of(runs: &[(&CampaignRun, &CampaignSeries)]) -> Self {
        let mut row = Self::default();
        if let Some((first, _)) = runs.first() {
            row.number = first.number;
            row.combination = first.combination;
        }
        for (bin, count) in runs.iter().flat_map(|(_, it)| &it.bins) {
            let sum = row.counts.entry(*bin).or_default();
            *sum = sum.saturating_add(*count);
        }
        row
    }
}

const WIDTH: f64 = 900.0;
/// For the numbers of runs, or the names of combinations.
const LEFT: f64 = 60.0;
const LEFT_OF_NAMES: f64 = 260.0;
const BOTTOM: f64 = 24.0;
/// Rows are no higher than text, and all together no higher than a screen.
const MAX_ROW: f64 = 14.0;
const MAX_HEIGHT: f64 = 560.0;

/// The runs as rows; with named combinations, the first row of each has its name.
fn heat_map(grid: &RunGrid, named: Option<&[Varied]>) -> Drawing {
    let left = if named.is_some() { LEFT_OF_NAMES } else { LEFT };
    let row = (MAX_HEIGHT / grid.rows.len() as f64).min(MAX_ROW);
    let column = (WIDTH - left) / f64::from(grid.columns);
    let height = row * grid.rows.len() as f64;
    let mut elements = Vec::new();
    for (place, it) in grid.rows.iter().enumerate() {
        for (bin, count) in &it.counts {
            let x = left + column * f64::from(bin - grid.first);
            let opacity = grid.share(*count).max(0.08);
            let attributes = vec![
                ("x", format!("{x:.1}")),
                ("y", format!("{:.1}", row * place as f64)),
                ("width", format!("{column:.2}")),
                ("height", format!("{row:.2}")),
                ("fill-opacity", format!("{opacity:.2}")),
            ];
            elements.push(SvgElement("rect", attributes, String::new()));
        }
    }
    for (ns, at) in grid.decades() {
        let x = left + column * at;
        elements.push(path("decade", format!("M{x:.1} 0V{height:.1}")));
        elements.push(text((x, height + 16.0), "middle", numbers::span(ns)));
    }
    elements.extend(match named {
        Some(varied) => names(grid, varied, row),
        None => numbers_of_runs(grid, row),
    });
    Drawing {
        class: "runs-map",
        words: "Heat map of all runs",
        size: (WIDTH, height + BOTTOM),
        elements,
    }
}

fn numbers_of_runs(grid: &RunGrid, row: f64) -> Vec<SvgElement> {
    let every = grid.rows.len().div_ceil(12);
    let rows = grid.rows.iter().enumerate().step_by(every);
    let at = |place| (LEFT - 6.0, row * place as f64 + 10.0);
    rows.map(|(place, it)| text(at(place), "end", it.number.to_string()))
        .collect()
}

fn names(grid: &RunGrid, varied: &[Varied], row: f64) -> Vec<SvgElement> {
    let mut elements = Vec::new();
    let mut before = None;
    let mut free = 0.0;
    for (place, it) in grid.rows.iter().enumerate() {
        let y = row * place as f64;
        // Names that would overlap are left out.
        if before == Some(it.combination) || y < free {
            continue;
        }
        before = Some(it.combination);
        free = y + 12.0;
        let options = varied.iter().zip(values(varied, it.combination));
        let name: Vec<String> = options
            .map(|(varied, value)| format!("{} {value}", varied.option))
            .collect();
        elements.push(text(
            (LEFT_OF_NAMES - 6.0, y + 10.0),
            "end",
            name.join(", "),
        ));
    }
    elements
}

fn path(class: &'static str, path: String) -> SvgElement {
    let attributes = vec![("class", class.to_owned()), ("d", path)];
    SvgElement("path", attributes, String::new())
}

fn text((x, y): (f64, f64), anchor: &str, words: String) -> SvgElement {
    let attributes = vec![
        ("x", format!("{x:.1}")),
        ("y", format!("{y:.1}")),
        ("text-anchor", anchor.to_owned()),
    ];
    SvgElement("text", attributes, words)
}

/// How far the last run lies to the right of the first, and above it.
const DEPTH: (f64, f64) = (180.0, 240.0);
/// How high the most values stand.
const HEIGHT: f64 = 130.0;
const RIDGES_LEFT: f64 = 20.0;
/// For the number of a run.
const RIGHT: f64 = 80.0;
const RIDGES_BOTTOM: f64 = 30.0;
/// The maximum number of distinguishable lines.
const MAX_LINES: usize = 80;

/// The runs as lines, the last one first, so that the front ones hide those behind them.
fn ridges(grid: &RunGrid) -> Drawing {
    let floor = HEIGHT + DEPTH.1;
    let across = WIDTH - DEPTH.0 - RIDGES_LEFT - RIGHT;
    let mut elements = Vec::new();
    for (ns, at) in grid.decades() {
        let x = RIDGES_LEFT + across * at / f64::from(grid.columns);
        let (back_x, back_y) = (x + DEPTH.0, floor - DEPTH.1);
        elements.push(path(
            "floor",
            format!("M{x:.1} {floor:.1}L{back_x:.1} {back_y:.1}"),
        ));
        elements.push(text((x, floor + 18.0), "middle", numbers::span(ns)));
    }
    let every = grid.rows.len().div_ceil(MAX_LINES);
    let places = (0..grid.rows.len()).step_by(every);
    for place in places.rev() {
        let deep = place as f64 / grid.rows.len().saturating_sub(1).max(1) as f64;
        let (x, y) = (RIDGES_LEFT + DEPTH.0 * deep, floor - DEPTH.1 * deep);
        elements.push(path("run", line(grid, place, across, x, y)));
        if place == 0 || place + every >= grid.rows.len() {
            let number = format!("run {}", grid.rows[place].number);
            elements.push(text((x + across + 8.0, y), "start", number));
        }
    }
    Drawing {
        class: "runs-ridges",
        words: "All runs in three dimensions",
        size: (WIDTH, floor + RIDGES_BOTTOM),
        elements,
    }
}

fn line(grid: &RunGrid, place: usize, across: f64, x: f64, y: f64) -> String {
    let column = across / f64::from(grid.columns);
    let mut path = format!("M{x:.1} {y:.1}");
    for at in 0..grid.columns {
        let count = grid.rows[place].counts.get(&(grid.first + at));
        let up = HEIGHT * grid.share(count.copied().unwrap_or(0));
        let middle = x + column * (f64::from(at) + 0.5);
        let _ = write!(path, "L{middle:.1} {:.1}", y - up);
    }
    let _ = write!(path, "L{:.1} {y:.1}Z", x + across);
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::{CampaignFacts, CampaignSeries, Varied};

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
    fn without_a_run_there_is_a_page_without_drawings() {
        let page = page(&[]);
        assert!(!page.contains("<svg") && page.ends_with("</html>\n"));
    }
}
