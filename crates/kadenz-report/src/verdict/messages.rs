//! The verdict on messages: how many were lost, and where.

use kadenz_record::run::messages::{Messages, Subscriber};

use super::groups::{of_rows, of_rows_together};
use super::packets::lost_words;
use crate::numbers;

/// One-sided 95 % upper bound of the share of messages that a subscriber loses; the longest row
/// of losses counts as one event.
#[must_use]
pub fn loss_bound(messages: &Messages, subscriber: &Subscriber) -> f64 {
    of_rows(messages.published, subscriber.lost, subscriber.longest_loss).0
}

/// All subscribers' losses in one number.
#[must_use]
pub fn lost(messages: &Messages) -> u64 {
    messages.subscribers.iter().map(|it| it.lost).sum()
}

/// The counts in a sentence or two.
///
/// ```
/// use kadenz_record::run::messages::{Messages, Subscriber};
/// use kadenz_report::verdict::messages;
///
/// let subscriber = Subscriber { received: 20_000, ..Subscriber::default() };
/// let counted = Messages {
///     url: "memq://".into(),
///     message_bytes: 200,
///     published: 20_000,
///     subscribers: vec![subscriber],
///     ..Messages::default()
/// };
/// assert_eq!(
///     messages::answer(&counted),
///     "Of 20,000 messages of 200 B over memq:// none was lost, so fewer than 150 in a million at \
///      95 % confidence, if each is independent; 0 duplicated, 0 reordered."
/// );
/// ```
#[must_use]
pub fn answer(messages: &Messages) -> String {
    if messages.published == 0 {
        return "No message was published.".to_owned();
    }
    let subscribers = &messages.subscribers;
    let sum = |of: fn(&Subscriber) -> u64| subscribers.iter().map(of).sum::<u64>();
    let lost = lost(messages);
    let copies = messages.published * subscribers.len() as u64;
    let rows = subscribers.iter().map(|it| it.longest_loss);
    let bound = of_rows_together(copies, lost, rows);
    let lost = lost_words(lost, copies, "", bound);
    let to = match subscribers.len() {
        1 => String::new(),
        several => format!(" to {several} subscribers"),
    };
    let mut text = format!(
        "Of {} messages of {} B{to} over {} {lost}; {} duplicated, {} reordered.",
        numbers::thousands(messages.published),
        numbers::thousands(messages.message_bytes),
        messages.url,
        numbers::thousands(sum(|it| it.duplicates)),
        numbers::thousands(sum(|it| it.reordered)),
    );
    let here = [
        (messages.refused, "the provider refused to send"),
        (sum(|it| it.dropped), "found a subscriber's queue full"),
        (sum(|it| it.overrun), "found the transport's buffer full"),
        (sum(|it| it.incomplete), "came in part only"),
        (sum(|it| it.damaged), "came with altered content"),
    ];
    for (count, words) in here.iter().filter(|(count, _)| *count > 0) {
        text += &format!(" {} {words}.", numbers::thousands(*count));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_reported_with_where_they_happened() {
        let subscriber = Subscriber {
            received: 990,
            lost: 10,
            duplicates: 2,
            overrun: 10,
            ..Subscriber::default()
        };
        let counted = Messages {
            url: "udpm://a".to_owned(),
            message_bytes: 1_000_000,
            published: 1000,
            subscribers: vec![subscriber.clone(), subscriber],
            ..Messages::default()
        };
        let text = answer(&counted);
        assert!(
            text.starts_with(
                "Of 1,000 messages of 1,000,000 B to 2 subscribers over udpm://a 20 (1 %) were lost"
            ),
            "{text}"
        );
        assert!(
            text.ends_with("4 duplicated, 0 reordered. 20 found the transport's buffer full."),
            "{text}"
        );
        assert_eq!(answer(&Messages::default()), "No message was published.");
    }

    #[test]
    fn more_subscribers_that_lose_alike_do_not_tighten_the_bound() {
        let subscriber = Subscriber {
            received: 960,
            lost: 40,
            longest_loss: 20,
            ..Subscriber::default()
        };
        let bound_of = |subscribers: usize| {
            let counted = Messages {
                published: 1000,
                subscribers: vec![subscriber.clone(); subscribers],
                ..Messages::default()
            };
            let text = answer(&counted);
            let bound = text.split_once("fewer than ").unwrap().1;
            bound.split_once(" at 95 %").unwrap().0.to_owned()
        };
        assert_eq!(bound_of(2), bound_of(1));
    }
}
