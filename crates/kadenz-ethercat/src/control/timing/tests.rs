use std::time::Duration;

use super::*;
use crate::control::cyclic::LoopMode;
use crate::main_device::layout::Layout;
use kadenz_rt::clock::MonotonicTime;

fn report<'c>(number: u64, late_us: i64, layout: &'c Layout) -> CycleReport<'c> {
    let at = |us: i64| {
        let ns = number as i64 * 1_000_000 + us * 1000;
        MonotonicTime::from_ns(ns as u64)
    };
    CycleReport {
        number,
        beat: number,
        intended: at(0),
        woken: at(late_us),
        received: at(late_us + 2),
        controlled: at(late_us + 12),
        sent: at(late_us + 15),
        ended: at(late_us + 16),
        before: (number > 1).then(|| at(-1000)),
        mode: LoopMode::Pipelined,
        outcome: (number > 1).then_some(Outcome {
            sent: 1,
            answered: 1,
            whole: u16::from(number != 3),
            ..Outcome::default()
        }),
        overrun: number == 4,
        skipped: if number == 4 { 2 } else { 0 },
        counts: LinkCounts {
            late: number,
            ..LinkCounts::default()
        },
        layout,
        inputs: &[],
        outputs: &[],
    }
}

fn timing(cycles: u64) -> Timing {
    let timing = Timing::new(&LoopSettings::every(Duration::from_millis(1)).unwrap());
    let layout = Layout::of(&[], 100).unwrap();
    let mut observer = &timing;
    for number in 1..=cycles {
        observer.cycle(&report(number, if number == 2 { 50 } else { 0 }, &layout));
    }
    timing
}

#[test]
fn every_number_is_what_the_cycles_reported() {
    let seen = timing(1000).snapshot();
    assert_eq!(
        (seen.cycles, seen.exchanges, seen.whole_exchanges),
        (1000, 999, 998)
    );
    assert_eq!((seen.overruns, seen.skipped_beats), (1, 2));
    assert_eq!(seen.frames.working_counter_mismatches, 1);
    assert_eq!(
        (seen.frames.sent, seen.frames.lost, seen.frames.late),
        (999, 0, 1000)
    );
    assert_eq!(
        (seen.wake_up.min_ns, seen.wake_up.max_ns),
        (Some(0), Some(50_000))
    );
    assert_eq!(
        (seen.wake_up.p99_ns, seen.wake_up.p999_ns),
        (Some(0), Some(0))
    );
    assert_eq!(
        (seen.period.count, seen.period.min_ns),
        (999, Some(1_000_000))
    );
    assert_eq!(seen.period.max_ns, Some(1_050_000));
    assert_eq!(
        (seen.exchange.max_ns, seen.controller.max_ns),
        (Some(5_000), Some(10_000))
    );
}

#[test]
fn text_is_a_number_a_line_with_its_unit() {
    let text = timing(1000).snapshot().to_string();
    for line in text.lines() {
        let (name, value) = line.split_once(": ").unwrap();
        let (number, unit) = value.split_once(' ').unwrap();
        assert!(!name.is_empty() && number.parse::<f64>().is_ok(), "{line}");
        assert!(
            ["ns", "cycles", "beats", "frames"].contains(&unit),
            "{line}"
        );
    }
    assert!(text.contains("\nwake_up.p99.9: 0 ns\n"));
    // 999 periods carry no 99.9th percentile.
    assert!(!text.contains("period.p99.9"));
}

#[test]
fn json_has_the_names_of_the_text() {
    let seen = timing(1000).snapshot();
    let json = serde_json::to_value(seen).unwrap();
    for line in seen.to_string().lines() {
        let (name, value) = line.split_once(": ").unwrap();
        // JSON has the unit in the name; "p99.9" has a dot of its own.
        let unit = if value.ends_with(" ns") { "_ns" } else { "" };
        let found = match name.split_once('.') {
            None => &json[format!("{name}{unit}")],
            Some((outer, inner)) => &json[outer][format!("{inner}{unit}")],
        };
        let number: f64 = value.split(' ').next().unwrap().parse().unwrap();
        assert!(
            (found.as_f64().unwrap() - number).abs() < 0.06,
            "{line} {json}"
        );
    }
    assert!(json["period"]["p99.9_ns"].is_null());
}
