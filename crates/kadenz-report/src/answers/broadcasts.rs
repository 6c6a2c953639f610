//! How several devices answer broadcasts: whether in an order of their own, and how close together.

use kadenz_record::run::network::{
    Broadcasts, DENSEST_HALF, FIRST_REPLY, Flow, LAST_REPLY, Network, Places, REPLY_SPREAD, half_of,
};

use crate::numbers;
use crate::statistics::Percent;
use crate::summary::Summary;

/// In which order several devices answer broadcasts, and how close together, in a few sentences; `None` where no
/// broadcasts were sent, or only to one device.
///
/// ```
/// use kadenz_record::run::network::{Broadcasts, Flow, Network, Places};
/// use kadenz_report::summary::Summary;
/// use kadenz_report::answers::broadcasts;
///
/// let flow = |device: &str, first: u64| Flow {
///     device: device.into(),
///     places: Some(Places { answers: 100, first, last: 100 - first, ..Places::default() }),
///     ..Flow::default()
/// };
/// let mut summary = Summary::default();
/// summary.run.network = Some(Network {
///     flows: vec![flow("foot", 98), flow("hand", 2)],
///     broadcasts: Some(Broadcasts {
///         sent: 100,
///         complete: 100,
///         concordance: Some(0.9216),
///         ..Broadcasts::default()
///     }),
///     ..Network::default()
/// });
/// assert_eq!(
///     broadcasts::answer(&summary).expect("there were broadcasts"),
///     "Both devices answered each of 100 broadcasts. Kendall's W of the orders in which they did is \
///      0.92: nearly always the same; foot was first in 98 %, hand last in 98 %."
/// );
/// ```
#[must_use]
pub fn answer(summary: &Summary) -> Option<String> {
    let network = summary.run.network.as_ref()?;
    let broadcasts = network.broadcasts.filter(|_| network.flows.len() > 1)?;
    let parts = [
        Some(complete(&broadcasts, network.flows.len())),
        order(&broadcasts, network),
        times(summary),
        densest(&broadcasts, network, summary),
        at_once(&broadcasts, network),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Some(parts.join(" "))
}

fn complete(broadcasts: &Broadcasts, devices: usize) -> String {
    let sent = numbers::thousands(broadcasts.sent);
    let all = match devices {
        2 => "Both devices".to_owned(),
        more => format!("All {more} devices"),
    };
    match broadcasts.complete {
        all_of_them if all_of_them >= broadcasts.sent => {
            format!("{all} answered each of {sent} broadcasts.")
        }
        some => format!(
            "{all} answered {} of {sent} broadcasts before 64 more were sent.",
            numbers::thousands(some)
        ),
    }
}

fn order(broadcasts: &Broadcasts, network: &Network) -> Option<String> {
    let concordance = broadcasts.concordance?;
    let mut text = format!(
        "Kendall's W of the orders in which they did is {concordance:.2}: {}",
        Likeness::of(concordance, broadcasts.complete, network.flows.len()).words()
    );
    let most = |of: fn(&Places) -> u64, whole: u64| {
        let placed = |flow: &Flow| flow.places.as_ref().map_or(0, of);
        // Of several with the same count the first in the table.
        let device = network.flows.iter().rev().max_by_key(|flow| placed(flow))?;
        let share = placed(device) as f64 / whole as f64;
        (share > 0.0).then(|| (device.device.clone(), numbers::percentage(share)))
    };
    let first = most(|it| it.first, broadcasts.sent);
    let last = most(|it| it.last, broadcasts.complete);
    if let Some(((first, soonest), (last, latest))) = first.zip(last) {
        text += &format!("; {first} was first in {soonest}, {last} last in {latest}");
    }
    text.push('.');
    Some(text)
}

/// How alike orders are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Likeness {
    Same,
    Similar,
    Related,
    Chance,
}

impl Likeness {
    /// From Kendall's W of `m` orders of `n` devices. Of random orders it is `1 / m` on average with a variance of
    /// `2 (m - 1) / (m^3 (n - 1))`, because `m (n - 1) W` is Friedman's statistic (M. Friedman, *The Use of Ranks to
    /// Avoid the Assumption of Normality*, Journal of the American Statistical Association 32, 1937); three standard
    /// deviations above that are not random.
    fn of(concordance: f64, orders: u64, devices: usize) -> Self {
        let (m, n) = (orders as f64, devices as f64);
        let spread = (2.0 * (m - 1.0) / (m * m * m * (n - 1.0))).sqrt();
        match concordance {
            w if w <= 1.0 / m + 3.0 * spread => Self::Chance,
            w if w >= 0.9 => Self::Same,
            w if w >= 0.5 => Self::Similar,
            _ => Self::Related,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Same => "nearly always the same",
            Self::Similar => "mostly alike",
            Self::Related => "different, and yet more alike than by chance",
            Self::Chance => "as different as by chance",
        }
    }
}

fn times(summary: &Summary) -> Option<String> {
    let median = |name: &str| summary.named(name)?.percentile(Percent::P50);
    let (first, last) = median(FIRST_REPLY).zip(median(LAST_REPLY))?;
    let mut text = format!(
        "Half of the time the first answer was there within {}, the last within {}",
        span(first),
        span(last)
    );
    let spread = summary.named(REPLY_SPREAD);
    let spread = spread.and_then(|it| it.percentile(Percent::P50).zip(it.min_ns));
    if let Some((median, least)) = spread {
        text += &format!(
            "; from the first to the last it was {}, and at least {}",
            span(median),
            span(least)
        );
    }
    text.push('.');
    Some(text)
}

