//! `cargo xtask bench pictures`: draws the ratios of docs/benchmarks.md with their intervals and goals.
//!
//! A picture shows the table above it. Its place in the page names the title, the file and, in a comment before it, the
//! goals; the first whose words are all in a row's label and column counts:
//!
//! ```text
//! <!-- goals: udpm p50 0.7, udpm p99 0.9, 1.1 -->
//!
//! ![Latencies of messages](benchmarks/messages.svg)
//! ```

use std::fmt::Write as _;

use anyhow::{Context, Result};

use crate::repository::Repository;

const PAGE: &str = "docs/benchmarks.md";

/// A table's ratios, as they are drawn.
#[derive(Debug, Default, PartialEq)]
struct Picture {
    title: String,
    file: String,
    /// Names of the columns with ratios.
    columns: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Debug, PartialEq)]
struct Row {
    label: String,
    /// Of each column.
    ratios: Vec<Option<Ratio>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Ratio {
    value: f64,
    low: f64,
    high: f64,
    goal: Option<f64>,
}

/// Draws every picture of the page.
pub(super) fn draw(repository: &Repository) -> Result<bool> {
    let page = repository.path(PAGE);
    let text = std::fs::read_to_string(&page)
        .with_context(|| format!("cannot read {}", page.display()))?;
    for picture in pictures(&text) {
        let path = repository.path("docs").join(&picture.file);
        std::fs::write(&path, picture.svg())
            .with_context(|| format!("cannot write {}", path.display()))?;
        println!("drew {}", path.display());
    }
    Ok(true)
}

/// The pictures of a page, from the tables above them.
fn pictures(page: &str) -> Vec<Picture> {
    let (mut table, mut goals, mut pictures) = (Vec::new(), "", Vec::new());
    let mut is_in_table = false;
    for line in page.lines() {
        if line.starts_with('|') {
            if !is_in_table {
                (table, goals) = (Vec::new(), "");
            }
            table.push(line);
        } else if let Some(rest) = line.strip_prefix("<!-- goals: ") {
            goals = rest.trim_end_matches(" -->");
        } else if let Some((title, file)) = picture_of(line) {
            pictures.push(Picture::of(title, file, &table, goals));
        }
        is_in_table = line.starts_with('|');
    }
    pictures
}

/// Title and file of a line that shows a picture.
fn picture_of(line: &str) -> Option<(&str, &str)> {
    let (title, file) = line.strip_prefix("![")?.split_once("](")?;
    let file = file.strip_suffix(')')?;
    file.ends_with(".svg").then_some((title, file))
}

fn cells(line: &str) -> Vec<String> {
    let line = line.trim_matches('|').replace(['*', '`'], "");
    line.split('|').map(|cell| cell.trim().to_owned()).collect()
}

impl Picture {
    fn of(title: &str, file: &str, table: &[&str], goals: &str) -> Self {
        let head = table.first().map(|it| cells(it)).unwrap_or_default();
        let all: Vec<_> = table.iter().skip(2).map(|it| cells(it)).collect();
        let has_ratio = |at: &usize| all.iter().any(|row| ratio(row, *at).is_some());
        let columns: Vec<usize> = (0..head.len()).filter(has_ratio).collect();
        let name = |at: usize| head.get(at).map_or("", |it| short(it));
        let mut rows = Vec::new();
        let mut contestant = String::new();
        for row in &all {
            let of = |column: &str| {
                let at = head.iter().position(|it| it == column)?;
                row.get(at).filter(|it| !it.is_empty())
            };
            let first = of("contestant").or(row.first()).cloned();
            contestant = first.filter(|it| !it.is_empty()).unwrap_or(contestant);
            let beside = of("beside").map(|it| format!(" / {it}"));
            let label = format!("{contestant}{}", beside.unwrap_or_default());
            let ratios = columns.iter().map(|at| {
                let goal = goal(goals, &label, name(*at));
                ratio(row, *at).map(|it| Ratio { goal, ..it })
            });
            let ratios: Vec<_> = ratios.collect();
            if ratios.iter().any(Option::is_some) {
                rows.push(Row { label, ratios });
            }
        }
        Self {
            title: title.to_owned(),
            file: file.to_owned(),
            columns: columns.iter().map(|at| name(*at).to_owned()).collect(),
            rows,
        }
    }
}

/// The name of a column without what all of them say.
fn short(head: &str) -> &str {
    let known = ["p50", "p99", "CPU"];
    known
        .into_iter()
        .find(|it| head.contains(it))
        .unwrap_or(head)
}

/// A cell such as `0.988 (0.776 to 1.130)`.
fn ratio(row: &[String], at: usize) -> Option<Ratio> {
    let (value, interval) = row.get(at)?.strip_suffix(')')?.split_once(" (")?;
    let (low, high) = interval.split_once(" to ")?;
    let number = |text: &str| text.parse().ok().filter(|it: &f64| *it > 0.0);
    Some(Ratio {
        value: number(value)?,
        low: number(low)?,
        high: number(high)?,
        goal: None,
    })
}

fn goal(goals: &str, label: &str, column: &str) -> Option<f64> {
    goals.split(", ").find_map(|goal| {
        let (words, value) = goal.rsplit_once(' ').unwrap_or(("", goal));
        let fits = words
            .split_whitespace()
            .all(|word| label.split(' ').any(|it| it == word) || column == word);
        fits.then(|| value.parse().ok())?
    })
}

/// The axis, logarithmic: from the left edge to the right one, in pixels and in ratios.
struct Axis {
    low: f64,
    high: f64,
}

const LEFT: f64 = 250.0;
const RIGHT: f64 = 740.0;
/// Where the ticks' lines begin and end, from the top and the bottom.
const ABOVE: f64 = 54.0;
const BELOW: f64 = 34.0;
/// Height of a ratio's line, and the space between rows.
const LINE: f64 = 16.0;
const GAP: f64 = 8.0;
/// Ratios further from 1 are drawn at the edge, with their value.
const FARTHEST: f64 = 20.0;
const STYLE: &str = "text{font:13px sans-serif;fill:#1f2328}.m{fill:#59636e;font-size:12px}.g{stroke:#d1d9e0}\
.one{stroke:#59636e}.a{stroke:#0969da;fill:#0969da}.b{stroke:#bc4c00;fill:#bc4c00}.c{stroke:#8250df;fill:#8250df}\
.goal{stroke:#1a7f37;stroke-width:3}.bg{fill:#ffffff}@media(prefers-color-scheme:dark){text{fill:#f0f6fc}\
.m{fill:#9198a1}.g{stroke:#3d444d}.one{stroke:#9198a1}.a{stroke:#58a6ff;fill:#58a6ff}.b{stroke:#f0883e;fill:#f0883e}\
.c{stroke:#bc8cff;fill:#bc8cff}.goal{stroke:#3fb950}.bg{fill:#0d1117}}";
const CLASSES: [&str; 3] = ["a", "b", "c"];

impl Axis {
    /// Ticks at 1, 2 and 5 times powers of ten around all ratios, 1 among them.
    fn of(ratios: impl Iterator<Item = Ratio> + Clone) -> Self {
        let low = ratios.clone().map(|it| it.low).fold(1.0, f64::min);
        let high = ratios.map(|it| it.high).fold(1.0, f64::max);
        let (low, high) = (low.max(1.0 / FARTHEST), high.min(FARTHEST));
        let below = ticks().rfind(|it| *it <= low * 1.001);
        let above = ticks().find(|it| *it >= high * 0.999);
        Self {
            low: below.unwrap_or(low),
            high: above.unwrap_or(high).max(low * 2.0),
        }
    }

