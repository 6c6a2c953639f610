//! The verdict on packets: how many were lost, and how many may be.

use kadenz_record::run::network::{Flow, LostHere, Network};

use super::bounded;
use super::groups::{Assumption, of_rows, of_rows_together};
use crate::numbers;

/// The longest list of devices in a sentence.
const MAX_NAMED: usize = 5;

/// All flows as one.
#[must_use]
pub fn total(network: &Network) -> Flow {
    let mut total = Flow {
        device: "all".to_owned(),
        ..Flow::default()
    };
    for flow in &network.flows {
        total.sent = total.sent.saturating_add(flow.sent);
        total.answered = total.answered.saturating_add(flow.answered);
        total.lost = total.lost.saturating_add(flow.lost);
        total.duplicates = total.duplicates.saturating_add(flow.duplicates);
        total.reordered = total.reordered.saturating_add(flow.reordered);
        total.late = total.late.saturating_add(flow.late);
        total.longest_loss = total.longest_loss.max(flow.longest_loss);
    }
    total
}

/// One-sided 95 % upper bound of the share of packets that is lost; the longest row of losses counts as
/// one event.
#[must_use]
pub fn loss_bound(flow: &Flow) -> f64 {
    of_rows(flow.sent, flow.lost, flow.longest_loss).0
}

/// As [`loss_bound`], of the packets of all flows: one event can take the longest row of each.
#[must_use]
pub fn total_loss_bound(network: &Network) -> f64 {
    bound_of_all(network, &total(network)).0
}

fn bound_of_all(network: &Network, total: &Flow) -> (f64, Assumption) {
    let rows = network.flows.iter().map(|it| it.longest_loss);
    of_rows_together(total.sent, total.lost, rows)
}

/// The counts in a sentence or two, as in Enner's post, with the claim that they support.
///
/// ```
/// use kadenz_record::run::network::{Flow, Network};
/// use kadenz_report::verdict::packets;
///
/// let flow = Flow { sent: 8_500_000, answered: 8_500_000, ..Flow::default() };
/// let network = Network { payload_bytes: 200, flows: vec![flow], ..Network::default() };
/// assert_eq!(
///     packets::answer(&network),
///     "Of 8,500,000 packets none was lost, so fewer than 360 in a billion at 95 % confidence, if \
///      each is independent; 0 duplicated, 0 reordered."
/// );
/// ```
#[must_use]
pub fn answer(network: &Network) -> String {
    let total = total(network);
    if total.sent == 0 {
        return "No packet was sent.".to_owned();
    }
    let bound = bound_of_all(network, &total);
    let lost = lost_words(total.lost, total.sent, &in_a_row(&total), bound);
    let mut text = format!(
        "Of {} packets {lost}; {} duplicated, {} reordered",
        numbers::thousands(total.sent),
        numbers::thousands(total.duplicates),
        numbers::thousands(total.reordered)
    );
    if total.late > 0 {
        text += &format!(
            "; {} of the lost were answered after the timeout",
            numbers::thousands(total.late)
        );
    }
    text.push('.');
    text.extend(of_devices(&network.flows));
    text.extend(network.here.and_then(of_this_machine));
    text
}

/// "none was lost, so fewer than 150 in a million ..."; `in_a_row` follows a number.
pub(super) fn lost_words(
    lost: u64,
    sent: u64,
    in_a_row: &str,
    (bound, assumption): (f64, Assumption),
) -> String {
    let bound = bounded(bound, assumption);
    let (number, share) = (
        numbers::thousands(lost),
        numbers::percentage(lost as f64 / sent as f64),
    );
    match lost {
        0 => format!("none was lost, so {bound}"),
        1 => format!("{number} ({share}) was lost{in_a_row}; {bound}"),
        _ => format!("{number} ({share}) were lost{in_a_row}; {bound}"),
    }
}

fn in_a_row(total: &Flow) -> String {
    match total.longest_loss {
        0 | 1 => String::new(),
        row => format!(", at most {} in a row", numbers::thousands(row)),
    }
}

/// Names the devices that answered nothing in time, else the one that lost the most packets; `None` for one device, no
/// loss, or a tie.
fn of_devices(flows: &[Flow]) -> Option<String> {
    if flows.len() < 2 {
        return None;
    }
    let silent = flows.iter().filter(|it| it.sent > 0 && it.answered == 0);
    let silent: Vec<&str> = silent.map(|it| it.device.as_str()).collect();
    if !silent.is_empty() {
        let more = silent.len().saturating_sub(MAX_NAMED);
        let named = silent[..silent.len() - more].join(", ");
        let more = (more > 0).then(|| format!(" and {more} more"));
        let more = more.unwrap_or_default();
        return Some(format!(" No packet was answered in time by {named}{more}."));
    }
    let worst = flows.iter().max_by_key(|it| it.lost)?;
    let is_alone = flows.iter().filter(|it| it.lost == worst.lost).count() == 1;
    (worst.lost > 0 && is_alone).then(|| {
        let [lost, sent] = [worst.lost, worst.sent].map(numbers::thousands);
        format!(" {} lost the most: {lost} of {sent}.", worst.device)
    })
}

