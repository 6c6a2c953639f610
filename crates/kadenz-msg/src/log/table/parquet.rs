//! Parquet, a row group at a time in bounded memory. All columns are optional; lists have three levels,
//! as the format's specification names them (LogicalTypes.md, "Lists").

use std::io;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use super::columns::{Cell, Column, ColumnType, Scalar};
use super::{CountedFile, TableFile};
use crate::types::{Elements, Value};

pub(super) struct Parquet {
    file: SerializedFileWriter<CountedFile>,
    columns: Vec<PendingCells>,
    rows: usize,
}

/// The most rows of a group.
const MAX_ROWS: usize = 1 << 17;

/// The cells of a column that are not written yet.
struct PendingCells {
    is_list: bool,
    values: Values,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

enum Values {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Boolean(Vec<bool>),
    Bytes(Vec<ByteArray>),
}

impl Parquet {
    pub(super) fn new(file: CountedFile, columns: &[Column]) -> io::Result<Self> {
        let fields = columns.iter().map(|it| field(it).map(Arc::new));
        let fields = fields.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let schema = Type::group_type_builder("messages").with_fields(fields);
        let schema = schema.build().map_err(failed)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("kadenz {}", env!("CARGO_PKG_VERSION")))
            .build();
        let file = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties));
        Ok(Self {
            file: file.map_err(failed)?,
            columns: columns.iter().map(PendingCells::of).collect(),
            rows: 0,
        })
    }

    fn put_group(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            if let Some(mut writer) = group.next_column()? {
                column.put(&mut writer)?;
                writer.close()?;
            }
        }
        group.close()?;
        Ok(())
    }
}

/// Returns the file system's error, or else Parquet's.
fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => *source,
            Err(source) => io::Error::other(source),
        },
        other => io::Error::other(other),
    }
}

/// Returns the storage and the logical type of a scalar.
fn physical(of: Scalar) -> (Physical, Option<LogicalType>) {
    match of {
        Scalar::Integer { bits: 64, .. } => (Physical::INT64, None),
        Scalar::Integer { bits, signed } => {
            (Physical::INT32, Some(LogicalType::integer(bits, signed)))
        }
        Scalar::Float => (Physical::FLOAT, None),
        Scalar::Double => (Physical::DOUBLE, None),
        Scalar::Boolean => (Physical::BOOLEAN, None),
        Scalar::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    }
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let primitive = |name: &str, of: (Physical, Option<LogicalType>), repetition| {
        let builder = Type::primitive_type_builder(name, of.0);
        let builder = builder.with_logical_type(of.1);
        builder.with_repetition(repetition).build()
    };
    let optional = |of| primitive(&column.name, of, Repetition::OPTIONAL);
    match column.kind {
        ColumnType::One(of) => optional(physical(of)),
        ColumnType::Json => optional(physical(Scalar::Text)),
        ColumnType::Bytes => optional((Physical::BYTE_ARRAY, None)),
        ColumnType::List(of) => {
            let element = primitive("element", physical(of), Repetition::REQUIRED)?;
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![Arc::new(element)])
                .build()?;
            Type::group_type_builder(&column.name)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(Some(LogicalType::List))
                .with_fields(vec![Arc::new(list)])
                .build()
        }
    }
}

impl PendingCells {
    fn of(column: &Column) -> Self {
        let (is_list, scalar) = match column.kind {
            ColumnType::One(of) => (false, of),
            ColumnType::List(of) => (true, of),
            ColumnType::Bytes | ColumnType::Json => (false, Scalar::Text),
        };
        let values = match physical(scalar).0 {
            Physical::INT32 => Values::Int32(Vec::new()),
            Physical::INT64 => Values::Int64(Vec::new()),
            Physical::FLOAT => Values::Float(Vec::new()),
            Physical::DOUBLE => Values::Double(Vec::new()),
            Physical::BOOLEAN => Values::Boolean(Vec::new()),
            _ => Values::Bytes(Vec::new()),
        };
        Self {
            is_list,
            values,
            definitions: Vec::new(),
            repetitions: Vec::new(),
        }
    }

