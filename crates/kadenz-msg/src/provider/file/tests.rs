use std::time::Duration;

use kadenz_rt::clock;

use super::*;
use crate::arrival::Arrival;
use crate::channel::{Channel, Pattern};
use crate::log::{Entry, LoggedChannel};
use crate::provider::{self, More, Received, Wait};

fn url(path: &Path, parameters: &str) -> String {
    format!("file://{}?{parameters}", path.display())
}

fn publish(path: &Path, mode: &str, channels: &[&str]) {
    let provider = provider::open(&url(path, mode)).unwrap();
    let mut outlet = provider.outlet().unwrap();
    for (n, channel) in (0_u8..).zip(channels) {
        outlet
            .publish(&Channel::new(channel).unwrap(), &[n; 9])
            .unwrap();
    }
}

/// The channels and first bytes of all messages, to the end.
fn received(path: &Path, parameters: &str, wanted: &str) -> Vec<(String, u8)> {
    let provider = provider::open(&url(path, parameters)).unwrap();
    let mut inlet = provider.inlet().unwrap();
    inlet.want(&[Pattern::new(wanted).unwrap()]).unwrap();
    let mut all = Vec::new();
    loop {
        let received = inlet.receive(Wait::Forever, &mut |arrival| {
            assert!(arrival.info.stamps.published.is_some());
            all.push((arrival.channel.to_owned(), arrival.payload.bytes()[0]));
            More::GoOn
        });
        if received.unwrap() == Received::Ended {
            return all;
        }
    }
}

#[test]
fn what_is_published_to_a_file_is_received_from_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["log", "log.mcap"] {
        let path = folder.path().join(name);
        publish(&path, "mode=w", &["A", "B", "A"]);
        let all = received(&path, "speed=0", ".*");
        assert_eq!(
            all,
            [
                ("A".to_owned(), 0),
                ("B".to_owned(), 1),
                ("A".to_owned(), 2)
            ]
        );
        assert_eq!(received(&path, "speed=1", "A").len(), 2);
    }
}

#[test]
fn an_event_log_is_appended_to_and_an_mcap_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    publish(&path, "mode=a", &["A"]);
    publish(&path, "mode=a", &["B", "C"]);
    let mut reader = log::open(&path).unwrap();
    let mut entry = Entry::default();
    let mut numbers = Vec::new();
    while reader.read(&mut entry).unwrap() {
        numbers.push((entry.channel.name.clone(), entry.sequence));
    }
    let expected = [("A", 0), ("B", 1), ("C", 2)].map(|(name, n)| (name.to_owned(), n));
    assert_eq!(numbers, expected);
    let path = folder.path().join("log.mcap");
    publish(&path, "mode=w", &["A"]);
    let error = provider::open(&url(&path, "mode=a")).unwrap_err();
    assert!(error.to_string().contains("log merge"), "{error}");
}

#[test]
fn a_wait_for_a_message_far_away_is_woken_and_ends_at_its_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut writer = create(&path).unwrap();
    for seconds in [0, 86_400] {
        let entry = Entry {
            channel: LoggedChannel::lcm("A").into(),
            log_time: WallTime::from_unix_ns(seconds * 1_000_000_000),
            ..Entry::default()
        };
        writer.write(&entry).unwrap();
    }
    writer.finish().unwrap();
    let provider = provider::open(&url(&path, "")).unwrap();
    let mut inlet = provider.inlet().unwrap();
    inlet.want(&[Pattern::new(".*").unwrap()]).unwrap();
    let mut take = |_: Arrival<'_>| More::GoOn;
    assert_eq!(
        inlet.receive(Wait::Forever, &mut take),
        Ok(Received::Messages(1))
    );
    assert_eq!(inlet.receive(Wait::Poll, &mut take), Ok(Received::Nothing));
    let soon = Wait::Until(clock::now() + Duration::from_millis(20));
    assert_eq!(inlet.receive(soon, &mut take), Ok(Received::Nothing));
    let waker = inlet.waker();
    let waking = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        waker.wake();
    });
    assert_eq!(inlet.receive(Wait::Forever, &mut take), Ok(Received::Woken));
    waking.join().unwrap();
}

#[test]
fn what_a_url_does_not_know_is_refused() {
    for parameters in ["mode=x", "speed=fast", "spede=2", "start_timestamp=-1"] {
        assert!(provider::open(&url(Path::new("/tmp/x"), parameters)).is_err());
    }
    assert!(provider::open("file://").is_err());
}

#[test]
fn a_wait_ends_in_time_although_no_message_of_an_endless_log_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    publish(&path, "mode=w", &["A"]);
    let provider = provider::open(&url(&path, "speed=0&loop=yes")).unwrap();
    let mut inlet = provider.inlet().unwrap();
    inlet.want(&[Pattern::new("NOPE").unwrap()]).unwrap();
    let mut receive = |wait| inlet.receive(wait, &mut |_| More::GoOn).unwrap();
    let soon = clock::now() + Duration::from_millis(50);
    assert_eq!(receive(Wait::Until(soon)), Received::Nothing);
    assert!(clock::now() >= soon);
    assert_eq!(receive(Wait::Poll), Received::Nothing);
    let waker = inlet.waker();
    let waking = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        waker.wake();
    });
    let received = inlet.receive(Wait::Forever, &mut |_| More::GoOn);
    assert_eq!(received.unwrap(), Received::Woken);
    waking.join().unwrap();
}
