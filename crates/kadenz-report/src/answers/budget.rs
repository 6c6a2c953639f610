//! The parts of a deadline: the layers of a round trip, and the rest for the control law.
//!
//! The layers' percentiles do not add up to the whole's: the slow wake-up and the slow wire are seldom those of one
//! packet. So the whole is shown as measured, each layer beside it, and nothing is summed.

use std::fmt;

use kadenz_record::run::camera::{
    AGE, ASSEMBLY, CONVERT, DECODER_QUEUE, FRAME_DECODE, HAND_OVER, NETWORK, PICK_UP,
};
use kadenz_record::run::messages::{
    DECODE, KERNEL_TO_INLET, ONE_WAY, PUBLISH, PUBLISH_LATENESS, QUEUE,
};
use kadenz_record::run::network::{
    LATENESS, Network, RECEIVE_STACK, RESPONSE, RTT, SEND_STACK, ToldBy, WIRE_AND_DEVICE,
};

use schemars::JsonSchema;
use serde::Serialize;

use crate::numbers::{span, thousands};
use crate::statistics::{Percent, value_at_rank};
use crate::summary::{SeriesSummary, Summary};
use crate::verdict::{messages, packets};

/// A series, after its name in words.
type NamedSeries = (&'static str, &'static str);

/// The layers that stamps distinguish, in the order in which a packet meets them.
const STAMPED: [NamedSeries; 3] = [
    ("send stack", SEND_STACK),
    ("wire and device", WIRE_AND_DEVICE),
    ("receive stack", RECEIVE_STACK),
];
/// The layer that replaces them where there are no stamps.
const UNSTAMPED: NamedSeries = ("round trip", RTT);
const WAKE_UP: NamedSeries = ("wake-up", LATENESS);
const WHOLE: NamedSeries = ("response", RESPONSE);
/// The layers of a message, in the order in which it meets them.
const OF_MESSAGES: [NamedSeries; 5] = [
    ("wake-up", PUBLISH_LATENESS),
    ("publish", PUBLISH),
    ("kernel to inlet", KERNEL_TO_INLET),
    ("queue", QUEUE),
    ("decode", DECODE),
];
const WHOLE_MESSAGE: NamedSeries = ("message", ONE_WAY);
/// The layers of a frame, in the order in which it meets them.
const OF_FRAMES: [NamedSeries; 7] = [
    ("camera and network", NETWORK),
    ("assembly", ASSEMBLY),
    ("decoder's queue", DECODER_QUEUE),
    ("decode", FRAME_DECODE),
    ("convert", CONVERT),
    ("pick-up", PICK_UP),
    ("hand-over", HAND_OVER),
];
const WHOLE_FRAME: NamedSeries = ("frame", AGE);

/// How much of a deadline each layer takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Budget {
    /// What travels, and between which programs.
    #[serde(skip)]
    pub kind: BudgetKind,
    /// The deadline in nanoseconds.
    pub limit_ns: u64,
    /// Where the packets went: `over the loopback`, `to 10.0.0.5`; empty where that is unknown.
    #[serde(skip)]
    pub path: String,
    /// Packets that it is based on: answered, however late, or never.
    pub packets: u64,
    /// Packets that were never answered. In the whole's percentiles they count as longer than any answered one.
    pub unanswered: u64,
    /// From a packet's beat until its answer had arrived.
    pub whole: Layer,
    /// Its parts as far as they were measured, in the order in which a packet meets them.
    pub layers: Vec<Layer>,
}

/// What a budget is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BudgetKind {
    /// A packet to a device and its answer.
    #[default]
    RoundTrip,
    /// A message from a publisher to a subscriber.
    Message,
    /// A frame from a camera to a program.
    Frame,
}

