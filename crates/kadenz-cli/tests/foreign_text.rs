//! A run, a log, a message, a device's description or a file's name may contain sequences that control a terminal. No
//! command passes them on: words show them as `\u{1b}`, JSON escapes them.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;

use std::path::{Path, PathBuf};
use std::time::Duration;

use kadenz::msg::bus::Bus;
use kadenz::msg::log::{self, Entry};
use kadenz::msg::service::messages::ClockQuery;
use kadenz::msg::service::parameters::Parameters;
use kadenz::report::text::is_hidden;
use kadenz::rt::tuning::Tuning;
use serde_json::{Value, json};

/// A title for the terminal's window, a cleared screen in C0 and C1, an overwritten line, changed text directions,
/// separators and invisible characters. Short enough for a channel's name.
const HOSTILE: &str = "x\u{1b}]0;t\u{7}\u{9b}2J\u{7f}\r\u{8}\u{85}\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}\u{200b}\u{e0001}y";
/// The part of it that a description of a virtual segment may hold.
const TURNED: &str = "x\u{202e}y";

/// The files that the commands read.
struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let stage = Self { folder: folder() };
        for run in ["run", "other", HOSTILE] {
            stage.run(run, "wakeup");
        }
        stage.run("named", HOSTILE);
        for (name, format) in [
            ("log.mcap", log::Format::Mcap),
            ("log.lcm", log::Format::EventLog),
        ] {
            stage.log(name, format);
        }
        stage.log(&format!("{HOSTILE}.mcap"), log::Format::Mcap);
        let text = format!("// {HOSTILE}\npackage p; struct a_t {{ {HOSTILE} b; }}\n");
        std::fs::write(stage.at("broken.lcm-types"), &text).unwrap();
        std::fs::write(stage.at("broken.lcm"), &text).unwrap();
        std::fs::write(stage.at(&format!("{HOSTILE}.txt")), &text).unwrap();
        let name: String = HOSTILE
            .chars()
            .map(|it| format!("\\U{:08X}", it as u32))
            .collect();
        let topology = format!("name = \"{name}\"\n[[host]]\nname = \"{name}\"\n");
        std::fs::write(stage.at("bed.toml"), topology).unwrap();
        stage
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A run with a series of that name, whose texts are all hostile except the names of its files.
    fn run(&self, name: &str, series: &str) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/runs/complete");
        let to = self.at(name);
        std::fs::create_dir(&to).unwrap();
        for file in ["wakeup.hlog", "wakeup.samples.arrow"] {
            std::fs::copy(from.join(file), to.join(file)).unwrap();
        }
        let mut run = run_json(&from);
        for field in ["experiment", "started_at"] {
            run[field] = HOSTILE.into();
        }
        run["command"] = json!([HOSTILE]);
        run["host"] = json!({
            "os": HOSTILE, "cpus": 1, "cpu": HOSTILE, "kernel": format!("{name}{HOSTILE}"),
            "os_release": HOSTILE, "preemption": HOSTILE, "governor": HOSTILE,
        });
        run["clock"]["name"] = HOSTILE.into();
        run["series"][0]["name"] = series.into();
        run["series"][0]["description"] = HOSTILE.into();
        run["series"][0]["tuning"] = json!([{
            "name": HOSTILE, "requested": HOSTILE, "granted": HOSTILE, "ok": false,
            "reason": HOSTILE, "remedy": HOSTILE,
        }]);
        run["warnings"] = json!([{"id": HOSTILE, "text": HOSTILE, "remedy": HOSTILE}]);
        std::fs::write(to.join("run.json"), run.to_string()).unwrap();
    }

    fn log(&self, name: &str, format: log::Format) {
        let mut writer = log::create(&self.at(name), format).unwrap();
        let entry = Entry {
            channel: log::LoggedChannel::lcm(HOSTILE).into(),
            payload: HOSTILE.as_bytes().to_vec(),
            ..Entry::default()
        };
        for _ in 0..3 {
            writer.write(&entry).unwrap();
        }
        writer.finish().unwrap();
    }

    /// Replaces words that begin with `@` by paths, and `%` by the log as a bus.
    fn arguments(&self, words: &str) -> Vec<String> {
        let word = |word: &str| match (word.strip_prefix('@'), word.strip_prefix('%')) {
            (Some(name), _) => text(&self.at(&name.replace('H', HOSTILE))).to_owned(),
            (_, Some(name)) => format!("file://{}", text(&self.at(name))),
            _ => word.replace('H', HOSTILE),
        };
        words.split(' ').map(word).collect()
    }
}