    fn x(&self, ratio: f64) -> f64 {
        let part = (ratio / self.low).ln() / (self.high / self.low).ln();
        LEFT + (RIGHT - LEFT) * part.clamp(0.0, 1.0)
    }
}

fn ticks() -> impl DoubleEndedIterator<Item = f64> {
    let decades = (-3..=3).map(|it| 10_f64.powi(it));
    decades.flat_map(|decade| [decade, 2.0 * decade, 5.0 * decade])
}

impl Picture {
    fn svg(&self) -> String {
        let lines = self.columns.len() as f64;
        let row_height = lines * LINE + GAP;
        let height = ABOVE + BELOW + self.rows.len() as f64 * row_height;
        let all = self.rows.iter().flat_map(|row| row.ratios.iter().flatten());
        let axis = Axis::of(all.copied());
        let title = &self.title;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 {height}\" width=\"760\" height=\"{height}\" \
             role=\"img\" aria-label=\"{title}\">\n<style>{STYLE}</style>\n\
             <rect class=\"bg\" width=\"760\" height=\"{height}\"/>\n\
             <text x=\"10\" y=\"20\" font-weight=\"bold\">{title}</text>\n"
        );
        self.legend(&mut svg);
        let end = height - BELOW;
        for tick in ticks().filter(|it| *it >= axis.low * 0.999 && *it <= axis.high * 1.001) {
            let (x, class) = (axis.x(tick), if tick == 1.0 { "one" } else { "g" });
            let _ = writeln!(
                svg,
                "<line class=\"{class}\" x1=\"{x:.1}\" y1=\"{ABOVE}\" x2=\"{x:.1}\" y2=\"{end}\"/>\
                 <text class=\"m\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tick}</text>",
                end + 18.0
            );
        }
        for (at, row) in self.rows.iter().enumerate() {
            row.draw(&mut svg, &axis, ABOVE + GAP + at as f64 * row_height);
        }
        svg + "</svg>\n"
    }

