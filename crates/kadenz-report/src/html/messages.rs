//! What became of the messages: the counts in words, and a row a subscriber.

use kadenz_record::run::messages::{Messages, ONE_WAY_FROM_SEND, Subscriber};

use super::figures::{count, printed, span};
use super::markup::Markup;
use super::page::{Page, RunOnPage};
use crate::statistics::Percent;
use crate::verdict::messages;

/// The section's link in the page's navigation.
pub(super) const LINK: &str = "<a href=\"#messages\">Messages</a>";

/// Whether a run of the page has messages to tell of.
pub(super) fn is_there(page: &Page<'_>) -> bool {
    measured(page).next().is_some()
}

fn measured<'p>(page: &'p Page<'_>) -> impl Iterator<Item = (&'p RunOnPage<'p>, &'p Messages)> {
    page.runs
        .iter()
        .filter_map(|run| run.summary.run.messages.as_ref().map(|it| (run, it)))
}

const HEAD: &str = concat!(
    "<thead><tr><th scope=\"col\">Subscriber</th><th scope=\"col\">Received</th>",
    "<th scope=\"col\">Lost</th><th scope=\"col\">In a row</th><th scope=\"col\">Twice</th>",
    "<th scope=\"col\">Out of order</th><th scope=\"col\">Dropped</th>",
    "<th scope=\"col\">Median</th><th scope=\"col\">99 %</th>",
    "<th scope=\"col\">Largest</th></tr></thead><tbody>",
);

/// The section; nothing where no run published a message.
pub(super) fn section(out: &mut Markup, page: &Page<'_>) {
    if !is_there(page) {
        return;
    }
    out.tag("<section id=\"messages\"><h2>Messages</h2>");
    for (run, counted) in measured(page) {
        if page.compares() {
            out.element("h3", &run.label);
        }
        out.tag("<p class=\"lead\">")
            .text(printed(&messages::answer(counted)))
            .tag("</p>");
        out.tag("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"")
            .tag("Messages by subscriber\"><table><caption>Messages by subscriber, times from ")
            .tag("publishing on</caption>")
            .tag(HEAD);
        for subscriber in &counted.subscribers {
            row(out, run, counted, subscriber);
        }
        out.tag("</tbody></table></div>");
    }
    out.tag("</section>");
}

fn row(out: &mut Markup, run: &RunOnPage<'_>, counted: &Messages, subscriber: &Subscriber) {
    let name = subscriber.series(ONE_WAY_FROM_SEND, counted.subscribers.len());
    let series = run.summary.named(&name);
    out.tag("<tr><th scope=\"row\">")
        .text(&subscriber.name)
        .tag("</th>");
    for number in [
        subscriber.received,
        subscriber.lost,
        subscriber.longest_loss,
        subscriber.duplicates,
        subscriber.reordered,
        subscriber.dropped + subscriber.overrun,
    ] {
        out.element("td", count(number));
    }
    for ns in [
        series.and_then(|it| it.percentile(Percent::P50)),
        series.and_then(|it| it.percentile(Percent::P99)),
        series.and_then(|it| it.max_ns),
    ] {
        out.element("td", ns.map_or_else(|| "—".to_owned(), span));
    }
    out.tag("</tr>");
}
