//! LCM's own tools from Debian: the logger records messages of Kadenz, the player plays its event log, the generator
//! compiles its messages, and the Java server serves its tcpq client.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use kadenz_msg::bus::{Aggregator, Bus, SubscriptionOptions};
use kadenz_msg::log::{self, Entry, Format, LoggedChannel};
use kadenz_msg::types::Types;
use kadenz_rt::clock::WallTime;

const LONG: Duration = Duration::from_secs(10);

/// Whether a program exists; otherwise reports the test as skipped.
fn has(test: &str, program: &str, how: &str) -> bool {
    let mut command = Command::new(program);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    if command.arg("-h").status().is_ok() {
        return true;
    }
    let message = format!("skipped: {test}: {program} ({how})");
    let strict = std::env::var_os("KADENZ_SKIP_NOTHING").is_some_and(|it| it == "1");
    assert!(!strict, "{message}");
    eprintln!("{message}");
    false
}

const LCM_BIN: &str = "apt-get install liblcm-bin";

/// A program that ends with the test.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A group that no other test uses, on the loopback alone.
fn url(number: u16) -> String {
    let port = 31_000 + (std::process::id() as u16 % 20_000) + number * 3;
    format!("udpm://239.255.78.{number}:{port}?ttl=0")
}

/// The longest message: two datagrams, since more at once overflow the logger's socket.
const MAX: usize = 100_000;

/// Payloads of many lengths: empty, a few bytes, the most of one datagram, and two datagrams.
fn payloads() -> Vec<Vec<u8>> {
    let lengths = (0..100).chain([1000, 65_494, 65_495, 65_496, MAX]);
    let bytes = |length: usize| (0..length).map(|n| (n * 7 + length) as u8).collect();
    lengths.map(bytes).collect()
}

fn channel(number: usize) -> String {
    format!("TOOL_{}", number % 5)
}

/// Repeats `done` until it returns true, which must happen sooner or later.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if done() {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("{what}: it did not come true");
}

/// The messages of a log, without those that only woke the logger.
fn logged(path: &Path) -> Vec<Entry> {
    let Ok(mut reader) = log::open(path) else {
        return Vec::new();
    };
    let (mut all, mut entry) = (Vec::new(), Entry::default());
    while reader.read(&mut entry).unwrap() {
        if entry.channel.name != "WAKE" {
            all.push(entry.clone());
        }
    }
    all
}

#[test]
fn lcm_logger_writes_down_what_we_publish() {
    if !has(
        "lcm_logger_writes_down_what_we_publish",
        "lcm-logger",
        LCM_BIN,
    ) {
        return;
    }
    let (folder, url) = (tempfile::tempdir().unwrap(), url(1));
    let path = folder.path().join("log");
    let bus = Bus::open(&url).unwrap();
    let mut command = Command::new("lcm-logger");
    // Debian's lcm-logger has no option -l, although its help lists it.
    command.args(["-f", "-q", "--flush-interval=10", "--lcm-url", &url]);
    let logger = Running::start(command.arg(&path));
    until("lcm-logger hears us", || {
        bus.publish_bytes("WAKE", b"up").unwrap();
        std::fs::metadata(&path).is_ok_and(|it| it.len() > 0)
    });
    let before = WallTime::now().as_unix_ns() / 1000;
    let payloads = payloads();
    for (number, payload) in payloads.iter().enumerate() {
        bus.publish_bytes(&channel(number), payload).unwrap();
        // The logger's socket holds 200 kB by default.
        thread::sleep(Duration::from_millis(5));
        if payload.len() >= 1000 {
            until("lcm-logger has written a long one", || {
                // The logger writes when the next message arrives.
                bus.publish_bytes("WAKE", b"up").unwrap();
                logged(&path).len() > number
            });
        }
    }
    let last = channel(payloads.len() - 1);
    until("lcm-logger has written the last one", || {
        // The logger writes when the next message arrives.
        bus.publish_bytes("WAKE", b"up").unwrap();
        let entries = logged(&path);
        entries
            .last()
            .is_some_and(|it| (it.payload.len(), &it.channel.name) == (MAX, &last))
    });
    drop(logger);
    let entries = logged(&path);
    let found = entries
        .iter()
        .map(|it| (it.channel.name.clone(), it.payload.clone()));
    same(&found.collect::<Vec<_>>(), &published());
    let times = entries
        .iter()
        .map(|entry| entry.log_time.as_unix_ns() / 1000);
    assert!(times.into_iter().all(|time| time >= before));
}

fn tool_aggregator(bus: &Bus) -> Aggregator {
    let options = SubscriptionOptions::with_queue(5000);
    bus.aggregator_with("TOOL_.*", &options).unwrap()
}

/// Receives until as many messages have come as were published.
fn received(all: &mut Aggregator) -> Vec<(String, Vec<u8>)> {
    let mut received = Vec::new();
    while received.len() < payloads().len() {
        let Some(raw) = all.next_message(LONG).unwrap() else {
            break;
        };
        received.push((raw.channel.as_str().to_owned(), raw.payload.to_vec()));
    }
    received
}

fn published() -> Vec<(String, Vec<u8>)> {
    let numbered = payloads().into_iter().enumerate();
    numbered
        .map(|(number, payload)| (channel(number), payload))
        .collect()
}

