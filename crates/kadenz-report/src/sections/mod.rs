//! Facts of a run beside its series, each described once: documents that terminals and pages show.

pub(crate) mod packets;
pub(crate) mod round_trips;
pub(crate) mod series;

use kadenz_record::run::messages::ONE_WAY_FROM_SEND;
use kadenz_record::run::testbed::{Testbed, TestbedLink};

use crate::answers::budget::{Budget, Layer};
use crate::answers::testbed;
use crate::document::{Bar, Column, Document, Row, Table, TableCell};
use crate::figures::span;
use crate::numbers::thousands;
use crate::statistics::Percent;
use crate::summary::Summary;
use crate::verdict::messages;
use crate::verdict::wire::speed;
use crate::{figures, numbers};

/// Each budget in words and by layer; none in a run without round trips and messages, or without a deadline.
/// On a page, a bar's whole width is the deadline.
pub(crate) fn budgets(summary: &Summary) -> Vec<Document> {
    Budget::all(summary).iter().map(document).collect()
}

fn document(budget: &Budget) -> Document {
    let limit = i64::try_from(budget.limit_ns).unwrap_or(i64::MAX);
    let columns = vec![
        Column::new("budget", "Layer").words(),
        Column::on_page(format!("Of {}", figures::span(limit))),
        Column::new("50 %", "Median"),
        Column::new("99.9 %", "99.9 %"),
        Column::new("max", "Largest"),
    ];
    let mut table = Table::captioned("Where the time goes", columns);
    table.class = Some("budget");
    for layer in &budget.layers {
        table.push(row(budget, layer, None));
        let wire = layer.on_the_wire();
        table
            .rows
            .extend(wire.map(|it| row(budget, &it, Some("part"))));
    }
    table.push(row(budget, &budget.whole, Some("whole")));
    let left = format!("left of {}", numbers::span(budget.limit_ns as f64));
    table.push(vec![
        TableCell::either(left, "Left for the control law"),
        TableCell::text(""),
        TableCell::text(""),
        TableCell::span(budget.left_p99_9_ns()),
        TableCell::span(budget.left_max_ns()),
    ]);
    Document::new().lead(budget.to_string()).table(table)
}

fn row(budget: &Budget, layer: &Layer, class: Option<&'static str>) -> Row {
    let bar = |ns: Option<i64>, class| {
        let percent = 100.0 * ns? as f64 / budget.limit_ns.max(1) as f64;
        Some(Bar { percent, class })
    };
    // Where 99.9 % is not supported, the longest replaces it.
    let most = bar(layer.p99_9_ns.or(layer.max_ns), "most");
    let bars = most.into_iter().chain(bar(layer.p50_ns, "median"));
    let cells = vec![
        TableCell::text(layer.name),
        TableCell::bars(bars.collect()),
        TableCell::span(layer.p50_ns),
        TableCell::span(layer.p99_9_ns),
        TableCell::span(layer.max_ns),
    ];
    Row {
        class,
        ..cells.into()
    }
}

/// Maximum number of subscribers in a terminal's table.
const MAX_DRAWN: usize = 48;

/// Counts of the messages, with the times from publishing on; nothing for a run that published none. The longest loss
/// is on the page and in JSON only: a terminal's table is wide enough.
pub(crate) fn messages(summary: &Summary) -> Vec<Document> {
    let Some(counted) = &summary.run.messages else {
        return Vec::new();
    };
    let columns = vec![
        Column::new("subscriber", "Subscriber").words(),
        Column::new("received", "Received"),
        Column::new("lost", "Lost"),
        Column::on_page("In a row"),
        Column::new("twice", "Twice"),
        Column::new("reordered", "Out of order"),
        Column::new("dropped", "Dropped"),
        Column::new("50 %", "Median"),
        Column::new("99 %", "99 %"),
        Column::new("max", "Largest"),
    ];
    let caption = "Messages by subscriber, times from publishing on";
    let mut table = Table::captioned(caption, columns).at_most(MAX_DRAWN);
    for it in &counted.subscribers {
        let name = it.series(ONE_WAY_FROM_SEND, counted.subscribers.len());
        let series = summary.named(&name);
        table.push(vec![
            TableCell::text(&it.name),
            TableCell::count(it.received),
            TableCell::count(it.lost).judged(it.lost == 0),
            TableCell::count(it.longest_loss),
            TableCell::count(it.duplicates),
            TableCell::count(it.reordered),
            TableCell::count(it.dropped + it.overrun),
            TableCell::span(series.and_then(|it| it.percentile(Percent::P50))),
            TableCell::span(series.and_then(|it| it.percentile(Percent::P99))),
            TableCell::span(series.and_then(|it| it.max_ns)),
        ]);
    }
    let answer = messages::answer(counted);
    vec![Document::new().lead(answer).table(table)]
}

