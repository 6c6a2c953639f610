//! The tunings that a check tried after it, and the cheapest of them that keeps the deadline.

use std::path::Path;

use kadenz_record::run::check::{EXPERIMENT, TUNING};

use super::markup::Markup;
use super::page::{Page, RunOnPage};
use crate::figures::{count, printed, span};
use crate::matrix::{Cell, Cheapest, Load, Matrix};
use crate::statistics::Percent;
use crate::summary::Summary;
use crate::verdict::Standing;

/// The section's link in the page's navigation.
pub(super) const LINK: &str = "<a href=\"#tried\">Cheapest tuning</a>";

/// The tunings that a check tried after its measurement.
#[derive(Debug)]
pub(super) struct Tried {
    matrix: Matrix,
    cheapest: Cheapest,
}

/// Reads the run of tunings in the folder of a check; absent where no readable one exists.
pub(super) fn of(check: &Summary) -> Option<Tried> {
    let folder = check.folder.join(TUNING);
    if check.run.experiment != EXPERIMENT || !folder.join("run.json").exists() {
        return None;
    }
    let tried = Summary::of_run(&folder).ok()?;
    let matrix = Matrix::of(&tried).filter(|it| !it.cells.is_empty())?;
    let cheapest = Cheapest::of(check, &tried, &matrix)?;
    Some(Tried { matrix, cheapest })
}

/// Whether a run of the page tried tunings.
pub(super) fn is_there(page: &Page<'_>) -> bool {
    page.runs.iter().any(|run| run.tried.is_some())
}

/// The section; nothing where no run tried tunings.
pub(super) fn section(out: &mut Markup, page: &Page<'_>) {
    if !is_there(page) {
        return;
    }
    out.tag("<section id=\"tried\"><h2>Cheapest tuning</h2>");
    for run in &page.runs {
        let Some(tried) = &run.tried else {
            continue;
        };
        if page.compares() {
            out.element("h3", &run.label);
        }
        one(out, page, run, tried);
    }
    out.tag("</section>");
}

fn one(out: &mut Markup, page: &Page<'_>, run: &RunOnPage<'_>, tried: &Tried) {
    let cheapest = &tried.cheapest;
    let sentences = [Some(&cheapest.sentence), cheapest.idle.as_ref()];
    for sentence in sentences.into_iter().flatten() {
        out.tag("<p>").ticked(&printed(sentence)).tag("</p>");
    }
    if let Some(command) = &cheapest.command {
        out.tag("<p class=\"remedy\"><b>Try it</b> ")
            .element("code", command)
            .tag("</p>");
    }
    out.tag("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Table of the tunings tried\">");
    out.tag("<table class=\"rows\"><caption>What was tried after the check, without load, the cheapest first</caption>");
    out.tag(HEAD);
    let mut cells: Vec<&Cell> = tried.matrix.of_load(Load::Unloaded).collect();
    cells.sort_by_key(|cell| cell.combination.cost());
    for cell in cells {
        row(out, cell, cheapest.combination == Some(cell.combination));
    }
    out.tag("</tbody></table></div><p class=\"hint\">P: real-time priority, M: locked memory, C: a shielded CPU, S: a ");
    out.tag("spinning sleep, I: idle states held off. Every figure of it: ");
    whole(out, page, &run.summary.folder);
    out.tag("</p>");
}

const HEAD: &str = concat!(
    "<thead><tr><th scope=\"col\">Tuning</th><th scope=\"col\">Deadline</th>",
    "<th scope=\"col\">Misses</th><th scope=\"col\">Wake-ups</th><th scope=\"col\">99.9 %</th>",
    "<th scope=\"col\">Largest</th></tr></thead><tbody>",
);

fn row(out: &mut Markup, cell: &Cell, is_cheapest: bool) {
    out.tag("<tr><th scope=\"row\"><b>")
        .text(cell.combination)
        .tag("</b>");
    if is_cheapest {
        out.tag("<span class=\"chosen\">cheapest</span>");
    }
    out.tag("<small>")
        .text(cell.combination.words())
        .tag("</small></th><td>");
    let verdict = cell.verdict.filter(|_| cell.granted());
    out.tag(match verdict.map(|it| it.standing) {
        Some(Standing::Kept) => {
            "<span class=\"yes\"><svg aria-hidden=\"true\"><use href=\"#i-kept\"/></svg>kept</span>"
        }
        Some(Standing::Missed) => {
            "<span class=\"no\"><svg aria-hidden=\"true\"><use href=\"#i-missed\"/></svg>missed</span>"
        }
        Some(Standing::TooFew) => "too few samples",
        None if cell.granted() => "—",
        None => "not granted",
    });
    if !cell.granted() {
        let letters: String = cell.lacking.iter().map(|it| it.letter()).collect();
        out.tag("<small>without ").text(letters).tag("</small>");
    }
    out.tag("</td>");
    let dash = || "—".to_owned();
    out.element("td", cell.verdict.map_or_else(dash, |it| count(it.misses)));
    out.element("td", count(cell.count));
    for ns in [cell.percentile(Percent::P99_9), cell.max_ns] {
        out.element("td", ns.map_or_else(dash, span));
    }
    out.tag("</tr>");
}

/// A link to the page of the matrix where it lies beside this one, otherwise the command that makes it.
fn whole(out: &mut Markup, page: &Page<'_>, folder: &Path) {
    let matrix = folder.join(TUNING);
    let beside = page.beside.is_some_and(|it| is_same(it, folder));
    match beside && matrix.join("report.html").exists() {
        true => out.tag("<a href=\"tuning/report.html\">the page of the matrix</a>."),
        false => out.element("code", format!("kadenz report {}", matrix.display())),
    };
}

fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| std::path::absolute(path).ok();
    let one = if one.as_os_str().is_empty() {
        Path::new(".")
    } else {
        one
    };
    whole(one).is_some_and(|it| Some(it) == whole(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run_of;

    #[test]
    fn the_page_of_the_matrix_is_linked_where_it_lies_beside() {
        let folder = tempfile::tempdir().unwrap();
        let check = folder.path();
        std::fs::create_dir(check.join(TUNING)).unwrap();
        let runs = [run_of("check", Vec::new())];
        let written = |beside: Option<&Path>| {
            let page = Page {
                beside,
                ..Page::of(&runs)
            };
            let mut out = Markup::default();
            whole(&mut out, &page, check);
            out.finish()
        };
        let command = "<code>kadenz report ";
        assert!(
            written(Some(check)).contains(command),
            "no page is there yet"
        );
        std::fs::write(check.join(TUNING).join("report.html"), "").unwrap();
        let link = "<a href=\"tuning/report.html\">";
        assert!(written(Some(check)).contains(link));
        assert!(written(None).contains(command), "the page lies elsewhere");
    }
}
