//! Samples as Parquet, column by column, a row group at a time in bounded memory.

use std::io::Write;
use std::sync::Arc;

use kadenz_record::samples::Sample;
use kadenz_record::samples::reader::SamplesFile;
use parquet::basic::{Compression, Encoding};
use parquet::data_type::Int64Type;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::{ExportError, SeriesReader};

/// Rows of a row group; they take 32 bytes each while it is gathered.
const ROWS: usize = 1 << 18;
const SCHEMA: &str = "message samples {
    required int64 sequence (INTEGER(64, false));
    required int64 intended_ns;
    required int64 actual_ns;
    required int64 value_ns;
}";
/// The columns of [`SCHEMA`], in order; Parquet keeps unsigned integers in signed ones.
const COLUMNS: [fn(&Sample) -> i64; 4] = [
    |sample| sample.sequence.cast_signed(),
    |sample| sample.intended_ns,
    |sample| sample.actual_ns,
    |sample| sample.value_ns,
];

pub(super) fn write(
    series: &SeriesReader<'_>,
    out: &mut (dyn Write + Send),
    notes: &mut Vec<String>,
) -> Result<(), ExportError> {
    let needs = || ExportError::NeedsSamples {
        series: series.name().to_owned(),
        format: "parquet",
    };
    let mut samples = series.samples()?.ok_or_else(needs)?;
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let mut file = SerializedFileWriter::new(out, schema, Arc::new(properties(series)))?;
    let mut group = Vec::with_capacity(ROWS);
    while gather(&mut samples, &mut group)? {
        let mut rows = file.next_row_group()?;
        for of in COLUMNS {
            let Some(mut column) = rows.next_column()? else {
                break;
            };
            let values: Vec<i64> = group.iter().map(of).collect();
            column
                .typed::<Int64Type>()
                .write_batch(&values, None, None)?;
            column.close()?;
        }
        rows.close()?;
    }
    file.close()?;
    series.note_cut(&samples, notes);
    Ok(())
}

/// Fills `group` with the next samples; whether there were any.
fn gather(samples: &mut SamplesFile, group: &mut Vec<Sample>) -> Result<bool, ExportError> {
    group.clear();
    while group.len() < ROWS {
        let Some(chunk) = samples.next_samples()? else {
            break;
        };
        group.extend_from_slice(chunk);
    }
    Ok(!group.is_empty())
}

fn properties(series: &SeriesReader<'_>) -> WriterProperties {
    let said = |key: &str, value: &str| KeyValue::new(format!("kadenz.{key}"), value.to_owned());
    let metadata = vec![
        said("series", series.name()),
        said("unit", "ns"),
        said("started_at", &series.run().started_at),
        said("description", &series.series().description),
    ];
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        // Times that grow evenly take next to nothing as differences.
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_created_by(format!("kadenz {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(metadata))
        .build()
}
