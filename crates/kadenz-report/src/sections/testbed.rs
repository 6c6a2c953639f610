//! The testbed that a run was taken in: what was built, what ideal hosts would do there, and how late
//! the testbed itself was.

use kadenz_record::run::testbed::{Testbed, TestbedLink};

use crate::answers::testbed;
use crate::document::{Cell, Column, Document, Table};
use crate::figures::span;
use crate::numbers::thousands;
use crate::summary::Summary;
use crate::verdict::wire::speed;

/// The testbed in words, by figures and by links; nothing of a run on a real network. A terminal has the words
/// alone, among those of packets.
pub(crate) fn of(summary: &Summary) -> Vec<Document> {
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
            Cell::text(row.name),
            Cell::span(row.p50_ns),
            Cell::span(row.p99_ns),
            Cell::span(row.max_ns),
            Cell::count(row.count),
            Cell::count(row.lost),
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

/// Links of one speed that end at the same place, as one: forty devices are one row.
struct Group<'a> {
    from: Vec<&'a str>,
    to: &'a str,
    bit_s: u64,
}

fn groups(links: &[TestbedLink]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for link in links {
        let [from, to] = &link.between;
        match groups.last_mut() {
            Some(last) if last.to == to && last.bit_s == link.bit_s => last.from.push(from),
            _ => groups.push(Group {
                from: vec![from],
                to,
                bit_s: link.bit_s,
            }),
        }
    }
    groups
}

fn link(testbed: &Testbed, group: &Group<'_>) -> Vec<Cell> {
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
        Cell::text(from),
        Cell::text(group.to).noted(forwards),
        Cell::text(speed(group.bit_s)),
    ]
}

#[cfg(test)]
mod tests {
    use crate::answers::testbed::tests::in_a_testbed;

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