/// Asserts that no message is missing, and every message is as it was published.
fn same(found: &[(String, Vec<u8>)], published: &[(String, Vec<u8>)]) {
    let short = |all: &[(String, Vec<u8>)]| -> Vec<(String, usize)> {
        all.iter()
            .map(|(channel, bytes)| (channel.clone(), bytes.len()))
            .collect()
    };
    assert_eq!(short(found), short(published));
    assert!(found == published, "some bytes differ");
}

#[test]
fn lcm_logplayer_plays_our_event_log() {
    if !has(
        "lcm_logplayer_plays_our_event_log",
        "lcm-logplayer",
        LCM_BIN,
    ) {
        return;
    }
    let (folder, url) = (tempfile::tempdir().unwrap(), url(2));
    let path = folder.path().join("log");
    let mut writer = log::create(&path, Format::EventLog).unwrap();
    for (number, payload) in payloads().into_iter().enumerate() {
        let log_time =
            WallTime::from_unix_ns(1_700_000_000_000_000_000 + number as i64 * 2_000_000);
        let channel = Arc::new(LoggedChannel::lcm(&channel(number)));
        let entry = Entry {
            channel,
            log_time,
            payload,
            ..Entry::default()
        };
        writer.write(&entry).unwrap();
    }
    writer.finish().unwrap();
    let bus = Bus::open(&url).unwrap();
    let mut all = tool_aggregator(&bus);
    let mut command = Command::new("lcm-logplayer");
    let player = Running::start(command.args(["-l", &url]).arg(&path));
    same(&received(&mut all), &published());
    drop(player);
}

/// The fingerprints that lcm-gen's C code computes, of all types of a folder.
fn fingerprints_in_c(lcm: &[PathBuf], types: &Types) -> String {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let generated = Command::new("lcm-gen")
        .args(["--c", "--c-no-pubsub", "--c-cpath", ".", "--c-hpath", "."])
        .args(lcm)
        .current_dir(at)
        .status();
    assert!(generated.unwrap().success());
    let (mut heads, mut body) = (String::new(), String::new());
    for name in types.iter().map(|it| it.name().to_string()) {
        let c = name.replace('.', "_");
        writeln!(heads, "#include \"{c}.h\"").unwrap();
        writeln!(
            body,
            "  printf(\"{name} 0x%016llx\\n\", (unsigned long long)__{c}_get_hash());"
        )
        .unwrap();
    }
    let main = format!("#include <stdio.h>\n{heads}int main(void) {{\n{body}  return 0;\n}}\n");
    std::fs::write(at.join("fingerprints.c"), main).unwrap();
    let files = std::fs::read_dir(at).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let sources = files.filter(|path| path.extension().is_some_and(|it| it == "c"));
    let compiled = Command::new("cc")
        .args(["-Wall", "-Wno-unused", "-o", "fingerprints"])
        .args(sources)
        .current_dir(at)
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{complaint}");
    let output = Command::new(at.join("fingerprints")).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn lcm_gen_s_c_code_of_our_own_messages_compiles_and_has_our_fingerprints() {
    let test = "lcm_gen_s_c_code_of_our_own_messages_compiles_and_has_our_fingerprints";
    let header = Path::new("/usr/include/lcm/lcm_coretypes.h");
    if !has(test, "lcm-gen", LCM_BIN) {
        return;
    }
    assert!(header.is_file(), "apt-get install liblcm-dev");
    let lcm = Path::new(env!("CARGO_MANIFEST_DIR")).join("lcm/kadenz.lcm");
    let types = Types::from_files([&lcm]).unwrap();
    let theirs = fingerprints_in_c(&[lcm], &types);
    let mut ours = String::new();
    for name in types.iter().map(|it| it.name().to_string()) {
        writeln!(ours, "{name} {}", types.fingerprint(&name).unwrap()).unwrap();
    }
    assert_eq!(theirs, ours);
    assert!(theirs.lines().count() >= 10);
}

#[test]
fn the_java_server_of_tcpq_serves_us() {
    let test = "the_java_server_of_tcpq_serves_us";
    let jar = Path::new("/usr/share/java/lcm.jar");
    if !has(test, "java", "apt-get install default-jre-headless") {
        return;
    }
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let mut command = Command::new("java");
    command
        .arg("-cp")
        .arg(jar)
        .args(["lcm.lcm.TCPService", &port.to_string()]);
    assert!(jar.is_file(), "apt-get install liblcm-java");
    let server = Running::start(&mut command);
    let url = format!("tcpq://127.0.0.1:{port}");
    until("the server listens", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    let (sending, receiving) = (Bus::open(&url).unwrap(), Bus::open(&url).unwrap());
    let mut woken = receiving.aggregator("WAKE").unwrap();
    let mut all = tool_aggregator(&receiving);
    until("the server has our subscription", || {
        sending.publish_bytes("WAKE", b"up").unwrap();
        woken
            .next_message(Duration::from_millis(50))
            .unwrap()
            .is_some()
    });
    for (number, payload) in payloads().iter().enumerate() {
        sending.publish_bytes(&channel(number), payload).unwrap();
    }
    // Each channel has a connection of its own, and order is kept within a channel.
    let by_channel = |mut all: Vec<(String, Vec<u8>)>| {
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    };
    same(&by_channel(received(&mut all)), &by_channel(published()));
    drop(server);
}
