//! Faults during a measurement: Ctrl-C, kill -9, a stall, a full disk, missing rights.
#![cfg(unix)]

mod common;
use common::*;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LONG: &[&str] = &["hiccup", "--duration", "1h", "--interval", "100ms"];

#[test]
fn ctrl_c_ends_cleanly_with_the_data_kept() {
    let folder = folder();
    let out = folder.path().join("run");
    let child = start_measuring(&out, LONG);
    signal(&child, "INT");
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 0, "{}", said.err);
    let run = run_json(&out);
    assert_eq!(run["complete"], true);
    assert_eq!(run["ended_by"], "interrupted");
}

#[test]
fn after_kill_9_the_run_opens_and_says_that_it_is_incomplete() {
    let folder = folder();
    let out = folder.path().join("run");
    let mut child = start_measuring(&out, LONG);
    signal(&child, "KILL");
    child.wait().unwrap();
    let said = run(&["show", text(&out), "--json"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert!(series(&json, "hiccup")["count"].as_u64().unwrap() > 0);
    assert!(
        json["warnings"].to_string().contains("incomplete"),
        "{}",
        json["warnings"]
    );
    let page = folder.path().join("page.html");
    assert_eq!(run(&["report", text(&out), "--out", text(&page)]).code, 0);
    assert!(std::fs::read_to_string(page).unwrap().contains("ncomplete"));
}

#[test]
fn a_stopped_process_shows_as_a_stall_of_its_length() {
    let folder = folder();
    let out = folder.path().join("run");
    let child = start_measuring(
        &out,
        &["timer", "cyclic", "--duration", "1h", "--interval", "100ms"],
    );
    signal(&child, "STOP");
    std::thread::sleep(Duration::from_secs(3));
    signal(&child, "CONT");
    // Time to catch up with three thousand beats, also on a busy machine.
    std::thread::sleep(Duration::from_secs(2));
    signal(&child, "INT");
    child.wait_with_output().unwrap();
    let json = run(&["show", text(&out), "--json"]).json();
    let late = series(&json, "lateness");
    assert!(late["max_ns"].as_i64().unwrap() >= 2_900_000_000, "{late}");
    // The run holds every beat of the three seconds with its lateness: more than 1 in 10 is over 1 s.
    let run = run_json(&out);
    let recorded = run["series"][0]["counts"]["recorded"].as_u64().unwrap();
    assert!(recorded > 3000, "{recorded}");
}

/// Gives a disk of this size to the measurement; skips the test where that takes rights that are missing.
fn on_a_small_disk(size: &str, measure: impl FnOnce(&Path)) {
    if !is_root() {
        return skip("full disk", "needs root to mount a small tmpfs");
    }
    let folder = folder();
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).expect("a folder");
    let size = format!("size={size}");
    let mount = ["-t", "tmpfs", "-o", &size, "tmpfs", text(&disk)];
    let mounted = Command::new("mount").args(mount).status();
    if !mounted.is_ok_and(|it| it.success()) {
        return skip("full disk", "this machine does not let root mount a tmpfs");
    }
    let measured = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| measure(&disk)));
    let unmounted = Command::new("umount").arg(&disk).status();
    assert!(unmounted.is_ok_and(|it| it.success()));
    if let Err(panic) = measured {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn a_full_disk_is_reported_and_what_fits_is_kept() {
    on_a_small_disk("256k", |disk| {
        let out = disk.join("run");
        let said = run_line(&format!(
            "timer cyclic --rate 10kHz --duration 3s --interval 100ms --out {}",
            text(&out)
        ));
        assert_eq!(said.code, 2, "{}", said.out);
        let names_it = said.err.contains("full") || said.err.contains("space");
        assert!(names_it, "{}", said.err);
        let shown = run(&["show", text(&out)]);
        assert_ne!(shown.code, -1);
        assert!(
            shown.out.contains("lateness"),
            "{} {}",
            shown.out,
            shown.err
        );
    });
}

#[test]
#[cfg(feature = "camera")]
fn a_camera_on_a_full_disk_shows_what_was_written() {
    on_a_small_disk("64k", |disk| {
        let said = run_line(&format!(
            "camera record test:// --duration 3s --interval 10ms --out {}",
            text(&disk.join("run"))
        ));
        assert_eq!(said.code, 2, "{}", said.out);
        for words in ["incomplete (", " age |", "Make room on the disk"] {
            assert!(said.err.contains(words), "{words}: {}", said.err);
        }
    });
}

#[test]
fn without_rights_it_measures_as_an_ordinary_user_and_says_so() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    if !is_root() {
        return skip("no rights", "needs root to become an ordinary user");
    }
    let folder = folder();
    let open = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open(folder.path(), 0o777);
    let program = folder.path().join("kadenz");
    // Not by this process: a child that another test forks meanwhile would hold the file open for writing, and a program
    // that is open for writing cannot be started.
    let copied = Command::new("cp")
        .args([env!("CARGO_BIN_EXE_kadenz"), text(&program)])
        .status();
    assert!(copied.unwrap().success());
    open(&program, 0o755);
    let out = folder.path().join("run");
    let output = Command::new(&program)
        .args([
            "check",
            "--duration",
            "500ms",
            "--deadline",
            "10s",
            "--json",
            "--out",
            text(&out),
        ])
        .current_dir(folder.path())
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    let said = Said::of(output);
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert!(
        json["warnings"].to_string().contains("policy_refused"),
        "{}",
        json["warnings"]
    );
    assert!(said.err.contains("SCHED_FIFO 80"), "{}", said.err);
    let refused = &run_json(&out)["series"][0]["tuning"];
    assert!(refused.to_string().contains("\"ok\":false"), "{refused}");
}

#[test]
fn an_unwritable_folder_is_named_before_anything_is_measured() {
    let said = run(&["hiccup", "--duration", "1h", "--out", "/proc/kadenz-run"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("/proc/kadenz-run"), "{}", said.err);
}
