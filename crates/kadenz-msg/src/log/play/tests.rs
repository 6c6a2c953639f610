use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::*;
use crate::channel::{ChannelFilter, Pattern};
use crate::log::{LogWriter as _, LoggedChannel, SmallDisk, event};

const BEGIN_NS: i64 = 1_700_000_000_000_000_000;
const MS: i64 = 1_000_000;

/// Ten messages, 10 ms apart, on A and B by turns.
fn log() -> Box<dyn LogReader> {
    let disk = SmallDisk::with_room(u64::MAX);
    let mut writer = Box::new(event::EventWriter::new(Box::new(disk.clone())));
    for n in 0..10 {
        let entry = Entry {
            channel: LoggedChannel::lcm(["A", "B"][n as usize % 2]).into(),
            log_time: WallTime::from_unix_ns(BEGIN_NS + n * 10 * MS),
            ..Entry::default()
        };
        writer.write(&entry).unwrap();
    }
    writer.finish().unwrap();
    Box::new(event::EventReader::open(Cursor::new(disk.contents())).unwrap())
}

#[test]
fn what_could_not_be_read_is_counted_once_however_often_it_is_played() {
    let disk = SmallDisk::with_room(u64::MAX);
    let mut writer = Box::new(event::EventWriter::new(Box::new(disk.clone())));
    for n in 0..10 {
        let entry = Entry {
            channel: LoggedChannel::lcm("A").into(),
            log_time: WallTime::from_unix_ns(BEGIN_NS + n * MS),
            ..Entry::default()
        };
        writer.write(&entry).unwrap();
    }
    writer.finish().unwrap();
    let mut bytes = disk.contents();
    bytes.truncate(bytes.len() - 3);
    let reader = Box::new(event::EventReader::open(Cursor::new(bytes)).unwrap());
    let options = PlayOptions {
        looped: true,
        ..PlayOptions::default()
    };
    let mut player = Player::new(reader, options).unwrap();
    let mut time = VirtualTime::default();
    for _ in 0..30 {
        let due = player.next_due(time.now()).unwrap().unwrap();
        time.sleep_until(due);
        player.take().unwrap();
    }
    assert_eq!(player.damage().places, 1);
}

/// Returns number and time, in ms, of each message.
fn played(options: PlayOptions, most: usize) -> Vec<(u32, f64)> {
    let mut player = Player::new(log(), options).unwrap();
    let mut time = VirtualTime::default();
    let mut all = Vec::new();
    while let Some(due) = player.next_due(time.now()).unwrap() {
        if all.len() == most {
            break;
        }
        time.sleep_until(due);
        let entry = player.take().unwrap();
        all.push((entry.sequence, due.as_ns() as f64 / 1e6));
    }
    all
}

#[test]
fn messages_come_at_the_times_of_the_log_over_the_speed() {
    for (speed, step) in [(1.0, 10.0), (2.0, 5.0), (0.1, 100.0), (0.0, 0.0)] {
        let options = PlayOptions {
            speed,
            ..PlayOptions::default()
        };
        let expected: Vec<(u32, f64)> = (0..10).map(|n| (n, f64::from(n) * step)).collect();
        assert_eq!(played(options, 99), expected, "{speed}");
    }
}

#[test]
fn a_message_that_was_late_makes_none_of_the_next_ones_late() {
    let mut player = Player::new(log(), PlayOptions::default()).unwrap();
    let mut time = VirtualTime::default();
    let mut late = Vec::new();
    let mut taken = 0;
    while let Some(due) = player.next_due(time.now()).unwrap() {
        time.sleep_until(due);
        late.push(time.now().since(due) / MS);
        let _ = player.take();
        taken += 1;
        if taken == 3 {
            // The receiver is slow.
            time.0 = time.0.offset_by_ns(25 * MS);
        }
    }
    assert_eq!(late, [0, 0, 0, 15, 5, 0, 0, 0, 0, 0]);
}

