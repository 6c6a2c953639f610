//! Watches a program while it runs, into a run folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kadenz_record::run::folder::{RunWriter, SeriesRecorder, SeriesSpec};
use kadenz_record::run::model::{EndedBy, Kind, Run, Series};
use kadenz_record::samples::Sample;
use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::host::Root;
use kadenz_rt::tuning::Measure;

use super::{Schedstat, WatchMeter, Window};
use crate::measuring::ExperimentError;
use crate::measuring_threads::MeasuringThreadError;
use crate::session::{self, Ongoing, SessionPlan};
use crate::stop::{Stop, StoppableThread};

/// Parameters of a watch.
#[derive(Clone, Debug)]
pub struct WatchPlan {
    /// Run folder, interval, clock.
    pub session: SessionPlan,
    /// How often the counters are read: the length of a window.
    pub every: Duration,
}

const DELAY: &str = "scheduling-delay";
const WAITING: &str = "waiting";

/// A run folder that waits for its program.
#[derive(Debug)]
pub struct WatchSetup {
    plan: WatchPlan,
    run: RunWriter,
    recorders: WatchRecorders,
}

/// The series of a watched program.
#[derive(Debug)]
struct WatchRecorders {
    delay: SeriesRecorder,
    waiting: SeriesRecorder,
    windows: u64,
}

/// A program that is being watched. When this is dropped without [`Watching::end`], the samples are kept and the run
/// stays incomplete.
pub struct Watching {
    // Dropped first: samples that it records after the run has ended are lost.
    observer: StoppableThread,
    ongoing: Ongoing,
    folder: PathBuf,
}

/// Makes the run folder, so that errors show before the program starts.
///
/// # Errors
/// The kernel does not count, or the folder cannot be made.
pub fn prepare(plan: WatchPlan) -> Result<WatchSetup, ExperimentError> {
    ThreadReader::check(&Root::system())?;
    let mut run = session::begin(&plan.session)?;
    let mut series = |name: &str, description: &str| {
        run.series(SeriesSpec {
            series: Series {
                name: name.to_owned(),
                description: format!("{description}, windows of {:?}", plan.every),
                kind: Kind::Latency,
                ..Series::default()
            },
            raw: plan.session.raw,
        })
    };
    let recorders = WatchRecorders {
        delay: series(
            DELAY,
            "a thread's wait for a CPU: mean a time slice over one window, so one long wait may hide",
        )?,
        waiting: series(
            WAITING,
            "a thread's waiting for a CPU in one window, all in all: no single wait was longer",
        )?,
        windows: 0,
    };
    Ok(WatchSetup {
        plan,
        run,
        recorders,
    })
}

impl WatchSetup {
    /// Begins to watch a process that was granted `measures`.
    ///
    /// # Errors
    /// The folder cannot be written or a thread cannot be started.
    pub fn start(self, pid: u32, measures: &[Measure]) -> Result<Watching, ExperimentError> {
        let ongoing = session::start(self.run, self.plan.session.interval, None)?;
        ongoing.note_tuning([DELAY, WAITING], &session::measures_of(measures));
        let reader = ThreadReader::new(Root::system(), pid);
        let (every, recorders) = (self.plan.every, self.recorders);
        let origin = ongoing.origin;
        let work = move |stop: &Stop| observe(&reader, every, origin, recorders, stop);
        let observer = StoppableThread::start("kadenz-watch", work);
        Ok(Watching {
            observer: observer.map_err(MeasuringThreadError::Thread)?,
            ongoing,
            folder: self.plan.session.out,
        })
    }
}

impl Watching {
    /// The folder of the watched run.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Ends the run after the program has ended.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn end(self) -> Result<Run, ExperimentError> {
        drop(self.observer);
        Ok(self.ongoing.finish(EndedBy::ProgramEnded)?)
    }
}

