//! The table of messages: a row a subscriber.

use kadenz_record::run::messages::{Messages, ONE_WAY_FROM_SEND, Subscriber};

use super::Style;
use super::table::{Cell, Table};
use super::text::{Text, wrap};
use crate::numbers;
use crate::statistics::Percent;
use crate::summary::Summary;
use crate::verdict::messages;

const HEADER: [&str; 9] = [
    "subscriber",
    "received",
    "lost",
    "twice",
    "reordered",
    "dropped",
    "50 %",
    "99 %",
    "max",
];
/// How many subscribers stand in the table.
const SHOWN: usize = 48;

/// What became of the messages, in words and by subscriber, with the times from publishing on; absent
/// in a run that published none. The longest loss stands on the page and in JSON: the table is wide
/// enough.
pub(super) fn messages(summary: &Summary, style: Style) -> Option<Text> {
    let counted = summary.run.messages.as_ref()?;
    let mut table = Table::new(style);
    table.set_header(HEADER);
    for subscriber in counted.subscribers.iter().take(SHOWN) {
        table.add_row(row(subscriber, counted, summary));
    }
    table.align_right_from(1);
    let words = wrap(&messages::answer(counted), style.width);
    Some(Text::join([words.into(), table.text()], "\n\n"))
}

fn row(subscriber: &Subscriber, counted: &Messages, summary: &Summary) -> Vec<Cell> {
    let number = |count: u64| Cell::new(numbers::thousands(count));
    let name = subscriber.series(ONE_WAY_FROM_SEND, counted.subscribers.len());
    let series = summary.named(&name);
    let value =
        |ns: Option<i64>| Cell::new(ns.map_or_else(String::new, |ns| numbers::value(ns as f64)));
    vec![
        Cell::new(&subscriber.name),
        number(subscriber.received),
        number(subscriber.lost).judged(subscriber.lost == 0),
        number(subscriber.duplicates),
        number(subscriber.reordered),
        number(subscriber.dropped + subscriber.overrun),
        value(series.and_then(|it| it.percentile(Percent::P50))),
        value(series.and_then(|it| it.percentile(Percent::P99))),
        value(series.and_then(|it| it.max_ns)),
    ]
}
