//! The report as one HTML file that opens offline: verdict, tables, charts, machine, parameters.
//!
//! Text and tables are written here and need no script; the charts are drawn by Apache ECharts
//! from the JSON in the page (`docs/decisions/0303-the-report-draws-with-apache-echarts.md`).

mod blocks;
mod campaign;
mod charts;
mod compared;
mod data;
mod document;
mod findings;
mod gaussian;
mod machine;
mod markup;
mod matrix;
mod modes;
mod page;
mod plot;
mod sections;
mod signal;
mod table;
mod tried;
mod verdict;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::campaign::{CampaignReport, CampaignRun};
use crate::matrix::Matrix;
use crate::new_file::NewFile;
use crate::summary::Summary;

/// The report of one run, or of several laid over each other, as one self-contained HTML page.
///
/// The page loads nothing: it contains style, script, plotting library and data, and its content
/// security policy forbids every request. Whatever comes from a run is escaped. A day of 1 s
/// intervals takes about 0.7 MB a series beside 1.2 MB for what draws it; where a page would come
/// near 8 MB, neighbouring intervals are merged, keeping every maximum, and the page says so.
///
/// Raw samples are read again from the run's folder for the jitter over time; for a samples file that cannot be read
/// the page has a sentence in place of the chart.
///
/// ```
/// use kadenz_report::html;
/// use kadenz_report::summary::Summary;
///
/// let page = html::render(&[Summary::default()]);
/// assert!(page.starts_with("<!doctype html>"));
/// ```
#[must_use]
pub fn render(summaries: &[Summary]) -> String {
    render_beside(summaries, None)
}

/// As [`render`], with links to files beside the page.
fn render_beside(summaries: &[Summary], beside: Option<&Path>) -> String {
    match matrix::of(summaries) {
        Some(matrix) => render_matrix(summaries, &matrix),
        None => document::render(&page::Page {
            beside,
            ..page::Page::of(summaries)
        }),
    }
}

fn render_matrix(summaries: &[Summary], matrix: &Matrix) -> String {
    document::render_matrix(&page::Page::without_signals(summaries), matrix)
}

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot write the report {path}: {source}; name a place where you may write and that has room"
)]
pub struct WriteReportError {
    path: PathBuf,
    source: io::Error,
}

/// Writes [`render`] to a file, whole or not at all: it is written beside and renamed. A link stays, and the file to
/// which it points is written; a device or a pipe is written itself.
///
/// # Errors
///
/// The file cannot be written or renamed.
pub fn write(summaries: &[Summary], path: &Path) -> Result<(), WriteReportError> {
    write_page(&render_beside(summaries, path.parent()), path)
}

/// As [`write()`], for a run with a computed matrix: [`Matrix::of`] takes most of the time of such a page.
///
/// # Errors
///
/// As [`write()`].
pub fn write_matrix(
    summary: &Summary,
    matrix: &Matrix,
    path: &Path,
) -> Result<(), WriteReportError> {
    write_page(&render_matrix(std::slice::from_ref(summary), matrix), path)
}

/// Writes the page of a campaign: its tables, and all of its runs at once.
///
/// # Errors
///
/// As [`write()`].
pub fn write_campaign(
    report: &CampaignReport,
    runs: &[CampaignRun],
    path: &Path,
) -> Result<(), WriteReportError> {
    write_page(&campaign::render(report, runs), path)
}

fn write_page(page: &str, path: &Path) -> Result<(), WriteReportError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| WriteReportError { path, source }
    };
    let new = NewFile::of(path, ".part").map_err(failed(path))?;
    let mut file = new.create().map_err(failed(new.path()))?;
    let written = file.write_all(page.as_bytes());
    written.and_then(|()| new.persist()).map_err(failed(path))
}
