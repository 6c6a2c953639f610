use super::*;
use crate::arrival::{Scope, SenderId, Sequence};

fn at(ms: u64) -> MonotonicTime {
    MonotonicTime::from_ns(ms * 1_000_000)
}

fn received(name: &str, ms: u64) -> ReceivedMessage {
    ReceivedMessage::at(at(ms), Channel::new(name).unwrap(), 100)
}

fn numbered(name: &str, ms: u64, sender: u128, number: u32) -> ReceivedMessage {
    let scope = Scope::Sender;
    let sequence = Sequence { number, scope };
    ReceivedMessage {
        source: SourceInfo::new(SenderId(sender), Some(sequence)),
        ..received(name, ms)
    }
}

#[test]
fn figures_list_channels_by_name_with_their_counts() {
    let mut watcher = Watcher::new(WatchOptions::default());
    for ms in 0..10 {
        watcher.add(&received("B", ms * 100));
    }
    watcher.add(&ReceivedMessage {
        fingerprint: Some(Fingerprint(7)),
        ..received("A", 900)
    });
    watcher.undecodable(Channel::new("A").unwrap());
    let figures = watcher.figures(at(900));
    let counts: Vec<_> = figures
        .iter()
        .map(|it| (it.channel.as_str(), it.messages, it.bytes, it.undecodable))
        .collect();
    assert_eq!(counts, [("A", 1, 100, 1), ("B", 10, 1000, 0)]);
    assert_eq!(figures[0].fingerprint, Some(Fingerprint(7)));
    assert!(figures[0].pace.is_none() && figures[1].pace.is_some());
    assert_eq!(figures[1].loss, None, "no message had a number");
}

#[test]
fn loss_of_a_sender_of_one_channel_counts_there() {
    let mut watcher = Watcher::new(WatchOptions::default());
    for number in [0, 1, 4, 5, 5] {
        watcher.add(&numbered("A", 0, 1, number));
    }
    watcher.add(&numbered("A", 0, 2, 10));
    let figures = watcher.figures(at(0));
    let loss = figures[0].loss.unwrap();
    assert_eq!((loss.lost, loss.duplicated), (2, 1));
    let lost = |of: &SenderFigures| of.loss.map(|it| it.lost);
    let senders: Vec<_> = figures[0].senders.iter().map(lost).collect();
    assert_eq!(senders, [Some(2), Some(0)]);
}

#[test]
fn loss_of_a_sender_of_several_channels_counts_for_no_single_one() {
    let mut watcher = Watcher::new(WatchOptions::default());
    for (name, number) in [("A", 0), ("B", 1), ("A", 3)] {
        watcher.add(&numbered(name, 0, 1, number));
    }
    assert!(watcher.figures(at(0)).iter().all(|it| it.loss.is_none()));
    let across = watcher.losses().filter(|it| it.channel.is_none());
    assert_eq!(across.map(|it| it.tally.lost).sum::<u64>(), 1);
}

#[test]
fn a_channel_of_several_types_is_noticed() {
    let mut watcher = Watcher::new(WatchOptions::default());
    for fingerprint in [1, 1, 2, 1] {
        watcher.add(&ReceivedMessage {
            fingerprint: Some(Fingerprint(fingerprint)),
            ..received("A", 0)
        });
    }
    assert_eq!(watcher.figures(at(0))[0].type_changes, 2);
}

#[test]
fn a_flood_of_names_takes_bounded_memory_and_hides_no_channel_that_was_there() {
    let mut watcher = Watcher::new(WatchOptions {
        most_channels: 10,
        ..WatchOptions::default()
    });
    watcher.add(&received("REAL", 0));
    for name in 0..10_000 {
        watcher.add(&received(&format!("FLOOD_{name}"), 1));
    }
    watcher.add(&received("REAL", 2));
    let figures = watcher.figures(at(2));
    assert_eq!(figures.len(), 10);
    let real = figures.iter().find(|it| it.channel.as_str() == "REAL");
    assert_eq!(real.map(|it| it.messages), Some(2));
    let untracked = watcher.untracked();
    assert_eq!((untracked.messages, untracked.bytes), (9_991, 999_100));
}
