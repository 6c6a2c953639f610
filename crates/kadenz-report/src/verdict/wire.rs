//! The wire part of a round trip and the rest: the computed part beside the measured whole.

use kadenz_record::run::network::{ToldBy, WirePath};
use schemars::JsonSchema;
use serde::Serialize;

use crate::numbers;

/// A round trip, as far as it is known: the measured time, and its wire part.
///
/// ```
/// use kadenz_report::verdict::wire::RoundTrip;
///
/// // Enner's baseline, and the same with a KSZ8863 added.
/// let baseline = RoundTrip { measured_ns: Some(193_800), wire_ns: Some(81_280) };
/// let ksz8863 = RoundTrip { measured_ns: Some(237_300), wire_ns: Some(121_920) };
/// assert_eq!(baseline.not_on_wire_ns(), Some(112_520));
/// let added = ksz8863.beyond(baseline);
/// assert_eq!((added.measured_ns, added.wire_ns), (Some(43_500), Some(40_640)));
/// assert_eq!(added.not_on_wire_ns(), Some(2_860));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "RoundTripOutput")]
#[schemars(from = "RoundTripOutput")]
pub struct RoundTrip {
    /// Measured, in nanoseconds; absent where the sample does not support it.
    pub measured_ns: Option<i64>,
    /// Computed, in nanoseconds; absent where the links are unknown.
    pub wire_ns: Option<i64>,
}

impl RoundTrip {
    /// From a measured time and the run's path.
    #[must_use]
    pub fn new(measured_ns: Option<i64>, path: Option<&WirePath>) -> Self {
        let wire_ns = path.map(|path| i64::try_from(path.round_trip_ns).unwrap_or(i64::MAX));
        Self {
            measured_ns,
            wire_ns,
        }
    }

    /// The rest: switches, queues, cards, systems and the device.
    #[must_use]
    pub fn not_on_wire_ns(self) -> Option<i64> {
        Some(self.measured_ns?.saturating_sub(self.wire_ns?))
    }

    /// The difference to another one: measured, and on the wire.
    #[must_use]
    pub fn beyond(self, other: Self) -> Self {
        let less = |ours: Option<i64>, theirs: Option<i64>| Some(ours?.saturating_sub(theirs?));
        Self {
            measured_ns: less(self.measured_ns, other.measured_ns),
            wire_ns: less(self.wire_ns, other.wire_ns),
        }
    }
}

/// A round trip in nanoseconds, or a difference of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct RoundTripOutput {
    /// Measured; `null` where too few packets were answered.
    round_trip_ns: Option<i64>,
    /// Computed: how long one packet and its answer are on the wire; `null` where the links are not known.
    wire_ns: Option<i64>,
    /// The rest: switches, queues, cards, systems, the device.
    not_on_wire_ns: Option<i64>,
}

impl From<RoundTrip> for RoundTripOutput {
    fn from(of: RoundTrip) -> Self {
        Self {
            round_trip_ns: of.measured_ns,
            wire_ns: of.wire_ns,
            not_on_wire_ns: of.not_on_wire_ns(),
        }
    }
}

/// The links between this machine and the devices, and the wire part of a round trip.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct PathOutput<'a> {
    /// The links in words.
    connection: String,
    /// The same links in numbers.
    #[serde(flatten)]
    path: &'a WirePath,
}

impl<'a> PathOutput<'a> {
    pub(crate) fn new(path: &'a WirePath) -> Self {
        Self {
            connection: connection(path),
            path,
        }
    }
}

