//! Each load generator does its work, stops, and leaves nothing behind.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kadenz_lab::load::{self, LoadKind, LoadOptions, LoadRates, StartLoadError};

/// The tests look at this process's threads and files, so they run one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Options of light loads below `dir`.
fn little(dir: &Path) -> LoadOptions {
    LoadOptions {
        threads: Some(1),
        groups: Some(1),
        dir: Some(dir.to_owned()),
        size: Some(4_096_000),
        fsync: false,
        tree: Some(dir.to_owned()),
    }
}

/// The names of this process's threads.
fn threads() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("comm")));
    let mut names: Vec<String> = names.filter_map(Result::ok).collect();
    // The test harness has threads of its own.
    names.retain(|name| OURS.iter().any(|ours| name.starts_with(ours)));
    names.sort();
    names
}

/// Beginnings of the names of load threads; a name without a number ends with a newline.
const OURS: &[&str] = &[
    "busy-",
    "disk-",
    "groups\n",
    "sender",
    "receiver",
    "processes\n",
    "flood-",
    "echo-",
    "files-",
    "memory-",
    "nap-",
    "wake-",
    "load-rates",
];

/// The targets of this process's open files.
fn open_files() -> Vec<String> {
    let files = fs::read_dir("/proc/self/fd").unwrap();
    let links = files.filter_map(|file| fs::read_link(file.unwrap().path()).ok());
    let mut links: Vec<String> = links.map(|link| link.display().to_string()).collect();
    // Leave out the directory that this function reads.
    links.retain(|link| !link.ends_with("/fd"));
    links.sort();
    links
}

fn children() -> String {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let lists = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("children")));
    lists.filter_map(Result::ok).collect()
}

/// Waits until a condition holds that must hold sooner or later: a thread takes its name when it first runs, and the
/// kernel lists a thread for a moment after its join.
fn comes_true(condition: impl Fn() -> bool) -> bool {
    (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        condition()
    })
}

fn assert_no_threads() {
    assert!(comes_true(|| threads().is_empty()), "{:?}", threads());
}

/// Runs one kind until every rate has risen, and asserts that it leaves nothing behind.
fn does_its_work(kind: LoadKind, options: &LoadOptions) -> Vec<LoadRates> {
    let before = open_files();
    let running = load::start(&[kind], options).unwrap();
    assert!(comes_true(|| !threads().is_empty()));
    let all_rose = |loads: &[LoadRates]| {
        let mut rates = loads.iter().flat_map(|load| &load.rates);
        // The kernel decides whether any data reaches the disk.
        rates.all(|rate| rate.mean > 0.0 || rate.name == "reached the disk")
    };
    let rose = comes_true(|| all_rose(&running.rates()));
    let did = running.stop();
    assert!(rose, "{did:?}");
    assert_no_threads();
    assert_eq!(open_files(), before);
    assert_eq!(children(), "");
    for load in &did {
        assert_eq!(load.trouble, None);
        for rate in &load.rates {
            let (min, max) = (rate.min.unwrap(), rate.max.unwrap());
            assert!(min <= rate.mean && rate.mean <= max, "{rate:?}");
            assert!(rate.seconds > 0, "{rate:?}");
        }
    }
    did
}

fn units(did: &[LoadRates]) -> Vec<&str> {
    let rates = did.iter().flat_map(|load| &load.rates);
    rates.map(|rate| rate.unit.as_str()).collect()
}

#[test]
fn cpus_are_busy() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let did = does_its_work(LoadKind::Cpu, &little(folder.path()));
    assert!(units(&did).contains(&"CPUs"), "{did:?}");
    // One thread is never on more than one CPU; the clock's own error apart.
    assert!(did[0].rates[0].mean < 1.1, "{did:?}");
}

#[test]
fn a_disk_is_written_into_a_file_without_a_name() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let running = load::start(&[LoadKind::Disk], &little(folder.path())).unwrap();
    let here = folder.path().canonicalize().unwrap().display().to_string();
    let unnamed = |file: &String| file.starts_with(&here) && file.ends_with("(deleted)");
    assert_eq!(open_files().iter().filter(|file| unnamed(file)).count(), 1);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    drop(running);
    let options = LoadOptions {
        fsync: true,
        ..little(folder.path())
    };
    let did = does_its_work(LoadKind::Disk, &options);
    assert_eq!(units(&did)[0], "MB/s");
    assert!(did[0].asked.contains("4 MB"), "{}", did[0].asked);
}

