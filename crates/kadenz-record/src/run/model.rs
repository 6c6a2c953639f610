//! The content of `run.json` as types, from which its JSON schema `docs/schema/run.schema.json` is made. Every
//! duration is in nanoseconds, as its name says.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::camera::Camera;
use super::labels::Labels;
use super::messages::Messages;
use super::network::Network;
use super::tune::Tune;
use crate::recorder::Counts;

/// The version of the format that this crate writes.
pub const FORMAT_VERSION: u32 = 1;

/// One run, as `run.json` holds it: written first with `complete: false`, completed last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Version of the format of `run.json`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = FORMAT_VERSION)))]
    pub version: u32,
    /// Version of the program that wrote the run.
    pub kadenz: String,
    /// The kind of measurement: `check`, `hiccup`, `timer-cyclic`, `timer-oneshot`, `import`, ...
    pub experiment: String,
    /// Wall time of the start, RFC 3339 with fractions of a second, UTC.
    #[cfg_attr(
        feature = "schema",
        schemars(regex(
            pattern = r"^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z)?$"
        ))
    )]
    pub started_at: String,
    /// Monotonic time of the start on `clock`; sample times count from here.
    pub start_monotonic_ns: u64,
    /// How long was measured; 0 until the run is complete.
    #[serde(default)]
    pub duration_ns: u64,
    /// False from the first byte until the last: a run that was killed says so by itself.
    pub complete: bool,
    /// Why it ended; absent in a run that was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<EndedBy>,
    /// The command line that repeats the run.
    pub command: Vec<String>,
    /// The options of that command line by their names, defaults included: the requested values, whereas the
    /// parameters are those in force. An option is true or false, a number of times, a text as typed, or a list of
    /// those. Empty in a run without a command line.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub request: BTreeMap<String, Value>,
    /// The parameters in force, defaults included.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// Names of the parameters that the measurement found: counts and results, no settings. Runs of earlier versions
    /// lack it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub found: BTreeSet<String>,
    /// The machine that measured, and its system.
    pub host: Host,
    /// The clock that was read, and what reading it costs.
    pub clock: Clock,
    /// The series, in the order in which they should be shown.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = 2048)))]
    pub series: Vec<Series>,
    /// The counts of packets, in a run that measured a network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// The counts of messages, in a run that measured a bus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Messages>,
    /// The counts of frames, in a run that measured a camera.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub camera: Option<Camera>,
    /// The requested matrix of tunings, in a run of `tune`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tune: Option<Tune>,
    /// What a reader must know before believing the numbers.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// It lasted as long as requested.
    Finished,
    /// Ctrl-C or a termination signal; the data up to there is kept.
    Interrupted,
    /// The measured program ended.
    ProgramEnded,
    /// Something failed; a warning says what.
    Failed,
}

/// The machine a run was taken on. What could not be read is absent, never guessed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// `linux`, `macos`, `windows`.
    pub os: String,
    /// Distribution or product name and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os_release: Option<String>,
    /// Kernel release, `uname -r`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// `PREEMPT_RT`, `PREEMPT`, `PREEMPT_DYNAMIC (voluntary)`, `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<String>,
    /// CPU model name as the operating system gives it; absent when not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// Logical CPUs that are online.
    #[serde(default)]
    pub cpus: u32,
    /// Total memory in bytes, as the operating system reports it; absent when not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Kernel clock source, for example `tsc`; absent when not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_source: Option<String>,
    /// CPU frequency governor; several, separated by commas, when the CPUs differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Control group of the measuring process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// Hypervisor or container, `none` on bare metal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtualisation: Option<String>,
}

/// The clock a run was taken with, measured at its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clock {
    /// `CLOCK_MONOTONIC`, `CLOCK_MONOTONIC_RAW`, `TSC`, ...
    pub name: String,
    /// Smallest step seen between two readings.
    #[serde(serialize_with = "finite")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0)))]
    pub resolution_ns: f64,
    /// Cost of one reading.
    #[serde(serialize_with = "finite")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0)))]
    pub read_cost_ns: f64,
    /// Cost of recording one value, measured on this machine in this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0)))]
    pub record_cost_ns: Option<f64>,
}

/// JSON has no infinity, and a reader would fail on a substitute.
#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn finite<S: serde::Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(if value.is_finite() { *value } else { 0.0 })
}

/// The limits of labels that readers accept.
#[cfg(feature = "schema")]
fn limit_labels(schema: &mut schemars::Schema) {
    schema.insert("maxProperties".into(), 8.into());
    schema.insert("propertyNames".into(), serde_json::json!({"maxLength": 64}));
    let text = serde_json::json!({"type": "string", "maxLength": 128});
    schema.insert("additionalProperties".into(), text);
}

