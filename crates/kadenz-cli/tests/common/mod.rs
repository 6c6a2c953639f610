//! Helpers that the end-to-end tests share: the program as a user types it.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

pub(crate) mod listener;
pub(crate) mod started;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

/// The program with arguments, not yet started.
pub(crate) fn kadenz(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kadenz"));
    command.args(arguments).env_remove("RUST_LOG");
    command
}

/// The output of a finished command.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Standard output as JSON; it must hold nothing else.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.out, self.err))
    }
}

/// Asserts that the output of a command without `--details` fits on a screen of 25 lines of 80 columns.
pub(crate) fn assert_on_one_screen(said: &Said) {
    let lines: Vec<&str> = said.out.lines().collect();
    assert!((2..=25).contains(&lines.len()), "{}", said.out);
    for line in lines {
        assert!(line.chars().count() <= 80, "{line}\n{}", said.out);
    }
}

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str]) -> Said {
    Said::of(kadenz(arguments).output().unwrap())
}

/// The words of a line, none of which holds a blank; so the paths of TMPDIR and of the checkout must hold none.
pub(crate) fn parted(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Runs a line as a user types it.
pub(crate) fn run_line(line: &str) -> Said {
    run(&parted(line))
}

/// A temporary folder, removed when the test ends.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// `run.json` of a folder.
pub(crate) fn run_json(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("run.json")).unwrap()).unwrap()
}

/// The series of a name in the program's JSON.
pub(crate) fn series<'a>(json: &'a Value, name: &str) -> &'a Value {
    json["series"]
        .as_array()
        .and_then(|all| all.iter().find(|series| series["name"] == name))
        .unwrap_or_else(|| panic!("no series {name} in {json}"))
}

/// Holds a command's JSON against its schema in `docs/schema/`.
pub(crate) fn assert_valid(schema: &str, json: &Value) {
    hold_against(schema_of(schema), "", json);
}

/// Holds the JSON of a command, such as `msg` and `server` for `kadenz msg server`, against its definition, which must
/// describe every field that the command prints.
pub(crate) fn assert_described(schema: &str, command: &str, json: &Value) {
    let mut schema = schema_of(schema);
    close(&mut schema);
    hold_against(schema, &format!("#/$defs/{command}"), json);
}

fn schema_of(name: &str) -> Value {
    let file = format!(
        "{}/../../docs/schema/{name}.schema.json",
        env!("CARGO_MANIFEST_DIR")
    );
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn hold_against(schema: Value, place: &str, json: &Value) {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    let mut measured = schema_of("measured");
    close(&mut measured);
    let name = measured["$id"].as_str().unwrap().to_owned();
    compiler.add_resource(&name, measured).unwrap();
    compiler.add_resource("schema.json", schema).unwrap();
    let place = format!("schema.json{place}");
    let index = compiler.compile(&place, &mut schemas).unwrap();
    if let Err(error) = schemas.validate(json, index) {
        panic!("{error:#}: {json}");
    }
}

/// Allows objects only the fields that the schema describes; an object with alternatives may have the fields of any of
/// these.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let is_object = fields.get("properties").is_some_and(Value::is_object)
                && fields.contains_key("required");
            for (key, value) in fields.iter_mut() {
                match value.as_array_mut() {
                    Some(alternatives) if is_object && key == "oneOf" => {
                        let fields = alternatives
                            .iter_mut()
                            .filter_map(|it| it.get_mut("properties"));
                        fields.for_each(close);
                    }
                    _ => close(value),
                }
            }
            if is_object {
                fields.insert("unevaluatedProperties".to_owned(), false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Starts a measurement; returns once its first interval is on disk.
pub(crate) fn start_measuring(folder: &Path, arguments: &[&str]) -> Child {
    let mut child = kadenz(arguments)
        .arg("--out")
        .arg(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    if comes_true(|| intervals_on_disk(folder) > 0) {
        return child;
    }
    child.kill().unwrap();
    let said = Said::of(child.wait_with_output().unwrap());
    panic!("nothing was recorded in {}: {}", folder.display(), said.err);
}

/// Waits until a condition holds that must hold sooner or later.
pub(crate) fn wait_until(condition: impl FnMut() -> bool) {
    assert!(comes_true(condition), "it did not come true");
}

/// Waits for an event without asserting a time: the wait gives up only on a hung machine.
pub(crate) fn comes_true(mut condition: impl FnMut() -> bool) -> bool {
    (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        condition()
    })
}

/// How many intervals the longest log of a run holds.
pub(crate) fn intervals_on_disk(folder: &Path) -> usize {
    hlogs(folder)
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .map(|log| log.lines().filter(|line| line.contains("HIST")).count())
        .max()
        .unwrap_or(0)
}

fn hlogs(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "hlog"))
        .collect()
}

/// Sends a signal to one process, by its number.
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .arg(format!("-{name}"))
        .arg(child.id().to_string())
        .status()
        .unwrap();
    assert!(status.success(), "kill -{name} failed");
}

/// Whether the test runs as root.
pub(crate) fn is_root() -> bool {
    Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// The program as a user without the right to real-time priority; `None` where the machine cannot run it as one.
pub(crate) fn without_rights(arguments: &[&str]) -> Option<Command> {
    let mut command = Command::new("prlimit");
    command.arg("--rtprio=0:0");
    if is_root() {
        Command::new("setpriv").arg("--version").output().ok()?;
        command.args([
            "setpriv",
            "--bounding-set=-sys_nice",
            "--inh-caps=-sys_nice",
        ]);
    }
    Command::new("prlimit").arg("--version").output().ok()?;
    command.arg(env!("CARGO_BIN_EXE_kadenz")).args(arguments);
    command.env_remove("RUST_LOG");
    Some(command)
}

/// Reports that a test was skipped, and why; fails where nothing may be skipped.
pub(crate) fn skip(test: &str, missing: &str) {
    assert!(
        std::env::var_os("KADENZ_SKIP_NOTHING").is_none(),
        "{test} must not be skipped: {missing}"
    );
    eprintln!("skipped: {test}: {missing}");
}
