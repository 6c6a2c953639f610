//! Parts that the experiments share: how to measure, and how to make series and measuring threads from that.

use std::error::Error;
use std::time::Duration;

use kadenz_record::run::folder::{
    AddSeriesError, FinishRunError, RunWriter, SeriesRecorder, SeriesSpec, StartRunError,
};
use kadenz_record::run::labels::{Labels, VALUE};
use kadenz_record::run::model::{Kind, Series};
use kadenz_rt::clock;
use kadenz_rt::net::port::OpenPortError;
use kadenz_rt::sleep::{SleeperKind, SleeperOptions};
use kadenz_rt::tuning::{CpuSet, Tuning};

use crate::load::StartLoadError;
use crate::measuring_threads::{LoopContext, MeasuringThreadError, Member};
use crate::session::{self, Ongoing, SessionError, SessionPlan};

/// How an experiment measures: everything apart from the experiment itself.
#[derive(Clone, Debug)]
pub struct Measuring {
    /// Run folder, interval, clock.
    pub session: SessionPlan,
    /// The requested tuning of the measuring threads.
    pub tuning: Tuning,
    /// CPUs that are shielded during the measurement, and on which the measuring threads run.
    pub shield: Option<CpuSet>,
    /// The kind of sleep of the measuring threads.
    pub sleeper: SleeperKind,
    /// Options of the sleeper.
    pub sleeper_options: SleeperOptions,
    /// The limit that the user states.
    pub deadline: Option<Duration>,
}

/// How long this many intervals take together; the longest duration where they take longer.
pub(crate) fn lasting(interval: Duration, count: u64) -> Duration {
    const SECOND: u128 = 1_000_000_000;
    let ns = interval.as_nanos().saturating_mul(u128::from(count));
    match u64::try_from(ns / SECOND) {
        Ok(seconds) => Duration::new(seconds, (ns % SECOND) as u32),
        Err(_) => Duration::MAX,
    }
}