/// One named stream of values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// Name, also the stem of its files: letters, digits, `.`, `_` and `-`.
    #[cfg_attr(
        feature = "schema",
        schemars(regex(pattern = "^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$"))
    )]
    pub name: String,
    /// What is measured and of what, for readers: value (rtt, one-way, lateness, ...) and, where there are
    /// several, device, subscriber, sleeper or cpu; of a matrix load and tuning. A run from before there
    /// were labels gets them by its names as it is read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(transform = limit_labels))]
    pub labels: Labels,
    /// A description of the values, in words.
    #[serde(default)]
    pub description: String,
    /// The kind of its values.
    pub kind: Kind,
    /// Always `ns`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = "ns")))]
    pub unit: String,
    /// Interval between two samples of the ideal signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_interval_ns: Option<u64>,
    /// The limit the user stated; a sample above it is a miss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<u64>,
    /// Tuning of the thread that measured: requested against granted.
    #[serde(default)]
    pub tuning: Vec<TuningMeasure>,
    /// File names inside the run folder.
    #[serde(default)]
    pub files: SeriesFiles,
    /// The counts. In an incomplete run these are zero, and readers count the values in the files.
    #[serde(default)]
    pub counts: Counts,
}

/// The kind of the values of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Actual time less intended time; early is negative.
    #[default]
    Lateness,
    /// jHiccup's value: how much longer a sleep took than the shortest one seen.
    Hiccup,
    /// Interval between two events less the expected interval; signed.
    Jitter,
    /// Time from a cause to its effect: a round trip, a transmission.
    Latency,
    /// The time that the machine takes from a thread that only reads the clock.
    Floor,
}

/// One measure of tuning: P, M, C, S, I or another, requested against granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TuningMeasure {
    /// `policy`, `memory_lock`, `affinity`, `cpu_dma_latency`, `timer_slack`, `sleeper`, ...
    pub name: String,
    /// The requested value, for example `SCHED_FIFO 80`.
    pub requested: String,
    /// The value in force, as read back.
    pub granted: String,
    /// Whether the two agree.
    pub ok: bool,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The command that fixes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// The scheduling of a thread, from its measure `policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling<'a> {
    /// As every process without a request: `SCHED_OTHER`.
    Ordinary,
    /// By another policy, with its name and numbers: `SCHED_FIFO 80`.
    By(&'a str),
}

impl TuningMeasure {
    /// A measure that was granted as requested.
    #[must_use]
    pub fn granted(name: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            requested: value.to_owned(),
            granted: value.to_owned(),
            ok: true,
            ..Self::default()
        }
    }

    /// The scheduling of a thread with this measure; absent where the measure is not a policy.
    #[must_use]
    pub fn scheduling(&self) -> Option<Scheduling<'_>> {
        let name = self.granted.split_whitespace().next();
        (self.name == "policy").then_some(match name {
            None | Some("SCHED_OTHER") => Scheduling::Ordinary,
            Some(_) => Scheduling::By(&self.granted),
        })
    }

    /// The warning of a run where this was refused; `None` where it was granted.
    #[must_use]
    pub fn refusal(&self) -> Option<Warning> {
        if self.ok {
            return None;
        }
        let reason = self.reason.as_deref();
        let reason = reason.map(|it| format!(": {it}")).unwrap_or_default();
        Some(Warning {
            id: format!("{}_refused", self.name),
            text: format!(
                "{} was requested and not granted ({} is in force){reason}",
                self.requested, self.granted
            ),
            remedy: self.remedy.clone(),
            tuning: Some(self.name.clone()),
        })
    }
}

/// Files of a series, by name inside the run folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesFiles {
    /// HdrHistogram interval log 1.3, `<series>.hlog`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(regex(pattern = "^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$"))
    )]
    pub hlog: Option<String>,
    /// Bytes of the interval log that count, in a run that grows by parts: what follows them is of a part that
    /// was not taken over, since the process was killed meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hlog_bytes: Option<u64>,
    /// Parts that the interval log holds, in a run that grows by parts: rounds of a matrix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hlog_parts: Option<u32>,
    /// Raw samples, Arrow IPC stream, `<series>.samples.arrow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(regex(pattern = "^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$"))
    )]
    pub samples: Option<String>,
}

/// The id of the warning that a loop gave up: the deadlines of the beats that it did not run were not kept.
pub const BEATS_NOT_RUN: &str = "beats_not_run";

/// What a reader must know before believing the numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// Stable name, for example `virtual_machine`.
    pub id: String,
    /// The warning in words; `remedy` says what to do.
    pub text: String,
    /// The command or step that fixes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Of a refused tuning: the name of the measure, as in the `tuning` of series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<String>,
}