impl BudgetKind {
    pub(crate) fn one(self) -> &'static str {
        match self {
            Self::RoundTrip => "a round trip",
            Self::Message => "a message",
            Self::Frame => "a frame",
        }
    }

    fn many(self) -> &'static str {
        match self {
            Self::RoundTrip => "round trips",
            Self::Message => "messages",
            Self::Frame => "frames",
        }
    }

    fn things(self) -> &'static str {
        match self {
            Self::RoundTrip => "packets",
            Self::Message => "messages",
            Self::Frame => "frames",
        }
    }

    fn missing(self) -> &'static str {
        match self {
            Self::RoundTrip => "got no answer",
            Self::Message => "never came",
            Self::Frame => "never came",
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::RoundTrip => "are answered",
            Self::Message => "are there",
            Self::Frame => "are there",
        }
    }
}

/// A layer's share, as far as its samples carry the percentiles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Layer {
    /// Its name in words.
    pub name: &'static str,
    /// The series it was measured in.
    pub series: &'static str,
    /// Median, in nanoseconds; absent where there are too few values.
    pub p50_ns: Option<i64>,
    /// 99.9th percentile, in nanoseconds; absent where there are too few values.
    pub p99_9_ns: Option<i64>,
    /// Largest value that was measured.
    pub max_ns: Option<i64>,
    /// The computed wire time within each; absent where the links are unknown, over the loopback, and in layers without
    /// a wire.
    pub wire_ns: Option<i64>,
}

impl Budget {
    /// The budget of a run; absent where it measured no round trip, or has no deadline.
    ///
    /// The deadline is that of the round trips or, where it does not apply to them, that of the run's beat.
    ///
    /// ```
    /// use kadenz_report::summary::Summary;
    /// use kadenz_report::answers::budget::Budget;
    ///
    /// assert_eq!(Budget::of(&Summary::default()), None, "no round trip was measured");
    /// ```
    #[must_use]
    pub fn of(summary: &Summary) -> Option<Self> {
        let response = recorded(summary, RESPONSE)?;
        let network = summary.run.network.as_ref();
        let unanswered = network.map_or(0, unanswered);
        Some(Self {
            kind: BudgetKind::RoundTrip,
            limit_ns: limit_of(summary, response)?,
            path: network.map_or_else(String::new, path),
            layers: layers(summary),
            ..Self::with_whole(WHOLE, response, unanswered)
        })
    }

    /// The budget of a run's messages; absent where it measured none, to several subscribers, or has
    /// no deadline. The deadline is that of the messages, or of the run's beat.
    #[must_use]
    pub fn of_messages(summary: &Summary) -> Option<Self> {
        let one_way = recorded(summary, ONE_WAY)?;
        let counted = summary.run.messages.as_ref();
        let lost = counted.map_or(0, messages::lost);
        Some(Self {
            kind: BudgetKind::Message,
            limit_ns: limit_of(summary, one_way)?,
            path: counted.map_or_else(String::new, |it| format!("over {}", it.url)),
            layers: measured(summary, &OF_MESSAGES),
            ..Self::with_whole(WHOLE_MESSAGE, one_way, lost)
        })
    }

    /// The budget of a run's camera frames; absent where it measured none, or has no deadline. The deadline is
    /// that of the frames' age.
    #[must_use]
    pub(crate) fn of_frames(summary: &Summary) -> Option<Self> {
        let age = recorded(summary, AGE)?;
        let counted = summary.run.camera.as_ref();
        let missed = counted.map_or(0, |it| it.missed + it.skipped);
        Some(Self {
            kind: BudgetKind::Frame,
            limit_ns: age.series.deadline_ns?,
            path: counted.map_or_else(String::new, |it| format!("from {}", it.url)),
            layers: measured(summary, &OF_FRAMES),
            ..Self::with_whole(WHOLE_FRAME, age, missed)
        })
    }

    /// The whole, with this many that never came.
    fn with_whole(name: NamedSeries, of: &SeriesSummary, unanswered: u64) -> Self {
        Self {
            kind: BudgetKind::default(),
            limit_ns: 0,
            path: String::new(),
            packets: of.count + unanswered,
            unanswered,
            whole: Layer::new(name, of, unanswered),
            layers: Vec::new(),
        }
    }

