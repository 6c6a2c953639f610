//! `kadenz tune` as a user types it.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;
use std::path::Path;

/// Arguments of a matrix of a few seconds into `out`.
fn quick<'a>(out: &'a Path, cells: &'a str, duration: &'a str) -> Vec<&'a str> {
    let mut words = vec!["tune", "--load", "none", "--round", "200ms"];
    words.extend(["--cells", cells, "--duration", duration]);
    words.extend(["--deadline", "10s", "--out", text(out)]);
    words
}

fn recorded(run: &serde_json::Value, name: &str) -> u64 {
    let series = run["series"].as_array().unwrap();
    let found = series.iter().find(|it| it["name"] == name);
    found.map_or(0, |it| it["counts"]["recorded"].as_u64().unwrap())
}

#[test]
fn cells_take_turns_and_end_in_one_run() {
    let folder = folder();
    let out = folder.path().join("matrix");
    let said = run(&quick(&out, "none,S", "600ms"));
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.err.contains("2 combinations"), "{}", said.err);
    let run = run_json(&out);
    assert_eq!(run["experiment"], "tune");
    assert_eq!(run["parameters"]["cells"], "none,S");
    assert_eq!(run["parameters"]["rounds"], 3);
    for cell in ["none", "S"] {
        let name = format!("unloaded-{cell}");
        // Three rounds of 200 beats. A beat without a wake-up is a sample, too.
        assert_eq!(recorded(&run, &name), 600, "{name}");
        assert!(recorded(&run, &format!("{name}-jitter")) > 0);
    }
    assert!(out.join("report.html").exists());
    // Interleaved: the cells' intervals lie between each other.
    let first = intervals_on_disk(&out);
    assert!(first >= 3, "{first}");
}

#[test]
fn a_loop_on_the_fieldbus_is_a_cell_like_any_other() {
    let folder = folder();
    let out = folder.path().join("matrix");
    let mut words = quick(&out, "none", "400ms");
    words.extend(["--bus", "3", "--pace", "skip"]);
    let said = run(&words);
    assert_eq!(said.code, 0, "{}", said.err);
    let made = run_json(&out);
    assert_eq!(made["parameters"]["bus"], "3");
    // Two rounds of 200 beats.
    assert_eq!(recorded(&made, "unloaded-none"), 400);
    assert!(recorded(&made, "unloaded-none-jitter") > 0);
    let elsewhere = folder.path().join("elsewhere");
    let mut words = quick(&elsewhere, "none", "400ms");
    words.extend(["--bus", "nowhere0"]);
    let said = run(&words);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("nowhere0"), "{}", said.err);
}

#[test]
fn every_measure_reaches_the_loop() {
    let folder = folder();
    let out = folder.path().join("matrix");
    let said = run(&quick(&out, "none,PMS", "200ms"));
    let run = run_json(&out);
    if run["parameters"]["cells"] != "none,PMS" {
        return skip("every_measure_reaches_the_loop", &said.err);
    }
    let tuning = |name: &str| {
        let series = run["series"].as_array().unwrap();
        series.iter().find(|it| it["name"] == name).unwrap()["tuning"].to_string()
    };
    let all = tuning("unloaded-PMS");
    for measure in ["SCHED_FIFO 80", "memory_lock", "spin, margin 50 us"] {
        assert!(all.contains(measure), "{measure}: {all}");
    }
    let none = tuning("unloaded-none");
    assert!(
        none.contains("SCHED_OTHER") && !none.contains("memory_lock"),
        "{none}"
    );
}

/// Idle states are held off, or the cell is left out with the reason; the run never measures a cell under a wrong name.
#[test]
fn idle_states_are_held_off_for_their_cells_alone() {
    let folder = folder();
    let out = folder.path().join("matrix");
    let said = run(&quick(&out, "none,I", "200ms"));
    let made = run_json(&out);
    assert_eq!(made["parameters"]["cells_asked"], "none,I");
    let held = |name: &str| {
        let series = made["series"].as_array().unwrap();
        let found = series.iter().find(|it| it["name"] == name);
        let tuning = found.map(|it| it["tuning"].as_array().unwrap().clone());
        tuning.map(|it| it.into_iter().find(|it| it["name"] == "cpu_dma_latency"))
    };
    assert_eq!(held("unloaded-none"), Some(None));
    if made["parameters"]["cells"] == "none" {
        let refusal = made["parameters"]["not_granted"][0].as_str().unwrap();
        assert!(
            refusal.starts_with("I is not available") || refusal.starts_with("I cannot be had")
        );
        return skip("idle_states_are_held_off_for_their_cells_alone", &said.err);
    }
    let idle = held("unloaded-I").unwrap().unwrap();
    assert_eq!(idle["requested"], "0 us");
    assert_eq!(
        (&idle["granted"], &idle["ok"]),
        (&"0 us".into(), &true.into())
    );
}

