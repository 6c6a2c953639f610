//! Wrong arguments and impossible places: exit code 2, cause and remedy named, nothing lost.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
#[path = "common/examples.rs"]
mod examples;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::listener::Listener;
use common::*;
use examples::examples;

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
        (&["check", "--timer-slack", "1000d"][..], "2s"),
        (
            &["timer", "cyclic", "--count", "1e6"][..],
            "write a whole number, as 1000000",
        ),
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
    // The scripts of all shells know what the options know.
    let bash = run(&["completions", "bash"]).out;
    for word in ["--readers", "pi-mutex", "--units"] {
        assert!(bash.contains(word), "{word}");
    }
    // A value of each kind of option: sleepers, clocks, formats, cells, paces, compressions, loads, programs, types,
    // severities; and of each kind of positional argument: topologies and loads.
    let values = "posix-timer monotonic-raw hgrm-us PMCS catch-up zstd both stress-ng u16 spoils";
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]).out;
        for value in values.split(' ').chain(["forty-devices", "processes"]) {
            assert!(script.contains(value), "{shell}: {value}");
        }
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

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let words =
        "kadenz: cannot write the answer to standard output: No space left on device; make room";
    for line in [
        "man",
        "completions bash",
        "doctor --json",
        "load --help",
        "--version",
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let mut command = kadenz(&parted(line));
        let said = Said::of(command.stdout(full.unwrap()).output().unwrap());
        assert_eq!(said.code, 2, "{line}: {}", said.err);
        assert_eq!(said.err.matches(words).count(), 1, "{line}: {}", said.err);
        let mut child = kadenz(&parted(line))
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // The reader goes, as `head` does.
        drop(child.stdout.take());
        let said = Said::of(child.wait_with_output().unwrap());
        assert_ne!(said.code, 2, "{line}: {}", said.err);
        assert!(!said.err.contains("cannot write"), "{line}: {}", said.err);
    }
}

#[test]
fn the_doctor_needs_no_rights_and_speaks_json() {
    let json = run(&["doctor", "--json"]).json();
    assert_described("doctor", "doctor", &json);
    let findings = json["findings"].as_array().unwrap();
    assert!(findings.len() > 10);
    for finding in findings {
        for key in ["id", "severity", "title", "cost", "evidence"] {
            assert!(!finding[key].as_str().unwrap().is_empty(), "{finding}");
        }
    }
}

/// A remedy `build with the feature NAME` names a feature of the package that prints it.
#[test]
fn features_that_remedies_name_can_be_built() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest = std::fs::read_to_string(crates.join("kadenz-cli/Cargo.toml")).unwrap();
    let (mut folders, mut named) = (vec![crates], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let source = std::fs::read_to_string(&path).unwrap();
                for begin in ["the feature `", "--features "] {
                    let after = source.split(begin).skip(1);
                    let name = |text: &str| {
                        let end = text.find(|c: char| !(c.is_alphanumeric() || c == '-'));
                        text[..end.unwrap_or(text.len())].to_owned()
                    };
                    named.extend(after.map(name).filter(|name| !name.is_empty()));
                }
            }
        }
    }
    assert!(named.contains(&"rosbag2-sqlite".to_owned()), "{named:?}");
    for name in named {
        assert!(manifest.contains(&format!("\n{name} = [")), "{name}");
    }
}

