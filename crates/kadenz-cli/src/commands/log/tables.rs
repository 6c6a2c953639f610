//! The tables of `kadenz log convert`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use kadenz::msg::log::copy::Copied;
use kadenz::msg::log::table::{FileGrouping, MakeTable, TableFormat, TableNames, Tables};
use kadenz::msg::log::{Dictionary, LogError};
use kadenz::report::document::{Answer, Document, Version};
use kadenz::report::numbers;
use schemars::JsonSchema;
use serde::Serialize;
use tempfile::TempPath;

use super::copying;
use crate::output::{Outcome, Reply};

/// Format and place of tables.
pub(crate) struct Target<'a> {
    pub(crate) format: TableFormat,
    pub(crate) out: &'a Path,
    pub(crate) overwrite: bool,
    /// The input, which is never overwritten.
    pub(crate) input: &'a Path,
}

/// Files that are written beside their places, and removed unless they are moved there.
#[derive(Clone, Default)]
pub(crate) struct Pending(Arc<Mutex<Files>>);

#[derive(Default)]
struct Files {
    places: Vec<(TempPath, PathBuf)>,
    /// A folder created for them.
    made: Option<PathBuf>,
}

impl Drop for Files {
    fn drop(&mut self) {
        self.places.clear();
        if let Some(folder) = &self.made {
            // This removes an empty folder only.
            let _ = fs::remove_dir(folder);
        }
    }
}

impl Pending {
    fn add(&self, out: PathBuf) -> io::Result<File> {
        let folder = out.parent().filter(|it| !it.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        builder.prefix(".kadenz-").suffix(".part");
        // Permissions of any new file; the process's mask restricts them.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
        let (file, path) = file.into_parts();
        self.lock().places.push((path, out));
        Ok(file)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves all files to their places.
    fn persist(&self, overwrite: bool) -> anyhow::Result<Vec<PathBuf>> {
        let mut places = Vec::new();
        for (file, out) in self.lock().places.drain(..) {
            let moved = match overwrite {
                true => file.persist(&out),
                false => file.persist_noclobber(&out),
            };
            moved.with_context(|| format!("cannot make {}", out.display()))?;
            places.push(out);
        }
        Ok(places)
    }
}

impl Target<'_> {
    /// Whether all messages go into one file: its name has the format's ending, and it is not a folder.
    fn is_one_file(&self) -> bool {
        let named = self
            .out
            .extension()
            .is_some_and(|it| it == self.format.ending());
        named && !self.out.is_dir()
    }

    /// The writer of the tables, with its pending files.
    pub(crate) fn create(&self, dictionary: Dictionary) -> anyhow::Result<(Tables, Pending)> {
        let pending = Pending::default();
        let (tabling, make) = if self.is_one_file() {
            self.refuse(self.out)?;
            (FileGrouping::OneFile, self.one_file(&pending))
        } else {
            let is_new = !self.out.exists();
            let made = fs::create_dir_all(self.out);
            made.with_context(|| format!("cannot make the folder {}", self.out.display()))?;
            pending.lock().made = is_new.then(|| self.out.to_owned());
            (FileGrouping::FilePerChannel, self.file_a_channel(&pending))
        };
        let tables = Tables::new(self.format, tabling, dictionary, make);
        Ok((tables, pending))
    }

    /// Refuses to overwrite a file without permission.
    fn refuse(&self, out: &Path) -> Result<(), LogError> {
        let refused = |kind, text: &str| LogError::File {
            path: out.to_owned(),
            source: io::Error::new(kind, text),
        };
        if !out.exists() {
            return Ok(());
        }
        if fs::canonicalize(self.input).ok() == fs::canonicalize(out).ok() {
            let text = "it is read and cannot be written as well; name another --out";
            return Err(refused(io::ErrorKind::InvalidInput, text));
        }
        if !self.overwrite {
            let text = "it is there already; --force overwrites it";
            return Err(refused(io::ErrorKind::AlreadyExists, text));
        }
        Ok(())
    }

    fn one_file(&self, pending: &Pending) -> MakeTable {
        let (pending, out) = (pending.clone(), self.out.to_owned());
        Box::new(move |_, _| pending_file(&pending, out.clone()))
    }

    fn file_a_channel(&self, pending: &Pending) -> MakeTable {
        let (pending, folder) = (pending.clone(), self.out.to_owned());
        let (overwrite, input) = (self.overwrite, self.input.to_owned());
        let format = self.format;
        let mut names = TableNames::new(format);
        Box::new(move |channel, of_type| {
            let out = folder.join(names.file(channel, of_type));
            let target = Target {
                format,
                out: &folder,
                overwrite,
                input: &input,
            };
            target.refuse(&out)?;
            pending_file(&pending, out)
        })
    }

    /// Moves complete output to its place.
    pub(crate) fn end(
        &self,
        copied: Copied,
        pending: &Pending,
        malformed: (u64, Option<String>),
    ) -> anyhow::Result<Reply> {
        if !copied.complete {
            let reply = Reply::from(Outcome::Incomplete);
            return Ok(reply.note("interrupted; nothing was written"));
        }
        if copied.messages == 0 {
            let reason = copied.reason.clone().unwrap_or_else(|| {
                "the log holds none of the requested channels; `kadenz log info` shows what there is"
                    .to_owned()
            });
            anyhow::bail!("no message is in a table: {reason}");
        }
        let files = pending.persist(self.overwrite)?;
        let written = WrittenTables {
            version: Version,
            malformed: malformed.0,
            malformed_reason: malformed.1,
            files,
            copied,
        };
        let whole = written.copied.left_out == 0 && written.malformed == 0;
        let outcome = copying::outcome(&written.copied).or_incomplete(!whole);
        let notes = written.notes();
        Ok(Reply::from(written).notes(notes).with(outcome))
    }
}

fn pending_file(pending: &Pending, out: PathBuf) -> Result<Box<dyn Write + Send>, LogError> {
    match pending.add(out.clone()) {
        Ok(file) => Ok(Box::new(file)),
        Err(source) => Err(LogError::File { path: out, source }),
    }
}

/// Result of convert into CSV or Parquet: as copy, with the counts of the tables.
#[derive(JsonSchema, Serialize)]
pub(crate) struct WrittenTables {
    version: Version<1>,
    #[serde(flatten)]
    copied: Copied,
    /// Rows without fields, of messages that do not follow their type, and rows that lack a field with too long a
    /// text.
    malformed: u64,
    /// The first reason for one of those.
    malformed_reason: Option<String>,
    files: Vec<PathBuf>,
}

impl WrittenTables {
    /// Notes on what is missing, and why.
    fn notes(&self) -> Vec<String> {
        let mut all = copying::notes(&self.copied);
        all.extend(self.malformed_reason.as_ref().map(|reason| {
            format!(
                "{} without fields, as a message does not follow its type or a text is too long, the first because: \
                 {reason}",
                numbers::counted(self.malformed, "row")
            )
        }));
        all
    }
}

impl Answer for WrittenTables {
    fn document(&self) -> Document {
        let files = self.files.iter().map(|it| it.display().to_string());
        let document = Document::new().sentences(files);
        let rows = numbers::counted(self.copied.messages, "row");
        document.sentence(match self.files.len() {
            0 | 1 => rows,
            files => format!("{rows} in {}", numbers::counted(files as u64, "file")),
        })
    }
}
