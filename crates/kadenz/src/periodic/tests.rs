use super::*;
use kadenz_record::run::folder::SeriesSpec;

const MS: u64 = 1_000_000;

fn at(ns: u64) -> MonotonicTime {
    MonotonicTime::from_ns(ns)
}

/// Ticks in virtual time. The loop's body ends at each of these times, and the loop wakes up at once.
fn play(rate: &str, back: &[u64], mut seen: impl FnMut(&Beat, &Tick)) -> Vec<Tick> {
    let rate: Rate = rate.parse().unwrap();
    let mut beat = Beat::at(at(0), rate.interval());
    let ticks = back.iter().map(|back| {
        let before = beat.current();
        let woke = beat.next().max(at(*back));
        let tick = Tick::woken(&mut beat, before, woke);
        seen(&beat, &tick);
        tick
    });
    ticks.collect()
}

#[test]
fn a_loop_in_time_gets_every_tick_one_interval_apart() {
    let ticks = play("1kHz", &[0; 3], |_, _| ());
    let seen: Vec<_> = ticks
        .iter()
        .map(|it| (it.index(), it.step(), it.skipped()))
        .collect();
    let step = Duration::from_millis(1);
    assert_eq!(seen, [(1, step, 0), (2, step, 0), (3, step, 0)]);
    assert_eq!(ticks[2].lateness(), Duration::ZERO);
}

#[test]
fn steps_of_a_rate_that_does_not_divide_a_second_add_up_to_it() {
    let ticks = play("30Hz", &[0; 30], |_, _| ());
    let sum: Duration = ticks.iter().map(Tick::step).sum();
    assert_eq!(sum, Duration::from_secs(1));
}

#[test]
fn a_loop_that_is_back_late_gets_the_latest_tick_and_its_step_spans_the_skipped() {
    // The second tick is due at 2 ms; the loop is back at 2.2 ms, and then only at 6.5 ms.
    let ticks = play("1kHz", &[0, 2 * MS + MS / 5, 6 * MS + MS / 2, 0], |_, _| ());
    let seen: Vec<_> = ticks.iter().map(|it| (it.index(), it.skipped())).collect();
    assert_eq!(seen, [(1, 0), (2, 0), (6, 3), (7, 0)]);
    assert_eq!(ticks[1].lateness(), Duration::from_micros(200));
    assert_eq!(ticks[2].lateness(), Duration::from_micros(500));
    assert_eq!(ticks[2].step(), Duration::from_millis(4));
    assert_eq!(ticks[3].step(), Duration::from_millis(1));
}

#[test]
fn a_stall_is_recorded_once_for_each_tick_that_it_covers() {
    let folder = tempfile::tempdir().unwrap();
    let run = Recording::create(folder.path()).unwrap();
    let spec = SeriesSpec {
        series: Series {
            name: "lateness".to_owned(),
            deadline_ns: Some(400_000),
            ..Series::default()
        },
        raw: true,
    };
    let mut lateness = Lateness {
        recorder: run.series(spec).unwrap(),
        origin: at(0),
    };
    let back = [0, 4 * MS + MS / 2, 0];
    play("1kHz", &back, |beat, tick| lateness.record(beat, tick));
    drop(lateness);
    run.finish().unwrap();

    let reader = kadenz_record::run::folder::RunReader::open(folder.path()).unwrap();
    let counts = reader.run().series[0].counts;
    assert_eq!((counts.recorded, counts.misses), (5, 3));
    let mut samples = reader.samples("lateness").unwrap();
    let mut values_us = Vec::new();
    samples
        .for_each_value(|ns| values_us.extend(ns.iter().map(|ns| ns / 1000)))
        .unwrap();
    assert_eq!(values_us, [0, 2_500, 1_500, 500, 0]);
}

#[test]
fn what_is_refused_stands_in_the_run_with_its_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let run = Recording::create(folder.path()).unwrap();
    // No kernel has this priority.
    let impossible = Periodic::new("1kHz").unwrap().tuned(Tuning::fifo(200));
    drop(impossible.record(&run, "lateness").unwrap());
    let recorded = run.finish().unwrap();
    let measure = &recorded.run().series[0].tuning[0];
    assert_eq!(
        (measure.requested.as_str(), measure.ok),
        ("SCHED_FIFO 200", false)
    );
    let mut warnings = recorded.run().warnings.iter();
    assert!(warnings.any(|it| it.id == "policy_refused"), "{recorded}");
    assert!(
        recorded
            .to_string()
            .contains("SCHED_FIFO 200 was requested and not granted")
    );
}

#[test]
fn a_wait_in_slices_gives_the_same_ticks() {
    let mut ticks = Periodic::new("50Hz").unwrap().start().unwrap();
    let mut seen = Vec::new();
    let mut slices = 0;
    while seen.len() < 3 {
        match ticks.next_within(Duration::from_millis(3)) {
            Some(tick) => seen.push(tick),
            None => slices += 1,
        }
    }
    assert!(slices > 0, "an interval is longer than a slice");
    for (tick, before) in seen.iter().skip(1).zip(&seen) {
        let interval = Duration::from_millis(20);
        assert_eq!(tick.index() - before.index(), 1 + tick.skipped());
        assert_eq!(tick.step(), interval * (1 + tick.skipped() as u32));
        assert!(tick.woke() >= tick.intended());
    }
}

#[test]
fn units_are_asked_for() {
    assert!(Periodic::new("1000").is_err());
    let deadline = Periodic::new("1kHz").unwrap().deadline("400");
    assert!(
        deadline
            .unwrap_err()
            .to_string()
            .contains("`400` is not a duration")
    );
}
