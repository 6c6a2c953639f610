//! Writes a run folder while it is measured, and reads it back.
//!
//! # The way of a value
//!
//! [`SeriesRecorder::record`] counts it in the recorder of its series and, where raw samples were
//! asked for, puts it into a ring: wait-free, no allocation, no lock, no system call. One writer
//! thread at ordinary priority flips the recorders once an interval, appends a line a series to
//! `<series>.hlog` (and one tagged `early` if there were values below zero), and empties the rings
//! into `<series>.samples.arrow`.
//!
//! # What is promised
//!
//! 1. `run.json` is written first, with `complete: false`, and completed last, each time at one
//!    stroke. A run that was killed says so by itself.
//! 2. Whatever kills the process, what was flushed stays readable: at most one interval is lost.
//! 3. Nothing that a disk does stops the measurement. What cannot be written is held, tried again,
//!    and merged when it grows; part of a line or of a batch is cut away.
//! 4. Stamps of intervals count on the monotonic clock and have their real length: a writer that
//!    was stalled shows it, a wall clock that is set disturbs nothing and gives a warning.
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

mod claim;
mod clock_step;
mod error;
mod growing;
mod inside;
mod interval_file;
mod journal;
mod manifest;
mod prepared;
mod progress;
mod reader;
mod recount;
mod running;
mod sample_file;
mod schedule;
mod series;
mod shared;
mod thread;
mod trouble;
mod writer;

pub use self::error::{
    AddPartError, AddSeriesError, CreateRunError, FinishRunError, OpenRunError, OpenSeriesError,
    StartRunError,
};
pub use self::growing::GrowingRun;
pub use self::inside::MAX_SERIES;
pub use self::progress::{Progress, SeriesProgress};
pub use self::reader::RunReader;
pub use self::running::RunningRun;
pub use self::series::{SeriesRecorder, SeriesSpec};
pub use self::trouble::WriteTrouble;
pub use self::writer::RunWriter;

/// Tag of the lines that hold values below zero, as magnitudes.
pub const EARLY_TAG: &str = "early";
