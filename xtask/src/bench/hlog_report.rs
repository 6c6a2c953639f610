//! From the log of a day of hiccups to a report: import of an interval log, then the HTML page.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use super::figure::Figure;
use super::quantile::Spread;
use super::{BenchOptions, absent, must, release_program, timed};
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
    let program = release_program(repository)?;
    let folder = repository.target().join("bench/hlog-report");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let log = folder.join("day.hlog");
    let mut command = repository.command("cargo");
    command.args([
        "run",
        "--release",
        "-p",
        "kadenz-record",
        "--example",
        "day_of_hiccups",
        "--",
    ]);
    must(command.arg(&log))?;
    let rounds = (0..options.rounds.unwrap_or(3))
        .map(|_| measure(repository, &program, &log, &folder))
        .collect::<Result<Vec<_>>>()?;
    let log_bytes = std::fs::metadata(&log)?.len();
    figure(&rounds, log_bytes).context("no round was run")
}

fn measure(
    repository: &Repository,
    program: &str,
    log: &Path,
    folder: &Path,
) -> Result<ReportRound> {
    let run = absent(&folder.join("run"))?;
    let page = folder.join("report.html");
    let mut direct = repository.command(program);
    direct.arg("report").arg(log).arg("--out").arg(&page);
    let mut import = repository.command(program);
    import.arg("import").arg(log).arg("--out").arg(&run);
    let mut report = repository.command(program);
    report.arg("report").arg(&run).arg("--out").arg(&page);
    Ok(ReportRound {
        direct_s: timed(&mut direct)?,
        import_s: timed(&mut import)?,
        report_s: timed(&mut report)?,
        html_bytes: std::fs::metadata(&page)
            .with_context(|| format!("kadenz report wrote no {}", page.display()))?
            .len(),
    })
}

fn figure(rounds: &[ReportRound], log_bytes: u64) -> Option<Figure> {
    let import = Spread::of(rounds.iter().map(|it| it.import_s))?;
    let report = Spread::of(rounds.iter().map(|it| it.report_s))?;
    let direct = Spread::of(rounds.iter().map(|it| it.direct_s))?;
    let html = rounds.iter().map(|it| it.html_bytes).max()?;
    Some(Figure {
        groups: Vec::new(),
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
        cells: vec![
            (
                "log".to_owned(),
                format!("{:.1} MB", log_bytes as f64 / 1e6),
            ),
            ("direct, s".to_owned(), direct.cell()),
            ("import, s".to_owned(), import.cell()),
            ("report of the run, s".to_owned(), report.cell()),
            ("HTML".to_owned(), format!("{:.2} MB", html as f64 / 1e6)),
        ],
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