/// The testbed in words, by figures and by links; nothing for a run on a real network. A terminal shows only the words,
/// among those of packets.
pub(crate) fn testbed(summary: &Summary) -> Vec<Document> {
    let Some(built) = testbed::of(summary) else {
        return Vec::new();
    };
    let columns = vec![
        Column::on_page("").words(),
        Column::on_page("Median"),
        Column::on_page("99 %"),
        Column::on_page("Largest"),
        Column::on_page("Of so many"),
        Column::on_page("Lost"),
    ];
    let mut beside = Table::captioned("Measurement, model and error", columns);
    for row in testbed::side_by_side(summary) {
        beside.push(vec![
            TableCell::text(row.name),
            TableCell::span(row.p50_ns),
            TableCell::span(row.p99_ns),
            TableCell::span(row.max_ns),
            TableCell::count(row.count),
            TableCell::count(row.lost),
        ]);
    }
    let columns = ["Link", "To", "Speed"].map(|head| Column::on_page(head).words());
    let mut links = Table::captioned("Links", columns.into());
    for group in groups(&built.links) {
        links.push(link(built, &group));
    }
    let words = testbed::words(summary).unwrap_or_default();
    vec![Document::new().lead(words).table(beside).table(links)]
}

/// Links of one speed that end at the same place, joined: forty devices are one row.
struct LinkGroup<'a> {
    from: Vec<&'a str>,
    to: &'a str,
    bit_s: u64,
}

fn groups(links: &[TestbedLink]) -> Vec<LinkGroup<'_>> {
    let mut groups: Vec<LinkGroup<'_>> = Vec::new();
    for link in links {
        let [from, to] = &link.between;
        match groups.last_mut() {
            Some(last) if last.to == to && last.bit_s == link.bit_s => last.from.push(from),
            _ => groups.push(LinkGroup {
                from: vec![from],
                to,
                bit_s: link.bit_s,
            }),
        }
    }
    groups
}

fn link(testbed: &Testbed, group: &LinkGroup<'_>) -> Vec<TableCell> {
    let from = match group.from.as_slice() {
        [one] => (*one).to_owned(),
        [first, .., last] => {
            let number = thousands(group.from.len() as u64);
            format!("{first} to {last} ({number})")
        }
        [] => String::new(),
    };
    let switch = testbed.switches.iter().find(|it| it.name == group.to);
    let forwards = switch.map(|switch| {
        let forwarding = i64::try_from(switch.forwarding_ns).unwrap_or(i64::MAX);
        format!("a switch, forwards after {}", span(forwarding))
    });
    vec![
        TableCell::text(from),
        TableCell::text(group.to).noted(forwards),
        TableCell::text(speed(group.bit_s)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::budget::BudgetKind;
    use crate::answers::testbed::tests::in_a_testbed;

    fn layer(p50_ns: i64, p99_9_ns: Option<i64>) -> Layer {
        Layer {
            name: "wake-up",
            series: "lateness",
            p50_ns: Some(p50_ns),
            p99_9_ns,
            max_ns: Some(600_000),
            wire_ns: None,
        }
    }

    fn budget() -> Budget {
        Budget {
            kind: BudgetKind::RoundTrip,
            limit_ns: 400_000,
            path: String::new(),
            packets: 5000,
            unanswered: 0,
            whole: layer(100_000, Some(500_000)),
            layers: vec![layer(-5_000, Some(50_000))],
        }
    }

    #[test]
    fn a_bar_is_its_part_of_the_deadline_and_ends_with_it() {
        let text = document(&budget()).html();
        assert!(text.contains("class=\"most\" width=\"12.50\""), "{text}");
        assert!(
            text.contains("class=\"median\" width=\"0.25\""),
            "early: {text}"
        );
        assert!(
            text.contains("class=\"most over\" width=\"100.00\""),
            "{text}"
        );
        assert!(
            text.contains("<td>−100\u{a0}µs</td><td>−200\u{a0}µs</td>"),
            "{text}"
        );
    }

    #[test]
    fn the_wire_is_a_part_of_its_layer() {
        let mut wired = budget();
        wired.layers[0].wire_ns = Some(80_000);
        let text = document(&wired).html();
        let part = text.split("<tr class=\"part\">").nth(1).unwrap_or_default();
        assert!(
            part.starts_with("<th scope=\"row\">of it on the wire (computed)</th>"),
            "{text}"
        );
        assert!(part.contains("width=\"20.00\""), "{text}");
    }

    #[test]
    fn the_longest_stands_for_a_percentile_that_is_not_carried() {
        let mut few = budget();
        few.whole = layer(100_000, None);
        let text = document(&few).html();
        let whole = text.split("<tr class=\"whole\">").nth(1);
        let whole = whole
            .and_then(|it| it.split("</tr>").next())
            .unwrap_or_default();
        assert!(
            whole.contains("most over") && whole.contains("<td>—</td>"),
            "{text}"
        );
    }

    const LINK: &str = "<a href=\"#testbed\">Testbed</a>";

    #[test]
    fn the_page_has_topology_model_and_error() {
        let page = crate::html::render(&[in_a_testbed(40)]);
        assert!(page.contains("<section id=\"testbed\">") && page.contains(LINK));
        assert!(page.contains("joint-1 to joint-40 (40)</th><td>s1"));
        assert!(page.contains("<td>89.32\u{a0}µs</td>"));
        assert!(page.contains("<td>11.4\u{a0}µs</td><td>90\u{a0}µs</td><td>2,000</td><td>—</td>"));
        assert!(page.contains("<td>89.32\u{a0}µs</td><td>1,000</td><td>0</td>"));
    }

    #[test]
    fn a_run_on_a_real_network_has_no_such_section() {
        let page = crate::html::render(&[crate::summary::Summary::default()]);
        assert!(!page.contains("id=\"testbed\"") && !page.contains(LINK));
    }
}
