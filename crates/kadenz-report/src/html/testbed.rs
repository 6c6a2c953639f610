//! The testbed that a run was taken in: what was built, what ideal hosts would do there, and how late
//! the testbed itself was.

use kadenz_record::run::testbed::{Testbed, TestbedLink};

use super::figures::{count, printed, span};
use super::markup::Markup;
use super::page::{Page, RunOnPage};
use crate::verdict::testbed::{Beside, of, side_by_side, words};
use crate::verdict::wire::speed;

/// The section's link in the page's navigation.
pub(super) const LINK: &str = "<a href=\"#testbed\">Testbed</a>";

/// Whether a run of the page was taken in a testbed.
pub(super) fn is_there(page: &Page<'_>) -> bool {
    testbeds(page).next().is_some()
}

fn testbeds<'p>(page: &'p Page<'_>) -> impl Iterator<Item = (&'p RunOnPage<'p>, &'p Testbed)> {
    page.runs
        .iter()
        .filter_map(|run| of(run.summary).map(|testbed| (run, testbed)))
}

/// The section; nothing where no run was taken in a testbed.
pub(super) fn section(out: &mut Markup, page: &Page<'_>) {
    if !is_there(page) {
        return;
    }
    out.tag("<section id=\"testbed\"><h2>Testbed</h2>");
    for (run, testbed) in testbeds(page) {
        if page.compares() {
            out.element("h3", &run.label);
        }
        let words = words(run.summary).unwrap_or_default();
        out.tag("<p class=\"lead\">")
            .text(printed(&words))
            .tag("</p>");
        begin(out, "Measurement, model and error");
        out.tag(BESIDE);
        for row in side_by_side(run.summary) {
            beside(out, &row);
        }
        out.tag("</tbody></table></div>");
        begin(out, "Links");
        out.tag(LINKS);
        for group in groups(&testbed.links) {
            link(out, testbed, &group);
        }
        out.tag("</tbody></table></div>");
    }
    out.tag(
        "<p class=\"hint\">A testbed is networks of one machine, joined by switches that are a ",
    );
    out.tag("program. What a round trip takes beyond the model, hosts and testbed have added.</p>");
    out.tag("</section>");
}

const BESIDE: &str = concat!(
    "<thead><tr><th scope=\"col\"></th><th scope=\"col\">Median</th><th scope=\"col\">99 %</th>",
    "<th scope=\"col\">Largest</th><th scope=\"col\">Of so many</th>",
    "<th scope=\"col\">Lost</th></tr></thead><tbody>",
);
const LINKS: &str = concat!(
    "<thead><tr><th scope=\"col\">Link</th><th scope=\"col\">To</th>",
    "<th scope=\"col\">Speed</th></tr></thead><tbody>",
);

fn begin(out: &mut Markup, caption: &'static str) {
    out.tag("<div class=\"scroll\" role=\"region\" tabindex=\"0\"");
    out.attr("aria-label", caption).tag("><table><caption>");
    out.tag(caption).tag("</caption>");
}

fn beside(out: &mut Markup, row: &Beside) {
    out.tag("<tr>")
        .tag("<th scope=\"row\">")
        .text(row.name)
        .tag("</th>");
    for ns in [row.p50_ns, row.p99_ns, row.max_ns] {
        out.element("td", ns.map_or_else(|| "—".to_owned(), span));
    }
    out.element("td", count(row.count));
    let lost = row.lost.map_or_else(|| "—".to_owned(), count);
    out.element("td", lost).tag("</tr>");
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

fn link(out: &mut Markup, testbed: &Testbed, group: &Group<'_>) {
    let from = match group.from.as_slice() {
        [one] => (*one).to_owned(),
        [first, .., last] => format!("{first} to {last} ({})", count(group.from.len() as u64)),
        [] => String::new(),
    };
    out.tag("<tr>")
        .tag("<th scope=\"row\">")
        .text(from)
        .tag("</th>");
    let switch = testbed.switches.iter().find(|it| it.name == group.to);
    out.tag("<td>").text(group.to);
    if let Some(switch) = switch {
        let forwarding = i64::try_from(switch.forwarding_ns).unwrap_or(i64::MAX);
        let words = format!("a switch, forwards after {}", span(forwarding));
        out.tag("<small>").text(words).tag("</small>");
    }
    out.tag("</td>")
        .element("td", speed(group.bit_s))
        .tag("</tr>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::testbed::tests::in_a_testbed;

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
