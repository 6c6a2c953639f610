//! A run's facts about packets: the devices that answered, and the counts of all packets.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::testbed::Testbed;

/// Name of the series: the time from a packet's beat until it was handed to the system.
pub const LATENESS: &str = "lateness";
/// Name of the series: the time from a packet's beat until its answer was received.
pub const RESPONSE: &str = "response";
/// Name of the series: the time from handing a packet over until its answer was received.
pub const RTT: &str = "rtt";
/// Name of the series: from handing a packet over until the driver had it.
pub const SEND_STACK: &str = "send-stack";
/// Name of the series: from then until the kernel, or the card, had the answer.
pub const WIRE_AND_DEVICE: &str = "wire-and-device";
/// Name of the series: from then until the program had the answer.
pub const RECEIVE_STACK: &str = "receive-stack";
/// Name of the series: the packet's way to the device, by the clocks of both.
pub const TO_DEVICE: &str = "to-device";
/// Name of the series: the answer's way from the device, by the clocks of both.
pub const FROM_DEVICE: &str = "from-device";
/// Name of the series: the time from handing a broadcast over until the first device's answer was received.
pub const FIRST_REPLY: &str = "first-reply";
/// Name of the series: the time from handing a broadcast over until the last device's answer was received.
pub const LAST_REPLY: &str = "last-reply";
/// Name of the series: from the first device's answer to a broadcast to the last one's.
pub const REPLY_SPREAD: &str = "reply-spread";
/// Name of the series: the shortest time in which half of the answers to a broadcast came; [`half_of`] gives their
/// number.
pub const DENSEST_HALF: &str = "densest-half";

/// How many answers are half of those of so many devices: at least two, since a time lies between two.
///
/// ```
/// use kadenz_record::run::network::half_of;
/// assert_eq!([1, 2, 3, 5, 40].map(half_of), [2, 2, 2, 3, 20]);
/// ```
#[must_use]
pub fn half_of(devices: usize) -> usize {
    devices.div_ceil(2).max(2)
}

/// The counts of a network measurement, beside the times in its series.
///
/// Everything here is counted or a name; times are series of the run, one set a flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Network {
    /// Bytes of UDP payload a packet carries.
    pub payload_bytes: u32,
    /// The flows, a device each, in the order in which they should be shown.
    #[serde(default)]
    pub flows: Vec<Flow>,
    /// The interface that the packets go through, where the system tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<Interface>,
    /// Where packets were lost on this machine; what else is missing was lost on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub here: Option<LostHere>,
    /// The links between this machine and the devices, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<WirePath>,
    /// The testbed in which the run was taken, in place of a real network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub testbed: Option<Testbed>,
    /// Packets that came and belonged to no flow: from unknown senders, malformed, of other runs.
    #[serde(default)]
    pub foreign: u64,
    /// How the devices answered together, where the packets were broadcasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broadcasts: Option<Broadcasts>,
    /// The most packets that may be lost; without it none where answers have a deadline, and otherwise any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_loss: Option<MaxLoss>,
}

/// How devices answered broadcasts together. In which place each of them answered is in
/// [`Flow::places`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Broadcasts {
    /// Broadcasts whose answers were awaited.
    pub sent: u64,
    /// Broadcasts that every device answered.
    pub complete: u64,
    /// How alike the orders of the answers are, over the complete ones: Kendall's W, from 0 to 1; near
    /// `1 / complete` if each is drawn independently. Absent with fewer than two broadcasts or devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concordance: Option<f64>,
    /// The most answers that the program found waiting at once: in one call that receives, or in several
    /// that followed one which was full.
    #[serde(default)]
    pub most_at_once: u64,
    /// Bytes that an answer takes of an Ethernet link, with all headers, preamble and gap, over IPv4.
    #[serde(default)]
    pub answer_bytes: u32,
}

/// The places of a device among the answers to broadcasts; 1 is the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Places {
    /// Broadcasts that it answered.
    pub answers: u64,
    /// Broadcasts that it answered before all others.
    pub first: u64,
    /// Broadcasts that it answered after all others, and none was missing.
    pub last: u64,
    /// The first place that it ever had; 0 if it never answered.
    pub lowest: u32,
    /// The last place that it ever had; 0 if it never answered.
    pub highest: u32,
    /// All its places added up.
    pub sum: u64,
}

impl Places {
    /// Its mean place; `None` if it never answered.
    ///
    /// ```
    /// use kadenz_record::run::network::Places;
    /// let places = Places { answers: 4, sum: 6, ..Places::default() };
    /// assert_eq!(places.mean(), Some(1.5));
    /// assert_eq!(Places::default().mean(), None);
    /// ```
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.answers > 0).then(|| self.sum as f64 / self.answers as f64)
    }
}

