//! Comma-separated values (RFC 4180): what holds a comma, a quote or a line's end is quoted.

use std::io::{self, BufWriter, Write};

use super::columns::{Cell, Column};
use super::{Counted, TableFile};

pub(super) struct Csv {
    file: BufWriter<Counted>,
    line: String,
}

impl Csv {
    pub(super) fn new(file: Counted, columns: &[Column]) -> io::Result<Self> {
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

/// A text as a cell; an empty one is quoted, to be told from none.
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