/// A number that no other measurement of today has: answers to an earlier one are not answers to this one.
pub(crate) fn unique_number() -> u64 {
    let time = clock::now().as_ns();
    (time ^ (u64::from(std::process::id()) << 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Why an experiment gave no run, or an incomplete one.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// It could not begin.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A series could not be made.
    #[error(transparent)]
    Series(#[from] AddSeriesError),
    /// The run could not be started.
    #[error(transparent)]
    Start(#[from] StartRunError),
    /// The threads could not work.
    #[error(transparent)]
    Threads(#[from] MeasuringThreadError),
    /// The measured data could not be written completely.
    #[error(transparent)]
    Finish(#[from] FinishRunError),
    /// The load could not be started.
    #[error(transparent)]
    Load(#[from] StartLoadError),
    /// The socket could not be opened.
    #[error(transparent)]
    Port(#[from] OpenPortError),
    /// A packet of this size cannot be made.
    #[error("{0}")]
    Payload(String),
    /// A timer could not be measured: a [`StopsError`](crate::timer::StopsError).
    #[error(transparent)]
    Timer(Box<dyn Error + Send + Sync>),
    /// There is no device to send to.
    #[error(
        "there is no device to send to; name one, or list the devices with `kadenz udp discover`"
    )]
    NoDevices,
    /// Messages could not be measured: a [`MessagesError`](crate::pubsub::MessagesError). The experiments use this
    /// module, so it does not name their errors.
    #[error(transparent)]
    Messages(Box<dyn Error + Send + Sync>),
    /// The camera could not be opened.
    #[cfg(all(feature = "camera", target_os = "linux"))]
    #[error(transparent)]
    Camera(Box<kadenz_camera::client::OpenCameraError>),
    /// A running program cannot be watched: a [`WatchError`](crate::watch::WatchError).
    #[error(transparent)]
    Watch(Box<dyn Error + Send + Sync>),
    /// The measured program, or the control process, could not be started.
    #[error("cannot start `{program}`: {error}")]
    Program {
        /// As the user named it.
        program: String,
        /// What the system says.
        error: std::io::Error,
    },
}

impl Measuring {
    /// Measures with the recommended sleeper, without tuning and deadline.
    #[must_use]
    pub fn new(session: SessionPlan) -> Self {
        Self {
            session,
            tuning: Tuning::default(),
            shield: None,
            sleeper: SleeperKind::recommended(),
            sleeper_options: SleeperOptions::default(),
            deadline: None,
        }
    }

    /// Starts the run's time, and raises the shield where one is requested.
    pub(crate) fn start(&self, run: RunWriter) -> Result<Ongoing, StartRunError> {
        session::start(run, self.session.interval, self.shield.as_ref())
    }

    /// Makes one series in the run.
    pub(crate) fn series(
        &self,
        run: &mut RunWriter,
        sketch: SeriesSketch<'_>,
    ) -> Result<SeriesRecorder, ExperimentError> {
        let mut labels = sketch.labels;
        let value = labels.entry(VALUE.to_owned());
        value.or_insert_with(|| sketch.name.to_owned());
        let nanoseconds = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Ok(run.series(SeriesSpec {
            series: Series {
                name: sketch.name.to_owned(),
                labels,
                description: sketch.description,
                kind: sketch.kind,
                unit: "ns".to_owned(),
                expected_interval_ns: sketch.interval.map(nanoseconds),
                deadline_ns: sketch.deadline.map(nanoseconds),
                ..Series::default()
            },
            raw: self.session.raw,
        })?)
    }

    /// Describes a thread that measures with these settings.
    pub fn member(
        &self,
        series: &[&str],
        work: impl FnOnce(&mut LoopContext<'_>) + Send + 'static,
    ) -> Member {
        Member {
            series: series.iter().map(|&name| name.to_owned()).collect(),
            tuning: self.tuning.clone(),
            shielded: self.shield.is_some(),
            sleeper: self.sleeper,
            sleeper_options: self.sleeper_options,
            clock: self.session.clock,
            work: Box::new(work),
        }
    }

    /// Describes a thread that reads a probe's lines. The probe has its own tuning, so this thread requests only what
    /// applies to the whole machine.
    pub(crate) fn attending(
        &self,
        work: impl FnOnce(&mut LoopContext<'_>) + Send + 'static,
    ) -> Member {
        Member {
            tuning: Tuning {
                cpu_dma_latency_us: self.tuning.cpu_dma_latency_us,
                ..Tuning::default()
            },
            shielded: false,
            ..self.member(&[], work)
        }
    }
}

/// The description of a series that an experiment needs.
pub(crate) struct SeriesSketch<'a> {
    pub(crate) name: &'a str,
    /// Without a label `value`, the name serves as one.
    pub(crate) labels: Labels,
    pub(crate) description: String,
    pub(crate) kind: Kind,
    pub(crate) interval: Option<Duration>,
    pub(crate) deadline: Option<Duration>,
}

impl<'a> SeriesSketch<'a> {
    /// A series of a kind, without labels, interval and deadline.
    pub(crate) fn new(kind: Kind, name: &'a str, description: impl Into<String>) -> Self {
        Self {
            name,
            labels: Labels::new(),
            description: description.into(),
            kind,
            interval: None,
            deadline: None,
        }
    }
}

/// Makes the series of an experiment whose values come once an interval, and keeps their names.
pub(crate) struct SeriesMaker<'a> {
    pub(crate) measuring: &'a Measuring,
    pub(crate) run: &'a mut RunWriter,
    pub(crate) interval: Duration,
    pub(crate) made: Vec<String>,
}

impl SeriesMaker<'_> {
    /// Makes a series to which the user's deadline applies, or not.
    pub(crate) fn series(
        &mut self,
        (name, labels): (&str, Labels),
        words: &str,
        kind: Kind,
        judged: bool,
    ) -> Result<SeriesRecorder, ExperimentError> {
        self.made.push(name.to_owned());
        let sketch = SeriesSketch {
            labels,
            interval: Some(self.interval),
            deadline: self.measuring.deadline.filter(|_| judged),
            ..SeriesSketch::new(kind, name, words)
        };
        self.measuring.series(self.run, sketch)
    }

    pub(crate) fn latency(
        &mut self,
        name: &str,
        words: &str,
    ) -> Result<SeriesRecorder, ExperimentError> {
        self.series((name, Labels::new()), words, Kind::Latency, false)
    }

    pub(crate) fn latency_if(
        &mut self,
        wanted: bool,
        name: &str,
        words: &str,
    ) -> Result<Option<SeriesRecorder>, ExperimentError> {
        wanted.then(|| self.latency(name, words)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_intervals_last_as_long_as_they_do() {
        let millisecond = Duration::from_millis(1);
        assert_eq!(lasting(millisecond, 1500), Duration::from_millis(1500));
        let beyond_32_bits = lasting(millisecond, 99_999_999_999_999);
        assert_eq!(beyond_32_bits, Duration::from_millis(99_999_999_999_999));
        assert_eq!(lasting(Duration::MAX, u64::MAX), Duration::MAX);
    }
}
