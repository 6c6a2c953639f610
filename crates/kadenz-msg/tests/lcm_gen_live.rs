//! Messages to and from Python's lcm, with types that lcm-gen has compiled for the test.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod golden;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use golden::{bytes, folder, hex};
use kadenz_msg::types::Types;
use serde_json::{Value as Json, json};

/// A Python that has lcm; reports a skipped test and returns `None` where there is none.
fn python(test: &str) -> Option<PathBuf> {
    let named = std::env::var_os("KADENZ_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| "python3".into());
    let found = Command::new(&python).args(["-c", "import lcm"]).output();
    let generator = python.parent().unwrap_or(Path::new("")).join("lcm-gen");
    if found.is_ok_and(|it| it.status.success()) && generator.is_file() {
        return Some(python);
    }
    let needed = "lcm; python3 -m venv v && v/bin/pip install lcm, then KADENZ_PYTHON=v/bin/python";
    eprintln!("skipped: {test}: {needed}");
    let strict = std::env::var_os("KADENZ_SKIP_NOTHING").is_some_and(|it| it == "1");
    assert!(!strict, "{test} may not be skipped: {needed}");
    None
}

/// Runs `lcm_types.py`; returns its answer.
fn ask(python: &Path, arguments: &[&str], input: &Json) -> Json {
    let mut child = Command::new(python)
        .arg(folder().join("lcm_types.py"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn python_reads_what_we_write_and_we_read_what_it_writes() {
    let Some(python) = python("python_reads_what_we_write_and_we_read_what_it_writes") else {
        return;
    };
    let path = folder().join("types");
    let path = path.to_str().unwrap();
    let types = Types::from_files([path]).unwrap();
    let made = ask(&python, &["make", path, "live"], &Json::Null);
    for (name, fingerprint) in made["fingerprints"].as_object().unwrap() {
        let ours = types.fingerprint(name).unwrap().to_string();
        assert_eq!(ours, fingerprint.as_str().unwrap());
    }
    let mut ours = Vec::new();
    for message in made["messages"].as_array().unwrap() {
        let name = message["type"].as_str().unwrap();
        let value = types
            .decode_as(name, &bytes(message["hex"].as_str().unwrap()))
            .unwrap();
        assert_eq!(value.to_json(), message["value"], "{name}");
        let encoded = types.encode(&value).unwrap();
        ours.push(json!({"type": name, "hex": hex(&encoded), "value": value.to_json()}));
    }
    // Python decodes messages of Kadenz, and encodes them again.
    let ours = json!({ "messages": ours });
    assert_eq!(ask(&python, &["echo", path], &ours), ours);
}

/// lcm-gen accepts the texts of types that Kadenz prints, with the same fingerprints.
#[test]
fn lcm_gen_reads_what_we_print() {
    let Some(python) = python("lcm_gen_reads_what_we_print") else {
        return;
    };
    let types = golden::types();
    for name in [
        "robot.state",
        "map.ping",
        "odd.places.words",
        "robot.arrays",
    ] {
        let printed = tempfile::tempdir().unwrap();
        let text = types.text_of(name).unwrap();
        std::fs::write(printed.path().join("closure.lcm"), text).unwrap();
        let made = ask(
            &python,
            &["make", printed.path().to_str().unwrap(), "printed"],
            &Json::Null,
        );
        let fingerprint = types.fingerprint(name).unwrap().to_string();
        assert_eq!(made["fingerprints"][name], fingerprint.as_str());
    }
}

#[test]
fn lcm_gen_refuses_what_we_refuse() {
    let Some(python) = python("lcm_gen_refuses_what_we_refuse") else {
        return;
    };
    let files = std::fs::read_dir(folder().join("refused")).unwrap();
    let files: Vec<PathBuf> = files.map(|it| it.unwrap().path()).collect();
    let mut arguments = vec!["refuse"];
    arguments.extend(files.iter().map(|it| it.to_str().unwrap()));
    let refused = ask(&python, &arguments, &Json::Null);
    for file in files {
        assert!(Types::from_files([&file]).is_err(), "{}", file.display());
        assert_eq!(refused[file.to_str().unwrap()], true, "{}", file.display());
    }
}
