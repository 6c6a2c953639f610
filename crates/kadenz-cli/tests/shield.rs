//! `--shield` as a user types it, on the machine that runs the test: its changes to the machine, and that none of them
//! stays.
//!
//! While such a test measures, everything on the machine shares the other CPUs: the tests are few and short, and run
//! one at a time.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::*;
use kadenz::rt::shield::{self, LeftoverShield};
use kadenz::rt::tuning::CpuSet;
use serde_json::Value;

/// A machine has one shield.
static MACHINE: Mutex<()> = Mutex::new(());

/// The lock of the machine for this test alone, and the CPU to shield; reports a skipped test and returns `None` where
/// the machine allows no shield.
fn machine(test: &str) -> Option<(MutexGuard<'static, ()>, usize)> {
    let held = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let missing = if !is_root() {
        "root; run the tests with sudo"
    } else if online().len() < 2 {
        "two CPUs"
    } else if std::fs::read_to_string("/proc/mounts").is_ok_and(|all| !all.contains("cgroup")) {
        "control groups; mount -t cgroup2 none /sys/fs/cgroup"
    } else if busy() {
        "a machine without another shield; wait for that measurement"
    } else {
        // Without this, changes that an earlier test left would pass for the machine's own state.
        shield::restore().unwrap();
        return Some((held, online().iter().last().unwrap()));
    };
    skip(test, missing);
    None
}

fn busy() -> bool {
    matches!(
        shield::leftovers(),
        Ok(Some(LeftoverShield { alive: true, .. }))
    )
}

fn online() -> CpuSet {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    list.parse().unwrap()
}

/// The state of everything that a shield changes: files by path, threads by number and start time.
fn snapshot() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for path in [
        "/proc/irq/default_smp_affinity",
        "/proc/sys/kernel/timer_migration",
        "/proc/sys/kernel/watchdog_cpumask",
        "/proc/sys/vm/stat_interval",
        "/sys/kernel/rcu_expedited",
        "/sys/kernel/rcu_normal",
    ] {
        note(&mut all, Path::new(path));
    }
    files(
        &mut all,
        Path::new("/sys/devices/virtual/workqueue"),
        2,
        &|name| name.starts_with("cpumask"),
    );
    files(&mut all, Path::new("/proc/irq"), 2, &|name| {
        name == "smp_affinity_list"
    });
    // The kernel measures pressure, which changes by itself.
    files(&mut all, Path::new("/sys/fs/cgroup"), 5, &|name| {
        (name.starts_with("cpuset.") && !name.contains("pressure"))
            || name == "cgroup.subtree_control"
    });
    threads(&mut all);
    all
}

fn note(all: &mut BTreeMap<String, String>, path: &Path) {
    if let Ok(text) = std::fs::read_to_string(path) {
        all.insert(path.display().to_string(), text);
    }
}

fn files(
    all: &mut BTreeMap<String, String>,
    folder: &Path,
    depth: usize,
    wanted: &dyn Fn(&str) -> bool,
) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth > 1 {
            files(all, &entry.path(), depth - 1, wanted);
        } else if wanted(&entry.file_name().to_string_lossy()) {
            note(all, &entry.path());
        }
    }
}

/// The control group and the allowed CPUs of each thread whose CPUs the kernel does not change by itself: interrupt
/// threads follow their interrupt when the next one comes, and a worker of the workqueues that ends takes the CPUs that
/// the workqueues have then (`unbind_worker` in Linux), those under the shield too. Rescuers, `kworker/R-`, are compared.
fn threads(all: &mut BTreeMap<String, String>) {
    for process in numbered("/proc") {
        for task in numbered(&format!("/proc/{process}/task")) {
            let of = |file: &str| {
                std::fs::read_to_string(format!("/proc/{process}/task/{task}/{file}"))
                    .unwrap_or_default()
            };
            let (status, stat, groups) = (of("status"), of("stat"), of("cgroup"));
            let line = |key: &str| {
                status
                    .lines()
                    .find(|line| line.starts_with(key))
                    .map(str::to_owned)
            };
            let (Some(name), Some(cpus)) = (line("Name:"), line("Cpus_allowed_list:")) else {
                continue;
            };
            let start = stat
                .rsplit(") ")
                .next()
                .and_then(|rest| rest.split(' ').nth(19).map(str::to_owned));
            let group = groups
                .lines()
                .find(|line| line.contains(":cpuset:") || line.starts_with("0::"));
            let is_worker = name.contains("kworker/") && !name.contains("kworker/R-");
            if !name.contains("irq/") && !is_worker {
                let key = format!("thread {task} since {}", start.unwrap_or_default());
                all.insert(key, format!("{cpus} in {}", group.unwrap_or_default()));
            }
        }
    }
}

