use std::path::Path;
use std::time::Duration;

use kadenz::record::run::folder::{RunWriter, SeriesSpec};
use kadenz::record::run::labels::{VALUE, labels};
use kadenz::record::run::model::{EndedBy, Kind, Run, Series};
use kadenz::record::samples::Sample;

use super::super::cells;
use super::*;

const INTERVAL_NS: i64 = 1_000_000;

/// A run of a cell that has these values first and then repeats one value.
fn recorded(
    folder: &Path,
    cell: &'static str,
    value: &str,
    first: &[i64],
    then: i64,
) -> (&'static str, Summary) {
    let folder = folder.join(cell);
    let series = Series {
        name: value.to_owned(),
        labels: labels([(VALUE, value)]),
        kind: Kind::Latency,
        expected_interval_ns: Some(INTERVAL_NS.unsigned_abs()),
        ..Series::default()
    };
    let mut writer = RunWriter::create(&folder, Run::default()).unwrap();
    let mut recorder = writer.series(SeriesSpec { series, raw: true }).unwrap();
    let running = writer.start(Duration::from_secs(1)).unwrap();
    let values = first.iter().copied().chain(std::iter::repeat_n(then, 1000));
    for (sequence, value_ns) in values.enumerate() {
        recorder.record(Sample {
            sequence: sequence as u64,
            intended_ns: sequence as i64 * INTERVAL_NS,
            value_ns,
            ..Sample::default()
        });
    }
    running.finish(EndedBy::Finished).unwrap();
    (cell, Summary::of_run(folder).unwrap())
}

/// The verdict on the finding that begins with this text.
fn verdict(runs: &[(&str, Summary)], begins: &str) -> Verdict {
    let runs = runs.iter().map(|(name, run)| StepRun { name, run });
    let findings = Findings::of(&cells(), &runs.collect::<Vec<_>>()).0;
    let found = findings.iter().find(|it| it.says.starts_with(begins));
    found.unwrap().verdict
}

#[test]
fn a_timeout_below_a_millisecond_is_held_against_one_of_a_millisecond() {
    for (below, expected) in [(300_000, Verdict::Confirmed), (110_000, Verdict::Gone)] {
        let folder = tempfile::tempdir().unwrap();
        let run = |cell, late| recorded(folder.path(), cell, "measured", &[], late);
        let runs = [
            run("oneshot-1ms-rr95-idle", 100_000),
            run("oneshot-800us-rr95-idle", below),
        ];
        assert_eq!(verdict(&runs, "4.1: no timeout below 1 ms"), expected);
        let alone = verdict(&runs[..1], "4.1: no timeout below 1 ms");
        assert_eq!(alone, Verdict::NotMeasured);
    }
}

#[test]
fn the_first_message_is_held_against_the_median_whatever_came_later() {
    for (first, expected) in [(500_000, Verdict::Confirmed), (210_000, Verdict::Gone)] {
        let folder = tempfile::tempdir().unwrap();
        let values = [first, 200_000, 9_000_000, 8_000_000];
        let cell = "communication-1kHz-1-rr95-idle";
        let run = recorded(folder.path(), cell, ONE_WAY_FROM_SEND, &values, 200_000);
        assert_eq!(verdict(&[run], "4.3: the first message"), expected);
    }
}

#[test]
fn the_first_intervals_of_both_rates_are_reported() {
    for (slow, fast, expected) in [
        ([-9_900_000, -4_000_000], -900_000, Verdict::Confirmed),
        ([-100_000, 0], -900_000, Verdict::Changed),
        ([-100_000, 0], -20_000, Verdict::Gone),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let run = |cell, first: &[i64]| recorded(folder.path(), cell, "jitter", first, 0);
        let runs = [
            run("cyclic-100Hz-rr95-idle", &slow),
            run("cyclic-1kHz-rr95-idle", &[fast, 0]),
        ];
        assert_eq!(verdict(&runs, "4.2: at 100 Hz the first two"), expected);
    }
}
