//! What became of the messages: the counts in words, and a row a subscriber.

use kadenz_record::run::messages::ONE_WAY_FROM_SEND;

use crate::document::{Cell, Column, Document, Table};
use crate::statistics::Percent;
use crate::summary::Summary;
use crate::verdict::messages;

/// How many subscribers stand in a terminal's table.
const MAX_DRAWN: usize = 48;

/// What became of the messages, with the times from publishing on; nothing of a run that published none. The
/// longest loss stands on the page and in JSON: a terminal's table is wide enough.
pub(crate) fn of(summary: &Summary) -> Vec<Document> {
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
    table.label = "Messages by subscriber".into();
    for it in &counted.subscribers {
        let name = it.series(ONE_WAY_FROM_SEND, counted.subscribers.len());
        let series = summary.named(&name);
        table.push(vec![
            Cell::text(&it.name),
            Cell::count(it.received),
            Cell::count(it.lost).judged(it.lost == 0),
            Cell::count(it.longest_loss),
            Cell::count(it.duplicates),
            Cell::count(it.reordered),
            Cell::count(it.dropped + it.overrun),
            Cell::span(series.and_then(|it| it.percentile(Percent::P50))),
            Cell::span(series.and_then(|it| it.percentile(Percent::P99))),
            Cell::span(series.and_then(|it| it.max_ns)),
        ]);
    }
    let answer = messages::answer(counted);
    vec![Document::new().lead(answer).table(table)]
}