/// Examples that are only parsed (a unit test of the options does that for all), by words in them.
const ONLY_PARSED: [(&str, &str); 36] = [
    ("/dev/video0", "needs a camera; tests/camera.rs has one"),
    ("--cpus 0-3", "needs four CPUs"),
    (
        "--receive spin",
        "needs a CPU for each side, which other programs may have; tests/msg_latency.rs runs it",
    ),
    (
        "before after --fail-if",
        "needs more samples; tests/files.rs runs it",
    ),
    (
        "--to json",
        "needs the types of the log; tests/log.rs runs it",
    ),
    (
        " front",
        "needs a camera that is served; tests/camera.rs runs it",
    ),
    ("--script faults.toml", "a file of the reader's own"),
    ("--interface ", "needs a network interface with devices"),
    ("--loop ", "needs a loop that runs, or a user who ends it"),
    ("ethercat axes", "needs a loop that runs"),
    ("ethercat inputs", "needs a loop that runs"),
    ("ethercat output", "needs a loop that runs"),
    ("ethercat stats", "needs a loop that runs"),
    ("ethercat latency", "takes 14 s; tests/ethercat.rs runs it"),
    ("new.bin", "a device's own memory"),
    ("10.0.0.", "a robot's network"),
    ("239.255.", "needs multicast, which not every machine has"),
    ("/tmp/pose.lcm", "a file of the reader's own"),
    ("./", "a program of the reader's own"),
    ("doctor --restore", "changes the machine"),
    ("testbed down", "needs root; tests/testbed.rs runs it"),
    ("testbed exec", "needs root; tests/testbed.rs runs it"),
    ("testbed run", "needs root; tests/testbed.rs runs it"),
    ("testbed status", "needs root; tests/testbed.rs runs it"),
    ("testbed up", "needs root; tests/testbed.rs runs it"),
    (
        "experiment ",
        "takes minutes; tests/experiment.rs runs them",
    ),
    ("kadenz tune", "takes minutes; tests/tune.rs runs it"),
    ("--require", "needs the rights that it asks for"),
    ("udp discover", "asks every network of this machine"),
    ("--dir /data", "a disk of the reader's own"),
    ("stress-ng", "needs stress-ng; tests/load.rs runs it"),
    ("msg doctor", "needs multicast; tests/msg_doctor.rs runs it"),
    (
        "msg probes --build",
        "takes minutes; tests/msg_probes_built.rs runs it",
    ),
    ("msg delay", "needs a publisher; tests/msg_tools.rs runs it"),
    ("msg call", "needs a server; tests/msg_services.rs runs it"),
    ("msg param", "needs a server; tests/msg_services.rs runs it"),
];

/// Examples that run although [`ONLY_PARSED`] names their command.
const RUN: [&str; 1] = [TAKES_CPUS];

/// The example that shields a CPU: while it runs, a machine of two CPUs has one for all other programs.
const TAKES_CPUS: &str = "kadenz tune --cells none,P,PMCS";

/// Makes the files that examples name.
fn files_of_examples(folder: &Path) {
    let conformance = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let measured = ["timer", "cyclic", "--count", "200", "--out", "night"];
    let measured = kadenz(&measured).current_dir(folder).output().unwrap();
    assert_eq!(measured.status.code(), Some(0));
    for name in ["run", "before", "after", "idle", "loaded"] {
        std::fs::create_dir(folder.join(name)).unwrap();
        for file in std::fs::read_dir(folder.join("night")).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), folder.join(name).join(file.file_name())).unwrap();
        }
    }
    for name in ["a", "b", "jhiccup", "hiccup.261121.2104.29783"] {
        let name = folder.join(format!("{name}.hlog"));
        std::fs::copy(folder.join("night/lateness.hlog"), name).unwrap();
    }
    for (arguments, file) in [
        (["ethercat", "sim", "3", "--print"], "robot.toml"),
        (["testbed", "show", "baseline", "--"], "arm.toml"),
    ] {
        std::fs::write(folder.join(file), run(&arguments).out).unwrap();
    }
    for (from, to) in [
        ("import/cyclictest.json", "cyclictest.json"),
        ("import/cyclictest.json", "ct.json"),
        ("import/samples.csv", "rtt.csv"),
        ("logs/chunks-lz4.mcap", "drive-001.mcap"),
        ("logs/chunks-lz4.mcap", "drive-002.mcap"),
        ("logs/events.lcmlog", "old.lcmlog"),
        ("logs/events.lcmlog", "robot.lcmlog"),
        ("logs/damaged.lcmlog", "broken.lcmlog"),
        ("logs/ros1-lz4.bag", "bag.bag"),
        ("logs/ros1-lz4.bag", "base-station.bag"),
        ("lcm-types/types/plain.lcm", "types/plain.lcm"),
        ("lcm-types/types/plain.lcm", "msgs/plain.lcm"),
        ("lcm-types/types/plain.lcm", "old/types/plain.lcm"),
        ("lcm-types/types/plain.lcm", "pose.lcm"),
    ] {
        std::fs::create_dir_all(folder.join(to).parent().unwrap()).unwrap();
        std::fs::copy(conformance.join(from), folder.join(to)).unwrap();
    }
    drive(&folder.join("drive.mcap"));
    campaign(folder);
    let state = "package robot; struct state { int64_t utime; }";
    let scan = "package robot; struct scan { int64_t utime; }";
    let goal = "package robot; struct goal_t { double x; double y; }";
    std::fs::create_dir(folder.join("lcmtypes")).unwrap();
    for (file, text) in [
        ("types/state.lcm", state),
        ("robot-a.lcm", state),
        ("robot-b.lcm", state),
        ("scan.lcm", scan),
        ("lcmtypes/goal.lcm", goal),
    ] {
        std::fs::write(folder.join(file), text).unwrap();
    }
}

