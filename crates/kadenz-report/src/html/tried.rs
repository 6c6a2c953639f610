//! The tunings that a check tried after it, and the cheapest of them that keeps the deadline.

use std::path::Path;

use kadenz_record::run::check::{EXPERIMENT, TUNING};

use super::page::{Page, RunOnPage};
use crate::document::{Document, Table, TableCell};
use crate::matrix::{Cell, Cheapest, Load, Matrix};
use crate::statistics::Percent;
use crate::summary::Summary;
use crate::text::shell_path;
use crate::verdict::Standing;

/// The tunings that a check tried after its measurement.
#[derive(Debug)]
pub(super) struct TriedTunings {
    matrix: Matrix,
    cheapest: Cheapest,
}

/// Reads the run of tunings in the folder of a check; absent where no readable one exists.
pub(super) fn read(check: &Summary) -> Option<TriedTunings> {
    let folder = check.folder.join(TUNING);
    if check.run.experiment != EXPERIMENT || !folder.join("run.json").exists() {
        return None;
    }
    let tried = Summary::of_run(&folder).ok()?;
    let matrix = Matrix::of(&tried).filter(|it| !it.cells.is_empty())?;
    let cheapest = Cheapest::of(check, &tried, &matrix)?;
    Some(TriedTunings { matrix, cheapest })
}

/// The cheapest tuning and the table of all; nothing where the run tried none.
pub(super) fn of(page: &Page<'_>, run: &RunOnPage<'_>) -> Vec<Document> {
    run.tried.iter().map(|it| document(page, run, it)).collect()
}

fn document(page: &Page<'_>, run: &RunOnPage<'_>, tried: &TriedTunings) -> Document {
    let cheapest = &tried.cheapest;
    let command = cheapest
        .command
        .as_ref()
        .map(|it| format!("Try it: `{it}`"));
    let head = [
        "Tuning", "Deadline", "Misses", "Wake-ups", "99.9 %", "Largest",
    ];
    let mut cells: Vec<&Cell> = tried.matrix.of_load(Load::Unloaded).collect();
    cells.sort_by_key(|cell| cell.combination.cost());
    let rows = cells
        .iter()
        .map(|it| row(it, cheapest.combination == Some(it.combination)));
    let caption = "What was tried after the check, without load, the cheapest first";
    let hint = "P: real-time priority, M: locked memory, C: a shielded CPU, S: a spinning sleep, I: idle states \
                held off.";
    Document::new()
        .sentence(&cheapest.sentence)
        .sentences(cheapest.idle.clone())
        .sentences(command)
        .table(Table::of(head, rows).on_page("rows named", caption))
        .hint(hint)
        .and(whole(page, &run.summary.folder))
}

fn row(cell: &Cell, is_cheapest: bool) -> Vec<TableCell> {
    let verdict = cell.verdict.filter(|_| cell.granted);
    let deadline = match verdict.map(|it| it.standing) {
        Some(Standing::Kept) => TableCell::standing("kept", true),
        Some(Standing::Missed) => TableCell::standing("missed", false),
        Some(Standing::ValuesLost(_)) => TableCell::standing("values lost", false),
        Some(Standing::TooFew) => TableCell::text("too few samples"),
        None if cell.granted => TableCell::unknown(None),
        None => TableCell::text("not granted"),
    };
    let lacking: String = cell.lacking.iter().map(|it| it.letter()).collect();
    let lacking = (!cell.granted).then(|| format!("without {lacking}"));
    let tuning = TableCell::text(cell.combination.to_string());
    let tuning = tuning.tagged(is_cheapest.then_some("cheapest"));
    vec![
        tuning.noted(cell.combination.words()),
        deadline.noted(lacking),
        TableCell::count(cell.verdict.map(|it| it.misses)),
        TableCell::count(cell.lateness.count),
        TableCell::span(cell.percentile(Percent::P99_9)),
        TableCell::span(cell.lateness.max_ns),
    ]
}

/// A link to the page of the matrix where it lies beside this one, otherwise the command that makes it.
fn whole(page: &Page<'_>, folder: &Path) -> Document {
    let matrix = folder.join(TUNING);
    let beside = page.beside.is_some_and(|it| is_same(it, folder));
    match beside && matrix.join("report.html").exists() {
        true => Document::new().link(
            "Every figure of it:",
            "tuning/report.html",
            "the page of the matrix",
        ),
        false => Document::new().hint(format!(
            "Every figure of it: `kadenz report {}`",
            shell_path(&matrix)
        )),
    }
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
            whole(&page, check).html()
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