/// Reads until a stop is requested. An ordinary thread: its delays disturb no beat, and the kernel counts independently
/// of the readings.
fn observe(
    reader: &ThreadReader,
    every: Duration,
    origin: MonotonicTime,
    mut recorders: WatchRecorders,
    stop: &Stop,
) {
    let mut meter = WatchMeter::new(&reader.read());
    while !stop.requested() {
        stop.wait(every);
        let windows = meter.read(&reader.read());
        let now_ns = clock::now().since(origin);
        for window in windows {
            recorders.record(&window, now_ns);
        }
    }
}

impl WatchRecorders {
    fn record(&mut self, window: &Window, now_ns: i64) {
        let sample = |value_ns: i64| Sample {
            sequence: self.windows,
            intended_ns: now_ns.saturating_sub(value_ns),
            actual_ns: now_ns,
            value_ns,
        };
        let (delay, waiting) = (sample(window.mean_ns()), sample(window.waited_ns));
        self.delay.record(delay);
        self.waiting.record(waiting);
        self.windows += 1;
    }
}

// Reads the counters of a program's threads.

/// Why a program cannot be watched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WatchError {
    /// The kernel does not count.
    #[error(
        "this kernel does not count how long threads wait (/proc/thread-self/schedstat {found}); it must be Linux, built \
         with CONFIG_SCHEDSTATS or booted with `delayacct`"
    )]
    NotCounted {
        /// The content of the file.
        found: String,
    },
}

impl From<WatchError> for ExperimentError {
    fn from(error: WatchError) -> Self {
        Self::Watch(Box::new(error))
    }
}

/// Reads `/proc/<pid>/task/*/schedstat` under a root.
#[derive(Clone, Debug)]
pub(crate) struct ThreadReader {
    root: Root,
    tasks: String,
}

impl ThreadReader {
    /// A reader for the threads of one process.
    #[must_use]
    pub(crate) fn new(root: Root, pid: u32) -> Self {
        Self {
            root,
            tasks: format!("/proc/{pid}/task"),
        }
    }

    /// Checks that the kernel counts.
    ///
    /// # Errors
    /// [`WatchError::NotCounted`] where it does not.
    pub(crate) fn check(root: &Root) -> Result<(), WatchError> {
        let read = root.read("/proc/thread-self/schedstat");
        let found = match &read {
            Ok(line) => match Schedstat::parse(line) {
                Some(stat) if stat.ran_ns > 0 || stat.slices > 0 => return Ok(()),
                _ => format!("holds {line:?}"),
            },
            Err(error) => format!("cannot be read: {error}"),
        };
        Err(WatchError::NotCounted { found })
    }

    /// The counters of every present thread. Empty when the process has ended; a thread that ends meanwhile is left
    /// out.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    #[must_use]
    pub(crate) fn read(&self) -> Vec<(u32, Schedstat)> {
        let threads = self.root.list(&self.tasks).unwrap_or_default();
        let numbers = threads.iter().filter_map(|name| name.parse::<u32>().ok());
        numbers
            .filter_map(|thread| {
                let path = format!("{}/{thread}/schedstat", self.tasks);
                Some((thread, Schedstat::parse(&self.root.read(&path).ok()?)?))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_read_and_unknown_files_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for (thread, line) in [("12", "5 6 7\n"), ("13", "nonsense"), ("x", "1 1 1")] {
            let place = folder.path().join("proc/12/task").join(thread);
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("schedstat"), line).unwrap();
        }
        let read = ThreadReader::new(Root::at(folder.path()), 12).read();
        let expected = Schedstat {
            ran_ns: 5,
            waited_ns: 6,
            slices: 7,
        };
        assert_eq!(read, [(12, expected)]);
    }

    #[test]
    fn a_kernel_that_does_not_count_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        assert!(ThreadReader::check(&root).is_err());
        let place = folder.path().join("proc/thread-self");
        std::fs::create_dir_all(&place).unwrap();
        for (line, counts) in [("0 0 0\n", false), ("9 0 1\n", true)] {
            std::fs::write(place.join("schedstat"), line).unwrap();
            assert_eq!(ThreadReader::check(&root).is_ok(), counts, "{line}");
        }
        let error = ThreadReader::check(&Root::at("/nowhere-at-all")).unwrap_err();
        assert!(error.to_string().contains("CONFIG_SCHEDSTATS"), "{error}");
    }
}
