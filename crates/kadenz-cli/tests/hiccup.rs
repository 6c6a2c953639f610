//! `kadenz hiccup` as a user types it.

mod common;
use common::*;

#[test]
fn hiccups_of_an_idle_machine() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run_line(&format!(
        "hiccup --duration 600ms --interval 200ms --json --out {}",
        text(&out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert!(series(&json, "hiccup")["count"].as_u64().unwrap() > 0);
    assert!(series(&json, "hiccup")["min_ns"].as_i64().unwrap() >= 0);
    let log = std::fs::read_to_string(out.join("hiccup.hlog")).unwrap();
    assert!(log.lines().next().unwrap().contains("jHiccup"));
    assert!(log.contains("#[Histogram log format version 1.3]"));
}

#[test]
fn beside_a_program_it_ends_with_the_program() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run(&["hiccup", "--json", "--out", text(&out), "--", "sleep", "1"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(run_json(&out)["ended_by"], "program_ended");
    assert!(series(&said.json(), "hiccup")["count"].as_u64().unwrap() > 0);
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_to_the_measurement_alone_is_passed_on_to_the_program() {
    for name in ["TERM", "INT"] {
        let folder = folder();
        let [out, ready, ended] = ["run", "ready", "ended"].map(|it| folder.path().join(it));
        let script = format!(
            "trap 'touch {}; exit 0' {name}; touch {}; while :; do sleep 0.05; done",
            text(&ended),
            text(&ready)
        );
        let arguments = ["hiccup", "--interval", "100ms", "--out", text(&out)];
        let program = ["--", "sh", "-c", &script];
        let mut child = kadenz(&[&arguments[..], &program].concat())
            .spawn()
            .unwrap();
        wait_until(|| ready.exists() && intervals_on_disk(&out) > 0);
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(0), "{name}");
        assert!(ended.exists(), "{name}");
        assert_eq!(run_json(&out)["complete"], true);
    }
}

#[test]
fn a_program_that_fails_is_reported_and_the_data_is_kept() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run(&[
        "hiccup",
        "--json",
        "--out",
        text(&out),
        "--",
        "sh",
        "-c",
        "sleep 0.3; exit 7",
    ]);
    assert_eq!(said.code, 2);
    let words = "kadenz: the measured program ended with exit";
    assert!(said.err.contains(words), "{}", said.err);
    assert!(
        said.json()["warnings"]
            .to_string()
            .contains("program_failed")
    );
    assert_eq!(run_json(&out)["complete"], true);
}

#[test]
fn a_program_that_does_not_exist_is_an_error_that_names_it() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run(&["hiccup", "--out", text(&out), "--", "/no/such/program"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("/no/such/program"), "{}", said.err);
}

#[test]
fn a_program_s_words_do_not_spoil_the_json() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run(&[
        "hiccup",
        "--json",
        "--out",
        text(&out),
        "--",
        "sh",
        "-c",
        "echo hello; sleep 0.2",
    ]);
    assert!(said.json()["series"].is_array());
    assert!(said.err.contains("hello"));
}

#[test]
fn the_control_process_leaves_a_run_of_its_own() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run_line(&format!(
        "hiccup --control --sleeper timerfd --no-lock --duration 500ms --out {}",
        text(&out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    let (run, control) = (run_json(&out), run_json(&folder.path().join("run-control")));
    assert_eq!(control["complete"], true);
    for name in ["sleeper", "policy"] {
        assert!(run["parameters"][name].is_string(), "{run}");
        assert_eq!(
            run["parameters"][name], control["parameters"][name],
            "{name}"
        );
    }
    assert!(said.out.contains("control"), "{}", said.out);
    assert_on_one_screen(&said);
}

#[test]
fn a_thread_for_each_chosen_cpu() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run_line(&format!(
        "hiccup --cpus 0 --duration 300ms --json --out {}",
        text(&out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(
        series(&said.json(), "hiccup-cpu0")["count"]
            .as_u64()
            .unwrap()
            > 0
    );
}
