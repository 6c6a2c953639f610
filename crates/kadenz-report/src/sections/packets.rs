//! Counts of the packets: in words, and one row per device.

use kadenz_record::run::network::{Flow, Interface, Network, Places};

use crate::answers::{broadcasts, testbed};
use crate::document::{Column, Document, Medium, Row, Table, TableCell};
use crate::figures::bound;
use crate::numbers::thousands;
use crate::statistics::Percent;
use crate::summary::Summary;
use crate::verdict::{packets, wire};

/// Maximum number of devices in a terminal's table.
const MAX_DRAWN: usize = 48;
/// With more devices than this a page shows the table of all first, and each one's row folded away.
const FEW: usize = 4;

/// Counts of the packets, in words and by device; nothing for a run that sent none. The places of devices that answered
/// broadcasts are on the page and in JSON only: a terminal's table is wide enough.
pub(crate) fn of(summary: &Summary) -> Vec<Document> {
    let Some(network) = &summary.run.network else {
        return Vec::new();
    };
    let mut document = Document::new()
        .lead(packets::answer(network))
        .only(Medium::Terminal, drawn(network, summary))
        .only(Medium::Page, by_device(network, summary))
        .only(Medium::Page, places(network, summary));
    let path = network.path.as_ref().and_then(wire::sentence);
    document = document.sentences(path);
    if let Some(interface) = &network.interface {
        let (drawn, page) = through(interface, network.payload_bytes);
        document = document
            .only(Medium::Terminal, drawn.into())
            .only(Medium::Page, page.into());
    }
    let testbed = Document::new().sentences(testbed::words(summary));
    vec![document.only(Medium::Terminal, testbed)]
}

fn drawn(network: &Network, summary: &Summary) -> Document {
    let mut table = table("", network, summary, false);
    table.rows.truncate(MAX_DRAWN);
    if network.flows.len() > 1 {
        table.push(total(network, summary));
    }
    let hidden = network.flows.len().saturating_sub(MAX_DRAWN);
    let hidden = (hidden > 0).then(|| format!("{hidden} more devices stand in `--json`."));
    let foreign = (network.foreign > 0).then(|| {
        let foreign = thousands(network.foreign);
        format!("{foreign} packets came that belonged to no flow of this run.")
    });
    Document::new()
        .sentences(broadcasts::answer(summary))
        .table(table)
        .sentences(hidden)
        .sentences(foreign)
}

fn by_device(network: &Network, summary: &Summary) -> Document {
    let (several, many) = (network.flows.len() > 1, network.flows.len() > FEW);
    let mut each = table("Packets and round trips by device", network, summary, !many);
    if !many {
        each.rows.extend(several.then(|| total(network, summary)));
        return Document::new().table(each);
    }
    let mut all = Table::captioned("Packets and round trips of all devices", columns());
    all.push(total(network, summary));
    let devices = format!(
        "Each of the {} devices",
        thousands(network.flows.len() as u64)
    );
    Document::new()
        .table(all)
        .folded(devices, Document::new().table(each))
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("device", "Device").words(),
        Column::on_page("Address"),
        Column::new("sent", "Sent"),
        Column::new("lost", "Lost"),
        Column::new("in a row", "In a row"),
        Column::new("twice", "Twice"),
        Column::new("reordered", "Out of order"),
        Column::new("late", "Late"),
        Column::new("50 %", "Median"),
        Column::new("99 %", "99 %"),
        Column::new("max", "Largest"),
    ]
}

fn table(caption: &'static str, network: &Network, summary: &Summary, bounded: bool) -> Table {
    let mut table = Table::captioned(caption, columns());
    for flow in &network.flows {
        let series = flow.series("rtt", network.flows.len());
        let bound = bounded.then(|| packets::loss_bound(flow));
        table.push(row(flow, &series, summary, bound));
    }
    table
}

/// All devices together, whose series has no device's name.
fn total(network: &Network, summary: &Summary) -> Row {
    let bound = packets::total_loss_bound(network);
    row(&packets::total(network), "rtt", summary, Some(bound))
}

/// The row of a device's packets, with the bound of the loss below the counts.
fn row(flow: &Flow, series: &str, summary: &Summary, loss_bound: Option<f64>) -> Row {
    let rtt = summary.named(series);
    let note = loss_bound.map(|it| format!("fewer than {}", bound(it)));
    vec![
        TableCell::text(&flow.device),
        TableCell::text(&flow.address),
        TableCell::count(flow.sent),
        TableCell::count(flow.lost)
            .judged(flow.lost == 0)
            .noted(note),
        TableCell::count(flow.longest_loss),
        TableCell::count(flow.duplicates),
        TableCell::count(flow.reordered),
        TableCell::count(flow.late),
        TableCell::span(rtt.and_then(|rtt| rtt.percentile(Percent::P50))),
        TableCell::span(rtt.and_then(|rtt| rtt.percentile(Percent::P99))),
        TableCell::span(rtt.and_then(|rtt| rtt.max_ns)),
    ]
    .into()
}

/// How devices answer broadcasts together: in words, and the places of each folded away.
fn places(network: &Network, summary: &Summary) -> Document {
    let Some(answer) = broadcasts::answer(summary) else {
        return Document::new();
    };
    let columns = vec![
        Column::on_page("Device").words(),
        Column::on_page("Mean place"),
        Column::on_page("First of all"),
        Column::on_page("Last of all"),
        Column::on_page("Lowest"),
        Column::on_page("Highest"),
        Column::on_page("Answers"),
    ];
    let flows = network.flows.iter();
    let mut placed: Vec<(&Flow, Places)> = flows
        .filter_map(|flow| flow.places.map(|places| (flow, places)))
        .collect();
    let mean = |places: &Places| places.mean().unwrap_or(f64::INFINITY);
    placed.sort_by(|(_, a), (_, b)| mean(a).total_cmp(&mean(b)));
    let mut table = Table::captioned("Places among the answers to broadcasts", columns);
    for (flow, it) in placed {
        let mean = it.mean();
        table.push(vec![
            TableCell::text(&flow.device),
            TableCell::text(mean.map_or_else(|| "—".to_owned(), |mean| format!("{mean:.1}"))),
            TableCell::count(it.first),
            TableCell::count(it.last),
            TableCell::count(u64::from(it.lowest)),
            TableCell::count(u64::from(it.highest)),
            TableCell::count(it.answers),
        ]);
    }
    let devices = thousands(network.flows.len() as u64);
    let order = format!("In which order they answer: the places of the {devices} devices");
    Document::from(answer).folded(order, Document::new().table(table))
}

/// "Through eth0 (wired, r8169, 1000 Mbit/s, MTU 1500 B)." on a terminal; a page states the payload, too.
fn through(interface: &Interface, payload_bytes: u32) -> (String, String) {
    let facts = [
        interface.kind.clone(),
        interface.driver.clone(),
        interface.speed_mbit_s.map(|it| format!("{it} Mbit/s")),
        interface.mtu_bytes.map(|it| format!("MTU {it} B")),
    ];
    let mut facts: Vec<String> = facts.into_iter().flatten().collect();
    let name = &interface.name;
    let drawn = match facts.is_empty() {
        true => format!("Through {name}."),
        false => format!("Through {name} ({}).", facts.join(", ")),
    };
    facts.push(format!("{payload_bytes} B of payload a packet"));
    (drawn, format!("Through {name}: {}.", facts.join(", ")))
}
