//! What became of the packets: the counts in words, and a row a device.

use kadenz_record::run::network::{Flow, Network, Places};

use super::figures::{bound, count, printed, span};
use super::markup::Markup;
use super::page::{Page, RunOnPage};
use super::round_trips;
use crate::statistics::Percent;
use crate::verdict::{broadcasts, packets, wire};

/// The section's link in the page's navigation.
pub(super) const LINK: &str = "<a href=\"#packets\">Packets</a>";

/// Whether a run of the page has packets to tell of.
pub(super) fn is_there(page: &Page<'_>) -> bool {
    networks(page).next().is_some()
}

fn networks<'p>(page: &'p Page<'_>) -> impl Iterator<Item = (&'p RunOnPage<'p>, &'p Network)> {
    page.runs
        .iter()
        .filter_map(|run| run.summary.run.network.as_ref().map(|it| (run, it)))
}

/// The section; nothing where no run sent a packet.
pub(super) fn section(out: &mut Markup, page: &Page<'_>) {
    if !is_there(page) {
        return;
    }
    out.tag("<section id=\"packets\"><h2>Packets</h2>");
    round_trips::table(out, page);
    for (run, network) in networks(page) {
        if page.compares() {
            out.element("h3", &run.label);
        }
        out.tag("<p class=\"lead\">")
            .text(printed(&packets::answer(network)))
            .tag("</p>");
        table(out, run, network);
        together(out, run, network);
        through(out, network);
    }
    out.tag("</section>");
}

const HEAD: &str = concat!(
    "<thead><tr><th scope=\"col\">Device</th><th scope=\"col\">Address</th>",
    "<th scope=\"col\">Sent</th><th scope=\"col\">Lost</th><th scope=\"col\">In a row</th>",
    "<th scope=\"col\">Twice</th><th scope=\"col\">Out of order</th>",
    "<th scope=\"col\">Late</th><th scope=\"col\">Median</th><th scope=\"col\">99 %</th>",
    "<th scope=\"col\">Largest</th></tr></thead><tbody>",
);

/// Of more devices than this the table of all comes first, and each one's row is folded away.
const FEW: usize = 4;

fn table(out: &mut Markup, run: &RunOnPage<'_>, network: &Network) {
    let several = network.flows.len() > 1;
    let many = network.flows.len() > FEW;
    if many {
        begin(out, "Packets and round trips of all devices");
        row(out, run, &packets::total(network), "rtt", Note::Bound);
        out.tag("</tbody></table></div><details><summary>Each of the ")
            .text(count(network.flows.len() as u64))
            .tag(" devices</summary>");
    }
    begin(out, "Packets and round trips by device");
    let note = if many { Note::Nothing } else { Note::Bound };
    for flow in &network.flows {
        row(
            out,
            run,
            flow,
            &flow.series("rtt", network.flows.len()),
            note,
        );
    }
    if several && !many {
        row(out, run, &packets::total(network), "rtt", Note::Bound);
    }
    out.tag("</tbody></table></div>");
    if many {
        out.tag("</details>");
    }
}

fn begin(out: &mut Markup, caption: &'static str) {
    out.tag("<div class=\"scroll\" role=\"region\" tabindex=\"0\"");
    out.attr("aria-label", caption).tag("><table><caption>");
    out.tag(caption).tag("</caption>").tag(HEAD);
}

/// What stands below the number of lost packets.
#[derive(Clone, Copy)]
enum Note {
    /// How many may be lost.
    Bound,
    Nothing,
}

fn row(out: &mut Markup, run: &RunOnPage<'_>, flow: &Flow, series: &str, note: Note) {
    let rtt = run
        .summary
        .series
        .iter()
        .find(|it| it.series.name == series);
    let value = |ns: Option<i64>| ns.map_or_else(|| "—".to_owned(), span);
    out.tag("<tr><th scope=\"row\">")
        .text(&flow.device)
        .tag("</th>");
    out.element("td", &flow.address)
        .element("td", count(flow.sent));
    out.tag("<td>").text(count(flow.lost));
    if matches!(note, Note::Bound) {
        let words = format!("fewer than {}", bound(packets::loss_bound(flow)));
        out.tag("<small>").text(words).tag("</small>");
    }
    out.tag("</td>");
    for number in [
        flow.longest_loss,
        flow.duplicates,
        flow.reordered,
        flow.late,
    ] {
        out.element("td", count(number));
    }
    for ns in [
        rtt.and_then(|rtt| rtt.percentile(Percent::P50)),
        rtt.and_then(|rtt| rtt.percentile(Percent::P99)),
        rtt.and_then(|rtt| rtt.max_ns),
    ] {
        out.element("td", value(ns));
    }
    out.tag("</tr>");
}

/// How devices answer broadcasts together: in words, and folded away the places of each.
fn together(out: &mut Markup, run: &RunOnPage<'_>, network: &Network) {
    let Some(answer) = broadcasts::answer(run.summary) else {
        return;
    };
    out.element("p", printed(&answer));
    out.tag("<details><summary>In which order they answer: the places of the ")
        .text(count(network.flows.len() as u64))
        .tag(" devices</summary>");
    out.tag("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"")
        .tag("Places among the answers to broadcasts\"><table>")
        .tag("<caption>Places among the answers to broadcasts</caption>")
        .tag(PLACES);
    let mut placed: Vec<(&Flow, Places)> = network
        .flows
        .iter()
        .filter_map(|flow| flow.places.map(|places| (flow, places)))
        .collect();
    let mean = |places: &Places| places.mean().unwrap_or(f64::INFINITY);
    placed.sort_by(|(_, a), (_, b)| mean(a).total_cmp(&mean(b)));
    for (flow, places) in placed {
        place(out, flow, &places);
    }
    out.tag("</tbody></table></div></details>");
}

const PLACES: &str = concat!(
    "<thead><tr><th scope=\"col\">Device</th><th scope=\"col\">Mean place</th>",
    "<th scope=\"col\">First of all</th><th scope=\"col\">Last of all</th>",
    "<th scope=\"col\">Lowest</th><th scope=\"col\">Highest</th>",
    "<th scope=\"col\">Answers</th></tr></thead><tbody>",
);

fn place(out: &mut Markup, flow: &Flow, places: &Places) {
    let mean = places.mean();
    let mean = mean.map_or_else(|| "—".to_owned(), |mean| format!("{mean:.1}"));
    out.tag("<tr><th scope=\"row\">")
        .text(&flow.device)
        .tag("</th>")
        .element("td", mean);
    for number in [
        places.first,
        places.last,
        places.lowest.into(),
        places.highest.into(),
        places.answers,
    ] {
        out.element("td", count(number));
    }
    out.tag("</tr>");
}

fn through(out: &mut Markup, network: &Network) {
    if let Some(path) = network.path.as_ref().and_then(wire::sentence) {
        out.element("p", printed(&path));
    }
    let Some(interface) = &network.interface else {
        return;
    };
    let facts = [
        interface.kind.clone(),
        interface.driver.clone(),
        interface.speed_mbit_s.map(|it| format!("{it} Mbit/s")),
        interface.mtu_bytes.map(|it| format!("MTU {it} B")),
        Some(format!("{} B of payload a packet", network.payload_bytes)),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    out.tag("<p>Through ")
        .text(&interface.name)
        .tag(": ")
        .text(facts.join(", "))
        .tag(".</p>");
}