/// Losses of this machine itself, so that they are not attributed to the network.
fn of_this_machine(here: LostHere) -> Option<String> {
    let parts = [
        (here.socket, "at the socket, its receive buffer being full"),
        (here.interface, "at the interface"),
        (here.unsent, "that it could not send"),
    ];
    let losses: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, place)| format!("{} {place}", numbers::thousands(*count)))
        .collect();
    (!losses.is_empty()).then(|| format!(" This machine itself lost {}.", losses.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(flows: Vec<Flow>) -> Network {
        Network {
            payload_bytes: 200,
            flows,
            ..Network::default()
        }
    }

    fn flow(sent: u64, lost: u64) -> Flow {
        Flow {
            sent,
            lost,
            answered: sent - lost,
            ..Flow::default()
        }
    }

    #[test]
    fn losses_are_counted_over_all_devices() {
        let mut worst = flow(1000, 3);
        (worst.longest_loss, worst.duplicates) = (2, 7);
        worst.device = "knee".to_owned();
        let answer = answer(&network(vec![flow(1000, 0), worst]));
        assert_eq!(
            answer,
            "Of 2,000 packets 3 (0.15 %) were lost, at most 2 in a row; fewer than 5.6 in a \
             thousand at 95 % confidence, taking 2 in a row as one event; 7 duplicated, 0 reordered. \
             knee lost the most: 3 of 1,000."
        );
    }

    /// One event, such as a switch that restarts, takes packets of every device.
    #[test]
    fn more_devices_that_lose_alike_do_not_tighten_the_bound() {
        let mut flow = flow(10_000, 40);
        for row in [1, 20] {
            flow.longest_loss = row;
            let all = network(vec![flow.clone(), flow.clone()]);
            let (one, both) = (loss_bound(&flow), total_loss_bound(&all));
            assert!(both > one * (1.0 - 1e-9), "{both} of both, {one} of one");
        }
        let answer = answer(&network(vec![flow.clone(), flow]));
        assert!(
            answer.contains("at most 20 in a row; fewer than"),
            "{answer}"
        );
        assert!(
            answer.contains("taking 40 together as one event"),
            "{answer}"
        );
    }

    #[test]
    fn devices_that_answered_nothing_are_named() {
        let named = |device: usize, lost| Flow {
            device: format!("leg-{device}"),
            ..flow(100, lost)
        };
        let one = answer(&network(vec![named(1, 3), named(2, 100)]));
        assert!(
            one.ends_with(" No packet was answered in time by leg-2."),
            "{one}"
        );
        let same = answer(&network(vec![named(1, 3), named(2, 3)]));
        assert!(same.ends_with("0 reordered."), "none lost the most: {same}");
        let many = (1..=7).map(|device| named(device, 100)).collect();
        let many = answer(&network(many));
        assert!(many.ends_with("leg-4, leg-5 and 2 more."), "{many}");
    }

    #[test]
    fn what_this_machine_lost_is_not_the_network_s() {
        let mut lossy = network(vec![flow(100, 1)]);
        lossy.here = Some(LostHere {
            socket: 1,
            ..LostHere::default()
        });
        let answer = answer(&lossy);
        assert!(
            answer.ends_with(
                "This machine itself lost 1 at the socket, its receive buffer being full."
            ),
            "{answer}"
        );
    }

    #[test]
    fn counts_from_end_to_end_are_borne() {
        let flow = Flow {
            sent: u64::MAX,
            answered: u64::MAX,
            lost: u64::MAX,
            duplicates: u64::MAX,
            reordered: u64::MAX,
            late: u64::MAX,
            longest_loss: u64::MAX,
            ..Flow::default()
        };
        let network = Network {
            flows: vec![flow.clone(), flow],
            payload_bytes: u32::MAX,
            ..Network::default()
        };
        assert_eq!(total(&network).sent, u64::MAX);
        assert!(answer(&network).starts_with("Of 18,446,744,073,709,551,615 packets"));
    }

    #[test]
    fn nothing_sent_claims_nothing() {
        assert_eq!(answer(&network(Vec::new())), "No packet was sent.");
    }
}
