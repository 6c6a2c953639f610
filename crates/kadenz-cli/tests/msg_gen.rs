//! `kadenz msg gen`, `type` and `diff`, end to end.
#![allow(clippy::unwrap_used, reason = "a panic is the answer of a test")]

mod common;
use common::*;

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn types() -> String {
    root()
        .join("conformance/lcm-types/types")
        .display()
        .to_string()
}

/// A file with a text.
fn file(folder: &Path, name: &str, content: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    text(&path).to_owned()
}

const POSE: &str = "package robot;\n// Where it is.\nstruct pose_t {\n    double position[3]; // m\n    int32_t n;\n    float ranges[n];\n}\n";

#[test]
fn rust_is_written_once_and_checked() {
    let folder = folder();
    let out = folder.path().join("out");
    let there = root().join("crates/kadenz-msg/tests/messages");
    let types = types();
    let arguments = ["msg", "gen", &types, "--lang", "rust", "--out"];
    let default = |out: &Path, more: &[&str]| run(&[&arguments[..], &[text(out)], more].concat());
    let own = ["--crate-path", "kadenz_msg"];
    let with = |out: &Path, more: &[&str]| default(out, &[&own[..], more].concat());
    assert_eq!(
        with(&there, &["--check"]).code,
        0,
        "the files that are tested are up to date"
    );
    let said = with(&out, &["--check"]);
    assert_eq!(said.code, 1, "{}", said.out);
    assert!(said.out.contains("out of date") && !out.exists());
    let json = with(&out, &["--json"]).json();
    assert_described("msg", "gen", &json);
    assert_eq!((&json["version"], &json["types"]), (&1.into(), &17.into()));
    assert_eq!(json["files"][0]["changed"], true);
    for name in ["mod.rs", "robot/mod.rs", "deep/er/mod.rs"] {
        let ours = std::fs::read(out.join(name)).unwrap();
        assert_eq!(ours, std::fs::read(there.join(name)).unwrap(), "{name}");
    }
    assert!(with(&out, &[]).out.contains("unchanged"));
    assert_eq!(default(&out, &["--check"]).code, 1);
    assert_eq!(default(&out, &[]).code, 0);
    let code = std::fs::read_to_string(out.join("robot/mod.rs")).unwrap();
    assert!(code.contains("kadenz::msg::message::Message for"), "{code}");
    assert!(!code.contains("kadenz_msg"), "{code}");
}

#[test]
fn other_languages_are_written_and_say_what_is_renamed() {
    let folder = folder();
    let pose = file(folder.path(), "pose.lcm", &POSE.replace("ranges", "class"));
    for (language, name, renamed) in [
        ("python", "robot/__init__.py", true),
        ("java", "robot/pose_t.java", true),
        ("c", "robot_pose_t.h", false),
        ("cpp", "robot/pose_t.hpp", true),
        ("matlab", "+robot/pose_t_decode.m", false),
    ] {
        let out = folder.path().join(language);
        let arguments = ["msg", "gen", &pose, "--lang", language, "--out", text(&out)];
        let said = run(&arguments);
        assert_eq!(said.code, 0, "{language}: {}", said.err);
        assert!(out.join(name).is_file(), "{language}: {}", said.out);
        let line = "renamed: class of robot.pose_t is class_ in the code";
        assert_eq!(
            said.out.matches(line).count(),
            usize::from(renamed),
            "{}",
            said.out
        );
        let json = run(&[&arguments[..], &["--json"]].concat()).json();
        assert_described("msg", "gen", &json);
        assert_eq!(
            json["renamed"].as_array().unwrap().len(),
            usize::from(renamed)
        );
        assert_eq!(run(&[&arguments[..], &["--check"]].concat()).code, 0);
        let said = run(&[&arguments[..], &["--crate-path", "kadenz::msg"]].concat());
        assert_eq!(said.code, 2);
        assert!(
            said.err.contains("--crate-path is for Rust alone"),
            "{}",
            said.err
        );
    }
    let both = file(
        folder.path(),
        "both.lcm",
        "struct a { int8_t class, class_; }",
    );
    let said = run_line(&format!(
        "msg gen {both} --lang java --out {}",
        text(folder.path())
    ));
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("would both be called class_; rename one"),
        "{}",
        said.err
    );
}

#[test]
fn types_are_listed_with_their_fingerprints() {
    let folder = folder();
    let pose = file(folder.path(), "pose.lcm", POSE);
    let said = run(&["msg", "type", &pose]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(
        said.out,
        "0xc415bed6a56269ad  robot.pose_t  struct 36 bytes or more\n"
    );
    let said = run(&["msg", "type", &pose, "--name", "robot.pose_t"]);
    assert!(
        said.out.contains("    // m\n    double position[3];"),
        "{}",
        said.out
    );
    let json = run(&["msg", "type", &types(), "--json"]).json();
    assert_described("msg", "type", &json);
    let all = json["types"].as_array().unwrap();
    let state = all.iter().find(|it| it["name"] == "robot.state").unwrap();
    assert_eq!(state["fingerprint"], "0x163a3b1b2d39b629");
    assert_eq!(state["made_of"].as_array().unwrap().len(), 3);
    let said = run(&["msg", "type", &pose, "--name", "pose_t"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("lists them"), "{}", said.err);
}

#[test]
fn a_change_that_breaks_is_named() {
    let folder = folder();
    let old = file(folder.path(), "old.lcm", POSE);
    let new = file(
        folder.path(),
        "new.lcm",
        &POSE.replace("float ranges", "double ranges"),
    );
    let said = run(&["msg", "diff", &old, &new]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.out.contains("robot.pose_t: BREAKS"), "{}", said.out);
    assert!(
        said.out
            .contains("member ranges was float[n] and is double[n]")
    );
    let json = run_line(&format!("msg diff {old} {new} --name robot.pose_t --json")).json();
    assert_described("msg", "diff", &json);
    assert_eq!(json["breaks"], true);
    assert_eq!(json["types"][0]["changes"][0]["kind"], "member_retyped");
    let comment = file(
        folder.path(),
        "comment.lcm",
        &POSE.replace("// m", "// metres"),
    );
    let said = run(&["msg", "diff", &old, &comment]);
    assert_eq!(said.code, 0);
    assert!(said.out.contains("stays compatible"), "{}", said.out);
    assert_eq!(run(&["msg", "diff", &old, &old]).out, "nothing changed\n");
}

#[test]
fn mistakes_are_named_by_file_line_and_column() {
    let folder = folder();
    let wrong = file(
        folder.path(),
        "wrong.lcm",
        "struct a {\n    uint32_t x;\n}\n",
    );
    let out = text(folder.path());
    for arguments in [
        &["msg", "gen", &wrong, "--lang", "rust", "--out", out][..],
        &["msg", "type", &wrong][..],
        &["msg", "diff", &wrong, &wrong][..],
    ] {
        let said = run(arguments);
        assert_eq!(said.code, 2, "{arguments:?}");
        assert!(
            said.err.contains("wrong.lcm:2:5: there is no uint32_t"),
            "{}",
            said.err
        );
        assert!(said.err.contains("use int64_t"), "{}", said.err);
    }
    let said = run(&["msg", "type", "/no/such.lcm"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("/no/such.lcm"), "{}", said.err);
}

#[test]
fn help_has_examples() {
    for command in ["gen", "type", "diff"] {
        let said = run(&["msg", command, "--help"]);
        assert_eq!(said.code, 0);
        assert!(said.out.contains("Examples:"), "{command}");
    }
}
