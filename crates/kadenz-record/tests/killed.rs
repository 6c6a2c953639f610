//! A process that is killed or stopped: flushed data stay, and a stall shows.

#![cfg(unix)]

mod common;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use common::{INTERVAL, assert_contiguous, child, child_folder, intervals, numbered, run, spec};
use kadenz_record::run::folder::{RunReader, RunWriter};
use kadenz_record::run::model::EndedBy;

/// The child of the tests below: measures forever, and prints each interval once it is written, with how much was
/// recorded until then.
#[test]
fn child_that_measures() {
    let Some(folder) = child_folder() else { return };
    let mut writer = RunWriter::create(&folder, run()).expect("creates");
    let mut recorder = writer.series(spec("wakeup", true)).expect("a series");
    let running = writer.start(INTERVAL).expect("starts");
    let mut printed = Duration::ZERO;
    for n in 0.. {
        recorder.record(numbered(n));
        if n % 10 != 0 {
            continue;
        }
        std::thread::sleep(Duration::from_millis(1));
        let series = &running.progress().series;
        let Some(series) = series.first() else {
            continue;
        };
        let end = series.interval_start + series.interval_length;
        if end > printed {
            printed = end;
            println!(
                "written {} recorded {}",
                end.as_millis(),
                series.counts.recorded
            );
        }
        if folder.join("stop").exists() {
            running.finish(EndedBy::Interrupted).expect("finishes");
            return;
        }
    }
}

/// Reads the child's output until it has printed `enough` intervals, and returns how much was recorded then.
fn read_recorded(child: &mut Child, enough: usize) -> u64 {
    let stdout = child.stdout.as_mut().expect("a pipe");
    let lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let written = lines.filter_map(|line| {
        line.strip_prefix("written ")?
            .split_once(" recorded ")?
            .1
            .parse::<u64>()
            .ok()
    });
    written.take(enough).last().expect("the child prints")
}

#[test]
fn kill_9_loses_at_most_an_interval() {
    for round in 0..6 {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("run");
        let mut child = child("child_that_measures", &dir).spawn().expect("spawns");
        let printed = read_recorded(&mut child, 2 + round);
        child.kill().expect("kills");
        child.wait().expect("ends");

        let reader = RunReader::open(&dir).expect("opens");
        assert!(!reader.complete());
        assert!(
            reader
                .run()
                .warnings
                .iter()
                .any(|warning| warning.id == "incomplete")
        );
        let counts = reader.run().series[0].counts;
        assert!(
            counts.recorded >= printed,
            "{} of {printed} printed as written",
            counts.recorded
        );
        let log = intervals(&reader, "wakeup");
        assert_eq!((log.recorded, log.early), (counts.recorded, counts.early));
        assert!(log.spans.len() >= 2 + round);
        assert_contiguous(&log.spans);
        let (sequences, truncated) = common::sequences(&reader, "wakeup");
        assert!(truncated, "no end mark");
        assert!(
            sequences.len() as u64 >= printed,
            "{} samples",
            sequences.len()
        );
        assert!(sequences.iter().copied().eq(0..sequences.len() as u64));
    }
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let status = Command::new("kill")
        .args([name, &pid])
        .status()
        .expect("runs kill");
    assert!(status.success());
}

fn stop(mut child: Child, dir: &Path) {
    std::fs::write(dir.join("stop"), "").expect("writes");
    let status = child.wait().expect("ends");
    assert!(status.success(), "{status}");
}

#[test]
fn a_stopped_process_shows_one_long_interval() {
    const STALL: Duration = Duration::from_millis(1500);
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("run");
    let mut child = child("child_that_measures", &dir).spawn().expect("spawns");
    read_recorded(&mut child, 2);
    signal(&child, "-STOP");
    std::thread::sleep(STALL);
    signal(&child, "-CONT");
    stop(child, &dir);

    let reader = RunReader::open(&dir).expect("opens");
    assert!(reader.complete());
    assert_eq!(reader.run().ended_by, Some(EndedBy::Interrupted));
    let log = intervals(&reader, "wakeup");
    assert_contiguous(&log.spans);
    let longest = log
        .spans
        .iter()
        .map(|(_, length)| *length)
        .fold(0.0, f64::max);
    assert!(
        longest > STALL.as_secs_f64() - 0.1,
        "the stall is hidden: {longest} s"
    );
    let total: f64 = log.spans.iter().map(|(_, length)| length).sum();
    let duration = Duration::from_nanos(reader.run().duration_ns).as_secs_f64();
    assert!((total - duration).abs() < 0.1, "{total} s of {duration} s");
}
