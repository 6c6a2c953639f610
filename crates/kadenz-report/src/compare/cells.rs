//! A run cut into cells of consecutive intervals: what intervals are taken from.

use std::io::BufRead;

use kadenz_record::histogram::{Histogram, SignedHistogram};
use kadenz_record::hlog::reader::IntervalLog;
use kadenz_record::run::folder::{EARLY_TAG, RunReader};

use crate::statistics::{SignedBucket, distribution};
use crate::summary::make_room;

/// At most so many cells: a day in intervals of a second makes cells of 3.6 minutes.
pub(crate) const MAX_CELLS: usize = 400;

/// The distribution of each cell of a series, in order of time.
pub(crate) type Cells = Vec<Vec<SignedBucket>>;

/// Reads the cells of a series, at most so many, of whose log the number of intervals is known.
///
/// # Errors
/// Why the log cannot be read, with the series: there is no confidence interval then.
pub(crate) fn read(
    folder: &std::path::Path,
    series: &str,
    intervals: usize,
    most: usize,
) -> Result<Cells, String> {
    let because = |error: &dyn std::error::Error| {
        format!("no confidence intervals for {series}: its log cannot be read: {error}")
    };
    let reader = RunReader::open(folder).map_err(|error| because(&error))?;
    let log = reader.hlog(series).map_err(|error| because(&error))?;
    Ok(cut(log, intervals.div_ceil(most)))
}

fn cut<R: BufRead>(log: IntervalLog<R>, each: usize) -> Cells {
    let each = each.max(1);
    let mut cells = Vec::new();
    let mut cell = SignedHistogram::new();
    let mut scratch = Histogram::new();
    let mut begun = 0;
    for interval in log.flatten() {
        let early = match interval.tag.as_deref() {
            None => false,
            Some(EARLY_TAG) => true,
            Some(_) => continue,
        };
        if !early {
            begun += 1;
            if begun > each {
                close(&mut cells, &mut cell);
                begun = 1;
            }
        }
        let side = if early {
            &mut cell.early
        } else {
            &mut cell.late
        };
        // A damaged line is left out here as it is in the summary, which warns of it.
        if interval.histogram.decode_into(&mut scratch).is_ok() {
            make_room(side, scratch.layout());
            side.add(&scratch);
        }
    }
    close(&mut cells, &mut cell);
    cells
}

fn close(cells: &mut Cells, cell: &mut SignedHistogram) {
    if !cell.is_empty() {
        cells.push(distribution(cell));
        cell.reset();
    }
}

#[cfg(test)]
mod tests {
    use kadenz_record::hlog::writer::IntervalLogWriter;

    use super::*;

    fn log(intervals: u64) -> IntervalLog<std::io::Cursor<Vec<u8>>> {
        let mut writer = IntervalLogWriter::new(Vec::new(), 0.0).unwrap();
        for second in 0..intervals {
            let mut histogram = Histogram::new();
            histogram.record_n(1000, second + 1);
            writer.append(None, second as f64, 1.0, &histogram).unwrap();
            writer
                .append(Some(EARLY_TAG), second as f64, 1.0, &histogram)
                .unwrap();
        }
        IntervalLog::from_reader(std::io::Cursor::new(writer.into_inner()))
    }

    fn counts(cells: &Cells) -> Vec<u64> {
        cells
            .iter()
            .map(|cell| crate::statistics::count(cell))
            .collect()
    }

    #[test]
    fn early_lines_stay_with_their_interval() {
        let cells = cut(log(3), 1);
        assert_eq!(counts(&cells), [2, 4, 6]);
        assert_eq!((cells[1][0].high_ns, cells[1][1].low_ns), (-1000, 1000));
    }

    #[test]
    fn a_long_run_makes_no_more_cells_than_are_needed() {
        let cells = cut(log(900), 900_usize.div_ceil(MAX_CELLS));
        assert_eq!(cells.len(), 300);
        assert_eq!(counts(&cells)[0], 2 * (1 + 2 + 3));
        assert_eq!(counts(&cells).iter().sum::<u64>(), 900 * 901);
    }
}
