//! A script for gnuplot with the data in it: `gnuplot run.gp` draws `run.svg`.
//!
//! Above, the value that a share of all values does not exceed, over the nines of that share, up to the share of a
//! single value; below, the frequency of each value, with counts on a logarithmic axis.

use std::io::Write;
use std::path::Path;

use kadenz_record::histogram::SignedHistogram;

use super::{ExportError, SeriesReader, hgrm};

const NS_PER_US: f64 = 1e3;
/// Bars of the histogram.
const BINS: usize = 250;

pub(super) fn write(
    series: &[SeriesReader<'_>],
    path: &Path,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    let picture = path.with_extension("svg");
    let picture = picture
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    writeln!(
        out,
        "# Drawn by gnuplot 5 or newer: gnuplot {}",
        quoted(&path.file_name().unwrap_or_default().to_string_lossy())
    )?;
    writeln!(
        out,
        "# Another file: gnuplot -e \"output='other.svg'\" SCRIPT"
    )?;
    let mut most = 1;
    for (index, series) in series.iter().enumerate() {
        let distribution = series.distribution()?;
        most = most.max(distribution.count());
        data(index, &distribution, out)?;
    }
    writeln!(out, "if (!exists('output')) output = {}", quoted(&picture))?;
    out.write_all(FRAME.as_bytes())?;
    writeln!(out, "set title {}", quoted(&title(series)))?;
    out.write_all(PERCENTILES.as_bytes())?;
    writeln!(out, "set xtics ({})", nines(most))?;
    plot(series, "percentiles", "2:1 with steps lw 2", out)?;
    out.write_all(HISTOGRAM.as_bytes())?;
    plot(series, "histogram", "1:2:3 with boxes", out)?;
    writeln!(out, "unset multiplot")?;
    Ok(())
}

const FRAME: &str = "\
set terminal svg size 1000,1000 dynamic enhanced background 'white'
set output output
set encoding utf8
set multiplot layout 2,1
set grid
set key top left noenhanced
";

const PERCENTILES: &str = "\
set xlabel 'share of values that are not above'
set ylabel 'us'
set logscale x 10
";

const HISTOGRAM: &str = "\
unset title
unset logscale x
set logscale y 10
set xtics auto
set xlabel 'us'
set ylabel 'values'
set yrange [0.7:]
set style fill transparent solid 0.5 noborder
";

/// Two blocks of data of one series.
fn data(index: usize, distribution: &SignedHistogram, out: &mut dyn Write) -> std::io::Result<()> {
    let total = distribution.count() as f64;
    writeln!(out, "$percentiles{index} << EOD")?;
    for row in hgrm::rows(distribution) {
        // Beyond one in all samples there are no further rows.
        let nines = 1.0 / (1.0 - row.percentile / 100.0);
        writeln!(
            out,
            "{:.3} {}",
            row.value_ns as f64 / NS_PER_US,
            nines.min(total)
        )?;
    }
    writeln!(out, "EOD\n$histogram{index} << EOD")?;
    for (middle, count, width) in bins(distribution) {
        writeln!(
            out,
            "{:.4} {count} {:.4}",
            middle / NS_PER_US,
            width / NS_PER_US
        )?;
    }
    writeln!(out, "EOD")
}

/// The distribution in bins of one width: middle, count and width.
fn bins(distribution: &SignedHistogram) -> Vec<(f64, u64, f64)> {
    let min = distribution.min() as f64;
    let width = ((distribution.max() as f64 - min) / BINS as f64).max(1.0);
    let mut counts = [0_u64; BINS + 1];
    for bucket in distribution.buckets() {
        let middle = (bucket.low as f64 + bucket.high as f64) / 2.0;
        let bin = ((middle - min) / width) as usize;
        counts[bin.min(BINS)] += bucket.count;
    }
    let recorded = counts.iter().enumerate().filter(|&(_, &count)| count > 0);
    recorded
        .map(|(bin, &count)| (min + (bin as f64 + 0.5) * width, count, width))
        .collect()
}

fn plot(
    series: &[SeriesReader<'_>],
    block: &str,
    how: &str,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let curves: Vec<String> = series
        .iter()
        .enumerate()
        .map(|(index, series)| {
            format!(
                "${block}{index} using {how} title {}",
                quoted(series.name())
            )
        })
        .collect();
    writeln!(out, "plot {}", curves.join(", \\\n  "))
}

/// The experiment and its date.
fn title(series: &[SeriesReader<'_>]) -> String {
    series.first().map_or(String::new(), |series| {
        let run = series.run();
        let source = run
            .parameters
            .get("source_file")
            .and_then(|name| name.as_str());
        let of = source.unwrap_or(&run.started_at);
        format!("{} of {of}", run.experiment)
    })
}

/// The labels of the nines axis up to one in `most`.
fn nines(most: u64) -> String {
    let mut labels = vec!["'0%%' 1".to_owned(), "'50%%' 2".to_owned()];
    let mut one_in = 10_u64;
    while one_in <= most.saturating_mul(10) && labels.len() < 20 {
        let nines = one_in.ilog10() as usize;
        let label = if nines == 1 {
            "90".to_owned()
        } else {
            format!("99.{}", "9".repeat(nines - 2))
        };
        labels.push(format!("'{}%%' {one_in}", label.trim_end_matches('.')));
        one_in = one_in.saturating_mul(10);
    }
    labels.join(", ")
}

/// A string of gnuplot without special characters.
fn quoted(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    format!("'{}'", plain.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nines_go_as_far_as_the_values() {
        assert_eq!(nines(1), "'0%%' 1, '50%%' 2, '90%%' 10");
        assert!(nines(1000).ends_with("'99%%' 100, '99.9%%' 1000, '99.99%%' 10000"));
    }

    #[test]
    fn names_end_no_string() {
        assert_eq!(quoted("it's\n`rm`"), "'it''s `rm`'");
    }
}
