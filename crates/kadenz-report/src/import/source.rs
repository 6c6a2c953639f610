//! The imported file: decompressed if it is gzipped, split into lines of bounded length; or JSON, with errors that name
//! line, column and cause.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use jiff::Timestamp;
use kadenz_record::run::model::{Kind, Run, Series};
use serde::de::DeserializeOwned;

use super::{ImportFormat, ReadError};

/// Bytes of a file that are read to determine its format.
const HEAD: usize = 64 << 10;
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The longest line of any format: a row of a cyclictest with one thread per CPU.
const MAX_LINE: u64 = 1 << 20;

/// The start of a source that gives none.
pub(super) const UNKNOWN_START: Timestamp = Timestamp::UNIX_EPOCH;

/// A file that is imported.
pub(super) struct ImportSource {
    reader: BufReader<Box<dyn Read>>,
    cut_off: Rc<Cell<bool>>,
}

/// A gzipped stream that, if truncated, ends there and reports it.
struct Unzipped<R> {
    decoder: MultiGzDecoder<R>,
    cut_off: Rc<Cell<bool>>,
}

impl<R: BufRead> Read for Unzipped<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.decoder.read(buf) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.cut_off.set(true);
                Ok(0)
            }
            read => read,
        }
    }
}

impl ImportSource {
    /// Opens a file, and decompresses gzip.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(HEAD, File::open(path)?);
        let zipped = file.fill_buf()?.starts_with(&GZIP);
        let cut_off = Rc::new(Cell::new(false));
        let reader: Box<dyn Read> = if zipped {
            Box::new(Unzipped {
                decoder: MultiGzDecoder::new(file),
                cut_off: Rc::clone(&cut_off),
            })
        } else {
            Box::new(file)
        };
        Ok(Self {
            reader: BufReader::with_capacity(HEAD, reader),
            cut_off,
        })
    }

    /// Whether a gzipped file ended too early, as far as it was read.
    pub(super) fn cut_off(&self) -> bool {
        self.cut_off.get()
    }

    /// The first bytes, as text.
    pub(super) fn head(&mut self) -> io::Result<String> {
        let mut head = Vec::new();
        self.reader
            .by_ref()
            .take(HEAD as u64)
            .read_to_end(&mut head)?;
        Ok(String::from_utf8_lossy(&head).into_owned())
    }
}

impl Read for ImportSource {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buf)
    }
}

impl BufRead for ImportSource {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.reader.consume(amount);
    }
}

/// Notes in `run` the origin of its data.
pub(super) fn describe(run: &mut Run, path: &Path, format: ImportFormat) {
    let name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned();
    run.insert_found("source_file", name);
    run.parameters
        .insert("source_format".to_owned(), format.name().into());
    let path = path.display().to_string();
    let words = ["kadenz", "import", "--format", format.name(), &path];
    run.command = words.map(str::to_owned).to_vec();
}

/// Sets the start of `run`, if the source gives a plausible time.
pub(super) fn set_start(run: &mut Run, start: Timestamp) {
    run.started_at = start.to_string();
}

/// A series as importers make it: without tuning, counts or files.
pub(super) fn series(
    name: impl Into<String>,
    description: impl Into<String>,
    kind: Kind,
) -> Series {
    Series {
        name: name.into(),
        description: description.into(),
        kind,
        ..Series::default()
    }
}

/// The lines of a text, numbered from 1, without their line breaks, in one buffer.
pub(super) struct Lines<'a> {
    source: &'a mut dyn BufRead,
    line: Vec<u8>,
    number: u64,
    ended: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(source: &'a mut dyn BufRead) -> Self {
        Self {
            source,
            line: Vec::new(),
            number: 0,
            ended: true,
        }
    }

    /// Whether the last line had a line break: without one it may have been cut off.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// The next line and its number; a line that is not UTF-8 is an error.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &str)>, ReadError> {
        self.line.clear();
        let read = self
            .source
            .take(MAX_LINE)
            .read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.ended = self.line.ends_with(b"\n");
        if self.ended {
            self.line.pop();
        } else if read as u64 == MAX_LINE {
            let cause = "it is longer than 1 MiB: this is not a valid text file of this format";
            return Err(ReadError::line(self.number, cause));
        }
        if self.line.ends_with(b"\r") {
            self.line.pop();
        }
        match std::str::from_utf8(&self.line) {
            Ok(line) => Ok(Some((self.number, line))),
            Err(error) => Err(ReadError::line(
                self.number,
                format!("byte {} is not UTF-8 text", error.valid_up_to() + 1),
            )),
        }
    }
}

/// A program's histogram in JSON takes tens of KiB per thread.
const MAX_JSON: u64 = 256 << 20;

/// The whole of a small JSON file.
pub(super) fn read_json(
    source: &mut dyn BufRead,
    what: &'static str,
) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    source.take(MAX_JSON + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_JSON {
        return Err(ReadError::TooLarge {
            what,
            limit: MAX_JSON,
        });
    }
    Ok(bytes)
}

pub(super) fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ReadError> {
    serde_json::from_slice(bytes).map_err(json_error)
}

/// The error of serde_json, with line and column taken out of its text.
#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
pub(super) fn json_error(error: serde_json::Error) -> ReadError {
    if let Some(kind) = error.io_error_kind() {
        return ReadError::Io(std::io::Error::new(kind, error.to_string()));
    }
    let said = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let cause = said.strip_suffix(&place).unwrap_or(&said).to_owned();
    ReadError::Json {
        line: error.line(),
        column: error.column(),
        cause,
    }
}

/// Whether `head` may begin a JSON object that holds all these keys early on.
pub(super) fn has_json_keys(head: &str, keys: &[&str]) -> bool {
    head.trim_start().starts_with('{')
        && keys.iter().all(|key| head.contains(&format!("\"{key}\"")))
}

/// The whole number directly after `mark`; spaces may stand between them.
pub(super) fn number_after(text: &str, mark: &str) -> Option<u64> {
    let (_, rest) = text.split_once(mark)?;
    let rest = rest.trim_start();
    let end = rest.find(|it: char| !it.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

/// The beginning of a word for an error, in quotes.
pub(super) fn quoted(word: &str) -> String {
    format!("{:?}", word.chars().take(40).collect::<String>())
}

/// The preemption model in the output of `uname -v`.
pub(super) fn preemption(version: &str) -> Option<String> {
    let names = ["PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT"];
    names
        .into_iter()
        .find(|name| version.contains(name))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_bounded() {
        let mut text: &[u8] = b"a\r\n\nlast";
        let mut lines = Lines::new(&mut text);
        assert_eq!(lines.next().unwrap(), Some((1, "a")));
        assert_eq!(lines.next().unwrap(), Some((2, "")));
        assert_eq!(lines.next().unwrap(), Some((3, "last")));
        assert_eq!(lines.next().unwrap(), None);

        let endless = vec![b'x'; 2 << 20];
        let mut endless = endless.as_slice();
        let error = Lines::new(&mut endless).next().unwrap_err();
        assert!(error.to_string().starts_with("line 1: it is longer"));

        let mut binary: &[u8] = b"ok\n\xff\n";
        let mut lines = Lines::new(&mut binary);
        lines.next().unwrap();
        assert_eq!(
            lines.next().unwrap_err().to_string(),
            "line 2: byte 1 is not UTF-8 text"
        );
    }
}
