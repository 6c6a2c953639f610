//! The table of packets: a row a device.

use kadenz_record::run::network::{Flow, Interface, Network};

use super::Style;
use super::table::{Cell, Table};
use super::text::{Text, wrap};
use crate::numbers;
use crate::statistics::Percent;
use crate::summary::Summary;
use crate::verdict::{broadcasts, packets, testbed, wire};

const HEADER: [&str; 10] = [
    "device",
    "sent",
    "lost",
    "in a row",
    "twice",
    "reordered",
    "late",
    "50 %",
    "99 %",
    "max",
];
/// How many devices stand in the table; of more, those that lost most or were slowest.
const SHOWN: usize = 48;

/// What became of the packets, in words and by device; absent in a run that sent none. The
/// places of devices that answered broadcasts stand on the page and in JSON: the table is wide enough.
pub(super) fn packets(summary: &Summary, style: Style) -> Option<Text> {
    let network = summary.run.network.as_ref()?;
    let wrapped = |words: &str| Text::from(wrap(words, style.width));
    let mut parts = vec![wrapped(&packets::answer(network))];
    parts.extend(broadcasts::answer(summary).map(|answer| wrapped(&answer)));
    parts.push(table(network, summary, style));
    let hidden = network.flows.len().saturating_sub(SHOWN);
    if hidden > 0 {
        parts.push(format!("{hidden} more devices stand in `--json`.").into());
    }
    if network.foreign > 0 {
        let foreign = numbers::thousands(network.foreign);
        let words = format!("{foreign} packets came that belonged to no flow of this run.");
        parts.push(wrapped(&words));
    }
    let path = network.path.as_ref().and_then(wire::sentence);
    parts.extend(path.map(|words| wrapped(&words)));
    parts.extend(network.interface.as_ref().map(|it| through(it).into()));
    let testbed = testbed::words(summary);
    parts.extend(testbed.map(|words| wrapped(&words)));
    Some(Text::join(parts, "\n\n"))
}

fn table(network: &Network, summary: &Summary, style: Style) -> Text {
    let mut table = Table::new(style);
    table.set_header(HEADER);
    for flow in network.flows.iter().take(SHOWN) {
        table.add_row(row(flow, network, summary));
    }
    if network.flows.len() > 1 {
        table.add_row(row(&packets::total(network), network, summary));
    }
    table.align_right_from(1);
    table.text()
}

fn row(flow: &Flow, network: &Network, summary: &Summary) -> Vec<Cell> {
    let number = |count: u64| Cell::new(numbers::thousands(count));
    let name = match flow.device.as_str() {
        // The total has the series without a device's name.
        "all" => "rtt".to_owned(),
        _ => flow.series("rtt", network.flows.len()),
    };
    let rtt = summary.series.iter().find(|it| it.series.name == name);
    let value =
        |ns: Option<i64>| Cell::new(ns.map_or_else(String::new, |ns| numbers::value(ns as f64)));
    vec![
        Cell::new(&flow.device),
        number(flow.sent),
        number(flow.lost).judged(flow.lost == 0),
        number(flow.longest_loss),
        number(flow.duplicates),
        number(flow.reordered),
        number(flow.late),
        value(rtt.and_then(|rtt| rtt.percentile(Percent::P50))),
        value(rtt.and_then(|rtt| rtt.percentile(Percent::P99))),
        value(rtt.and_then(|rtt| rtt.max_ns)),
    ]
}

/// "Through eth0 (wired, r8169, 1000 Mbit/s, MTU 1500 B)."
fn through(interface: &Interface) -> String {
    let facts: Vec<String> = [
        interface.kind.clone(),
        interface.driver.clone(),
        interface
            .speed_mbit_s
            .map(|speed| format!("{speed} Mbit/s")),
        interface.mtu_bytes.map(|mtu| format!("MTU {mtu} B")),
    ]
    .into_iter()
    .flatten()
    .collect();
    match facts.is_empty() {
        true => format!("Through {}.", interface.name),
        false => format!("Through {} ({}).", interface.name, facts.join(", ")),
    }
}
