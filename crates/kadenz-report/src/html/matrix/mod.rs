//! The page of a matrix: the answer with its commands, the cells as a heat table, what each measure
//! bought, the control periods side by side, and Yoon's tables.

mod answer;
mod bought;
mod data;
mod heat;
mod periods;
mod tables;
mod tuning;

use super::doubt;
use super::machine;
use super::markup::Markup;
use super::modes;
use super::page::Page;
use super::repeat;
use crate::matrix::Matrix;
use crate::summary::Summary;

pub(super) use data::of as data;

/// Where the navigation leads on the page of a matrix.
pub(super) const LINKS: &str = concat!(
    "<a href=\"#verdict\">Answer</a><a href=\"#cells\">Cells</a>",
    "<a href=\"#bought\">Measures</a><a href=\"#periods\">Periods</a>",
    "<a href=\"#paper\">Yoon</a>",
);

/// The rest of them.
pub(super) const LAST_LINKS: &str = concat!(
    "<a href=\"#warnings\">Warnings</a>",
    "<a href=\"#host\">Machine</a><a href=\"#repeat\">Repeat</a>",
);

/// The matrix of a page, where its only run is one.
pub(super) fn of(summaries: &[Summary]) -> Option<Matrix> {
    match summaries {
        [only] => Matrix::of(only),
        _ => None,
    }
}

/// What stands on the page between its header and its end.
pub(super) fn sections(out: &mut Markup, page: &Page<'_>, matrix: &Matrix) {
    let doubts = doubt::all(page);
    answer::section(out, matrix, &doubts);
    heat::section(out, matrix);
    bought::section(out, matrix);
    periods::section(out, matrix);
    tables::section(out, matrix);
    modes::section(out, page);
    doubt::section(out, &doubts);
    tuning::section(out, matrix);
    machine::host(out, page);
    repeat::section(out, page);
}