    /// All budgets of a run: of its round trips, of its messages, of its camera's frames.
    #[must_use]
    pub fn all(summary: &Summary) -> Vec<Self> {
        let all = [
            Self::of(summary),
            Self::of_messages(summary),
            Self::of_frames(summary),
        ];
        all.into_iter().flatten().collect()
    }

    /// The rest of the deadline after 99.9 % of all packets, negative if they take longer; absent where too few were
    /// sent, or answered, for that percentile.
    #[must_use]
    pub fn left_p99_9_ns(&self) -> Option<i64> {
        self.whole.p99_9_ns.map(|ns| self.left_after(ns))
    }

    /// The rest after the longest round trip; absent where a packet was never answered.
    #[must_use]
    pub fn left_max_ns(&self) -> Option<i64> {
        let longest = self.whole.max_ns.filter(|_| self.unanswered == 0);
        longest.map(|ns| self.left_after(ns))
    }

    fn left_after(&self, ns: i64) -> i64 {
        i64::try_from(self.limit_ns)
            .unwrap_or(i64::MAX)
            .saturating_sub(ns)
    }
}

impl Layer {
    /// The layer of a series, with this many additional values beyond all others.
    fn new((name, series): NamedSeries, of: &SeriesSummary, beyond: u64) -> Self {
        let count = of.count + beyond;
        let at = |percent: Percent| {
            let rank = percent
                .is_carried_by(count)
                .then(|| percent.rank(count))
                .filter(|&rank| rank <= of.count)?;
            let value = value_at_rank(&of.distribution, rank)?;
            Some(of.max_ns.map_or(value, |max| value.min(max)))
        };
        Self {
            name,
            series,
            p50_ns: at(Percent::P50),
            p99_9_ns: at(Percent::P99_9),
            max_ns: of.max_ns,
            wire_ns: None,
        }
    }

    /// Its wire part as a layer of its own: it is as long for every packet.
    pub(crate) fn on_the_wire(&self) -> Option<Self> {
        let wire_ns = self.wire_ns?;
        Some(Self {
            name: "of it on the wire (computed)",
            p50_ns: Some(wire_ns),
            p99_9_ns: Some(wire_ns),
            max_ns: Some(wire_ns),
            wire_ns: None,
            ..self.clone()
        })
    }
}

/// The deadline of the series or, where it does not apply to it, that of the run's beat.
fn limit_of(summary: &Summary, series: &SeriesSummary) -> Option<u64> {
    let of_beat = || summary.series.iter().find_map(|it| it.series.deadline_ns);
    series.series.deadline_ns.or_else(of_beat)
}

/// The series of this name, if it has a value.
fn recorded<'a>(summary: &'a Summary, name: &str) -> Option<&'a SeriesSummary> {
    summary.named(name).filter(|series| series.count > 0)
}

/// The layers that have a value.
fn measured(summary: &Summary, all: &[NamedSeries]) -> Vec<Layer> {
    let layer = |&it: &NamedSeries| Some(Layer::new(it, recorded(summary, it.1)?, 0));
    all.iter().filter_map(layer).collect()
}

fn layers(summary: &Summary) -> Vec<Layer> {
    let mut after = measured(summary, &STAMPED);
    if after.len() < STAMPED.len() {
        after = measured(summary, &[UNSTAMPED]);
    }
    for layer in &mut after {
        let has_wire = [WIRE_AND_DEVICE, RTT].contains(&layer.series);
        layer.wire_ns = has_wire.then(|| wire_ns(summary)).flatten();
    }
    [measured(summary, &[WAKE_UP]), after].concat()
}

/// How long a packet and its answer are on the wire, where there is one.
fn wire_ns(summary: &Summary) -> Option<i64> {
    let path = summary.run.network.as_ref()?.path.as_ref()?;
    let wired = path.told_by != ToldBy::Loopback;
    wired.then(|| i64::try_from(path.round_trip_ns).unwrap_or(i64::MAX))
}