/// Asserts that a command's output is harmless and contains some of the hostile text.
fn assert_harmless(words: &str, said: &Said) {
    for (name, text) in [
        ("standard output", &said.out),
        ("standard error", &said.err),
    ] {
        let steers = |it: char| is_hidden(it) && !matches!(it, '\n' | '\t');
        let found: Vec<char> = text.chars().filter(|&it| steers(it)).collect();
        assert!(found.is_empty(), "{words}: {found:?} on {name}: {text:?}");
    }
    let both = format!("{}{}", said.out, said.err).to_lowercase();
    let shown = ["\\u{1b}", "\\u001b", "\\u{202e}", "\\u202e", "\\x1b"];
    let is_shown = shown.iter().any(|it| both.contains(it));
    assert!(is_shown, "{words} shows nothing of it: {both}");
}

/// Commands that show foreign text. `@` stands before a file of the stage, `%` before a log as a bus, and H for the
/// hostile text.
const COMMANDS: &str = "\
show @run
show @run --details
show @run --json
show @H
show @H-which-is-none
compare @run @other
compare @run @other --details
compare @run @other --json
compare @H @other
show @named
show @named --details
compare @named @named --details
modes @named
modes @named --json
modes @H-which-is-none
report @run @other --out @H/page.html
report @run --out @none/H
export @H --format csv --out @H.csv
export @run --format csv --series H --out @a.csv
import @H.txt
import @broken.lcm --format H
log info @log.mcap
log info @log.lcm
log info @log.mcap --json
log info @H.mcap
log info @H.txt
log convert @log.mcap --out @out.H
log convert @log.mcap --types @broken.lcm --out @out.mcap
log convert @H.txt --out @out.mcap
log cut @H.mcap --from H --out @cut.mcap
log merge @log.mcap @H.txt --out @merged.mcap
log recover @H.txt --out @recovered.mcap
log play @log.mcap --url H
msg list --url %log.mcap --duration 1s
msg list --url %log.mcap --duration 1s --json
msg hz .* --url %log.mcap --duration 1s
msg echo .* --url %log.mcap --duration 1s
msg echo .* --url %log.mcap --duration 1s --raw
msg echo .* --url %log.mcap --duration 1s --json
msg echo H( --url %log.mcap
msg spy --once --url %log.mcap
msg type @broken.lcm
msg diff @broken.lcm @log.lcm
msg gen --lang rust @broken.lcm --out @code
msg pub H H {} --types @none/H
testbed model @bed.toml
testbed model H
udp send H --rate 1Hz
wire H
ethercat stats H
H
show --H";

#[test]
fn no_command_lets_what_others_wrote_steer_the_terminal() {
    let stage = Stage::new();
    for words in COMMANDS.lines() {
        let arguments = stage.arguments(words);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        assert_harmless(words, &run(&arguments));
    }
}

#[test]
fn colours_are_the_only_escape_sequences() {
    let stage = Stage::new();
    for words in ["show @run", "show @run --details"] {
        let arguments = stage.arguments(words);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut said = run(&[&arguments[..], &["--color", "always"]].concat());
        let mut plain = String::new();
        for (number, part) in said.out.split("\u{1b}[").enumerate() {
            let rest = match number {
                0 => part,
                _ => part.split_once('m').expect("a colour").1,
            };
            let code = &part[..part.len() - rest.len()];
            let is_code = |it: char| it.is_ascii_digit() || matches!(it, ';' | 'm');
            assert!(code.chars().all(is_code), "{words}: {code:?}");
            plain.push_str(rest);
        }
        assert_ne!(plain, said.out, "{words} has colours");
        said.out = plain;
        assert_harmless(words, &said);
    }
}

#[test]
fn json_says_what_was_written_character_by_character() {
    let stage = Stage::new();
    let json = run(&["show", text(&stage.at("run")), "--json"]).json();
    let written = json.to_string();
    let expected = serde_json::to_string(HOSTILE).unwrap();
    assert!(written.contains(expected.trim_matches('"')), "{json}");
    let info = run(&["log", "info", text(&stage.at("log.mcap")), "--json"]).json();
    let names = strings(&info);
    assert!(names.contains(&HOSTILE.to_owned()), "{info}");
}

fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn programs_on_the_bus_steer_no_terminal() {
    let process = std::process::id();
    let group = format!("239.253.{}.{}", process >> 8 & 0xff, process & 0xff);
    let url = format!("udpm://{group}:17190?iface=lo");
    let bus = Bus::open(&url).unwrap();
    let refuse = |_: &ClockQuery| Err::<ClockQuery, _>(HOSTILE.to_owned());
    let _server = bus.serve("REFUSED", Tuning::default(), refuse).unwrap();
    let mut parameters = Parameters::new();
    parameters.text(HOSTILE, HOSTILE, 99, HOSTILE).unwrap();
    let _served = parameters.serve(&bus, "arm", Tuning::default()).unwrap();
    let mut heart = bus.heartbeat(HOSTILE, Duration::from_millis(100)).unwrap();
    heart.set_state(HOSTILE);
    let _beating = heart.on_thread(Tuning::default()).unwrap();

    let stage = folder();
    let types = stage.path().join("types.lcm");
    let text_of_types = "package kadenz; struct clock_query { int64_t sent_ns; }";
    std::fs::write(&types, text_of_types).unwrap();
    let call = [
        "call",
        "REFUSED",
        "kadenz.clock_query",
        "{\"sent_ns\": 1}",
        "--types",
        text(&types),
        "--timeout",
        "10s",
    ];
    let list = ["param", "list", "arm", "--timeout", "10s"];
    let get = ["param", "get", "arm", HOSTILE, "--timeout", "10s"];
    let nodes = ["nodes", "--duration", "1s"];
    for arguments in [&call[..], &list, &get, &nodes] {
        for json in [&[][..], &["--json"]] {
            let said = run(&[&["msg"], arguments, &["--url", &url], json].concat());
            assert_harmless(&format!("msg {arguments:?} {json:?}"), &said);
        }
    }
}

/// Commands of cameras, in the form of [`COMMANDS`].
#[cfg(feature = "camera")]
const CAMERA_COMMANDS: &str = "\
camera show H --png @a.png
camera record H
camera serve @H.mjpeg --duration 1s
camera serve test://320x240@30 --name H
camera show test://320x240@30 --layout H
camera sim --script @H
camera sim --script @H.txt";

/// A camera that redirects each client to an address with hostile text, and answers with hostile text.
#[cfg(feature = "camera")]
fn hostile_camera() -> std::net::SocketAddr {
    use std::io::{BufRead as _, BufReader, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let Some(Ok(first)) = lines.next() else {
                continue;
            };
            let scheme = if first.starts_with("GET") {
                "http"
            } else {
                "rtsp"
            };
            let protocol = if scheme == "http" {
                "HTTP/1.1"
            } else {
                "RTSP/1.0"
            };
            let turned = "\u{202e}\u{200f}\u{2066}";
            // No program listens at the discard port.
            let place = format!("{scheme}://127.0.0.1:9/{turned}");
            let _ = write!(
                stream,
                "{protocol} 302 {HOSTILE}\r\nServer: {HOSTILE}\r\nLocation: {place}\r\nCSeq: 1\r\n\r\n"
            );
        }
    });
    address
}

