//! Interval logs: of one series as it is in the run, or of several, distinguished by tags.

use std::io::Write;

use jiff::Timestamp;
use kadenz_record::histogram::Histogram;
use kadenz_record::hlog::reader::{Interval, LogOfRun};
use kadenz_record::hlog::writer::{LineEncoder, header};
use kadenz_record::run::folder::EARLY_TAG;

use super::series::is_early;
use super::{ExportError, SeriesReader};

/// The log of one series, with its next interval.
struct SeriesLog {
    log: LogOfRun,
    next: Option<Interval>,
    tag: Option<String>,
    early_tag: String,
}

impl SeriesLog {
    fn open(series: &SeriesReader<'_>, tagged: bool) -> Result<Self, ExportError> {
        let tag = tagged.then(|| series.name().to_owned());
        let early_tag = match &tag {
            Some(tag) => format!("{tag}.{EARLY_TAG}"),
            None => EARLY_TAG.to_owned(),
        };
        let mut source = Self {
            log: series.intervals()?,
            next: None,
            tag,
            early_tag,
        };
        source.advance()?;
        Ok(source)
    }

    fn advance(&mut self) -> Result<Option<Interval>, ExportError> {
        let next = self.log.next().transpose()?;
        Ok(std::mem::replace(&mut self.next, next))
    }
}

/// Writes the intervals of all series in order of time.
pub(super) fn write(
    series: &[SeriesReader<'_>],
    out: &mut dyn Write,
    notes: &mut Vec<String>,
) -> Result<(), ExportError> {
    let tagged = series.len() > 1;
    let sources = series.iter().map(|series| SeriesLog::open(series, tagged));
    let mut sources = sources.collect::<Result<Vec<_>, _>>()?;
    let started = series
        .first()
        .map(|series| series.run().started_at.as_str());
    let start: Timestamp = started
        .and_then(|time| time.parse().ok())
        .unwrap_or_default();
    out.write_all(header(start.as_microsecond() as f64 / 1e6, &[]).as_bytes())?;
    let mut lines = LineEncoder::new();
    let mut histogram = Histogram::new();
    while let Some(source) = earliest(&mut sources) {
        let Some(interval) = source.advance()? else {
            break;
        };
        interval.histogram.decode_into(&mut histogram)?;
        let tag = if is_early(&interval) {
            Some(&source.early_tag)
        } else {
            source.tag.as_ref()
        };
        let tag = tag.map(String::as_str);
        let line = lines.line(tag, interval.relative_s, interval.length_s, &histogram)?;
        out.write_all(line.as_bytes())?;
    }
    for (source, series) in sources.iter().zip(series) {
        if source.log.truncated() {
            notes.push(format!(
                "{}: the last line of its log was cut off and is left out",
                series.name()
            ));
        }
    }
    Ok(())
}

/// The source with the earliest interval; the first of equal ones.
fn earliest(sources: &mut [SeriesLog]) -> Option<&mut SeriesLog> {
    let waiting = sources.iter_mut().filter(|source| source.next.is_some());
    let start_s = |source: &SeriesLog| {
        source
            .next
            .as_ref()
            .map_or(f64::INFINITY, |next| next.relative_s)
    };
    waiting.min_by(|a, b| start_s(a).total_cmp(&start_s(b)))
}