    /// What the marks mean.
    fn legend(&self, svg: &mut String) {
        let mut x = 10.0;
        for (name, class) in self.columns.iter().zip(CLASSES) {
            let _ = writeln!(
                svg,
                "<line class=\"{class}\" x1=\"{x}\" y1=\"38\" x2=\"{}\" y2=\"38\" stroke-width=\"2\"/>\
                 <circle class=\"{class}\" cx=\"{}\" cy=\"38\" r=\"4\"/><text class=\"m\" x=\"{}\" y=\"42\">{name}</text>",
                x + 20.0,
                x + 10.0,
                x + 26.0
            );
            x += 40.0 + 7.0 * name.len() as f64;
        }
        let mut all = self.rows.iter().flat_map(|row| row.ratios.iter().flatten());
        if all.any(|it| it.goal.is_some()) {
            let _ = writeln!(
                svg,
                "<line class=\"goal\" x1=\"{x}\" y1=\"31\" x2=\"{x}\" y2=\"45\"/>\
                 <text class=\"m\" x=\"{}\" y=\"42\">goal: at most</text>",
                x + 8.0
            );
            x += 100.0;
        }
        let _ = writeln!(
            svg,
            "<text class=\"m\" x=\"{x}\" y=\"42\">ratios and intervals; below 1, Kadenz (or the program after) takes less</text>"
        );
    }
}

impl Row {
    fn draw(&self, svg: &mut String, axis: &Axis, top: f64) {
        let middle = top + (self.ratios.len() as f64 * LINE) / 2.0 + 4.0;
        let label = self.label.replace('&', "&amp;").replace('<', "&lt;");
        let _ = writeln!(
            svg,
            "<text x=\"238\" y=\"{middle:.1}\" text-anchor=\"end\">{label}</text>"
        );
        for (at, (ratio, class)) in self.ratios.iter().zip(CLASSES).enumerate() {
            let y = top + at as f64 * LINE + LINE / 2.0;
            let Some(ratio) = ratio else { continue };
            if let Some(goal) = ratio.goal {
                let x = axis.x(goal);
                let _ = writeln!(
                    svg,
                    "<line class=\"goal\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{:.1}\"/>",
                    y - 6.0,
                    y + 6.0
                );
            }
            let (low, x, high) = (axis.x(ratio.low), axis.x(ratio.value), axis.x(ratio.high));
            let _ = writeln!(
                svg,
                "<line class=\"{class}\" x1=\"{low:.1}\" y1=\"{y:.1}\" x2=\"{high:.1}\" y2=\"{y:.1}\" stroke-width=\"2\"/>\
                 <circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>"
            );
            if ratio.value > axis.high || ratio.value < axis.low {
                let (x, anchor) = match ratio.value > axis.high {
                    true => (x - 8.0, "end"),
                    false => (x + 8.0, "start"),
                };
                let _ = writeln!(
                    svg,
                    "<text class=\"m\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
                    y - 3.0,
                    ratio.value
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "
| taken | contestant | p50, us | beside | ratio p50 | ratio p99 |
|---|---|---|---|---|---|
| 22 | *udpm* | 1.5 | liblcm | 0.5 (0.4 to 0.6) | 2 (1 to 30) |
|  |  |  | liblcm 1.5.3 | 0.635 (0.469 to 0.752) | - |
| 22 | liblcm | 2 |  |  |  |

<!-- goals: udpm p50 0.7, 1.1 -->

![Latencies](benchmarks/messages.svg)
";

    #[test]
    fn a_picture_shows_the_ratios_of_the_table_above_it() {
        let all = pictures(TABLE);
        let [picture] = &all[..] else {
            panic!("{all:?}")
        };
        assert_eq!(picture.columns, ["p50", "p99"]);
        let labels: Vec<_> = picture.rows.iter().map(|it| it.label.as_str()).collect();
        assert_eq!(labels, ["udpm / liblcm", "udpm / liblcm 1.5.3"]);
        let [first, second] = [&picture.rows[0].ratios, &picture.rows[1].ratios];
        let goals = first.iter().flatten().map(|it| it.goal);
        assert_eq!(goals.collect::<Vec<_>>(), [Some(0.7), Some(1.1)]);
        assert_eq!((first[1].unwrap().high, second[1]), (30.0, None));
        assert!(picture.svg().contains(">udpm / liblcm 1.5.3</text>"));
    }

    #[test]
    fn the_pictures_of_the_page_show_its_tables() {
        let repository = Repository::of_this_build();
        let page = std::fs::read_to_string(repository.path(PAGE)).unwrap();
        let all = pictures(&page);
        assert!(all.len() > 2);
        for picture in all {
            let path = repository.path("docs").join(&picture.file);
            let drawn = std::fs::read_to_string(&path).unwrap_or_default();
            let remedy = "`cargo xtask bench pictures` draws it from its table";
            assert!(drawn == picture.svg(), "{} is old: {remedy}", picture.file);
        }
    }
}