impl Warning {
    /// A warning that concerns no tuning.
    #[must_use]
    pub fn new(id: &str, text: impl Into<String>, remedy: Option<&str>) -> Self {
        Self {
            id: id.to_owned(),
            text: text.into(),
            remedy: remedy.map(str::to_owned),
            tuning: None,
        }
    }
}

impl Run {
    /// Notes a count or a result among the parameters. Allocates.
    ///
    /// ```
    /// use kadenz_record::run::model::Run;
    ///
    /// let mut run = Run::default();
    /// run.insert_found("packets_lost", 3);
    /// assert!(run.parameters["packets_lost"] == 3 && run.found.contains("packets_lost"));
    /// ```
    pub fn insert_found(&mut self, name: &str, value: impl Into<Value>) {
        self.found.insert(name.to_owned());
        self.parameters.insert(name.to_owned(), value.into());
    }
}

/// Lists what a run from before [`Run::found`] found. The only code that parses names of parameters.
pub(crate) fn found_by_names(run: &mut Run) {
    const FOUND: &str = "reader_waits load_done load_rates source_file source_comments";
    let is_found = |name: &str, value: &Value| {
        FOUND.split(' ').any(|it| it == name)
            || name.ends_with("_error_ns")
            || name.starts_with("messages_")
            || name.starts_with("packets_")
            || value.is_object()
    };
    if run.found.is_empty() {
        let found = run
            .parameters
            .iter()
            .filter(|(name, value)| is_found(name, value));
        run.found = found.map(|(name, _)| name.clone()).collect();
    }
}

/// Marks the refusals of tuning in a run from before warnings named their measure: there only the id held it. The
/// only code that parses ids.
pub(crate) fn tuning_by_ids(run: &mut Run) {
    let measures = run.series.iter().flat_map(|it| &it.tuning);
    let refused: BTreeSet<&str> = measures
        .filter(|it| !it.ok)
        .map(|it| it.name.as_str())
        .collect();
    for warning in run.warnings.iter_mut().filter(|it| it.tuning.is_none()) {
        let name = warning.id.strip_suffix("_refused");
        let name = name.filter(|it| refused.contains(it));
        warning.tuning = name.map(str::to_owned);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str) -> TuningMeasure {
        TuningMeasure {
            name: name.to_owned(),
            ..TuningMeasure::default()
        }
    }

    #[test]
    fn a_policy_is_ordinary_or_has_a_name() {
        let of = |name: &str, granted: &str| {
            let measure = TuningMeasure {
                granted: granted.to_owned(),
                ..refused(name)
            };
            measure.scheduling().map(|it| format!("{it:?}"))
        };
        assert_eq!(of("policy", "").as_deref(), Some("Ordinary"));
        assert_eq!(of("policy", "SCHED_OTHER").as_deref(), Some("Ordinary"));
        let fifo = of("policy", "SCHED_FIFO 80");
        assert_eq!(fifo.as_deref(), Some("By(\"SCHED_FIFO 80\")"));
        assert_eq!(of("memory_lock", "SCHED_OTHER"), None);
    }

    #[test]
    fn a_run_of_before_lists_what_it_found() {
        let mut run = Run::default();
        for name in [
            "clock_reading_error_ns",
            "messages_received",
            "reader_waits",
            "pace",
        ] {
            run.parameters.insert(name.into(), 1.into());
        }
        let mut of_today = run.clone();
        run.parameters
            .insert("bus".into(), serde_json::json!({ "cycles": 3 }));
        found_by_names(&mut run);
        let found = [
            "bus",
            "clock_reading_error_ns",
            "messages_received",
            "reader_waits",
        ];
        assert!(run.found.iter().eq(found));
        of_today.insert_found("wakes", 7);
        found_by_names(&mut of_today);
        assert!(of_today.found.iter().eq(["wakes"]));
    }

    #[test]
    fn a_refusal_names_its_measure_in_runs_of_before_too() {
        let refusal = refused("policy").refusal();
        assert_eq!(refusal.and_then(|it| it.tuning).as_deref(), Some("policy"));
        let series = Series {
            tuning: vec![refused("policy")],
            ..Series::default()
        };
        let of_before = |id: &str| Warning {
            id: id.to_owned(),
            ..Warning::default()
        };
        let mut run = Run {
            series: vec![series],
            warnings: ["policy_refused", "series_refused", "policy"]
                .map(of_before)
                .into(),
            ..Run::default()
        };
        tuning_by_ids(&mut run);
        let tunings = run.warnings.iter().map(|it| it.tuning.as_deref());
        assert_eq!(tunings.collect::<Vec<_>>(), [Some("policy"), None, None]);
    }
}