#[test]
fn the_planner_says_how_long_a_claim_takes() {
    let folder = folder();
    let out = folder.path().join("matrix");
    let said = run_line(&format!(
        "tune --cells none --load none --confidence 99 --round 200ms --deadline 10s --out {}",
        text(&out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.err.contains("you need 299 samples"), "{}", said.err);
    assert!(recorded(&run_json(&out), "unloaded-none") >= 299);
}

#[test]
fn json_holds_the_matrix_and_nothing_else() {
    let folder = folder();
    let out = folder.path().join("matrix");
    let mut words = quick(&out, "none,S", "200ms");
    words.push("--json");
    let said = run(&words);
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert_described("tune", "tune", &json);
    let matrix = &json["matrix"];
    assert_eq!(matrix["version"], 1);
    assert_eq!(matrix["cells"][0]["cell"], "none");
    assert_eq!(matrix["cells"][1]["cell"], "S");
    assert_eq!(matrix["recommendation"]["cell"], "none");
    assert_eq!(json["run"], text(&out));
}

#[test]
fn a_quiet_matrix_is_one_sentence() {
    let folder = folder();
    let out = folder.path().join("matrix");
    let mut words = quick(&out, "none", "200ms");
    words.push("--quiet");
    let said = run(&words);
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(said.out.lines().count(), 1, "{}", said.out);
    assert!(!said.out.contains(". "), "{}", said.out);
}

#[test]
fn a_deadline_that_nothing_keeps_is_exit_code_1() {
    let folder = folder();
    let out = folder.path().join("matrix");
    let mut words = quick(&out, "none,S", "400ms");
    let place = words.iter().position(|word| *word == "10s").unwrap();
    words[place] = "1ns";
    let said = run(&words);
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    assert!(said.out.contains("No combination"), "{}", said.out);
}

/// Load, shield and all measures, as in Yoon's experiment, for moments only.
#[cfg(target_os = "linux")]
#[test]
fn the_experiment_of_yoon2009_is_one_command() {
    let folder = folder();
    let out = folder.path().join("tuning");
    let said = run_line(&format!(
        "experiment tuning --duration 200ms --round 200ms --out {}",
        text(&out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    let table = std::fs::read_to_string(out.join("table.md")).unwrap();
    let json = run_json(&out.join("matrix"));
    let cells = json["parameters"]["cells"].as_str().unwrap();
    let asked = &json["parameters"]["cells_asked"];
    assert_eq!(asked, "none,M,C,MC,P,PM,PC,PMC,PMCS", "Yoon's, and no more");
    for load in ["unloaded", "heavy"] {
        for cell in cells.split(',') {
            assert!(
                recorded(&json, &format!("{load}-{cell}")) > 0,
                "{load} {cell}"
            );
        }
    }
    // Yoon's own figures stand beside: figure 8, its worst and its best maximum.
    for figure in ["346,148", "1,071", "PMCS"] {
        assert!(table.contains(figure), "{figure}: {table}");
    }
    let rates = &json["parameters"]["load_rates"][0]["loads"];
    assert!(
        rates.as_array().is_some_and(|loads| loads.len() == 4),
        "{rates}"
    );
}

#[test]
fn wrong_arguments_say_what_is_right() {
    let folder = folder();
    let out = folder.path().join("matrix");
    for (arguments, word) in [
        (vec!["--cells", "none,PX"], "letters of PMCSI"),
        (vec!["--cells", "none,IP"], "/dev/cpu_dma_latency"),
        (vec!["--load", "some"], "heavy"),
        (vec!["--confidence", "100"], "100"),
        (vec!["--round", "1ms"], "100ms"),
        (vec!["--duration", "1us"], "shorter than one beat"),
        (vec!["--priority", "100"], "99"),
        (vec!["--pace", "slow"], "relative"),
        (vec!["--duration", "10"], "unit"),
        (vec!["--bus", "0"], "1 to 200"),
        (vec!["--bus", "/no/such.toml"], "/no/such.toml"),
        (vec!["--bus", "no-such-if0"], "no-such-if0"),
        (vec!["--bus", "59", "--rate", "100kHz"], "20us to 1s"),
    ] {
        let mut words = vec!["tune", "--out", text(&out)];
        words.extend(arguments);
        let said = run(&words);
        assert_eq!(said.code, 2, "{words:?}: {}", said.err);
        assert!(said.err.contains(word), "{words:?}: {}", said.err);
        assert!(!out.exists(), "{words:?} left something behind");
    }
    let said = run(&["tune", "--resume", text(folder.path())]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("no run"), "{}", said.err);
    let said = run(&["tune", "--resume", "x", "--rate", "1kHz"]);
    assert_eq!(said.code, 2);
}

#[test]
fn another_run_is_no_matrix_to_go_on_with() {
    let folder = folder();
    let out = folder.path().join("other");
    run(&["timer", "cyclic", "--duration", "50ms", "--out", text(&out)]);
    let said = run(&["tune", "--resume", text(&out)]);
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("which `tune --resume` cannot continue"),
        "{}",
        said.err
    );
}

#[cfg(unix)]
mod interrupted {
    use std::process::{Child, Stdio};

    use super::*;

    /// Starts a matrix of many rounds; returns when the first rounds are on disk.
    fn begin(out: &Path) -> Child {
        let child = kadenz(&quick(out, "none,S", "2s"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_until(|| intervals_on_disk(out) >= 2);
        child
    }

    fn resumed(out: &Path) {
        let said = run(&["tune", "--resume", text(out)]);
        assert_eq!(said.code, 0, "{}", said.err);
        let run = run_json(out);
        assert_eq!(run["ended_by"], "finished");
        // The run holds exactly the planned beats: no round is missing or counted twice.
        for name in ["unloaded-none", "unloaded-S"] {
            assert_eq!(recorded(&run, name), 2000, "{run}");
        }
    }

    #[test]
    fn ctrl_c_keeps_what_was_measured_and_resume_goes_on() {
        let folder = folder();
        let out = folder.path().join("matrix");
        let child = begin(&out);
        signal(&child, "INT");
        let said = Said::of(child.wait_with_output().unwrap());
        assert_eq!(said.code, 2, "{}", said.err);
        let word = format!("kadenz tune --resume {}", text(&out));
        assert!(said.err.contains(&word), "{}", said.err);
        let run = run_json(&out);
        assert_eq!(run["ended_by"], "interrupted");
        assert_eq!(run["complete"], true);
        resumed(&out);
    }

    #[test]
    fn a_killed_matrix_is_readable_and_goes_on() {
        let folder = folder();
        let out = folder.path().join("matrix");
        let mut child = begin(&out);
        child.kill().unwrap();
        child.wait().unwrap();
        let said = run(&["show", text(&out)]);
        assert_ne!(said.code, 2, "{}", said.err);
        // The round under way ends by itself, and `--resume` measures it again.
        resumed(&out);
    }

    #[test]
    fn one_process_at_a_time_measures_into_a_folder() {
        let folder = folder();
        let out = folder.path().join("matrix");
        let child = begin(&out);
        let said = run(&["tune", "--resume", text(&out)]);
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains(&child.id().to_string()), "{}", said.err);
        signal(&child, "TERM");
        child.wait_with_output().unwrap();
    }

    #[test]
    fn without_rights_what_can_be_had_is_measured_and_the_rest_is_named() {
        let folder = folder();
        let out = folder.path().join("matrix");
        let arguments = quick(&out, "none,P,PMCS", "200ms");
        let Some(mut command) = without_rights(&arguments) else {
            return skip(
                "without_rights_what_can_be_had_is_measured_and_the_rest_is_named",
                "prlimit and setpriv, of the package util-linux",
            );
        };
        let said = Said::of(command.output().unwrap());
        assert!(said.err.contains("P cannot be had here"), "{}", said.err);
        assert!(said.err.contains("rtprio"), "{}", said.err);
        let run = run_json(&out);
        assert_eq!(run["parameters"]["cells"], "none");
        assert!(
            run["parameters"]["not_granted"]
                .to_string()
                .contains("RTPRIO"),
            "{run}"
        );
        // The measured cells keep a deadline of 10 s.
        assert_eq!(said.code, 0, "{}", said.err);
    }
}