fn numbered(folder: &str) -> Vec<u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// The name of the thread of a key of a snapshot, for a message.
fn name_of(key: &str) -> String {
    let task = key.split(' ').nth(1).unwrap_or_default();
    std::fs::read_to_string(format!("/proc/{task}/comm")).unwrap_or_default()
}

/// Asserts that the machine is as it was. Threads, also of other programs, come and go; those that existed before and
/// exist now must be unchanged.
fn assert_unchanged(before: &BTreeMap<String, String>) {
    let now = snapshot();
    for (key, was) in before {
        match now.get(key) {
            Some(is) => assert_eq!(is, was, "{key}: {}", name_of(key)),
            None => assert!(key.starts_with("thread"), "{key} is gone"),
        }
    }
    let new = now
        .keys()
        .find(|key| !key.starts_with("thread") && !before.contains_key(*key));
    assert_eq!(new, None, "a file that was not there");
    assert!(shield::leftovers().unwrap().is_none(), "a journal is left");
}

/// The tuning measure of that name.
fn measure<'a>(run: &'a Value, series: &str, name: &str) -> &'a Value {
    let all = run["series"].as_array().unwrap();
    let series = all.iter().find(|it| it["name"] == series).unwrap();
    let measures = series["tuning"].as_array().unwrap();
    let named = measures.iter().find(|measure| measure["name"] == name);
    named.unwrap_or_else(|| panic!("no {name} in {series}"))
}

#[test]
fn a_shield_keeps_others_off_and_lets_a_thread_in() {
    let Some((_held, cpu)) = machine("a_shield_keeps_others_off_and_lets_a_thread_in") else {
        return;
    };
    let before = snapshot();
    let cpus = CpuSet::single(cpu);
    let mut other = Command::new("sleep").arg("60").spawn().unwrap();
    let shield = shield::raise(&cpus).unwrap();
    let outside = allowed(&format!("/proc/{}/status", other.id()));
    let inside = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let inside = shield.entrance().enter();
            let where_ = allowed("/proc/thread-self/status");
            (inside.measure.clone(), where_)
        });
        thread.join().unwrap()
    });
    let restored = shield.lower();
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(
        !outside.contains(cpu),
        "another process may run on {outside}"
    );
    assert!(inside.0.ok, "{:?}", inside.0);
    assert_eq!(inside.1, cpus);
    assert!(restored.is_complete(), "{restored:#?}");
    assert_unchanged(&before);
}

fn allowed(status: &str) -> CpuSet {
    let text = std::fs::read_to_string(status).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap().trim().parse().unwrap()
}

#[test]
fn a_shielded_measurement_says_what_was_granted_and_leaves_no_trace() {
    let test = "a_shielded_measurement_says_what_was_granted_and_leaves_no_trace";
    let Some((_held, cpu)) = machine(test) else {
        return;
    };
    let (folder, cpu_text) = (folder(), cpu.to_string());
    let out = folder.path().join("run");
    let before = snapshot();
    let said = run_line(&format!(
        "timer cyclic --rate 1kHz --count 200 --shield {cpu_text} --out {}",
        text(&out)
    ));
    assert_unchanged(&before);
    assert_eq!(said.code, 0, "{}", said.err);
    let run = run_json(&out);
    assert_eq!(run["parameters"]["shield"], serde_json::json!([cpu]));
    for name in ["shield", "shield_tasks", "shield_entered", "affinity"] {
        let measure = measure(&run, "lateness", name);
        assert_eq!(measure["ok"], true, "{measure}");
    }
    let affinity = measure(&run, "lateness", "affinity");
    assert_eq!(affinity["granted"], format!("CPUs {cpu}"));
}

