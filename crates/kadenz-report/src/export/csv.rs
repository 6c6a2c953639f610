//! Text, for spreadsheets and scripts: samples, or buckets where no samples were kept.

use std::io::Write;

use super::{ExportError, SeriesReader};

pub(super) fn write(
    series: &SeriesReader<'_>,
    out: &mut dyn Write,
    notes: &mut Vec<String>,
) -> Result<(), ExportError> {
    let Some(mut samples) = series.samples()? else {
        notes.push(format!(
            "{}: no samples were kept, so the buckets of its histogram were exported",
            series.name()
        ));
        return buckets(series, out);
    };
    writeln!(out, "sequence,intended_ns,actual_ns,value_ns")?;
    while let Some(chunk) = samples.next_samples()? {
        for sample in chunk {
            writeln!(
                out,
                "{},{},{},{}",
                sample.sequence, sample.intended_ns, sample.actual_ns, sample.value_ns
            )?;
        }
    }
    series.note_cut(&samples, notes);
    Ok(())
}

fn buckets(series: &SeriesReader<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    writeln!(out, "low_ns,high_ns,count")?;
    for bucket in series.distribution()?.buckets() {
        writeln!(out, "{},{},{}", bucket.low, bucket.high, bucket.count)?;
    }
    Ok(())
}
