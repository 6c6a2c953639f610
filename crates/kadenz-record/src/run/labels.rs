//! The labels of a series: its quantity and its object, so that no reader parses its name.

use std::collections::BTreeMap;

use super::matrix;
use super::model::{Run, Series};

/// The labels of a series, by name.
pub type Labels = BTreeMap<String, String>;

/// Label: the measured quantity, such as `rtt`, `one-way` or `lateness`, for any measured object.
pub const VALUE: &str = "value";
/// Label: the device that answered.
pub const DEVICE: &str = "device";
/// Label: the subscriber that received.
pub const SUBSCRIBER: &str = "subscriber";
/// Label: the sleeper of the thread.
pub const SLEEPER: &str = "sleeper";
/// Label: the CPU of the measuring thread, a number.
pub const CPU: &str = "cpu";
/// Label: the background load of the machine, a [`Load`](super::matrix::Load).
pub const LOAD: &str = "load";
/// Label: the requested measures, a [`Combination`](super::matrix::Combination).
pub const TUNING: &str = "tuning";

/// Most labels of a series.
pub(crate) const MAX_LABELS: usize = 8;
/// Longest name of a label, in bytes.
pub(crate) const MAX_LABEL_NAME: usize = 64;
/// Longest text of a label, in bytes.
pub(crate) const MAX_LABEL_TEXT: usize = 128;

/// Makes labels from these pairs.
///
/// ```
/// use kadenz_record::run::labels::{DEVICE, VALUE, labels};
/// assert_eq!(labels([(VALUE, "rtt"), (DEVICE, "foot")])["device"], "foot");
/// ```
#[must_use]
pub fn labels<const N: usize>(all: [(&str, &str); N]) -> Labels {
    all.map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into()
}

impl Series {
    /// A label; absent where the series does not have it.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name).map(String::as_str)
    }

    /// The measured quantity: the label [`VALUE`], or the name of a series without labels.
    ///
    /// ```
    /// use kadenz_record::run::{labels::{DEVICE, VALUE, labels}, model::Series};
    /// let series = Series {
    ///     name: "foot.rtt".into(),
    ///     labels: labels([(VALUE, "rtt"), (DEVICE, "foot")]),
    ///     ..Series::default()
    /// };
    /// assert_eq!(series.value(), "rtt");
    /// ```
    #[must_use]
    pub fn value(&self) -> &str {
        self.label(VALUE).unwrap_or(&self.name)
    }
}

/// Whether readers accept so many labels of this length.
pub(super) fn fit(labels: &Labels) -> bool {
    let short = |(name, text): (&String, &String)| {
        name.len() <= MAX_LABEL_NAME && text.len() <= MAX_LABEL_TEXT
    };
    labels.len() <= MAX_LABELS && labels.iter().all(short)
}

/// Labels the series of a run that has none: in runs from before labels, names carried this information. The only
/// code that parses names.
pub fn label_by_names(run: &mut Run) {
    let flows = run.network.iter().flat_map(|it| &it.flows);
    let devices = flows.map(|it| (DEVICE, it.device.as_str()));
    let subscribers = run.messages.iter().flat_map(|it| &it.subscribers);
    let subscribers = subscribers.map(|it| (SUBSCRIBER, it.name.as_str()));
    let owners: Vec<(&str, &str)> = devices.chain(subscribers).collect();
    let of_timers = run.experiment.starts_with("timer-");
    let of_hiccups = run.experiment == "hiccup";
    for series in run.series.iter_mut().filter(|it| it.labels.is_empty()) {
        let name = series.name.as_str();
        let owned = |&(label, owner): &(&'static str, &str)| {
            let value = name.strip_prefix(owner)?.strip_prefix('.')?;
            Some(labels([(VALUE, value), (label, owner)]))
        };
        let of_timer = || {
            let (sleeper, value) = name.rsplit_once('.').filter(|_| of_timers)?;
            Some(labels([(VALUE, value), (SLEEPER, sleeper)]))
        };
        let of_cpu = || {
            let (value, cpu) = name.rsplit_once("-cpu").filter(|_| of_hiccups)?;
            Some(labels([(VALUE, value), (CPU, cpu)]))
        };
        let found = matrix::labels_of_name(name)
            .or_else(|| {
                // Of `left` and `left.foot`, the longer one fits.
                let fitting = owners.iter().filter_map(owned);
                fitting.min_by_key(|it| it.get(VALUE).map_or(0, String::len))
            })
            .or_else(of_timer)
            .or_else(of_cpu);
        series.labels = found.unwrap_or_else(|| labels([(VALUE, name)]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::messages::{Messages, Subscriber};
    use crate::run::network::{Flow, Network};

    fn by_names(mut run: Run, name: &str) -> Labels {
        run.series = vec![Series {
            name: name.to_owned(),
            ..Series::default()
        }];
        label_by_names(&mut run);
        run.series.remove(0).labels
    }

    #[test]
    fn names_of_before_there_were_labels_are_understood() {
        let of = |experiment: &str| Run {
            experiment: experiment.to_owned(),
            ..Run::default()
        };
        let flow = |device: &str| Flow {
            device: device.to_owned(),
            ..Flow::default()
        };
        let network = Run {
            network: Some(Network {
                flows: vec![flow("left"), flow("left.foot"), flow("boot")],
                ..Network::default()
            }),
            ..of("udp-probe")
        };
        let subscriber = |name: &str| Subscriber {
            name: name.to_owned(),
            ..Subscriber::default()
        };
        let messages = Run {
            messages: Some(Messages {
                subscribers: vec![subscriber("subscriber-1"), subscriber("subscriber-2")],
                ..Messages::default()
            }),
            ..of("msg-latency")
        };
        let cell = [(LOAD, "heavy"), (TUNING, "PM"), (VALUE, "jitter")];
        assert_eq!(by_names(of("tune"), "heavy-PM-jitter"), labels(cell));
        let foot = [(VALUE, "rtt"), (DEVICE, "left.foot")];
        assert_eq!(by_names(network.clone(), "left.foot.rtt"), labels(foot));
        assert_eq!(by_names(network, "rtt"), labels([(VALUE, "rtt")]));
        let second = [(VALUE, "one-way"), (SUBSCRIBER, "subscriber-2")];
        assert_eq!(by_names(messages, "subscriber-2.one-way"), labels(second));
        let spin = [(VALUE, "jitter"), (SLEEPER, "spin")];
        assert_eq!(by_names(of("timer-cyclic"), "spin.jitter"), labels(spin));
        let third = [(VALUE, "hiccup"), (CPU, "3")];
        assert_eq!(by_names(of("hiccup"), "hiccup-cpu3"), labels(third));
        let plain = labels([(VALUE, "spin.jitter")]);
        assert_eq!(by_names(of("import"), "spin.jitter"), plain);
    }

    #[test]
    fn labels_that_are_there_stay() {
        let own = labels([(VALUE, "torque")]);
        let mut run = Run {
            series: vec![Series {
                name: "heavy-PM".to_owned(),
                labels: own.clone(),
                ..Series::default()
            }],
            ..Run::default()
        };
        label_by_names(&mut run);
        assert_eq!(run.series[0].labels, own);
    }
}
