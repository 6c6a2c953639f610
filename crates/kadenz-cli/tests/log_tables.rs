//! `kadenz log convert` into CSV and Parquet, as a user types it.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use kadenz::msg::log::{self, Entry, LoggedChannel};
use kadenz::msg::types::Types;
use kadenz::rt::clock::WallTime;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use serde_json::{Value, json};

const TEXT: &str = "package robot;
    enum mode_t { IDLE = 0, RUN = 1 }
    struct vec_t { double x; double y; }
    struct arm_t { int8_t n; float joints[n]; }
    struct pose_t {
        int64_t t; vec_t position; float q[2]; string name; boolean ok; byte flags; mode_t mode;
        int8_t grid[2][2]; arm_t arms[1]; int32_t n; double ranges[n]; byte raw[n]; string tags[n];
        vec_t path[n]; string channel;
    }";

fn types() -> Types {
    Types::from_text(TEXT).unwrap()
}

fn pose(n: usize) -> Value {
    json!({
        "t": i64::MAX, "position": {"x": 0.1, "y": -1e300}, "q": [0.1, "NaN"], "name": "a \"b\",\nc",
        "ok": true, "flags": 255, "mode": "RUN", "grid": [[1, 2], [3, -4]],
        "arms": [{"n": 2, "joints": [1.5, 0.1]}], "n": n, "ranges": vec![0.5; n], "raw": vec![7; n],
        "tags": vec!["x,y"; n], "path": vec![json!({"x": 1.0, "y": 2.0}); n], "channel": "",
    })
}

fn message(name: &str, value: &Value) -> Vec<u8> {
    let types = types();
    let value = types.value_from_json(name, value).unwrap();
    types.encode(&value).unwrap()
}

fn channel(name: &str, type_name: &str) -> Arc<LoggedChannel> {
    let text = types().text_of(type_name).unwrap();
    LoggedChannel::lcm_of_type(name, type_name, &text).into()
}

/// An MCAP file of these payloads, one a millisecond.
fn written(folder: &Path, messages: &[(Arc<LoggedChannel>, Vec<u8>)]) -> PathBuf {
    let path = folder.join("drive.mcap");
    let mut writer = log::create(&path, log::Format::Mcap).unwrap();
    for (n, (channel, payload)) in messages.iter().enumerate() {
        let ns = 1_700_000_000_000_000_000 + n as i64 * 1_000_000;
        let entry = Entry {
            channel: Arc::clone(channel),
            log_time: WallTime::from_unix_ns(ns),
            publish_time: WallTime::from_unix_ns(ns - 5),
            sequence: n as u32,
            payload: payload.clone(),
        };
        writer.write(&entry).unwrap();
    }
    writer.finish().unwrap();
    path
}

/// Two poses, and a third one that is cut off.
fn poses(folder: &Path) -> PathBuf {
    let channel = channel("POSE", "robot.pose_t");
    let mut cut = message("robot.pose_t", &pose(0));
    cut.truncate(30);
    let payloads = [
        message("robot.pose_t", &pose(2)),
        message("robot.pose_t", &pose(0)),
        cut,
    ];
    written(folder, &payloads.map(|it| (Arc::clone(&channel), it)))
}

