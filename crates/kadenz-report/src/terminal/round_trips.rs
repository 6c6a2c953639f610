//! The tables of round trips: switches as Enner compares them, and the hosts that asked.

use super::Style;
use super::table::{Cell, Table};
use super::text::{Text, wrap};
use crate::compare::network::NetworkHost;
use crate::compare::{Comparison, NetworkRow};
use crate::numbers;
use crate::verdict::wire::{self, RoundTrip};

const HEADER: [&str; 8] = [
    "switch or host",
    "connection",
    "90 % round trip",
    "of it on the wire",
    "not on the wire",
    "packets",
    "lost",
    "out of order",
];
const HOSTS: [&str; 7] = [
    "host",
    "machine",
    "kernel",
    "driver",
    "interface",
    "90 % round trip",
    "not on the wire",
];
const NOTE: &str = "Time on the wire is computed for one packet and its answer; what is not on the wire \
                    are switches, queues, cards, systems and the device. Below the first row stands what \
                    is more (+) or less than there.";

/// The tables of a comparison; none where no two runs sent packets.
pub(super) fn tables(comparison: &Comparison, style: Style) -> Vec<Text> {
    if comparison.network.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(style);
    table.set_header(HEADER);
    for row in &comparison.network {
        table.add_row(cells(comparison, row));
    }
    table.align_right_from(2);
    let mut parts = vec![table.text(), wrap(NOTE, style.width).into()];
    parts.extend(hosts(comparison, style));
    parts
}

fn cells(comparison: &Comparison, row: &NetworkRow) -> Vec<Cell> {
    let shown = match row.beyond_baseline {
        None => times(row.round_trip, absolute),
        Some(beyond) => times(beyond, signed),
    };
    let mut cells = vec![
        Cell::new(&comparison.runs[row.run]),
        Cell::new(row.path.as_ref().map_or_else(String::new, wire::connection)),
    ];
    cells.extend(shown.map(Cell::new));
    let counts = [row.packets, row.lost, row.reordered];
    cells.extend(counts.map(|count| Cell::new(numbers::thousands(count))));
    cells
}

fn times(of: RoundTrip, shown: fn(i64) -> String) -> [String; 3] {
    [of.measured_ns, of.wire_ns, of.not_on_wire_ns()]
        .map(|ns| ns.map_or_else(|| "-".to_owned(), shown))
}

fn absolute(ns: i64) -> String {
    numbers::value(ns as f64)
}

fn signed(ns: i64) -> String {
    let sign = if ns >= 0 { "+" } else { "" };
    format!("{sign}{}", absolute(ns))
}

/// Whoever asked, where it was not always the same.
fn hosts(comparison: &Comparison, style: Style) -> Option<Text> {
    let rows = &comparison.network;
    if rows.windows(2).all(|pair| pair[0].host == pair[1].host) {
        return None;
    }
    let mut table = Table::new(style);
    table.set_header(HOSTS);
    for row in rows {
        let [measured, _, not_on_wire] = times(row.round_trip, absolute);
        let mut cells = vec![comparison.runs[row.run].clone()];
        cells.extend(facts(&row.host));
        cells.extend([measured, not_on_wire]);
        table.add_row(cells);
    }
    table.align_right_from(5);
    Some(table.text())
}

fn facts(host: &NetworkHost) -> [String; 4] {
    let text = |told: &Option<String>| told.clone().unwrap_or_else(|| "-".to_owned());
    let speed = host.speed_mbit_s.filter(|megabits| *megabits > 0);
    let speed = speed.map(|megabits| wire::speed(u64::from(megabits) * 1_000_000));
    let interface = [host.interface.clone(), speed];
    let interface: Vec<String> = interface.into_iter().flatten().collect();
    [
        text(&host.machine),
        text(&host.kernel),
        text(&host.driver),
        interface.join(", "),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::CompareOptions;
    use crate::compare::network::tests::{post, round_trips};
    use crate::summary::Summary;

    fn told(runs: &[Summary]) -> Vec<Text> {
        let options = CompareOptions::default();
        let wide = Style {
            width: u16::MAX,
            ..Style::plain()
        };
        tables(&Comparison::new(runs, &options), wide)
    }

    fn row(table: &str, of: &str) -> Vec<String> {
        let line = table.lines().find(|line| line.contains(of));
        let cells = line.unwrap_or_default().split('|').map(str::trim);
        cells
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn the_post_s_table_stands_in_its_words() {
        let parts = told(&post());
        assert_eq!(
            row(&parts[0], "baseline"),
            [
                "baseline",
                "2x 100 Mbit/s",
                "193.8 us",
                "81.28 us",
                "112.5 us",
                "1,001",
                "1",
                "0"
            ]
        );
        assert_eq!(
            row(&parts[0], "gs105")[1..5],
            [
                "100 Mbit/s + 1 Gbit/s + 100 Mbit/s",
                "+51.00 us",
                "+4.064 us",
                "+46.94 us"
            ]
        );
        assert_eq!(parts.len(), 2, "all runs have one host: {parts:?}");
    }

    #[test]
    fn other_hosts_and_drivers_have_a_table() {
        let [baseline, mut other, _] = post();
        other.run.host.kernel = Some("6.1-rt".into());
        let parts = told(&[baseline, other]);
        assert_eq!(
            row(&parts[2], "ksz8863"),
            [
                "ksz8863",
                "-",
                "6.1-rt",
                "r8169",
                "eth0, 1 Gbit/s",
                "237.3 us",
                "115.4 us"
            ]
        );
    }

    #[test]
    fn an_unknown_path_claims_nothing() {
        let [baseline, _, _] = post();
        let parts = told(&[baseline, round_trips("other", 200_000, None)]);
        let cells = row(&parts[0], "other");
        assert_eq!(cells[1..4], ["+6.200 us", "-", "-"], "{cells:?}");
    }
}
