//! A disk without room: the measurement continues, no line is torn, and missing data are reported.

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{INTERVAL, as_child, child_folder, intervals, numbered, run, sequences, skip, spec};
use kadenz_record::run::disk::sim::SmallDisk;
use kadenz_record::run::folder::{FinishRunError, RunReader, RunWriter, RunningRun};
use kadenz_record::run::model::EndedBy;

/// Waits until a condition holds; gives up after a time that no busy machine needs.
fn wait_until(what: &str, so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn recorded(running: &RunningRun) -> u64 {
    running
        .progress()
        .series
        .iter()
        .map(|series| series.counts.recorded)
        .sum()
}

fn intervals_passed(running: &RunningRun, from: Duration) {
    wait_until("an interval", || {
        running
            .progress()
            .series
            .iter()
            .all(|series| series.interval_start > from)
    });
}

#[test]
fn what_a_full_disk_refuses_is_written_when_there_is_room() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = SmallDisk::with_room(1 << 20);
    let mut writer =
        RunWriter::create_on(Arc::new(disk.clone()), folder.path(), run()).expect("creates");
    let mut recorder = writer.series(spec("wakeup", true)).expect("a series");
    let running = writer.start(INTERVAL).expect("starts");
    (0..1000).for_each(|n| recorder.record(numbered(n)));
    wait_until("written", || recorded(&running) == 1000);
    disk.fill();
    (1000..2000).for_each(|n| recorder.record(numbered(n)));
    wait_until("in trouble", || running.write_errors().len() >= 2);
    let now = running.progress().elapsed;
    intervals_passed(&running, now);
    assert!(
        running
            .write_errors()
            .iter()
            .any(|trouble| trouble.until.is_none())
    );
    disk.add_room(1 << 20);
    (2000..3000).for_each(|n| recorder.record(numbered(n)));
    wait_until("out of trouble", || {
        running.write_errors().iter().all(|one| one.until.is_some())
    });
    let run = running.finish(EndedBy::Finished).expect("all is written");

    assert_eq!(run.series[0].counts.recorded, 3000);
    assert!(run.complete);
    let failed: Vec<_> = run
        .warnings
        .iter()
        .filter(|w| w.id == "write_failed")
        .collect();
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert!(
        failed.iter().all(|w| w.text.contains("kept and written")),
        "{failed:?}"
    );
    let reader = RunReader::open(folder.path()).expect("opens");
    let log = intervals(&reader, "wakeup");
    assert_eq!((log.recorded, log.truncated), (3000, false));
    common::assert_contiguous(&log.spans);
    assert_eq!(sequences(&reader, "wakeup"), ((0..3000).collect(), false));
}

#[test]
fn a_disk_that_stays_full_leaves_whole_lines_and_a_clear_word() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = SmallDisk::with_room(1 << 20);
    let mut writer =
        RunWriter::create_on(Arc::new(disk.clone()), folder.path(), run()).expect("creates");
    let mut recorder = writer.series(spec("wakeup", true)).expect("a series");
    let running = writer.start(INTERVAL).expect("starts");
    (0..1000).for_each(|n| recorder.record(numbered(n)));
    wait_until("written", || recorded(&running) == 1000);
    disk.fill();
    disk.add_room(70);
    (1000..2000).for_each(|n| recorder.record(numbered(n)));
    wait_until("in trouble", || running.write_errors().len() >= 2);
    let error = running
        .finish(EndedBy::Finished)
        .expect_err("not all is written");

    let FinishRunError::NotWritten { files, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(files, &["wakeup.hlog", "wakeup.samples.arrow"]);
    assert!(error.to_string().contains("Make room"), "{error}");
    let counted = error.run().expect("counted").series[0].counts;
    assert_eq!((counted.recorded, counted.dropped), (2000, 1000));
    let reader = RunReader::open(folder.path()).expect("opens");
    assert!(!reader.complete());
    let run = reader.run();
    assert_eq!(run.series[0].counts.recorded, 1000);
    let text = &run.warnings.last().expect("a warning").text;
    assert!(text.contains("disk was full"), "{text}");
    assert!(!intervals(&reader, "wakeup").truncated, "no part of a line");
    let (sequences, truncated) = sequences(&reader, "wakeup");
    assert_eq!(
        (sequences.len(), truncated),
        (1000, true),
        "whole batches, no end mark"
    );
}

/// The code of the children below: a run that needs more room than there is.
#[test]
fn child_that_fills_its_disk() {
    let Some(folder) = child_folder() else { return };
    let mut writer = RunWriter::create(&folder, run()).expect("creates");
    let mut recorder = writer.series(spec("wakeup", true)).expect("a series");
    let running = writer.start(INTERVAL).expect("starts");
    for n in 0..100_000 {
        recorder.record(numbered(n));
        if n % 1000 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let error = running
        .finish(EndedBy::Finished)
        .expect_err("no room for 3 MB");
    let counted = error.run().expect("counted").series[0].counts;
    println!(
        "recorded {}, dropped {}, {error}",
        counted.recorded, counted.dropped
    );
}

/// Runs the child with `shell` before it, checks the folder that it left, and returns how many samples were
/// dropped.
fn measure_into_a_small_disk(shell: &str, dir: &Path) -> u64 {
    let own = std::env::current_exe().expect("own path");
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{shell}; exec \"$0\" \"$@\"")])
        .arg(own);
    as_child(&mut command, "child_that_fills_its_disk", dir);
    let output = command.output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("recorded 100000") && text.contains("Make room"),
        "{text}"
    );
    let reader = RunReader::open(dir).expect("opens");
    assert!(!reader.complete());
    assert!(!intervals(&reader, "wakeup").truncated, "no part of a line");
    let (sequences, truncated) = sequences(&reader, "wakeup");
    assert!(truncated && !sequences.is_empty());
    let dropped = 100_000 - sequences.len() as u64;
    let expected = format!("dropped {dropped},");
    assert!(text.contains(&expected), "{expected} {text}");
    // The child is faster than the drain at first: samples may have been dropped, but never mixed.
    assert!(sequences.windows(2).all(|pair| pair[0] < pair[1]));
    dropped
}

#[cfg(unix)]
#[test]
fn a_limit_on_file_sizes_is_borne() {
    let folder = tempfile::tempdir().expect("a folder");
    // 2048 blocks are 1 or 2 MiB; the signal would end the process instead of failing the write.
    let dir = folder.path().join("run");
    let dropped = measure_into_a_small_disk("trap '' XFSZ; ulimit -f 2048", &dir);
    // The disk still takes `run.json`, which then names the missing data.
    let reader = RunReader::open(&dir).expect("opens");
    assert_eq!(reader.run().series[0].counts.dropped, dropped);
}

#[cfg(target_os = "linux")]
#[test]
fn a_small_file_system_is_borne() {
    let folder = tempfile::tempdir().expect("a folder");
    let point = folder.path();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "kadenz-test"])
        .arg(point)
        .output();
    if !mount.is_ok_and(|output| output.status.success()) {
        let missing = "the right to mount a tmpfs; run the test as root";
        return skip("a_small_file_system_is_borne", missing);
    }
    let measured = std::panic::catch_unwind(|| {
        measure_into_a_small_disk("true", &point.join("run"));
    });
    let unmounted = Command::new("umount")
        .arg(point)
        .status()
        .expect("runs umount");
    assert!(unmounted.success());
    if let Err(panic) = measured {
        std::panic::resume_unwind(panic);
    }
}