/// The counts of the packets between this machine and one device.
///
/// `sent = answered + lost`, when the run is complete: a duplicate or an answer after the timeout
/// changes neither.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flow {
    /// The device's name, also the prefix of its series; `device` where there is only one.
    pub device: String,
    /// Address and port, as `10.0.0.5:6176`.
    pub address: String,
    /// Packets sent to it.
    pub sent: u64,
    /// Packets that it answered in time, each counted once.
    pub answered: u64,
    /// Packets without an answer in time.
    pub lost: u64,
    /// Answers that had come before.
    #[serde(default)]
    pub duplicates: u64,
    /// Answers that came after the answer to a later packet (RFC 4737, section 3).
    #[serde(default)]
    pub reordered: u64,
    /// Answers that came after the timeout: they stand among the lost.
    #[serde(default)]
    pub late: u64,
    /// Most packets lost in a row.
    #[serde(default)]
    pub longest_loss: u64,
    /// In which places it answered broadcasts, where there were any and other devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<Places>,
}

impl Flow {
    /// The name of one of the flow's series: `rtt`, or `boot-3.rtt` where there are several devices.
    ///
    /// ```
    /// use kadenz_record::run::network::Flow;
    /// let flow = Flow { device: "foot".into(), ..Flow::default() };
    /// assert_eq!(flow.series("rtt", 1), "rtt");
    /// assert_eq!(flow.series("rtt", 40), "foot.rtt");
    /// ```
    #[must_use]
    pub fn series(&self, value: &str, flows: usize) -> String {
        if flows == 1 {
            value.to_owned()
        } else {
            format!("{}.{value}", self.device)
        }
    }
}

/// A network interface as the system describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interface {
    /// Name, as `eth0`.
    pub name: String,
    /// `loopback`, `wired`, `wireless`, `virtual`, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Driver, as `r8169`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Speed of the link in Mbit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mbit_s: Option<u32>,
    /// Largest IP packet in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u32>,
}

/// The links that packets go over, and how much of a round trip they take.
///
/// The time is stored where it was computed, so that a reader of a run need not know Ethernet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WirePath {
    /// The rate of each link in bits a second, from this machine on, with a store-and-forward switch between each
    /// two; none over the loopback.
    pub links_bit_s: Vec<u64>,
    /// The source of this information.
    pub told_by: ToldBy,
    /// How long one packet and its answer are on the wire, in nanoseconds: preamble to check sequence
    /// on every link, there and back. Queues, switches and cables are not in it.
    pub round_trip_ns: u64,
}

/// The source of the information on the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToldBy {
    /// The user named them.
    #[default]
    User,
    /// The testbed in which the run was taken.
    Testbed,
    /// The interface reported its speed, and nothing more is known: one link of that speed is assumed.
    Interface,
    /// The packets went over the loopback.
    Loopback,
}

/// Packets that reached this machine, or were to leave it, and were lost here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LostHere {
    /// Dropped at the socket because its receive buffer was full (`SO_RXQ_OVFL`).
    pub socket: u64,
    /// Dropped by the interface or its queue, in either direction, also of others' traffic.
    pub interface: u64,
    /// Sends that the system refused.
    pub unsent: u64,
}

/// The most lost packets: a percentage (`0.1%`) or a number (`5`), also in JSON as this text.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("pattern" = "^([0-9]+|[0-9]+(\\.[0-9]+)?%)$")))]
pub enum MaxLoss {
    /// Percentage of all sent packets, 0 to 100.
    Percent(f64),
    /// Number of lost packets.
    Packets(u64),
}

impl MaxLoss {
    /// Whether the loss exceeds this.
    #[must_use]
    pub fn exceeded_by(self, lost: u64, sent: u64) -> bool {
        match self {
            Self::Percent(percent) => lost as f64 * 100.0 > percent * sent as f64,
            Self::Packets(packets) => lost > packets,
        }
    }
}

impl FromStr for MaxLoss {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is not a share of packets, as 0.1%, and not a number of them, as 5")
        };
        let Some(percent) = text.strip_suffix('%') else {
            return text.parse().map(Self::Packets).map_err(|_| wrong());
        };
        let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
        (0.0..=100.0)
            .contains(&percent)
            .then_some(Self::Percent(percent))
            .ok_or_else(wrong)
    }
}

impl fmt::Display for MaxLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::Packets(packets) => write!(f, "{packets}"),
        }
    }
}

impl From<MaxLoss> for String {
    fn from(loss: MaxLoss) -> Self {
        loss.to_string()
    }
}

impl TryFrom<String> for MaxLoss {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_a_percentage_or_a_number() {
        let loss = |text: &str| text.parse::<MaxLoss>();
        assert_eq!(loss("0.5%"), Ok(MaxLoss::Percent(0.5)));
        assert_eq!(loss("3"), Ok(MaxLoss::Packets(3)));
        for text in ["", "%", "-1", "101%", "1.5", "NaN%"] {
            assert!(loss(text).is_err(), "{text}");
        }
        let half = MaxLoss::Percent(50.0);
        assert!(!half.exceeded_by(50, 100) && half.exceeded_by(51, 100));
        assert!(MaxLoss::Packets(0).exceeded_by(1, 100));
    }
}