/// Packets without any answer. One after the timeout is among the lost, and was recorded.
fn unanswered(network: &Network) -> u64 {
    let total = packets::total(network);
    total.lost.saturating_sub(total.late)
}

fn path(network: &Network) -> String {
    let kind = network.interface.as_ref().and_then(|it| it.kind.as_deref());
    match network.flows.as_slice() {
        _ if kind == Some("loopback") => "over the loopback".to_owned(),
        [] => String::new(),
        [flow] => format!("to {}", flow.device),
        flows => format!("to {} devices", thousands(flows.len() as u64)),
    }
}

/// The budget in words.
///
/// ```
/// use kadenz_report::answers::budget::{Budget, BudgetKind, Layer};
///
/// let layer = |name, series, p50_ns, p99_9_ns| Layer {
///     name, series, p50_ns: Some(p50_ns), p99_9_ns: Some(p99_9_ns), max_ns: Some(p99_9_ns),
///     wire_ns: None,
/// };
/// let budget = Budget {
///     kind: BudgetKind::RoundTrip,
///     limit_ns: 400_000,
///     path: "over the loopback".into(),
///     packets: 12_000,
///     unanswered: 0,
///     whole: layer("response", "response", 71_000, 96_000),
///     layers: vec![layer("wake-up", "lateness", 20_000, 30_000), layer("round trip", "rtt", 51_000, 70_000)],
/// };
/// assert_eq!(
///     budget.to_string(),
///     "Of the 400 us, a round trip over the loopback takes 96 us in 99.9 % (wake-up 20 us, round \
///      trip 51 us in the median); 304 us are left for the control law. The longest of 12,000 took \
///      96 us."
/// );
/// ```
impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (limit, medians) = (span(self.limit_ns as f64), self.medians());
        let packets = thousands(self.packets);
        let longest = span(self.whole.max_ns.unwrap_or(0) as f64);
        let path = match self.path.as_str() {
            "" => String::new(),
            path => format!(" {path}"),
        };
        let kind = self.kind;
        let Some(ns) = self.whole.p99_9_ns else {
            return match self.left_max_ns() {
                Some(left) => write!(
                    f,
                    "Of the {limit}, the longest of {packets} {}{path} took \
                     {longest}{medians}; {}. What holds for 99.9 % takes more of them to say.",
                    kind.many(),
                    left_words(left)
                ),
                None => write!(
                    f,
                    "Of {packets} {}{path} {} {}{medians}, so there is no time in \
                     which 99.9 % {}, and nothing to hold against the {limit}.",
                    kind.things(),
                    thousands(self.unanswered),
                    kind.missing(),
                    kind.done(),
                ),
            };
        };
        write!(
            f,
            "Of the {limit}, {}{path} takes {} in 99.9 %{medians}; {}.",
            kind.one(),
            span(ns as f64),
            left_words(self.left_after(ns))
        )?;
        match self.unanswered {
            0 => write!(f, " The longest of {packets} took {longest}."),
            lost => write!(f, " {} of {packets} {}.", thousands(lost), kind.missing()),
        }
    }
}

impl Budget {
    fn medians(&self) -> String {
        let each = self.layers.iter().filter_map(|layer| {
            let median = span(layer.p50_ns? as f64);
            let wire = layer.wire_ns.map_or_else(String::new, |ns| {
                format!(", of it {} on the wire", span(ns as f64))
            });
            Some(format!("{} {median}{wire}", layer.name))
        });
        let each: Vec<String> = each.collect();
        match each.is_empty() {
            true => String::new(),
            false => format!(" ({} in the median)", each.join(", ")),
        }
    }
}

fn left_words(left_ns: i64) -> String {
    let amount = span(left_ns.unsigned_abs() as f64);
    match left_ns > 0 {
        true => format!("{amount} are left for the control law"),
        false => format!("that is {amount} too long, and nothing is left for the control law"),
    }
}

#[cfg(test)]
mod tests;