    /// Takes a cell; returns the bytes that it takes in memory.
    fn push(&mut self, cell: &Cell<'_>) -> usize {
        const LEVELS: usize = 2 * size_of::<i16>();
        if !self.is_list {
            let bytes = self.values.push(cell);
            self.definitions.push(i16::from(bytes.is_some()));
            return LEVELS + bytes.unwrap_or(0);
        }
        let Cell::List(Value::Array(array)) = cell else {
            self.definitions.push(0);
            self.repetitions.push(0);
            return LEVELS;
        };
        let count = array.elements.len();
        if count == 0 {
            self.definitions.push(1);
            self.repetitions.push(0);
            return LEVELS;
        }
        self.definitions.extend(std::iter::repeat_n(2, count));
        self.repetitions.push(0);
        self.repetitions.extend(std::iter::repeat_n(1, count - 1));
        let elements = (0..count).filter_map(|index| array.elements.get(index));
        let bytes = elements.map(|it| self.values.push(&Cell::of(it)).unwrap_or(0));
        count * LEVELS + bytes.sum::<usize>()
    }

    fn put(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let definitions = Some(&self.definitions[..]);
        let repetitions = self.is_list.then_some(&self.repetitions[..]);
        macro_rules! write {
            ($writer:ident, $values:ident) => {{
                $writer.write_batch($values, definitions, repetitions)?;
                // The memory of one long list is released.
                *$values = Vec::new();
            }};
        }
        match (writer.untyped(), &mut self.values) {
            (ColumnWriter::Int32ColumnWriter(to), Values::Int32(all)) => write!(to, all),
            (ColumnWriter::Int64ColumnWriter(to), Values::Int64(all)) => write!(to, all),
            (ColumnWriter::FloatColumnWriter(to), Values::Float(all)) => write!(to, all),
            (ColumnWriter::DoubleColumnWriter(to), Values::Double(all)) => write!(to, all),
            (ColumnWriter::BoolColumnWriter(to), Values::Boolean(all)) => write!(to, all),
            (ColumnWriter::ByteArrayColumnWriter(to), Values::Bytes(all)) => write!(to, all),
            _ => {
                return Err(ParquetError::General(
                    "a column changed its type".to_owned(),
                ));
            }
        }
        self.definitions = Vec::new();
        self.repetitions = Vec::new();
        Ok(())
    }
}

impl Values {
    /// Takes what is there; `None` where there is nothing.
    fn push(&mut self, cell: &Cell<'_>) -> Option<usize> {
        let mut bytes = size_of::<i64>();
        match (self, cell) {
            // Unsigned ones are kept by their bits.
            (Self::Int32(all), Cell::Integer(it)) => all.push(*it as i32),
            (Self::Int64(all), Cell::Integer(it)) => all.push(*it),
            (Self::Float(all), Cell::Float(it)) => all.push(*it),
            (Self::Double(all), Cell::Double(it)) => all.push(*it),
            (Self::Boolean(all), Cell::Boolean(it)) => all.push(*it),
            (Self::Bytes(all), Cell::Text(it)) => {
                bytes = size_of::<ByteArray>() + it.len();
                all.push(it.as_bytes().to_vec().into());
            }
            (Self::Bytes(all), Cell::List(Value::Array(array))) => {
                let Elements::Byte(it) = &array.elements else {
                    return None;
                };
                bytes = size_of::<ByteArray>() + it.len();
                all.push(it.clone().into());
            }
            _ => return None,
        }
        Some(bytes)
    }
}

impl TableFile for Parquet {
    fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<usize> {
        let columns = self.columns.iter_mut().zip(cells);
        let bytes = columns.map(|(column, cell)| column.push(cell)).sum();
        self.rows += 1;
        if self.rows >= MAX_ROWS {
            self.put()?;
        }
        Ok(bytes)
    }

    fn put(&mut self) -> io::Result<()> {
        self.put_group().map_err(failed)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.put()?;
        self.file.close().map(drop).map_err(failed)
    }
}
