//! A periodic loop, and the run that it records.

use std::sync::Arc;

use kadenz::rt::clock::{self, MonotonicTime};
use kadenz::rt::tuning::{CpuSet, Tuning};
use pyo3::prelude::*;
use send_wrapper::SendWrapper;

use crate::{POLL_INTERVAL, Time, error};

/// A run that is being written.
#[pyclass(module = "kadenz._kadenz")]
pub(crate) struct Recording(Option<Arc<kadenz::Recording>>);

impl Recording {
    pub(crate) fn running(&self) -> PyResult<&Arc<kadenz::Recording>> {
        self.0
            .as_ref()
            .ok_or_else(|| error("the recording is finished; create another one"))
    }
}

#[pymethods]
impl Recording {
    #[new]
    fn new(folder: std::path::PathBuf, samples: bool) -> PyResult<Self> {
        let mut recording = kadenz::Recording::create(folder).map_err(error)?;
        if samples {
            recording = recording.keep_samples();
        }
        Ok(Self(Some(Arc::new(recording))))
    }

    fn durations(&self, name: &str, deadline: Option<Time>) -> PyResult<Durations> {
        let running = self.running()?;
        let series = match deadline {
            Some(deadline) => running.durations_within(name, deadline.duration()?),
            None => running.durations(name),
        };
        let series = series.map_err(error)?;
        let begin = None;
        Ok(Durations { series, begin })
    }

    /// Leaves the run as it is; one without a series leaves nothing.
    fn drop(&mut self) {
        self.0 = None;
    }

    /// Ends the run; returns its summary, a few lines.
    fn finish(&mut self, py: Python<'_>) -> PyResult<String> {
        self.running()?;
        let Some(recording) = self.0.take() else {
            return Ok(String::new());
        };
        let recording = Arc::try_unwrap(recording).map_err(|shared| {
            self.0 = Some(shared);
            error("a network still records into the run; stop() it first")
        })?;
        let finished = py.detach(|| recording.finish());
        finished.map(|it| it.to_string()).map_err(error)
    }
}

/// A series of durations: a context manager.
#[pyclass(module = "kadenz._kadenz")]
pub(crate) struct Durations {
    series: kadenz::Durations,
    begin: Option<MonotonicTime>,
}

#[pymethods]
impl Durations {
    fn __enter__(&mut self) {
        self.begin = Some(clock::now());
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&mut self, _raised: &Bound<'_, PyAny>) {
        let end = clock::now();
        if let Some(begin) = self.begin.take() {
            self.series.record(begin, end);
        }
    }

    /// Records the span between two times of `time.monotonic_ns`.
    fn record(&mut self, begin_ns: u64, end_ns: u64) {
        let time = MonotonicTime::from_ns;
        self.series.record(time(begin_ns), time(end_ns));
    }

    /// Records a duration that ends now.
    fn record_duration(&mut self, duration: Time) -> PyResult<()> {
        self.series.record_duration(duration.duration()?);
        Ok(())
    }
}

/// A running periodic loop.
#[pyclass(unsendable, module = "kadenz._kadenz")]
pub(crate) struct Ticks(kadenz::Ticks<'static>);

#[pymethods]
impl Ticks {
    #[new]
    #[pyo3(signature = (rate, deadline, priority, lock_memory, cpus, recording, series))]
    #[allow(
        clippy::too_many_arguments,
        reason = "called by keyword from one place in Python"
    )]
    fn new(
        rate: &str,
        deadline: Option<Time>,
        priority: Option<u8>,
        lock_memory: bool,
        cpus: Option<&str>,
        recording: Option<PyRef<'_, Recording>>,
        series: &str,
    ) -> PyResult<Self> {
        let mut tuning = priority.map_or_else(Tuning::default, Tuning::fifo);
        tuning.lock_memory = lock_memory;
        tuning.cpus = cpus.map(str::parse::<CpuSet>).transpose().map_err(error)?;
        let mut periodic = kadenz::Periodic::new(rate).map_err(error)?.tuned(tuning);
        if let Some(deadline) = deadline {
            periodic = periodic.deadline(&deadline.text()?).map_err(error)?;
        }
        let ticks = match recording {
            Some(recording) => {
                let ticks = periodic.record(recording.running()?, series);
                ticks.map_err(error)?.beyond_the_run()
            }
            None => periodic.start().map_err(error)?,
        };
        Ok(Self(ticks))
    }

    /// Sleeps until the next tick, without the interpreter's lock.
    fn next(&mut self, py: Python<'_>) -> PyResult<Tick> {
        let tick = loop {
            // The ticks belong to this thread, on which the closure runs, too.
            let mut ticks = SendWrapper::new(&mut self.0);
            let tick = py.detach(move || ticks.next_within(POLL_INTERVAL));
            py.check_signals()?;
            if let Some(tick) = tick {
                break tick;
            }
        };
        Ok(Tick {
            index: tick.index(),
            skipped: tick.skipped(),
            step_s: tick.step().as_secs_f64(),
            lateness_ns: tick.lateness().as_nanos().try_into().unwrap_or(i64::MAX),
        })
    }

    /// The settings that the machine refused, with the remedy.
    fn refused(&self) -> Vec<String> {
        let refused = self.0.measures().filter(|it| !it.ok);
        let refusals = refused.map(|it| {
            let reason = it.reason.as_deref().unwrap_or("refused");
            let remedy = it.remedy.as_deref();
            let remedy = remedy.map_or_else(String::new, |remedy| format!("; {remedy}"));
            format!("{} {}: {reason}{remedy}", it.name, it.requested)
        });
        refusals.collect()
    }
}

/// One tick of a periodic loop.
#[pyclass(frozen, get_all, module = "kadenz._kadenz")]
pub(crate) struct Tick {
    /// Its number: 1 for the first; skipped ticks count.
    index: u64,
    /// Ticks that were skipped before it.
    skipped: u64,
    /// The time step: seconds since the tick before.
    step_s: f64,
    /// How late the loop woke up.
    lateness_ns: i64,
}
