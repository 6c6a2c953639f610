//! Logs as tables, for pandas, polars and spreadsheets: a row a message, its fields as columns.
//!
//! Columns are `channel`, `sequence`, `log_time_ns`, `publish_time_ns`, and each field by its path:
//! `pose.position.x`, `joints[0]`. Arrays of fixed length have a column for each element up to 64 elements;
//! longer ones, and those of variable length, are one column: JSON text in CSV, a list in Parquet, and bytes
//! there if their elements are bytes. Arrays of structs, and of several dimensions, are JSON text in both. A
//! type that would have more than 1,024 columns has one for each member.

mod columns;
mod names;
#[cfg(feature = "parquet")]
mod parquet;

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use columns::{Cell, Column, Columns, Lists};
pub use names::TableNames;

use super::dictionary::Decoded;
use super::{Amount, Dictionary, Entry, LogError, LogWriter};
use crate::message::Fingerprint;
use crate::sync::lock;
use crate::types::TypeName;

/// The formats of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Comma-separated values (RFC 4180, with `\n`): numbers with the digits that restore them exactly, and
    /// empty cells for missing values.
    Csv,
    /// Apache Parquet, by snappy.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// The messages that share a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileGrouping {
    /// All messages, which must be of one type.
    OneFile,
    /// The messages of a channel, and of a type if the channel carries several.
    FilePerChannel,
}

/// Makes the file of a channel's messages of a type.
pub type MakeTable = Box<dyn FnMut(&str, &str) -> Result<Box<dyn Write + Send>, LogError> + Send>;

/// Writes messages into tables. Messages of unknown types are refused as [`LogError::Undecodable`]; of
/// those that do not follow their type only the columns that every message has are filled; a field whose JSON text is
/// longer than 64 MiB is left empty. [`MalformedCount`] counts both.
pub struct Tables {
    format: TableFormat,
    tabling: FileGrouping,
    make: MakeTable,
    dictionary: Dictionary,
    tables: Vec<Table>,
    places: HashMap<(String, TypeName, Option<Fingerprint>), usize>,
    /// How many bytes of rows wait in memory.
    waiting: usize,
    written: Arc<AtomicU64>,
    malformed: MalformedCount,
    failed: bool,
}

/// How many messages did not follow their type or had a field too long for a table, and what was wrong with the first.
#[derive(Debug, Clone, Default)]
pub struct MalformedCount(Arc<Mutex<(u64, Option<String>)>>);

impl MalformedCount {
    /// The number until now, and the first reason.
    #[must_use]
    pub fn get(&self) -> (u64, Option<String>) {
        lock(&self.0).clone()
    }

    fn add(&self, reason: impl FnOnce() -> String) {
        let mut malformed = lock(&self.0);
        malformed.0 += 1;
        malformed.1.get_or_insert_with(reason);
    }
}

/// The most files at once, as each is open until the end.
const MAX_TABLES: usize = 512;

/// How much may wait in memory for being written, over all files.
const MAX_WAITING_BYTES: usize = 32 << 20;

struct Table {
    columns: Columns,
    file: Box<dyn TableFile>,
}

/// A table's file.
trait TableFile: Send {
    /// Takes a row. Returns the number of bytes that wait in memory for it.
    fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<usize>;

    /// Writes what waits.
    fn put(&mut self) -> io::Result<()>;

    /// Writes the end.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Tables {
    /// Writes tables into files that `make` makes, of messages whose types are in a dictionary or in the
    /// log itself.
    #[must_use]
    pub fn new(
        format: TableFormat,
        tabling: FileGrouping,
        dictionary: Dictionary,
        make: MakeTable,
    ) -> Self {
        Self {
            format,
            tabling,
            make,
            dictionary,
            tables: Vec::new(),
            places: HashMap::new(),
            waiting: 0,
            written: Arc::default(),
            malformed: MalformedCount::default(),
            failed: false,
        }
    }

    /// Notes on messages that did not follow their type, also after the end.
    #[must_use]
    pub fn malformed(&self) -> MalformedCount {
        self.malformed.clone()
    }

    /// The table of a message.
    fn place(&mut self, entry: &Entry, decoded: &Decoded) -> Result<usize, LogError> {
        let channel = match self.tabling {
            FileGrouping::OneFile => "",
            FileGrouping::FilePerChannel => &entry.channel.name,
        };
        let fingerprint = decoded.types.fingerprint_of(&decoded.name);
        let key = (channel.to_owned(), decoded.name.clone(), fingerprint);
        if let Some(place) = self.places.get(&key) {
            return Ok(*place);
        }
        let place = self.tables.len();
        if self.tabling == FileGrouping::OneFile && place > 0 {
            let types = self.places.keys().map(|(_, name, _)| name);
            let types = types.chain([&decoded.name]);
            return Err(LogError::SeveralTypes {
                types: types.map(TypeName::to_string).collect(),
                channel: entry.channel.name.clone(),
            });
        }
        if place >= MAX_TABLES {
            return Err(LogError::TooManyTables { most: MAX_TABLES });
        }
        let table = self.table(entry, decoded)?;
        self.tables.push(table);
        self.places.insert(key, place);
        Ok(place)
    }

