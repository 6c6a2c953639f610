//! Kadenz as a library: keep a robot's beat, and know how well it was kept.
//!
//! This crate is the face of the library: what it names, users and bindings may rely on. The rooms
//! behind it ([`rt`], [`record`], [`lab`], [`report`]) are open too, but may change more often.
//!
//! # A control loop that knows its own lateness
//!
//! ```
//! use std::time::Duration;
//!
//! use kadenz::record::run::model::{EndedBy, Run, Series};
//! use kadenz::{Beat, Rate, RunWriter, Sample, SeriesSpec, SleeperKind, Summary, Tuning, now};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let parent = tempfile::tempdir()?;
//! # let folder = parent.path().join("run");
//! // The notebook: a run folder with one series, written by a thread of its own.
//! let origin = now();
//! let mut run = RunWriter::create(&folder, Run {
//!     experiment: "my-controller".into(),
//!     start_monotonic_ns: origin.as_ns(),
//!     ..Run::default()
//! })?;
//! let mut lateness = run.series(SeriesSpec {
//!     series: Series {
//!         name: "lateness".into(),
//!         deadline_ns: Some(400_000),
//!         ..Series::default()
//!     },
//!     raw: false,
//! })?;
//! let running = run.start(Duration::from_secs(1))?;
//!
//! // The loop: tuned as far as the machine allows, on the beat, recording without allocation,
//! // lock or system call.
//! let applied = kadenz::rt::tuning::apply(&Tuning::default());
//! assert!(applied.all_granted());
//! let rate: Rate = "1kHz".parse()?;
//! let mut sleeper = kadenz::rt::sleep::open(SleeperKind::recommended(), Default::default())?;
//! let mut beat = Beat::at(now(), rate.interval());
//! for sequence in 0..100 {
//!     let intended = beat.next();
//!     sleeper.sleep_until(intended);
//!     let actual = now();
//!     lateness.record(Sample {
//!         sequence,
//!         intended_ns: intended.since(origin),
//!         actual_ns: actual.since(origin),
//!         value_ns: actual.since(intended),
//!     });
//!     // ... read sensors, compute, command the motors ...
//! }
//!
//! // What it came to.
//! running.finish(EndedBy::Finished)?;
//! let summary = Summary::of_run(&folder)?;
//! assert_eq!(summary.series[0].count, 100);
//! # Ok(())
//! # }
//! ```

pub use kadenz_lab as lab;
pub use kadenz_record as record;
pub use kadenz_report as report;
pub use kadenz_rt as rt;

pub use kadenz_record::histogram::{Histogram, SignedHistogram};
pub use kadenz_record::run::folder::{
    RunReader, RunWriter, RunningRun, SeriesRecorder, SeriesSpec,
};
pub use kadenz_record::samples::Sample;
pub use kadenz_report::summary::{SeriesSummary, Summary};
pub use kadenz_rt::beat::{Beat, Interval, Rate};
pub use kadenz_rt::clock::{MonotonicTime, now};
pub use kadenz_rt::pi_mutex::PiMutex;
pub use kadenz_rt::shield::Shield;
pub use kadenz_rt::sleep::{Sleeper, SleeperKind};
pub use kadenz_rt::tuning::{Policy, Tuning};