/// The highest rate of answers over a good part of a broadcast, which queues on the way must hold.
fn densest(broadcasts: &Broadcasts, network: &Network, summary: &Summary) -> Option<String> {
    let half = half_of(network.flows.len());
    let least_ns = summary.named(DENSEST_HALF)?.min_ns?;
    let mut text = format!(
        "At the densest, {half} answers came within {}",
        span(least_ns)
    );
    if let Some(rate) = mbit_s(broadcasts, half, least_ns) {
        text += &format!(", {} Mbit/s with all overhead", numbers::three_digits(rate));
        let link = network.interface.as_ref().and_then(|it| it.speed_mbit_s);
        if let Some(link) = link.filter(|link| rate > f64::from(*link)) {
            text += &format!(
                ": more than the link's {link} Mbit/s, so they had waited in the card and were taken \
                 from it together"
            );
        }
    }
    text.push('.');
    Some(text)
}

/// The rate of this many answers with this time between the first and the last: the first has arrived already.
fn mbit_s(broadcasts: &Broadcasts, answers: usize, span_ns: i64) -> Option<f64> {
    let bits = 8.0 * f64::from(broadcasts.answer_bytes) * (answers as f64 - 1.0);
    (span_ns > 0 && bits > 0.0).then(|| bits * 1e3 / span_ns as f64)
}

fn at_once(broadcasts: &Broadcasts, network: &Network) -> Option<String> {
    let waiting = broadcasts.most_at_once;
    let bytes = waiting.saturating_mul(network.payload_bytes.into());
    let noun = if waiting == 1 { "answer" } else { "answers" };
    (waiting > 0).then(|| {
        format!(
            "The program never found more than {} {noun} waiting at once, {} B of payload.",
            numbers::thousands(waiting),
            numbers::thousands(bytes)
        )
    })
}

fn span(ns: i64) -> String {
    numbers::span(ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{named, run_of, series_of};
    use kadenz_record::run::model::Kind;
    use kadenz_record::run::network::Interface;

    fn robot(broadcasts: Broadcasts, speed_mbit_s: u32, half_ns: i64) -> Summary {
        let series = [
            (FIRST_REPLY, 180_000),
            (LAST_REPLY, 290_000),
            (REPLY_SPREAD, 110_000),
            (DENSEST_HALF, half_ns),
        ];
        let series = series.map(|(name, ns)| series_of(named(name, Kind::Latency), &[(ns, 100)]));
        let mut summary = run_of("robot", series.into());
        summary.run.network = Some(Network {
            payload_bytes: 200,
            flows: vec![Flow::default(); 40],
            broadcasts: Some(broadcasts),
            interface: Some(Interface {
                speed_mbit_s: Some(speed_mbit_s),
                ..Interface::default()
            }),
            ..Network::default()
        });
        summary
    }

    #[test]
    fn forty_devices_fill_the_link() {
        let broadcasts = Broadcasts {
            sent: 2000,
            complete: 1998,
            concordance: Some(0.4),
            most_at_once: 12,
            answer_bytes: 266,
        };
        // 19 more frames of 266 bytes at 1 Gbit/s are 40.432 us.
        let text = answer(&robot(broadcasts, 1000, 40_432)).unwrap();
        assert!(
            text.starts_with(
                "All 40 devices answered 1,998 of 2,000 broadcasts before 64 more were sent. Kendall"
            ),
            "{text}"
        );
        assert!(
            text.contains("0.40: different, and yet more alike than by chance."),
            "{text}"
        );
        assert!(
            text.contains("the first answer was there within 180 us, the last within 290 us"),
            "{text}"
        );
        assert!(
            text.contains("20 answers came within 40.4 us, 1000 Mbit/s"),
            "{text}"
        );
        assert!(!text.contains("more than the link's"), "{text}");
        assert!(
            text.ends_with("more than 12 answers waiting at once, 2,400 B of payload."),
            "{text}"
        );
        let bunched = answer(&robot(broadcasts, 100, 40_432)).unwrap();
        assert!(
            bunched.contains("more than the link's 100 Mbit/s"),
            "{bunched}"
        );
        let together = answer(&robot(broadcasts, 100, 0)).unwrap();
        assert!(together.contains("within 0 ns."), "{together}");
    }

    #[test]
    fn chance_is_distinguished_from_order() {
        for (concordance, orders, devices, likeness) in [
            (1.0, 1000, 40, Likeness::Same),
            (0.5, 1000, 40, Likeness::Similar),
            (0.01, 1000, 40, Likeness::Related),
            (0.0015, 1000, 40, Likeness::Chance),
            // Of two orders of two devices nothing can be said, whether they are alike or not.
            (1.0, 2, 2, Likeness::Chance),
            (0.0, 2, 2, Likeness::Chance),
        ] {
            let found = Likeness::of(concordance, orders, devices);
            assert_eq!(found, likeness, "{concordance} {orders} {devices}");
        }
    }

    #[test]
    fn as_many_as_there_are_numbers_may_have_waited() {
        let broadcasts = Broadcasts {
            most_at_once: u64::MAX,
            ..Broadcasts::default()
        };
        let network = Network {
            payload_bytes: 2,
            ..Network::default()
        };
        assert!(
            at_once(&broadcasts, &network)
                .is_some_and(|it| it.contains("18,446,744,073,709,551,615 B"))
        );
    }

    #[test]
    fn without_broadcasts_there_is_no_answer() {
        assert_eq!(answer(&Summary::default()), None);
        let mut one = robot(Broadcasts::default(), 1000, 0);
        if let Some(network) = &mut one.run.network {
            network.flows.truncate(1);
        }
        assert_eq!(answer(&one), None);
        let mut each = robot(Broadcasts::default(), 1000, 0);
        if let Some(network) = &mut each.run.network {
            network.broadcasts = None;
        }
        assert_eq!(answer(&each), None);
    }
}
