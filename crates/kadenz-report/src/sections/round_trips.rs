//! Round trips of compared runs: switches and hosts as in Enner's comparison, one row per run.

use crate::compare::NetworkRow;
use crate::compare::network::NetworkHost;
use crate::document::{Column, Document, Medium, Table, TableCell};
use crate::figures;
use crate::numbers;
use crate::verdict::wire::{self, RoundTrip};

const NOTE: &str = "Time on the wire is computed for one packet and its answer; what is not on the wire \
                    are switches, queues, cards, systems and the device. Below the first row stands what \
                    is more (+) or less than there.";
const HINT: &str = "Time on the wire is computed for one packet and its answer; what is not on the wire \
                    are switches, queues, cards, systems and the device. Small: how much more or less \
                    than in the first run.";

/// The tables of a comparison, whose runs have these names; nothing where no two runs sent packets.
pub(crate) fn of<'a>(rows: &[NetworkRow], name: impl Fn(usize) -> &'a str) -> Document {
    if rows.is_empty() {
        return Document::new();
    }
    let columns = vec![
        Column::new("switch or host", "Run").words(),
        Column::new("connection", "Connection").words(),
        Column::new("90 % round trip", "90 % round trip"),
        Column::new("of it on the wire", "Of it on the wire"),
        Column::new("not on the wire", "Not on the wire"),
        Column::new("packets", "Packets"),
        Column::new("lost", "Lost"),
        Column::new("out of order", "Out of order"),
        Column::on_page("Machine").words(),
    ];
    let mut table = Table::captioned("Round trips of all runs", columns);
    for row in rows {
        table.push(cells(row, name(row.run)));
    }
    Document::new()
        .table(table)
        .only(Medium::Terminal, NOTE.to_owned().into())
        .hint(HINT)
        .only(Medium::Terminal, hosts(rows, name))
}

fn cells(row: &NetworkRow, name: &str) -> Vec<TableCell> {
    let path = row.path.as_ref();
    let unknown = || TableCell::either("", "—");
    let mut cells = vec![
        TableCell::text(name),
        path.map_or_else(unknown, |it| TableCell::text(wire::connection(it))),
    ];
    let beyond = row.beyond_baseline.map(times);
    for (at, ns) in times(row.round_trip).into_iter().enumerate() {
        let drawn = match beyond {
            None => ns.map(absolute),
            Some(more) => more[at].map(|ns| signed(ns, absolute)),
        };
        let page = ns.map_or_else(|| "—".to_owned(), figures::span);
        let more = beyond.and_then(|all| all[at]);
        let note = more.map(|more| signed(more, figures::span));
        cells.push(TableCell::either(drawn.unwrap_or_else(|| "-".to_owned()), page).noted(note));
    }
    cells.extend([row.packets, row.lost, row.reordered].map(TableCell::count));
    let NetworkHost {
        machine, kernel, ..
    } = &row.host;
    let [interface, speed] = interface(&row.host);
    let facts = [machine, kernel, &interface, &row.host.driver, &speed];
    let facts: Vec<&str> = facts.into_iter().flatten().map(String::as_str).collect();
    cells.push(TableCell::text(facts.join(", ")));
    cells
}

fn times(of: RoundTrip) -> [Option<i64>; 3] {
    [of.measured_ns, of.wire_ns, of.not_on_wire_ns()]
}

fn absolute(ns: i64) -> String {
    numbers::value(ns as f64)
}

fn signed(ns: i64, shown: fn(i64) -> String) -> String {
    let sign = if ns >= 0 { "+" } else { "" };
    format!("{sign}{}", shown(ns))
}

/// The controllers, where they are not all the same.
fn hosts<'a>(rows: &[NetworkRow], name: impl Fn(usize) -> &'a str) -> Document {
    if rows.windows(2).all(|pair| pair[0].host == pair[1].host) {
        return Document::new();
    }
    let head = [
        "host",
        "machine",
        "kernel",
        "driver",
        "interface",
        "90 % round trip",
        "not on the wire",
    ];
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
    let rows = rows.iter().map(|row| {
        let [measured, _, not_on_wire] = times(row.round_trip).map(|ns| text(&ns.map(absolute)));
        let interface: Vec<String> = interface(&row.host).into_iter().flatten().collect();
        vec![
            name(row.run).to_owned(),
            text(&row.host.machine),
            text(&row.host.kernel),
            text(&row.host.driver),
            interface.join(", "),
            measured,
            not_on_wire,
        ]
    });
    Document::new().table(Table::new(&head, 5, rows.collect()))
}

/// The interface's name and its speed.
fn interface(host: &NetworkHost) -> [Option<String>; 2] {
    let speed = host.speed_mbit_s.filter(|megabits| *megabits > 0);
    let speed = speed.map(|megabits| wire::speed(u64::from(megabits) * 1_000_000));
    [host.interface.clone(), speed]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::network::tests::{post, round_trips};
    use crate::compare::{CompareOptions, Comparison};
    use crate::summary::Summary;
    use crate::text::{Style, Text};

    fn document(runs: &[Summary]) -> Document {
        let comparison = Comparison::new(runs, &CompareOptions::default());
        of(&comparison.network, |run| &comparison.runs[run])
    }

    fn tables(runs: &[Summary]) -> Vec<Text> {
        let style = Style::plain().of_width(u16::MAX);
        let text = document(runs).fitted().terminal(style);
        text.split("\n\n").map(Text::from).collect()
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
        let parts = tables(&post());
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
        let parts = tables(&[baseline, other]);
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
        let parts = tables(&[baseline, round_trips("other", 200_000, None)]);
        let cells = row(&parts[0], "other");
        assert_eq!(cells[1..4], ["+6.200 us", "-", "-"], "{cells:?}");
    }

    #[test]
    fn a_row_says_what_is_wire_and_what_came_with_the_switch() {
        let text = document(&post()).html();
        assert!(
            text.contains("<td>2x 100 Mbit/s</td><td>193.8\u{a0}µs</td>"),
            "{text}"
        );
        assert!(text.contains("<small>+43.5\u{a0}µs</small>"), "{text}");
        assert!(text.contains("<small>+2.86\u{a0}µs</small>"), "{text}");
    }

    #[test]
    fn one_run_alone_is_compared_with_nothing() {
        assert_eq!(document(&post()[..1]).html(), "");
        let unknown = [round_trips("a", 1000, None), round_trips("<b>", 1000, None)];
        let text = document(&unknown).html();
        assert!(
            text.contains("&lt;b&gt;") && text.contains("<td>—</td>"),
            "{text}"
        );
    }
}