/// A plan, and the folder of its campaign.
fn campaign(folder: &Path) {
    let plan = "name = \"timers\"\ncommand = \"timer cyclic --rate 1kHz --count 20\"\n";
    std::fs::write(folder.join("plan.toml"), plan).unwrap();
    let words = ["campaign", "plan.toml", "--out", "timers"];
    let ended = kadenz(&words).current_dir(folder).output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
}

/// A log that carries its own types.
fn drive(path: &Path) {
    use kadenz::msg::log::{self, Entry, LoggedChannel};
    let text = "package robot; struct pose_t { double x; }";
    let types = kadenz::msg::types::Types::from_text(text).unwrap();
    let fingerprint = types.fingerprint("robot.pose_t").unwrap();
    let channel = LoggedChannel::lcm_of_type("POSE", "robot.pose_t", text).into();
    let payload = [fingerprint.0.to_be_bytes(), 0.5_f64.to_be_bytes()].concat();
    let mut entry = Entry {
        channel,
        payload,
        ..Entry::default()
    };
    let mut writer = log::create(path, log::Format::Mcap).unwrap();
    for n in 0..100 {
        let ns = 1_700_000_000_000_000_000 + n * 10_000_000;
        entry.log_time = kadenz::rt::clock::WallTime::from_unix_ns(ns);
        writer.write(&entry).unwrap();
    }
    writer.finish().unwrap();
}

/// The example with a short duration or a small count, where the command takes one, on loopback addresses, and with an
/// output name that no other example has.
fn shortened(
    mut words: Vec<String>,
    takes_duration: bool,
    number: usize,
    echo: &str,
) -> Vec<String> {
    let find = |words: &[String], option: &str| words.iter().position(|word| word == option);
    // The first page has examples of commands that have pages of their own.
    let takes_duration = takes_duration || words[1] == "check";
    let takes_duration = takes_duration && find(&words, "--print").is_none();
    if let Some(out) = find(&words, "--out") {
        words[out + 1].insert_str(0, &format!("{number}-"));
    }
    words.remove(0);
    let command = words.iter().take(2).cloned().collect::<Vec<_>>().join(" ");
    let steps = find(&words, "--step").is_some();
    let mut set = |option: &str, value: &str| match find(&words, option) {
        Some(at) => words[at + 1] = value.to_owned(),
        None => words.extend([option.to_owned(), value.to_owned()]),
    };
    match &*command {
        // The example asks no device of the network and takes no port that another program of this host uses.
        "udp echo" | "udp log" => set("--bind", "127.0.0.1:0"),
        "msg server" => set("--listen", "127.0.0.1:0"),
        "udp send" => set("--to", echo),
        "log play" if !steps => set("--speed", "0"),
        "timer oneshot" => set("--count", "20"),
        // Larger pictures only take longer to paint, encode and hand over.
        "camera bench" | "camera sim" => set("--size", "480p"),
        _ => {}
    }
    match (find(&words, "--duration"), find(&words, "--count")) {
        (Some(at), _) => words[at + 1] = "50ms".to_owned(),
        (None, Some(at)) => words[at + 1] = "20".to_owned(),
        (None, None) if takes_duration => {
            words.extend(["--duration".to_owned(), "50ms".to_owned()]);
        }
        (None, None) => {}
    }
    if words[0] == "check" {
        words.push("--no-tune".to_owned());
    }
    words
}

