//! Wrong arguments and impossible places: exit code 2, cause and remedy named, nothing lost.

mod common;
use common::*;

#[test]
fn wrong_arguments_are_exit_code_2_with_the_remedy() {
    for (arguments, word) in [
        (&["check", "--rate", "1000"][..], "1kHz"),
        (&["check", "--deadline", "fast"][..], "400us"),
        (&["check", "--policy", "fifo:100"][..], "99"),
        (&["check", "--sleeper", "dozing"][..], "nanosleep"),
        (&["timer", "oneshot", "--timeout", "2h"][..], "1us to 1h"),
        (&["timer", "cyclic", "--count", "0"][..], "0"),
        (&["hiccup", "--resolution", "0s"][..], "1ms"),
        (&["hiccup", "--cpus", "2-1"][..], "0,2-3"),
        (&["frobnicate"][..], "frobnicate"),
        (&["show"][..], "RUN"),
        (&["show", "/no/such/run"][..], "/no/such/run"),
        (
            &["compare", "/no/such/run", "/nor/this"][..],
            "/no/such/run",
        ),
        (&["compare", ".", "--fail-if", "p99 > 2"][..], "unit"),
        (&["export", ".", "--format", "jpeg"][..], "parquet"),
        (&["import", "/no/such/file"][..], "/no/such/file"),
    ] {
        let said = run(arguments);
        assert_eq!(said.code, 2, "{arguments:?}: {}", said.err);
        assert!(said.err.contains(word), "{arguments:?}: {}", said.err);
        assert!(said.out.is_empty(), "{arguments:?}: {}", said.out);
    }
}

#[test]
fn a_second_run_does_not_overwrite_the_first() {
    let folder = folder();
    let out = folder.path().join("run");
    let arguments = ["hiccup", "--duration", "100ms", "--out", text(&out)];
    assert_eq!(run(&arguments).code, 0);
    let before = std::fs::read(out.join("run.json")).unwrap();
    let said = run(&arguments);
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("another folder"),
        "names the remedy: {}",
        said.err
    );
    assert_eq!(std::fs::read(out.join("run.json")).unwrap(), before);
}

#[test]
fn a_file_in_the_way_is_named() {
    let folder = folder();
    let file = folder.path().join("file");
    std::fs::write(&file, "precious").unwrap();
    let said = run(&["hiccup", "--duration", "100ms", "--out", text(&file)]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains(text(&file)), "{}", said.err);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
}

#[test]
fn help_has_examples_for_every_measuring_command() {
    for arguments in [
        &["--help"][..],
        &["check", "--help"][..],
        &["doctor", "--help"][..],
        &["hiccup", "--help"][..],
        &["timer", "oneshot", "--help"][..],
        &["timer", "cyclic", "--help"][..],
        &["report", "--help"][..],
        &["show", "--help"][..],
        &["import", "--help"][..],
        &["compare", "--help"][..],
        &["export", "--help"][..],
        &["wire", "--help"][..],
        &["testbed", "list", "--help"][..],
        &["testbed", "model", "--help"][..],
    ] {
        let said = run(arguments);
        assert_eq!(said.code, 0);
        assert!(said.out.contains("Examples:"), "{arguments:?}");
    }
}

#[test]
fn completions_and_manual_pages() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(
            run(&["completions", shell]).out.contains("kadenz"),
            "{shell}"
        );
    }
    // What the options have, all of these have.
    let bash = run(&["completions", "bash"]).out;
    for word in ["--readers", "pi-mutex", "--units"] {
        assert!(bash.contains(word), "{word}");
    }
    assert!(run(&["man"]).out.contains(".TH kadenz"));
    let folder = folder();
    assert_eq!(run(&["man", "--out", text(folder.path())]).code, 0);
    for page in [
        "kadenz-check.1",
        "kadenz-ethercat-inputs.1",
        "kadenz-ethercat-stop.1",
    ] {
        assert!(folder.path().join(page).exists(), "{page}");
    }
}

#[test]
fn the_doctor_needs_no_rights_and_speaks_json() {
    let json = run(&["doctor", "--json"]).json();
    let findings = json["findings"].as_array().unwrap();
    assert!(findings.len() > 10);
    for finding in findings {
        for key in ["id", "severity", "title", "cost", "evidence"] {
            assert!(!finding[key].as_str().unwrap().is_empty(), "{finding}");
        }
    }
}
