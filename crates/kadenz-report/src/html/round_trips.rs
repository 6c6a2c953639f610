//! Round trips of compared runs: a row a run, as Enner compares switches and hosts.

use super::figures::{count, span};
use super::markup::Markup;
use super::page::Page;
use crate::compare::NetworkRow;
use crate::compare::network::rows;
use crate::verdict::wire::{self, RoundTrip};

const HEAD: &str = concat!(
    "<thead><tr><th scope=\"col\">Run</th><th scope=\"col\">Connection</th>",
    "<th scope=\"col\">90 % round trip</th><th scope=\"col\">Of it on the wire</th>",
    "<th scope=\"col\">Not on the wire</th><th scope=\"col\">Packets</th>",
    "<th scope=\"col\">Lost</th><th scope=\"col\">Out of order</th>",
    "<th scope=\"col\">Machine</th></tr></thead><tbody>",
);
const HINT: &str = concat!(
    "<p class=\"hint\">Time on the wire is computed for one packet and its answer; what is not on the ",
    "wire are switches, queues, cards, systems and the device. Small: how much more or less than in ",
    "the first run.</p>",
);

/// The table of a page that compares; nothing where no two runs sent packets.
pub(super) fn table(out: &mut Markup, page: &Page<'_>) {
    let rows = rows(page.runs.iter().map(|run| run.summary));
    if rows.is_empty() {
        return;
    }
    out.tag(concat!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" ",
        "aria-label=\"Round trips of all runs\"><table><caption>Round trips of all runs</caption>",
    ));
    out.tag(HEAD);
    for row in &rows {
        one(out, &page.runs[row.run].label, row);
    }
    out.tag("</tbody></table></div>").tag(HINT);
}

fn one(out: &mut Markup, label: &str, row: &NetworkRow) {
    out.tag("<tr><th scope=\"row\">").text(label).tag("</th>");
    let path = row.path.as_ref();
    out.element("td", path.map_or_else(unknown, wire::connection));
    let beyond = row.beyond_baseline.map(times);
    for (at, ns) in times(row.round_trip).into_iter().enumerate() {
        out.tag("<td>").text(ns.map_or_else(unknown, span));
        if let Some(more) = beyond.and_then(|all| all[at]) {
            out.tag("<small>").text(signed(more)).tag("</small>");
        }
        out.tag("</td>");
    }
    for number in [row.packets, row.lost, row.reordered] {
        out.element("td", count(number));
    }
    let host = &row.host;
    let speed = host.speed_mbit_s.filter(|megabits| *megabits > 0);
    let facts = [
        host.machine.clone(),
        host.kernel.clone(),
        host.interface.clone(),
        host.driver.clone(),
        speed.map(|megabits| wire::speed(u64::from(megabits) * 1_000_000)),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    out.element("td", facts.join(", ")).tag("</tr>");
}

fn times(of: RoundTrip) -> [Option<i64>; 3] {
    [of.measured_ns, of.wire_ns, of.not_on_wire_ns()]
}

fn unknown() -> String {
    "—".to_owned()
}

fn signed(ns: i64) -> String {
    let sign = if ns >= 0 { "+" } else { "" };
    format!("{sign}{}", span(ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::network::tests::{post, round_trips};

    fn page(runs: &[crate::summary::Summary]) -> String {
        let mut out = Markup::default();
        table(&mut out, &Page::without_signals(runs));
        out.finish()
    }

    #[test]
    fn a_row_says_what_is_wire_and_what_came_with_the_switch() {
        let text = page(&post());
        assert!(
            text.contains("<td>2x 100 Mbit/s</td><td>193.8\u{a0}µs</td>"),
            "{text}"
        );
        assert!(text.contains("<small>+43.5\u{a0}µs</small>"), "{text}");
        assert!(text.contains("<small>+2.86\u{a0}µs</small>"), "{text}");
    }

    #[test]
    fn one_run_alone_is_compared_with_nothing() {
        assert_eq!(page(&post()[..1]), "");
        let unknown = [round_trips("a", 1000, None), round_trips("<b>", 1000, None)];
        let text = page(&unknown);
        assert!(
            text.contains("&lt;b&gt;") && text.contains("<td>—</td>"),
            "{text}"
        );
    }
}
