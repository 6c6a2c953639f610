//! The datagrams that a device answers, and those that it does not.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::num::NonZeroU32;

use kadenz_udp::device::{Answer, Echo, EchoCounts, PerSecond, Policy, RateLimit, SilenceReason};
use kadenz_udp::wire::{
    DeviceStamps, Discover, Kind, Name, Packet, Probe, RunId, Sequence, Stamp, Token,
};
use proptest::prelude::*;

fn token() -> Token {
    Token::new(b"arm of robot 3").unwrap()
}

fn probe(stamps: bool, token: Option<&Token>) -> Vec<u8> {
    let mut bytes = vec![0; 100];
    let probe = Probe {
        run: RunId(7),
        sequence: Sequence(9),
        stamp: Stamp(11),
        stamps,
        token,
    };
    probe.write(&mut bytes).unwrap();
    bytes
}

fn with_token() -> Echo {
    Echo::new(Policy {
        token: Some(token()),
        ..Policy::default()
    })
}

fn per_second(rate: u32, burst: u32) -> PerSecond {
    let number = |it| NonZeroU32::new(it).unwrap();
    PerSecond::new(number(rate)).with_burst(number(burst))
}

#[test]
fn all_but_the_kind_comes_back_as_it_came() {
    let mut bytes = probe(false, None);
    let mut expected = bytes.clone();
    expected[0] = Kind::Reply.first_byte();
    assert_eq!(
        Echo::new(Policy::default()).on_datagram(0, &mut bytes),
        Answer::Reply(100)
    );
    assert_eq!(bytes, expected);
}

#[test]
fn an_answer_without_the_departure_is_not_taken_for_a_complete_one() {
    let token = token();
    let mut bytes = probe(true, Some(&token));
    let mut echo = with_token();
    echo.on_datagram(5, &mut bytes);
    assert!(Packet::open(&bytes, Some(&token)).is_err());
    echo.stamp_departure(8, &mut bytes);
    let stamps = Packet::open(&bytes, Some(&token)).unwrap().device_stamps();
    let expected = DeviceStamps {
        received_ns: 5,
        transmitted_ns: 8,
    };
    assert_eq!(stamps, Some(expected));
    assert_eq!(expected.held_ns(), 3);
}

#[test]
fn a_departure_changes_no_question_and_nothing_that_has_no_room_for_it() {
    let echo = Echo::new(Policy::default());
    let answered = |stamps| {
        let mut bytes = probe(stamps, None);
        echo.clone().on_datagram(0, &mut bytes);
        bytes
    };
    for mut bytes in [probe(true, None), answered(false), vec![0xA2; 3]] {
        let before = bytes.clone();
        echo.stamp_departure(8, &mut bytes);
        assert_eq!(bytes, before);
    }
}

#[test]
fn two_devices_do_not_talk_for_ever() {
    let mut devices = [Echo::new(Policy::default()), Echo::new(Policy::default())];
    let mut bytes = probe(true, None);
    let mut crossings = 0;
    while let Answer::Reply(_) = devices[crossings % 2].on_datagram(0, &mut bytes) {
        crossings += 1;
    }
    assert_eq!(crossings, 1);
}

#[test]
fn each_silence_is_counted_under_its_reason() {
    let mut echo = Echo::new(Policy {
        token: Some(token()),
        rate: Some(per_second(1, 1)),
        name: Name::EMPTY,
    });
    let theirs = Token::new(b"another robot").unwrap();
    let mut reply = probe(false, Some(&token()));
    reply[0] = Kind::Reply.first_byte();
    let cases = [
        (b"hello".to_vec(), Answer::Silent(SilenceReason::Malformed)),
        (reply, Answer::Silent(SilenceReason::NotAQuestion)),
        (
            probe(false, Some(&theirs)),
            Answer::Silent(SilenceReason::WrongToken),
        ),
        (
            probe(false, None),
            Answer::Silent(SilenceReason::WrongToken),
        ),
        (probe(false, Some(&token())), Answer::Reply(100)),
        (
            probe(false, Some(&token())),
            Answer::Silent(SilenceReason::TooFast),
        ),
    ];
    for (mut bytes, expected) in cases {
        assert_eq!(echo.on_datagram(0, &mut bytes), expected);
    }
    let expected = EchoCounts {
        answered: 1,
        malformed: 1,
        not_a_question: 1,
        wrong_token: 2,
        too_fast: 1,
    };
    assert_eq!(echo.counts(), expected);
}