#[test]
fn after_a_kill_the_doctor_puts_everything_back() {
    let Some((_held, cpu)) = machine("after_a_kill_the_doctor_puts_everything_back") else {
        return;
    };
    let (folder, cpu) = (folder(), cpu.to_string());
    let before = snapshot();
    let arguments = [
        "timer",
        "cyclic",
        "--count",
        "60000",
        "--interval",
        "20ms",
        "--shield",
        &cpu,
    ];
    let mut child = start_measuring(&folder.path().join("run"), &arguments);
    let during = run(&["doctor", "--restore"]);
    let second = run_line(&format!(
        "timer cyclic --count 5 --shield {cpu} --out {}",
        text(&folder.path().join("second"))
    ));
    child.kill().unwrap();
    child.wait().unwrap();
    let found = run(&["doctor", "--json"]).json();
    let restored = run(&["doctor", "--restore"]);
    assert_unchanged(&before);
    // A shield belongs to its owner alone while the owner lives.
    assert_eq!(during.code, 2, "{}", during.out);
    assert!(
        during.err.contains(&child.id().to_string()),
        "{}",
        during.err
    );
    assert_eq!(second.code, 0, "{}", second.err);
    assert!(
        second.err.contains(&format!("process {}", child.id())),
        "{}",
        second.err
    );
    let findings = found["findings"].as_array().unwrap();
    let finding = findings.iter().find(|it| it["id"] == "leftovers").unwrap();
    assert_eq!(finding["severity"], "costs", "{finding}");
    assert_eq!(restored.code, 0, "{}", restored.err);
    assert!(restored.out.contains("put back"), "{}", restored.out);
    let again = run(&["doctor", "--restore"]);
    assert_eq!(
        (again.code, again.out.trim()),
        (0, "nothing is left to put back")
    );
}

#[test]
fn an_interrupt_puts_everything_back_also_a_second_one() {
    let Some((_held, cpu)) = machine("an_interrupt_puts_everything_back_also_a_second_one") else {
        return;
    };
    let (folder, cpu) = (folder(), cpu.to_string());
    let before = snapshot();
    let arguments = [
        "timer",
        "cyclic",
        "--count",
        "60000",
        "--interval",
        "20ms",
        "--shield",
        &cpu,
    ];
    let child = start_measuring(&folder.path().join("run"), &arguments);
    signal(&child, "INT");
    signal(&child, "INT");
    // The program reports changes that stay; this shows them when the test fails.
    eprint!("{}", Said::of(child.wait_with_output().unwrap()).err);
    assert_unchanged(&before);
}

#[test]
fn without_the_right_to_shield_it_measures_on_these_cpus_and_warns() {
    let test = "without_the_right_to_shield_it_measures_on_these_cpus_and_warns";
    if online().len() < 2 {
        return skip(test, "two CPUs");
    }
    let (folder, cpu) = (folder(), online().iter().last().unwrap().to_string());
    let out = folder.path().join("run");
    let arguments = [
        "timer",
        "cyclic",
        "--count",
        "50",
        "--shield",
        &cpu,
        "--out",
        text(&out),
    ];
    let Some(mut command) = without_rights_in(&arguments, folder.path()) else {
        return skip(
            test,
            "a way to be another user; install util-linux, for setpriv, where others may read",
        );
    };
    let said = Said::of(command.output().unwrap());
    assert_eq!(said.code, 0, "{}", said.err);
    let run = run_json(&out);
    let refused = measure(&run, "lateness", "shield");
    assert_eq!(refused["ok"], false, "{refused}");
    assert_eq!(refused["granted"], "no shield, affinity only");
    assert!(
        refused["reason"].is_string() && refused["remedy"].is_string(),
        "{refused}"
    );
    assert!(
        measure(&run, "lateness", "affinity")["requested"]
            .as_str()
            .unwrap()
            .contains(&cpu)
    );
    let warnings = run["warnings"].as_array().unwrap();
    assert!(
        warnings
            .iter()
            .any(|warning| warning["id"] == "shield_refused"),
        "{warnings:?}"
    );
}

/// The program as a user without rights, except to write into `folder`.
fn without_rights_in(arguments: &[&str], folder: &Path) -> Option<Command> {
    use std::os::unix::fs::PermissionsExt as _;
    if !is_root() {
        return Some(kadenz(arguments));
    }
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    let unprivileged = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.arg(env!("CARGO_BIN_EXE_kadenz")).args(arguments);
        command
    };
    let works = unprivileged(&["--version"]).output().ok()?.status.success();
    works.then(|| unprivileged(arguments))
}

#[test]
fn cpus_that_cannot_be_are_refused_as_typed() {
    for (arguments, word) in [
        (&["--shield", "x"][..], "x"),
        (&["--shield", "1", "--cpus", "0-1"][..], "--cpus"),
    ] {
        let said = Said::of(
            kadenz(&["timer", "cyclic"])
                .args(arguments)
                .output()
                .unwrap(),
        );
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains(word), "{}", said.err);
    }
}
