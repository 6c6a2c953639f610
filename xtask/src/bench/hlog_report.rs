//! From the log of a day of hiccups to a report: import of an interval log, then the HTML page.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use super::figure::{self, Figure};
use super::quantile::Spread;
use super::{BenchOptions, timed};
use crate::cargo;
use crate::files;
use crate::process::must;
use crate::repository::Repository;

/// One round: seconds to report the log itself, to import it, to report the run; bytes of HTML.
struct ReportRound {
    direct_s: f64,
    import_s: f64,
    report_s: f64,
    html_bytes: u64,
}

/// Writes the log once, then imports and reports in rounds.
pub(crate) fn take(repository: &Repository, options: &BenchOptions) -> Result<Figure> {
    let program = cargo::release_program(repository)?;
    let folder = repository.target().join("bench/hlog-report");
    files::make_folder(&folder)?;
    let log = folder.join("day.hlog");
    let mut write = repository.cargo("run --release -p kadenz-record --example day_of_hiccups --");
    must(write.arg(&log))?;
    let rounds = (0..options.rounds.unwrap_or(3))
        .map(|_| measure(repository, &program, &log, &folder))
        .collect::<Result<Vec<_>>>()?;
    let log_bytes = std::fs::metadata(&log)?.len();
    figure(&rounds, log_bytes).context("no round was run")
}

fn measure(
    repository: &Repository,
    program: &Path,
    log: &Path,
    folder: &Path,
) -> Result<ReportRound> {
    let run = files::absent(&folder.join("run"))?;
    let page = folder.join("report.html");
    let time = |command: &str, from: &Path, to: &Path| {
        let mut program = repository.command(program);
        timed(program.arg(command).arg(from).arg("--out").arg(to))
    };
    Ok(ReportRound {
        direct_s: time("report", log, &page)?,
        import_s: time("import", log, &run)?,
        report_s: time("report", &run, &page)?,
        html_bytes: std::fs::metadata(&page)
            .with_context(|| format!("kadenz report wrote no {}", page.display()))?
            .len(),
    })
}

fn figure(rounds: &[ReportRound], log_bytes: u64) -> Option<Figure> {
    let spread = |of: fn(&ReportRound) -> f64| Spread::of(rounds.iter().map(of));
    let direct = spread(|it| it.direct_s)?;
    let import = spread(|it| it.import_s)?;
    let report = spread(|it| it.report_s)?;
    let html = rounds.iter().map(|it| it.html_bytes).max()?;
    Some(Figure {
        method:
            "kadenz report of a made log of 86,400 intervals and 80 million values; kadenz import \
                 of it, then kadenz report of the run; whole processes, files in the page cache; median (fastest to slowest)"
                .to_owned(),
        result: json!({
            "log_bytes": log_bytes,
            "html_bytes": html,
            "direct_s": direct.json(),
            "import_s": import.json(),
            "report_s": report.json(),
        }),
        cells: figure::cells([
            ("log", format!("{:.1} MB", log_bytes as f64 / 1e6)),
            ("direct, s", direct.cell()),
            ("import, s", import.cell()),
            ("report of the run, s", report.cell()),
            ("HTML", format!("{:.2} MB", html as f64 / 1e6)),
        ]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_needs_a_round() {
        let round = |direct_s| ReportRound {
            direct_s,
            import_s: 1.0,
            report_s: 0.5,
            html_bytes: 5,
        };
        let rounds = [round(1.0), round(0.5), round(2.0)];
        let result = figure(&rounds, 7).expect("three rounds").result;
        assert_eq!(result["direct_s"]["median"].as_f64(), Some(1.0));
        assert_eq!(result["direct_s"]["max"].as_f64(), Some(2.0));
        assert!(figure(&[], 7).is_none());
    }
}