#[test]
fn the_time_of_a_search_through_the_log_is_not_made_up_for() {
    let mut time = SharedTime::default();
    let reader = SlowReader(log(), time.clone());
    let options = PlayOptions {
        channels: only("B"),
        ..PlayOptions::default()
    };
    let mut player = Player::new(Box::new(reader), options).unwrap();
    let mut late = Vec::new();
    let mut keep = |it: Played<'_>| late.push(it.lateness_ns);
    let count = play(&mut player, &mut time, &mut || false, &mut keep);
    assert_eq!((count.unwrap(), late[0]), (5, 0), "{late:?}");
}

#[test]
fn playing_ends_where_nothing_is_left_to_play() {
    let options = PlayOptions {
        looped: true,
        loss: 1.0,
        ..PlayOptions::default()
    };
    let mut player = Player::new(log(), options).unwrap();
    let mut looks = 0;
    let mut stop = || {
        looks += 1;
        looks > 1000
    };
    let mut time = VirtualTime::default();
    let played = play(&mut player, &mut time, &mut stop, &mut |_| {
        panic!("all is lost")
    });
    assert_eq!(played.unwrap(), 0);
}

/// A clock that a reader advances, too.
#[derive(Clone, Default)]
struct SharedTime(Arc<AtomicU64>);

impl Timing for SharedTime {
    fn now(&self) -> MonotonicTime {
        MonotonicTime::from_ns(self.0.load(Ordering::Relaxed))
    }

    fn sleep_until(&mut self, deadline: MonotonicTime) {
        self.0.fetch_max(deadline.as_ns(), Ordering::Relaxed);
    }
}

/// A log of which each message takes 1 ms to read.
struct SlowReader(Box<dyn LogReader>, SharedTime);

impl LogReader for SlowReader {
    fn read(&mut self, entry: &mut Entry) -> Result<bool, LogError> {
        self.1.0.fetch_add(MS as u64, Ordering::Relaxed);
        self.0.read(entry)
    }

    fn seek(&mut self, time: WallTime) -> Result<(), LogError> {
        self.0.seek(time)
    }

    fn outline(&self) -> crate::log::info::Info {
        self.0.outline()
    }

    fn damage(&self) -> Damage {
        self.0.damage()
    }

    fn progress(&self) -> (u64, u64) {
        self.0.progress()
    }
}

fn only(channel: &str) -> ChannelFilter {
    ChannelFilter {
        patterns: vec![Pattern::new(channel).unwrap()],
        inverted: false,
    }
}

#[test]
fn a_part_of_the_log_and_some_of_its_channels() {
    let at = |n: i64| Some(WallTime::from_unix_ns(BEGIN_NS + n * 10 * MS));
    let options = PlayOptions {
        from: at(3),
        until: at(8),
        channels: only("B"),
        ..PlayOptions::default()
    };
    let inverted = PlayOptions {
        channels: ChannelFilter {
            inverted: true,
            ..only("B")
        },
        ..options.clone()
    };
    assert_eq!(played(options, 99), [(3, 0.0), (5, 20.0), (7, 40.0)]);
    assert_eq!(played(inverted, 99), [(4, 0.0), (6, 20.0)]);
}

#[test]
fn a_loop_goes_on_where_the_round_before_has_ended() {
    let options = PlayOptions {
        looped: true,
        ..PlayOptions::default()
    };
    let all = played(options.clone(), 25);
    assert_eq!(all[10], (0, 90.0));
    assert_eq!(all[24], (4, 220.0));
    let nothing = PlayOptions {
        channels: only("C"),
        ..options
    };
    assert!(played(nothing, 25).is_empty());
}

#[test]
fn jitter_and_loss_are_the_same_for_a_seed_and_keep_the_order() {
    let options = |seed| PlayOptions {
        jitter: Duration::from_millis(30),
        loss: 0.3,
        looped: true,
        seed,
        ..PlayOptions::default()
    };
    let all = played(options(7), 1000);
    assert_eq!(all, played(options(7), 1000));
    assert_ne!(all, played(options(8), 1000));
    assert!(all.windows(2).all(|two| two[0].1 <= two[1].1));
    let mut player = Player::new(
        log(),
        PlayOptions {
            looped: false,
            ..options(7)
        },
    )
    .unwrap();
    let mut count = 0;
    let mut time = VirtualTime::default();
    play(&mut player, &mut time, &mut || false, &mut |_| count += 1).unwrap();
    assert_eq!(count + player.lost(), 10);
    assert!(player.lost() > 0);
}