#[test]
fn examples_of_help_do_what_they_say() {
    let folder = folder();
    files_of_examples(folder.path());
    let pages = folder.path().join("pages");
    assert_eq!(run(&["man", "--out", text(&pages)]).code, 0);
    let echo = Listener::echo(&[]);
    let pages = std::fs::read_dir(&pages).unwrap();
    let pages = pages.map(|page| std::fs::read_to_string(page.unwrap().path()).unwrap());
    let takes_cpus = |page: &String| page.replace("\\-", "-").contains(TAKES_CPUS);
    let (alone, pages): (Vec<String>, Vec<String>) = pages.partition(takes_cpus);
    assert_eq!(alone.len(), 1, "{TAKES_CPUS}");
    let (next, tried) = (AtomicUsize::new(0), Mutex::new(Tried::default()));
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
                    try_page(page, folder.path(), &echo.address, &tried);
                }
            });
        }
    });
    try_page(&alone[0], folder.path(), &echo.address, &tried);
    echo.end();
    let Tried { used, ran, failed } = tried.into_inner().unwrap();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(ran > 120, "{ran}");
    let listed = ONLY_PARSED.map(|(word, _)| word);
    assert_eq!(used, listed.into(), "a reason that no example needs");
}

/// The number of pages whose examples run in parallel: most examples wait for time to pass. The examples of one page
/// run one after the other because they take the same ports and names.
const SIDE_BY_SIDE: usize = 4;

/// Results of the examples.
#[derive(Default)]
struct Tried {
    /// Words of [`ONLY_PARSED`] that some example contains.
    used: BTreeSet<&'static str>,
    ran: usize,
    failed: Vec<String>,
}

/// Runs the examples of a manual page.
fn try_page(page: &str, folder: &Path, echo: &str, tried: &Mutex<Tried>) {
    let page = page.replace("\\-", "-").replace("\\*(Aq", "'");
    let takes_duration = page.contains("--duration\\fR \\fI<");
    for words in examples(&page) {
        let typed = words.join(" ");
        let asks = ONLY_PARSED.iter().find(|(word, _)| typed.contains(word));
        let is_run = RUN.iter().any(|begin| typed.starts_with(begin));
        if let (Some((word, _)), false) = (asks, is_run) {
            tried.lock().unwrap().used.insert(*word);
            continue;
        }
        let number = {
            let mut tried = tried.lock().unwrap();
            tried.ran += 1;
            tried.ran
        };
        let words = shortened(words, takes_duration, number, echo);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = kadenz(&words);
        let said = command
            .current_dir(folder)
            .env("HOME", folder)
            .env("LCM_DEFAULT_URL", "memq://");
        let said = Said::of(said.stdin(std::process::Stdio::null()).output().unwrap());
        // A busy machine may miss the deadline of an example, which is exit code 1.
        if ![0, 1].contains(&said.code) {
            let failed = format!("{typed}: {words:?}: {}", said.err);
            tried.lock().unwrap().failed.push(failed);
        }
    }
}
