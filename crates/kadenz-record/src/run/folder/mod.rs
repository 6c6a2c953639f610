//! Writes a run folder while it is measured, and reads it back.
//!
//! # The path of a value
//!
//! [`SeriesRecorder::record`] counts it in the recorder of its series and, where raw samples are requested, puts it
//! into a ring: wait-free, no allocation, no lock, no system call. One writer thread at ordinary priority flips the
//! recorders once an interval, appends a line a series to `<series>.hlog` (and one tagged `early` if there were
//! values below zero), and empties the rings into `<series>.samples.arrow`.
//!
//! # Guarantees
//!
//! 1. `run.json` is written first, with `complete: false`, and completed last, each time
//!    atomically. A run that was killed is therefore marked as incomplete.
//! 2. Whatever kills the process, what was flushed stays readable: at most one interval is lost.
//! 3. No failure of a disk stops the measurement. Lines that cannot be written are held, tried again,
//!    and merged when they become too many; part of a line or of a batch is cut away.
//! 4. Stamps of intervals are on the monotonic clock and have their real length: a stalled writer
//!    shows as a long interval, and a step of the wall clock only gives a warning.
//!
//! ```
//! use std::time::Duration;
//! use kadenz_record::run::folder::{RunReader, RunWriter, SeriesSpec};
//! use kadenz_record::run::model::{EndedBy, Run, Series};
//! use kadenz_record::samples::Sample;
//!
//! let folder = std::env::temp_dir().join(format!("kadenz-example-{}", std::process::id()));
//! let run = Run { experiment: "example".into(), ..Run::default() };
//! let mut writer = RunWriter::create(&folder, run)?;
//! let series = Series { name: "wakeup".into(), ..Series::default() };
//! let mut recorder = writer.series(SeriesSpec { series, raw: true })?;
//! let running = writer.start(Duration::from_secs(1))?;
//!
//! let measuring = std::thread::spawn(move || {
//!     for sequence in 0..100 {
//!         recorder.record(Sample { sequence, value_ns: 1000, ..Sample::default() });
//!     }
//! });
//! measuring.join().expect("measuring");
//! running.finish(EndedBy::Finished)?;
//!
//! let reader = RunReader::open(&folder)?;
//! assert!(reader.complete());
//! assert_eq!(reader.run().series[0].counts.recorded, 100);
//! let mut samples = reader.samples("wakeup")?;
//! assert_eq!(samples.for_each_value(|_| ())?.samples, 100);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clock_step;
mod error;
mod growing;
mod inside;
mod interval_file;
mod journal;
mod reader;
mod recount;
mod running;
mod series;
mod thread;
mod trouble;
mod writer;

use std::io::{self, Read};
use std::path::Path;

pub use self::error::{
    AddPartError, AddSeriesError, CreateRunError, FinishRunError, OpenRunError, OpenSeriesError,
    StartRunError,
};
pub use self::growing::GrowingRun;
pub use self::inside::MAX_SERIES;
pub use self::reader::RunReader;
pub use self::running::RunningRun;
pub use self::series::{SeriesRecorder, SeriesSpec};
pub use self::trouble::WriteTrouble;
pub use self::writer::RunWriter;
use crate::run::disk::Disk;
use crate::run::labels::label_by_names;
use crate::run::model::{FORMAT_VERSION, Run, found_by_names, tuning_by_ids};
use crate::run::tune::tune_by_parameters;
pub use running::{Progress, SeriesProgress};

/// Tag of the lines that hold values below zero, as magnitudes.
pub const EARLY_TAG: &str = "early";

// `run.json`: written atomically, read with bounds.

const RUN_JSON: &str = "run.json";
/// Most bytes of a `run.json`: one of [`MAX_SERIES`](MAX_SERIES) series, with the tuning of each, is smaller.
/// Reading it takes up to about twenty times its bytes of memory.
const MAX_RUN_JSON: u64 = 8 << 20;

/// Replaces `run.json`.
fn write(disk: &dyn Disk, path: &Path, run: &Run, durable: bool) -> io::Result<()> {
    let mut json = serde_json::to_vec_pretty(run)?;
    json.push(b'\n');
    disk.replace(path, &json, durable)
}

/// Reads the `run.json` of a folder, and checks that its names stay inside the folder.
fn read(dir: &Path) -> Result<Run, OpenRunError> {
    let path = dir.join(RUN_JSON);
    let unreadable = |source| OpenRunError::Unreadable {
        path: path.clone(),
        source,
    };
    let mut bytes = Vec::new();
    let file = inside::open(dir, RUN_JSON).map_err(unreadable)?;
    file.take(MAX_RUN_JSON + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    let mut run = parse(&bytes, &path)?;
    inside::check(&run, &path)?;
    // After the check, which bounds how many series are compared with how many names, and how long those are.
    label_by_names(&mut run);
    tune_by_parameters(&mut run);
    tuning_by_ids(&mut run);
    found_by_names(&mut run);
    Ok(run)
}

/// Parses the bytes of a `run.json`.
fn parse(bytes: &[u8], path: &Path) -> Result<Run, OpenRunError> {
    if bytes.is_empty() {
        let path = path.to_owned();
        return Err(if is_alone(&path) {
            OpenRunError::NeverBegan { path }
        } else {
            OpenRunError::Emptied { path }
        });
    }
    let malformed = |cause: String| OpenRunError::Malformed {
        path: path.to_owned(),
        cause,
    };
    if bytes.len() as u64 > MAX_RUN_JSON {
        return Err(OpenRunError::TooLarge {
            path: path.to_owned(),
            has: "more bytes".to_owned(),
            limit: format!("{} MiB", MAX_RUN_JSON >> 20),
        });
    }
    let version = serde_json::from_slice::<Version>(bytes).map_err(|e| malformed(e.to_string()))?;
    if version.version > FORMAT_VERSION {
        return Err(OpenRunError::Newer {
            path: path.to_owned(),
            version: version.version,
        });
    }
    serde_json::from_slice(bytes).map_err(|error| malformed(error.to_string()))
}

/// Whether the folder of this `run.json` is known to hold nothing else.
fn is_alone(path: &Path) -> bool {
    let is_ours = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        name.as_encoded_bytes().starts_with(RUN_JSON.as_bytes())
    };
    let entries = path.parent().map(std::fs::read_dir);
    entries.is_some_and(|it| it.is_ok_and(|mut it| it.all(|entry| entry.is_ok_and(is_ours))))
}

/// The fields that every version of the format has.
#[derive(serde::Deserialize)]
struct Version {
    version: u32,
}
