//! `kadenz campaign` as a user types it.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// A plan of `rounds` rounds, whose runs last a few milliseconds each.
fn plan(folder: &Path, rounds: u32) -> PathBuf {
    let text = format!(
        "name = \"short runs\"\ncommand = \"timer cyclic --count 20 --rate 1kHz\"\nrounds = {rounds}\n\
         [vary]\nsleeper = [\"nanosleep\", \"spin\"]\nno-samples = [true, false]\n"
    );
    written(folder, &text)
}

fn written(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("plan.toml");
    std::fs::write(&path, text).unwrap();
    path
}

/// The names in the folder that are those of runs, or of runs under way.
fn numbered(out: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(out).into_iter().flatten().flatten();
    let names = entries.map(|it| it.file_name().into_string().unwrap());
    let mut all: Vec<String> = names
        .filter(|it| it.starts_with(|c: char| c.is_ascii_digit()))
        .collect();
    all.sort();
    all
}

/// The number of finished runs.
fn done(out: &Path) -> usize {
    numbered(out).iter().filter(|it| !it.contains('.')).count()
}

fn assert_whole(out: &Path, count: usize) {
    let expected: Vec<String> = (1..=count).map(|it| format!("{it:04}")).collect();
    assert_eq!(numbered(out), expected);
    for name in &expected {
        let run = run_json(&out.join(name));
        assert_eq!(
            (run["complete"].as_bool(), run["ended_by"].as_str()),
            (Some(true), Some("finished"))
        );
    }
    let record = std::fs::read(out.join("campaign.json")).unwrap();
    let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
    common::assert_valid("campaign-folder", &record);
    assert_eq!(record["version"], 1);
    let runs = record["runs"].as_array().unwrap();
    let folders: BTreeSet<&str> = runs
        .iter()
        .map(|it| it["folder"].as_str().unwrap())
        .collect();
    assert_eq!((runs.len(), folders.len()), (count, count));
    assert!(runs.iter().all(|it| it["failed"].is_null()));
}