/// The links in a few words, as in Enner's table: `2x 100 Mbit/s`,
/// `100 Mbit/s + 1 Gbit/s + 100 Mbit/s`, `loopback`, `1 Gbit/s (assumed)`.
///
/// ```
/// use kadenz_record::run::network::{ToldBy, WirePath};
/// use kadenz_report::verdict::wire::connection;
///
/// let of = |links: &[u64]| connection(&WirePath { links_bit_s: links.to_vec(), ..WirePath::default() });
/// assert_eq!(of(&[100_000_000, 100_000_000]), "2x 100 Mbit/s");
/// assert_eq!(of(&[1_000_000_000, 100_000_000]), "1 Gbit/s + 100 Mbit/s");
/// ```
#[must_use]
pub fn connection(path: &WirePath) -> String {
    let links: Vec<String> = path
        .links_bit_s
        .chunk_by(|one, next| one == next)
        .map(|alike| match alike.len() {
            1 => speed(alike[0]),
            count => format!("{count}x {}", speed(alike[0])),
        })
        .collect();
    match path.told_by {
        ToldBy::Loopback => "loopback".to_owned(),
        ToldBy::Interface => format!("{} (assumed)", links.join(" + ")),
        ToldBy::User | ToldBy::Testbed => links.join(" + "),
    }
}

/// `100 Mbit/s`, `2.5 Gbit/s`.
#[must_use]
pub fn speed(bit_s: u64) -> String {
    match bit_s {
        0..1_000_000 => format!("{bit_s} bit/s"),
        1_000_000..1_000_000_000 => format!("{} Mbit/s", numbers::three_digits(bit_s as f64 / 1e6)),
        _ => format!("{} Gbit/s", numbers::three_digits(bit_s as f64 / 1e9)),
    }
}

/// The path in a sentence: the wire part of a packet and its answer, and the source of that. Absent over the loopback,
/// which has none.
#[must_use]
pub fn sentence(path: &WirePath) -> Option<String> {
    let links = match path.told_by {
        ToldBy::Loopback => return None,
        ToldBy::Interface => {
            let link = path.links_bit_s.first().copied().unwrap_or(0);
            let speed = speed(link);
            format!("assumed one link of {speed}, as fast as the interface; --path names more")
        }
        ToldBy::User => format!("computed for {}", connection(path)),
        ToldBy::Testbed => format!("computed for the testbed's {}", connection(path)),
    };
    let time = numbers::value(path.round_trip_ns as f64);
    Some(format!(
        "On the wire are {time} of each round trip ({links})."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(told_by: ToldBy, links: &[u64]) -> WirePath {
        WirePath {
            links_bit_s: links.to_vec(),
            told_by,
            round_trip_ns: 81_280,
        }
    }

    #[test]
    fn what_is_not_known_is_not_computed_with() {
        let known = RoundTrip::new(Some(100), Some(&path(ToldBy::User, &[1])));
        let unknown = RoundTrip::new(Some(100), None);
        assert_eq!(unknown.not_on_wire_ns(), None);
        assert_eq!(known.beyond(unknown).not_on_wire_ns(), None);
        assert_eq!(known.beyond(unknown).measured_ns, Some(0));
        assert_eq!(known.not_on_wire_ns(), Some(100 - 81_280), "never clipped");
    }

    #[test]
    fn an_assumption_says_that_it_is_one() {
        let text = sentence(&path(ToldBy::Interface, &[1_000_000_000])).unwrap_or_default();
        assert!(text.contains("assumed one link of 1 Gbit/s"), "{text}");
        let text = connection(&path(ToldBy::Interface, &[2_500_000_000]));
        assert_eq!(text, "2.5 Gbit/s (assumed)");
    }

    #[test]
    fn the_loopback_has_no_wire() {
        let loopback = path(ToldBy::Loopback, &[]);
        assert_eq!(connection(&loopback), "loopback");
        assert_eq!(sentence(&loopback), None);
    }

    #[test]
    fn stated_links_are_computed_with() {
        let text = sentence(&path(ToldBy::Testbed, &[100_000_000; 2])).unwrap_or_default();
        assert_eq!(
            text,
            "On the wire are 81.28 us of each round trip (computed for the testbed's 2x 100 Mbit/s)."
        );
    }
}