#[test]
fn probes_without_the_token_use_up_no_rate() {
    let mut echo = Echo::new(Policy {
        token: Some(token()),
        rate: Some(per_second(1, 1)),
        ..Policy::default()
    });
    for _ in 0..100 {
        let strange = echo.on_datagram(0, &mut probe(false, None));
        assert_eq!(strange, Answer::Silent(SilenceReason::WrongToken));
    }
    let known = echo.on_datagram(0, &mut probe(false, Some(&token())));
    assert_eq!(known, Answer::Reply(100));
}

#[test]
fn a_silent_device_leaves_the_datagram_as_it_came() {
    let mut bytes = probe(true, None);
    let before = bytes.clone();
    with_token().on_datagram(3, &mut bytes);
    assert_eq!(bytes, before);
}

#[test]
fn a_name_is_returned_with_token_and_all() {
    let token = token();
    let name = Name::new("left knee").unwrap();
    let mut bytes = [0; Discover::ROOMY_BYTES];
    let question = Discover {
        run: RunId(7),
        sequence: Sequence(0),
        stamp: Stamp(0),
        token: Some(&token),
    };
    question.write(&mut bytes).unwrap();
    let mut echo = Echo::new(Policy {
        token: Some(token.clone()),
        name,
        ..Policy::default()
    });
    assert_eq!(echo.on_datagram(0, &mut bytes), Answer::Reply(bytes.len()));
    let answer = Packet::open(&bytes, Some(&token)).unwrap();
    assert_eq!(answer.name(), Ok(name));
}

proptest! {
    #[test]
    fn no_answer_is_longer_than_its_question_or_a_question(
        bytes in prop::collection::vec(any::<u8>(), 0..120),
        first in 0_usize..7,
        flags in 0_u8..5,
        now_ns in any::<u64>(),
    ) {
        let mut bytes = bytes;
        if let (Some(kind), [byte, second, ..]) = (Kind::ALL.get(first), &mut bytes[..]) {
            (*byte, *second) = (kind.first_byte(), flags);
        }
        let question = Packet::parse(&bytes).ok().map(|it| it.kind());
        let before = bytes.len();
        let mut echo = Echo::new(Policy { name: Name::new("left knee").unwrap(), ..Policy::default() });
        if let Answer::Reply(length) = echo.on_datagram(now_ns, &mut bytes) {
            prop_assert!(length <= before);
            echo.stamp_departure(now_ns, &mut bytes[..length]);
            let answer = Packet::parse(&bytes[..length]).unwrap();
            let expected = if question == Some(Kind::Probe) { Kind::Reply } else { Kind::Present };
            prop_assert_eq!(answer.kind(), expected);
            prop_assert_eq!(echo.on_datagram(now_ns, &mut bytes[..length]), Answer::Silent(SilenceReason::NotAQuestion));
        }
    }

    /// In no span do more pass than the burst and what the span earned; and none is refused that
    /// the same bucket in fractions would let pass.
    #[test]
    fn the_rate_is_kept_exactly(
        rate in 1_u32..2000,
        burst in 1_u32..20,
        steps in prop::collection::vec(0_u64..5_000_000, 1..300),
    ) {
        let mut limit = RateLimit::new(per_second(rate, burst));
        let (mut now, mut passed) = (0_u64, Vec::new());
        let (mut naive, mut last) = (u128::from(burst) * 1_000_000_000, 0_u64);
        for step in steps {
            now += step;
            let most = u128::from(burst) * 1_000_000_000;
            naive = most.min(naive + u128::from(now - last) * u128::from(rate));
            last = now;
            let passes = limit.passes(now);
            prop_assert_eq!(passes, naive >= 1_000_000_000);
            if passes {
                naive -= 1_000_000_000;
                passed.push(now);
            }
        }
        for (at, from) in passed.iter().enumerate() {
            for (until, to) in passed.iter().enumerate().skip(at) {
                let span = u128::from(to - from);
                let allowed = u128::from(burst) * 1_000_000_000 + span * u128::from(rate);
                prop_assert!((until - at + 1) as u128 * 1_000_000_000 <= allowed);
            }
        }
    }

    #[test]
    fn a_clock_that_jumps_back_earns_no_time_twice(times in prop::collection::vec(0_u64..20_000_000_000, 1..100)) {
        let mut limit = RateLimit::new(per_second(1, 2));
        let latest = *times.iter().max().unwrap();
        let passed = times.iter().filter(|now| limit.passes(**now)).count();
        prop_assert!(passed as u64 <= 2 + latest / 1_000_000_000, "{passed} by {latest}");
    }
}
