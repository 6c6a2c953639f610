//! The measurements of each part.

use super::ExperimentPart;

/// One measurement.
pub(super) struct NetworkMeasurement {
    /// Its name within the part, and in the names of its folders.
    pub(super) name: &'static str,
    /// The testbed of the measurement.
    pub(super) topology: &'static str,
    /// The command, without duration and folder.
    pub(super) command: &'static str,
    /// Further options of it.
    pub(super) options: &'static str,
}

const fn measurement(
    name: &'static str,
    topology: &'static str,
    command: &'static str,
) -> NetworkMeasurement {
    NetworkMeasurement {
        name,
        topology,
        command,
        options: "",
    }
}

impl NetworkMeasurement {
    const fn with(self, options: &'static str) -> Self {
        Self { options, ..self }
    }
}

/// The controller of Enner: a packet of 200 B a hundred times a second, at real-time priority. The timeout of an
/// answer is long: a host that does not run for a second loses nothing.
const POST: &str = "udp send --to {device} --rate 100Hz --size 200B --policy fifo:80 --timeout 5s";

const BASELINE: &[NetworkMeasurement] = &[measurement("one-switch", "baseline", POST)];

const SWITCHES: &[NetworkMeasurement] = &[
    measurement("none", "baseline", POST),
    measurement("ksz8863", "extra-ksz8863", POST),
    measurement("gs105", "extra-gs105", POST),
    measurement("rb750", "extra-rb750", POST),
];

const SPEEDS: &[NetworkMeasurement] = &[
    measurement("100M", "baseline", POST),
    measurement("1G", "baseline-gigabit", POST),
];

/// The timeout of an answer is ten seconds: a host that stands still for one loses nothing.
const BURST: &str = "udp burst --to {broadcast} --devices 40 --size 200B --policy fifo:80 --timeout 10s --no-samples";

const DEVICES: &[NetworkMeasurement] = &[
    measurement("100Hz", "forty-devices", BURST).with("--rate 100Hz"),
    measurement("1kHz", "forty-devices", BURST).with("--rate 1kHz"),
];

const SEND: &str = "udp send --to {device} --rate 1kHz --size 200B";

const SENDERS: &[NetworkMeasurement] = &[
    measurement("ordinary", "baseline", SEND),
    measurement("fifo", "baseline", SEND).with("--policy fifo:80 --sleeper nanosleep"),
    measurement("fifo-block", "baseline", SEND)
        .with("--policy fifo:80 --sleeper nanosleep --receive block"),
    measurement("fifo-spin", "baseline", SEND).with("--policy fifo:80 --sleeper spin"),
    measurement("fifo-spin-closed", "baseline", SEND)
        .with("--policy fifo:80 --sleeper spin --loop closed"),
    measurement("fifo-busy-poll-closed", "baseline", SEND)
        .with("--policy fifo:80 --sleeper spin --loop closed --busy-poll"),
];

const TRAFFIC: &[NetworkMeasurement] = &[
    measurement("without", "two-switches", POST),
    measurement("with", "cross-traffic", POST),
];

const CUT: &[NetworkMeasurement] = &[
    measurement("one-way", "cut-cable", POST),
    measurement("two-ways", "redundant-path", POST),
];

/// The measurements of a part, which alternate.
pub(super) fn measurements(part: ExperimentPart) -> &'static [NetworkMeasurement] {
    match part {
        ExperimentPart::Baseline => BASELINE,
        ExperimentPart::Switches => SWITCHES,
        ExperimentPart::Speeds => SPEEDS,
        ExperimentPart::Devices => DEVICES,
        ExperimentPart::Senders => SENDERS,
        ExperimentPart::Traffic => TRAFFIC,
        ExperimentPart::Cut => CUT,
    }
}

/// The folder of the testbed's own run, beside that of a measurement.
pub(super) fn testbed_folder(folder: &str) -> String {
    format!("{folder}-testbed")
}

/// What all rounds of a measurement measure.
pub(super) fn name(part: ExperimentPart, measurement: &NetworkMeasurement) -> String {
    format!(
        "{}-{}",
        format!("{part:?}").to_lowercase(),
        measurement.name
    )
}