    fn table(&mut self, entry: &Entry, decoded: &Decoded) -> Result<Table, LogError> {
        let file = (self.make)(&entry.channel.name, &decoded.name.to_string())?;
        let file = CountedFile {
            file,
            written: Arc::clone(&self.written),
        };
        let lists = match self.format {
            TableFormat::Csv => Lists::Text,
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => Lists::Kept,
        };
        let columns = Columns::of(&decoded.types, &decoded.name, lists);
        let file: Box<dyn TableFile> = match self.format {
            TableFormat::Csv => Box::new(made(Csv::new(file, columns.all()))?),
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => Box::new(made(parquet::Parquet::new(file, columns.all()))?),
        };
        Ok(Table { columns, file })
    }

    fn put(&mut self) -> io::Result<()> {
        self.waiting = 0;
        self.tables.iter_mut().try_for_each(|it| it.file.put())
    }

    fn write_row(&mut self, entry: &Entry, decoded: &Decoded) -> Result<(), LogError> {
        let place = self.place(entry, decoded)?;
        let value = match &decoded.value {
            Ok(value) => Some(value),
            Err(error) => {
                self.malformed.add(|| error.to_string());
                None
            }
        };
        let table = &mut self.tables[place];
        let mut cells = table.columns.common(entry);
        if !table.columns.fill(value, &mut cells) {
            self.malformed.add(|| {
                let channel = &entry.channel.name;
                format!("{channel}: the text of a field is too long for a table, at most 64 MiB")
            });
        }
        self.waiting += table.file.row(&cells).map_err(LogError::of_write)?;
        if self.waiting >= MAX_WAITING_BYTES {
            self.put().map_err(LogError::of_write)?;
        }
        Ok(())
    }
}

impl LogWriter for Tables {
    fn write(&mut self, entry: &Entry) -> Result<(), LogError> {
        let decoded = self.dictionary.decode(entry)?;
        let written = self.write_row(entry, &decoded);
        self.failed |= written.is_err();
        written
    }

    fn flush(&mut self) -> Result<(), LogError> {
        self.put().map_err(LogError::of_write)
    }

    fn length(&self) -> u64 {
        self.written.load(Ordering::Relaxed) + self.waiting as u64
    }

    /// Ends the files; after an error there is nothing to be ended.
    fn finish_by_channel(
        self: Box<Self>,
        _given_up: &mut dyn FnMut(&str, Amount),
    ) -> Result<u64, LogError> {
        if self.failed {
            return Ok(0);
        }
        let mut tables = self.tables.into_iter();
        let finished = tables.try_for_each(|table| table.file.finish());
        finished.map_err(LogError::of_write).map(|()| 0)
    }
}

fn made<T>(file: io::Result<T>) -> Result<T, LogError> {
    file.map_err(LogError::of_write)
}

/// A file, and the number of bytes that went into all of them.
struct CountedFile {
    file: Box<dyn Write + Send>,
    written: Arc<AtomicU64>,
}

impl Write for CountedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.written.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

// Comma-separated values (RFC 4180): a value with a comma, a quote or a line's end is quoted.

struct Csv {
    file: BufWriter<CountedFile>,
    line: String,
}

impl Csv {
    fn new(file: CountedFile, columns: &[Column]) -> io::Result<Self> {
        let mut csv = Self {
            file: BufWriter::new(file),
            line: String::new(),
        };
        let names = columns.iter().map(|it| Cell::Text(it.name.as_str().into()));
        csv.row(&names.collect::<Vec<_>>())?;
        Ok(csv)
    }

    fn cell(&mut self, cell: &Cell<'_>) {
        use std::fmt::Write as _;
        let line = &mut self.line;
        // Writing into a text does not fail. Debug writes 1e300 where Display writes 301 digits.
        let _ = match cell {
            Cell::Null => Ok(()),
            Cell::Integer(it) => write!(line, "{it}"),
            Cell::Float(it) => write!(line, "{it:?}"),
            Cell::Double(it) => write!(line, "{it:?}"),
            Cell::Boolean(it) => write!(line, "{it}"),
            Cell::Text(it) => {
                quote(it, line);
                Ok(())
            }
            // Its columns are made with `Lists::Text`.
            Cell::List(_) => Ok(()),
        };
    }
}

/// Writes a text as a cell; an empty one is quoted, to distinguish it from a missing one.
fn quote(text: &str, into: &mut String) {
    if !text.is_empty() && !text.contains([',', '"', '\n', '\r']) {
        into.push_str(text);
        return;
    }
    into.push('"');
    for (number, part) in text.split('"').enumerate() {
        if number > 0 {
            into.push_str("\"\"");
        }
        into.push_str(part);
    }
    into.push('"');
}

impl TableFile for Csv {
    fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<usize> {
        self.line.clear();
        for (number, cell) in cells.iter().enumerate() {
            if number > 0 {
                self.line.push(',');
            }
            self.cell(cell);
        }
        self.line.push('\n');
        self.file.write_all(self.line.as_bytes())?;
        Ok(0)
    }

    fn put(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.file.flush()
    }
}