#[test]
fn groups_deliver_messages_and_processes_come_and_go() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let did = does_its_work(LoadKind::Processes, &little(folder.path()));
    assert_eq!(units(&did), ["messages/s", "processes/s"]);
}

#[test]
fn groups_have_twenty_senders_and_twenty_receivers() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let running = load::start(&[LoadKind::Processes], &little(folder.path())).unwrap();
    let count = |side: &str| {
        let names = threads();
        names.iter().filter(|name| name.starts_with(side)).count()
    };
    assert!(comes_true(
        || count("sender") == 20 && count("receiver") == 20
    ));
    drop(running);
    assert_no_threads();
}

#[test]
fn the_loopback_is_flooded_and_every_echo_had_a_question() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let did = does_its_work(LoadKind::Network, &little(folder.path()));
    assert_eq!(units(&did), ["datagrams/s"; 2]);
}

#[test]
fn a_tree_is_walked() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "x").unwrap();
    let did = does_its_work(LoadKind::Files, &little(folder.path()));
    assert_eq!(units(&did), ["files/s"]);
}

#[test]
fn memory_is_copied_and_made_fresh_within_bounds() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = kibibytes_of("VmRSS");
    // Resets the peak (proc_pid_clear_refs(5)).
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let did = does_its_work(LoadKind::Memory, &little(folder.path()));
    assert_eq!(units(&did), ["MB/s", "faults/s"]);
    let grown = kibibytes_of("VmHWM") - before;
    // Two buffers of 256 MiB at most, 48 MiB of fresh memory, and some for the thread itself.
    assert!(grown < (2 * 256 + 48 + 32) * 1024, "{grown} KiB");
}

fn kibibytes_of(key: &str) -> i64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn timers_fire() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let did = does_its_work(LoadKind::Timer, &little(folder.path()));
    assert!(units(&did).iter().all(|unit| *unit == "wake-ups/s"));
}

#[test]
fn heavy_is_four_kinds_at_once() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let did = does_its_work(LoadKind::Heavy, &little(folder.path()));
    let kinds: Vec<LoadKind> = did.iter().map(|load| load.kind).collect();
    assert_eq!(kinds, LoadKind::Heavy.parts());
}

#[test]
fn a_load_that_cannot_start_in_full_leaves_nothing_of_its_parts() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = open_files();
    let options = LoadOptions {
        tree: Some("/no/such/tree".into()),
        ..little(folder.path())
    };
    let error = load::start(&[LoadKind::Heavy], &options).unwrap_err();
    assert!(matches!(error, StartLoadError::Tree { .. }), "{error}");
    assert_no_threads();
    assert_eq!(open_files(), before);
}

#[test]
fn a_tree_that_vanishes_is_reported_and_the_load_goes_on() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let running = load::start(&[LoadKind::Files], &little(folder.path())).unwrap();
    drop(folder);
    assert!(comes_true(|| running.rates()[0].trouble.is_some()));
    let trouble = running.stop()[0].trouble.clone().unwrap();
    assert!(trouble.contains("cannot read"), "{trouble}");
}

#[test]
fn nonsense_is_refused() {
    let start = |options: LoadOptions| load::start(&[LoadKind::Cpu], &options).map(drop);
    let error = start(LoadOptions {
        threads: Some(0),
        ..LoadOptions::default()
    });
    assert!(matches!(
        error,
        Err(StartLoadError::OutOfRange {
            what: "threads",
            ..
        })
    ));
    let error = start(LoadOptions {
        groups: Some(1_000_000),
        ..LoadOptions::default()
    });
    assert!(matches!(
        error,
        Err(StartLoadError::OutOfRange { what: "groups", .. })
    ));
    let error = start(LoadOptions {
        size: Some(7),
        ..LoadOptions::default()
    });
    assert!(matches!(
        error,
        Err(StartLoadError::OutOfRange { what: "size", .. })
    ));
    let nothing = load::start(&[], &LoadOptions::default());
    assert!(matches!(nothing, Err(StartLoadError::Nothing)));
}