fn started(plan: &Path, out: &Path) -> Child {
    kadenz(&["campaign", text(plan), "--out", text(out)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn killed_five_times_it_ends_with_every_run_and_none_twice() {
    let folder = folder();
    let (plan, out) = (plan(folder.path(), 25), folder.path().join("out"));
    for kills in 1..=5 {
        let mut child = started(&plan, &out);
        wait_until(|| done(&out) >= kills * 15);
        // SIGKILL, in the middle of a run or between two.
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(done(&out) < 100);
    }
    let said = run(&["campaign", text(&plan), "--out", text(&out), "--json"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.err.contains("of 100 runs are left"), "{}", said.err);
    assert_whole(&out, 100);
    let json = said.json();
    assert_described("campaign", "campaign", &json);
    assert_eq!(json["done"], 100);
    let combinations = json["combinations"].as_array().unwrap();
    assert_eq!(combinations.len(), 4);
    assert!(
        combinations
            .iter()
            .all(|it| it["rounds"] == 25 && it["series"] == "lateness")
    );
    let moved = json["moved"].as_array().unwrap();
    assert_eq!(moved.len(), 2);
    assert!(moved.iter().all(|it| it["pairs"] == 50));
    assert!(moved[0]["p50"]["interval"].is_array(), "{moved:?}");
}

#[test]
fn a_campaign_measures_every_combination_and_says_what_they_took() {
    let folder = folder();
    let (plan, out) = (plan(folder.path(), 2), folder.path().join("out"));
    let said = run(&["campaign", text(&plan), "--out", text(&out)]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(
        said.err
            .contains("8 runs (4 combinations, 2 rounds); they measure for 160"),
        "{}",
        said.err
    );
    assert!(said.err.contains(" left"), "{}", said.err);
    assert_whole(&out, 8);
    for words in ["8 of 8 runs", "spin", "lateness", "What moved what"] {
        let table = std::fs::read_to_string(out.join("table.md")).unwrap();
        assert!(table.contains(words), "{words}: {table}");
    }
    let page = std::fs::read_to_string(out.join("campaign.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 3);
    // Nothing is measured again where all is done.
    let before = std::fs::metadata(out.join("0003/run.json"))
        .unwrap()
        .modified()
        .unwrap();
    let said = run(&["campaign", "--resume", text(&out)]);
    assert_eq!(said.code, 0, "{}", said.err);
    let after = std::fs::metadata(out.join("0003/run.json"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(before, after);
}

#[cfg(unix)]
#[test]
fn interrupted_it_keeps_what_is_done_and_goes_on() {
    let folder = folder();
    let (plan, out) = (plan(folder.path(), 20), folder.path().join("out"));
    let child = started(&plan, &out);
    wait_until(|| done(&out) >= 2);
    signal(&child, "INT");
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(
        said.err.contains("ended early") && said.err.contains("--resume"),
        "{}",
        said.err
    );
    assert!(said.out.contains("of 80 runs"), "{}", said.out);
    let kept = done(&out);
    assert!((2..80).contains(&kept));
    assert_eq!(numbered(&out).len(), kept, "no half run stays");
    assert!(!out.join("measuring.lock").exists());
    let said = run(&["campaign", "--resume", text(&out)]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(
        said.err
            .contains(&format!("{} of 80 runs are left", 80 - kept)),
        "{}",
        said.err
    );
    assert_whole(&out, 80);
}

#[cfg(target_os = "linux")]
#[test]
fn a_second_one_in_the_same_folder_is_refused() {
    let folder = folder();
    let text_of_plan = "name = \"a\"\ncommand = \"hiccup --duration 10min\"\n";
    let (plan, out) = (
        written(folder.path(), text_of_plan),
        folder.path().join("out"),
    );
    let child = started(&plan, &out);
    wait_until(|| out.join("campaign.json").exists());
    let said = run(&["campaign", "--resume", text(&out)]);
    assert_eq!(said.code, 2);
    let pid = child.id().to_string();
    assert!(
        said.err.contains(&pid) && said.err.contains("Ctrl-C"),
        "{}",
        said.err
    );
    signal(&child, "INT");
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.out.contains("0 of 1 runs"), "{}", said.out);
}

#[test]
fn another_plan_and_a_folder_of_something_else_are_refused() {
    let folder = folder();
    let out = folder.path().join("out");
    let first = plan(folder.path(), 1);
    assert_eq!(
        run(&["campaign", text(&first), "--out", text(&out)]).code,
        0
    );
    let changed = plan(folder.path(), 2);
    let said = run(&["campaign", text(&changed), "--out", text(&out)]);
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("`rounds` was 1 and is 2 now"),
        "{}",
        said.err
    );
    assert_whole(&out, 4);

    let foreign = folder.path().join("foreign");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("thesis.tex"), "years of work").unwrap();
    let said = run(&["campaign", text(&changed), "--out", text(&foreign)]);
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("not empty") && said.err.contains("--out"),
        "{}",
        said.err
    );
    let said = run(&["campaign", "--resume", text(&foreign)]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("holds no campaign"), "{}", said.err);
}

#[test]
fn a_wrong_plan_is_reported_before_anything_is_measured() {
    let folder = folder();
    let out = folder.path().join("out");
    for (plan, words) in [
        ("name = \"a\"\ncomand = \"hiccup\"\n", "line 2"),
        ("name = \"a\"\ncommand = \"doctor\"\n", "no run folder"),
        ("name = \"a\"\ncommand = \"timer cylic\"\n", "cylic"),
        (
            "name = \"a\"\ncommand = \"hiccup\"\n[vary]\npolicy = [\"fifo:800\"]\n",
            "fifo:800",
        ),
        ("name = \"a\"\ncommand = \"hiccup\"\nrounds = 0\n", "line 3"),
        ("name = ", "line 1"),
    ] {
        let path = written(folder.path(), plan);
        let said = run(&["campaign", text(&path), "--out", text(&out)]);
        assert_eq!(said.code, 2, "{plan}: {}", said.err);
        assert!(said.err.contains(words), "{plan}: {}", said.err);
        assert!(!out.exists(), "{plan}");
    }
    let said = run(&["campaign", text(&folder.path().join("none.toml"))]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("none.toml"), "{}", said.err);
}

/// A plan whose second value passes the option parser but is refused by the command.
const FAILING: &str = "name = \"a\"\ncommand = \"timer oneshot --count 20\"\nrounds = 2\n\
                       [vary]\ntimeout = [\"1ms\", \"2h\"]\n";

#[test]
fn a_run_that_cannot_be_measured_is_noted_and_the_campaign_goes_on() {
    let folder = folder();
    let (plan, out) = (written(folder.path(), FAILING), folder.path().join("out"));
    let said = run(&["campaign", text(&plan), "--out", text(&out)]);
    assert_eq!(said.code, 2);
    assert!(
        said.err
            .contains("2 runs were not measured, 2 runs are left"),
        "{}",
        said.err
    );
    assert!(said.err.contains("outside 1us to 1h"), "{}", said.err);
    assert_eq!(numbered(&out), ["0001", "0004"]);
    let record = std::fs::read(out.join("campaign.json")).unwrap();
    let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
    let failed = record["runs"][1]["failed"].as_str().unwrap();
    assert!(failed.contains("outside 1us to 1h"), "{failed}");

    let out = folder.path().join("stopped");
    let said = run_line(&format!(
        "campaign {} --out {} --stop-on-failure",
        text(&plan),
        text(&out)
    ));
    assert_eq!(said.code, 2);
    assert_eq!(numbered(&out), ["0001"], "{}", said.err);
}

#[test]
fn a_dry_run_lists_the_commands_and_writes_nothing() {
    let folder = folder();
    let (plan, out) = (plan(folder.path(), 3), folder.path().join("out"));
    let arguments = ["campaign", text(&plan), "--out", text(&out), "--dry-run"];
    let said = run(&arguments);
    assert_eq!(said.code, 0, "{}", said.err);
    let commands = said
        .out
        .lines()
        .filter(|it| it.starts_with("kadenz timer cyclic"));
    assert_eq!(commands.count(), 12, "{}", said.out);
    assert!(
        said.out.contains("--sleeper spin --no-samples"),
        "{}",
        said.out
    );
    assert!(said.out.contains("they measure for 240"), "{}", said.out);
    assert!(!out.exists());
    let said = run(&[&arguments[..], &["--json"]].concat());
    let json = said.json();
    assert_described("campaign", "plan", &json);
    assert_eq!(json["measuring_ns"], 240_000_000);
}