#[cfg(feature = "camera")]
#[test]
fn a_camera_steers_no_terminal() {
    let stage = Stage::new();
    for words in CAMERA_COMMANDS.lines() {
        let arguments = stage.arguments(words);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        assert_harmless(words, &run(&arguments));
    }
    let camera = hostile_camera();
    for scheme in ["rtsp", "http"] {
        let url = format!("{scheme}://{camera}/");
        let name = format!("hostile-{scheme}-{}", std::process::id());
        let mut server = kadenz(&["camera", "serve", &url, "--name", &name, "--json"])
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let listed = || run(&["camera", "list"]);
        wait_until(|| listed().out.contains("\\u{202e}"));
        assert_harmless("camera list", &listed());
        assert_harmless("camera list --json", &run(&["camera", "list", "--json"]));
        signal(&server, "INT");
        // Ended before the camera gave a frame.
        assert!(matches!(server.wait().unwrap().code(), Some(0 | 2)));
        let mut said = [String::new(), String::new()];
        std::io::Read::read_to_string(&mut server.stdout.unwrap(), &mut said[0]).unwrap();
        std::io::Read::read_to_string(&mut server.stderr.unwrap(), &mut said[1]).unwrap();
        let [out, err] = said;
        assert_harmless("camera serve", &Said { code: 0, out, err });
        let record = ["camera", "record", &url, "--timeout", "500ms"];
        assert_harmless("camera record", &run(&record));
    }
}

#[test]
fn a_device_s_name_steers_no_terminal() {
    let stage = folder();
    let file = stage.path().join("segment.toml");
    let printed = run(&["ethercat", "sim", "2", "--print"]).out;
    let parent = "parent = \"torso coupler\"";
    assert!(printed.contains(parent), "{printed}");
    let hostile = printed.replace(parent, &format!("parent = \"{TURNED}\""));
    std::fs::write(&file, hostile).unwrap();
    for command in ["scan", "state", "sim"] {
        let segment: &[&str] = match command {
            "sim" => &[text(&file), "--print"],
            _ => &["--sim", text(&file)],
        };
        let said = run(&[&["ethercat", command], segment].concat());
        assert_harmless(command, &said);
    }
}