fn convert(log: &Path, out: &Path, more: &[&str]) -> Said {
    let arguments = ["log", "convert", text(log), "--out", text(out)];
    run(&[&arguments[..], more].concat())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_row_is_a_message_and_a_column_a_field() {
    let folder = folder();
    let log = poses(folder.path());
    let out = folder.path().join("d.csv");
    let said = convert(&log, &out, &["--json"]);
    assert_eq!(said.code, 2, "{}", said.err);
    let json = said.json();
    assert_described("log", "tables", &json);
    let counts = [&json["messages"], &json["malformed"], &json["left_out"]];
    assert_eq!(counts, [&json!(3), &json!(1), &json!(0)]);
    let reason = json["malformed_reason"].as_str().unwrap();
    assert!(reason.starts_with("POSE: position.y"), "{reason}");
    let expected = concat!(
        "channel,sequence,log_time_ns,publish_time_ns,t,position.x,position.y,q[0],q[1],name,ok,flags,",
        "mode,grid[0][0],grid[0][1],grid[1][0],grid[1][1],arms[0].n,arms[0].joints,n,ranges,raw,tags,",
        "path,message.channel\n",
        "POSE,0,1700000000000000000,1699999999999999995,9223372036854775807,0.1,-1e300,0.1,NaN,",
        "\"a \"\"b\"\",\nc\",true,255,RUN,1,2,3,-4,2,\"[1.5,0.1]\",2,\"[0.5,0.5]\",\"[7,7]\",",
        "\"[\"\"x,y\"\",\"\"x,y\"\"]\",\"[{\"\"x\"\":1.0,\"\"y\"\":2.0},{\"\"x\"\":1.0,\"\"y\"\":2.0}]\",\"\"\n",
        "POSE,1,1700000000001000000,1700000000000999995,9223372036854775807,0.1,-1e300,0.1,NaN,",
        "\"a \"\"b\"\",\nc\",true,255,RUN,1,2,3,-4,2,\"[1.5,0.1]\",0,[],[],[],[],\"\"\n",
        "POSE,2,1700000000002000000,1700000000001999995,,,,,,,,,,,,,,,,,,,,,\n",
    );
    assert_eq!(std::fs::read_to_string(&out).unwrap(), expected);
    assert_eq!(names(folder.path()), ["d.csv", "drive.mcap"]);
}

#[test]
fn parquet_has_numbers_lists_and_bytes() {
    let folder = folder();
    let log = poses(folder.path());
    let out = folder.path().join("d.parquet");
    let said = convert(&log, &out, &[]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("1 row without fields"), "{}", said.err);
    let reader = SerializedFileReader::new(std::fs::File::open(&out).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    let rows: Vec<String> = rows.map(|it| it.unwrap().to_string()).collect();
    assert_eq!(rows.len(), 3);
    for part in [
        "channel: \"POSE\", sequence: 0, log_time_ns: 1700000000000000000",
        "t: 9223372036854775807, position.x: 0.1",
        "q[0]: 0.1, q[1]: NaN",
        "ok: true, flags: 255, mode: \"RUN\"",
        "arms[0].joints: [1.5, 0.1], n: 2, ranges: [0.5, 0.5], raw: [7, 7]",
        "tags: [\"x,y\", \"x,y\"]",
    ] {
        assert!(rows[0].contains(part), "{part} in {}", rows[0]);
    }
    assert!(rows[1].contains("ranges: [], raw: []"), "{}", rows[1]);
    assert!(
        rows[2].contains("t: null") && rows[2].contains("ranges: null"),
        "{}",
        rows[2]
    );
}

#[test]
fn pyarrow_reads_the_same() {
    const TEST: &str = "pyarrow_reads_the_same";
    let python = std::env::var("KADENZ_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python)
        .args(["-c", "import pyarrow"])
        .output();
    if !found.is_ok_and(|it| it.status.success()) {
        let remedy =
            "python3 -m venv v && v/bin/pip install pyarrow, then KADENZ_PYTHON=v/bin/python";
        skip(TEST, &format!("pyarrow; {remedy}"));
        return;
    }
    let folder = folder();
    let log = poses(folder.path());
    let out = folder.path().join("d.parquet");
    convert(&log, &out, &[]);
    let script = "import sys, json, pyarrow.parquet as pq\n\
        table = pq.read_table(sys.argv[1])\n\
        types = {f.name: str(f.type) for f in table.schema}\n\
        print(json.dumps([types, table.to_pylist()], default=lambda it: list(it)))";
    let output = Command::new(&python)
        .args(["-c", script, text(&out)])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let printed = String::from_utf8(output.stdout)
        .unwrap()
        .replace("NaN", "\"NaN\"");
    let parsed: Value = serde_json::from_str(&printed).unwrap();
    let (types, rows) = (&parsed[0], &parsed[1]);
    for (column, expected) in [
        ("channel", "string"),
        ("sequence", "uint32"),
        ("log_time_ns", "int64"),
        ("q[0]", "float"),
        ("flags", "uint8"),
        ("grid[1][1]", "int8"),
        ("ranges", "list<element: double not null>"),
        ("raw", "binary"),
        ("path", "string"),
    ] {
        assert_eq!(types[column], expected, "{column}");
    }
    assert_eq!(rows[0]["grid[1][1]"], -4);
    assert_eq!(rows[0]["flags"], 255);
    assert_eq!(rows[0]["tags"], json!(["x,y", "x,y"]));
    assert_eq!(rows[0]["raw"], json!([7, 7]));
    assert_eq!(rows[1]["tags"], json!([]));
    assert_eq!(rows[1]["name"], "a \"b\",\nc");
    assert_eq!(rows[2]["tags"], Value::Null);
    assert_eq!(rows[2]["sequence"], 2);
}

/// Poses on two channels, and vectors on a third, whose name would lead out of a folder.
fn several(folder: &Path) -> PathBuf {
    let vector = message("robot.vec_t", &json!({"x": 1.0, "y": 2.0}));
    let pose = message("robot.pose_t", &pose(1));
    let messages = [
        (channel("POSE", "robot.pose_t"), pose.clone()),
        (channel("../ARM", "robot.vec_t"), vector),
        (channel("POSE_2", "robot.pose_t"), pose),
    ];
    written(folder, &messages)
}

#[test]
fn several_types_need_a_choice_or_a_folder() {
    let folder = folder();
    let log = several(folder.path());
    let out = folder.path().join("d.csv");
    let said = convert(&log, &out, &[]);
    assert_eq!(said.code, 2);
    for part in ["robot.pose_t and robot.vec_t", "--channel", "folder"] {
        assert!(said.err.contains(part), "{part}: {}", said.err);
    }
    assert_eq!(names(folder.path()), ["drive.mcap"]);

    let said = convert(&log, &out, &["--channel", "POSE.*"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let csv = std::fs::read_to_string(&out).unwrap();
    assert!(
        csv.contains("\nPOSE,0,") && csv.contains("\nPOSE_2,2,"),
        "{csv}"
    );

    let tables = folder.path().join("tables");
    let said = convert(&log, &tables, &["--to", "parquet"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(
        names(&tables),
        ["POSE.parquet", "POSE_2.parquet", "_._ARM.parquet"]
    );

    let said = convert(&log, &tables, &["--to", "parquet"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("--force"), "{}", said.err);
    assert_eq!(names(&tables).len(), 3);
    let said = convert(&log, &tables, &["--to", "parquet", "--force"]);
    assert_eq!(said.code, 0, "{}", said.err);
}

#[test]
fn an_event_log_needs_the_types_and_without_any_leaves_nothing() {
    let folder = folder();
    let log = folder.path().join("old.lcmlog");
    let mut writer = log::create(&log, log::Format::EventLog).unwrap();
    let entry = Entry {
        channel: LoggedChannel::lcm("ARM").into(),
        payload: message("robot.vec_t", &json!({"x": 1.0, "y": 2.0})),
        ..Entry::default()
    };
    writer.write(&entry).unwrap();
    writer.finish().unwrap();
    let tables = folder.path().join("tables");
    let said = convert(&log, &tables, &["--to", "csv"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("give the .lcm files"), "{}", said.err);
    assert_eq!(names(folder.path()), ["old.lcmlog"]);

    let types = folder.path().join("robot.lcm");
    std::fs::write(&types, TEXT).unwrap();
    let said = convert(&log, &tables, &["--to", "csv", "--types", text(&types)]);
    assert_eq!(said.code, 0, "{}", said.err);
    let csv = std::fs::read_to_string(tables.join("ARM.csv")).unwrap();
    assert!(csv.ends_with("ARM,0,0,0,1.0,2.0\n"), "{csv}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_no_half_table_and_overwrites_none() {
    let folder = folder();
    let log = several(folder.path());
    let out = folder.path().join("d.csv");
    std::fs::write(&out, "precious").unwrap();
    let said = convert(&log, &out, &["--channel", "POSE"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("--force overwrites it"), "{}", said.err);

    // A file may not become longer than a block of 512 bytes.
    let program = env!("CARGO_BIN_EXE_kadenz");
    let command = format!(
        "trap '' XFSZ; ulimit -f 1; exec {program} log convert {} --channel POSE.* --force --out {}",
        text(&log),
        text(&out)
    );
    let said = Command::new("sh").args(["-c", &command]).output().unwrap();
    assert_eq!(said.status.code(), Some(2), "{said:?}");
    let err = String::from_utf8_lossy(&said.stderr);
    assert!(err.contains("no room on the disk"), "{err}");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "precious");
    assert_eq!(names(folder.path()), ["d.csv", "drive.mcap"]);
}

#[cfg(target_os = "linux")]
/// A log whose conversion takes long.
fn long(folder: &Path) -> PathBuf {
    let channel = channel("POSE", "robot.pose_t");
    let payload = message("robot.pose_t", &pose(200));
    written(folder, &vec![(channel, payload); 20_000])
}

/// Interrupts `kadenz log COMMAND ...` once it writes beside the log; returns what it printed.
fn interrupted(folder: &Path, arguments: &[&str]) -> Said {
    let before = names(folder).len();
    let child = kadenz(&[&["log"], arguments].concat())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(|| names(folder).len() > before);
    signal(&child, "TERM");
    Said::of(child.wait_with_output().unwrap())
}

#[test]
fn a_conversion_that_is_interrupted_leaves_nothing() {
    let folder = folder();
    let log = long(folder.path());
    let out = folder.path().join("d.csv");
    let said = interrupted(folder.path(), &["convert", text(&log), "--out", text(&out)]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("nothing was written"), "{}", said.err);
    assert_eq!(names(folder.path()), ["drive.mcap"]);
}

#[test]
fn a_copy_that_is_interrupted_is_exit_code_2_and_a_whole_log() {
    let folder = folder();
    let log = long(folder.path());
    for command in ["convert", "cut", "merge", "recover"] {
        let out = folder.path().join(format!("{command}.mcap"));
        let arguments = [command, text(&log), "--out", text(&out), "--quiet"];
        let said = interrupted(folder.path(), &arguments);
        assert_eq!(said.code, 2, "{command}: {}", said.err);
        assert!(said.err.contains("interrupted"), "{}", said.err);
        let info = run(&["log", "info", text(&out), "--json"]).json();
        assert!(info["logs"][0]["messages"].as_u64().unwrap() < 20_000);
    }
}
