//! `kadenz testbed` as a user types it, with datagrams between its hosts.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;

use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

/// Two hosts on one switch. A test may append settings of the second host's link, which is last.
const PAIR: &str = "name = 'pair'\n[[switch]]\nname = 's'\n\
                    [[host]]\nname = 'a'\nrole = 'controller'\n\
                    [[host]]\nname = 'b'\nrole = 'device'\n\
                    [[link]]\nbetween = ['a', 's']\nrate = '100M'\n\
                    [[link]]\nbetween = ['b', 's']\nrate = '100M'\n";
const PORT: u16 = 6176;

/// Everything that a testbed needs, with its own claim.
struct Bench {
    folder: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

/// A bench; reports a skipped test and returns `None` where this machine or user cannot build a testbed.
fn bench(test: &str) -> Option<Bench> {
    static ALONE: Mutex<()> = Mutex::new(());
    if !is_root() {
        skip(
            test,
            "network namespaces need root: run the tests with sudo",
        );
        return None;
    }
    if !Path::new("/dev/net/tun").exists() {
        skip(test, "the driver of taps is missing: sudo modprobe tun");
        return None;
    }
    Some(Bench {
        _alone: ALONE.lock().unwrap_or_else(PoisonError::into_inner),
        folder: folder(),
    })
}

impl Bench {
    fn kadenz(&self, arguments: &[&str]) -> Command {
        let mut command = kadenz(arguments);
        command.env("KADENZ_JOURNAL_FOLDER", self.folder.path().join("journal"));
        command.current_dir(self.folder.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.kadenz(arguments).output().unwrap())
    }

    fn topology(&self, text: &str) -> PathBuf {
        let path = self.folder.path().join("topology.toml");
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Starts `testbed up` and returns once it is ready.
    fn up(&self, text_of: &str) -> Child {
        let topology = self.topology(text_of);
        let child = self
            .kadenz(&["testbed", "up", text(&topology), "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let child = std::cell::RefCell::new(child);
        wait_until(|| {
            let ended = child.borrow_mut().try_wait().unwrap().is_some();
            let said = self.run(&["testbed", "status", "--json"]);
            ended || (said.code == 0 && said.json()["testbed"]["ready"] == true)
        });
        let mut child = child.into_inner();
        assert!(
            child.try_wait().unwrap().is_none(),
            "{}",
            Said::of(child.wait_with_output().unwrap()).err
        );
        child
    }

    /// A command that runs a part of this test on a host.
    fn part(&self, host: &str, part: &str, count: u32) -> Command {
        let own = std::env::current_exe().unwrap();
        let own = text(&own).to_owned();
        let words = parted("--exact part --ignored --nocapture");
        let words = [&["testbed", "exec", host, "--", &own][..], &words].concat();
        let mut command = self.kadenz(&words);
        command.env("KADENZ_TEST_PART", format!("{part} {count}"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn addresses(&self) -> Vec<String> {
        let json = self.run(&["testbed", "status", "--json"]).json();
        let hosts = json["testbed"]["hosts"].as_array().unwrap().clone();
        hosts
            .iter()
            .map(|it| it["address"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Lets `a` ask `b` `count` times; returns the number of answers.
    fn ask(&self, count: u32) -> u32 {
        let to = self.addresses()[1].clone();
        let mut echo = self.part("b", "echo", count).spawn().unwrap();
        let said = self
            .part("a", &format!("ask {to}:{PORT}"), count)
            .output()
            .unwrap();
        echo.kill().unwrap();
        echo.wait().unwrap();
        let said = Said::of(said);
        let came = said
            .out
            .lines()
            .find_map(|line| line.split("answers: ").nth(1));
        came.unwrap_or_else(|| panic!("{} {}", said.out, said.err))
            .parse()
            .unwrap()
    }
}

/// Ends a testbed as Ctrl-C does; returns its JSON.
fn end(child: Child) -> Value {
    signal(&child, "INT");
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 0, "{}", said.err);
    said.json()
}

fn lane<'a>(json: &'a Value, from: &str, to: &str) -> &'a Value {
    let lanes = json["lanes"].as_array().unwrap();
    lanes
        .iter()
        .find(|it| it["from"] == from && it["to"] == to)
        .unwrap()
}

/// The program on a testbed's hosts, which uses ordinary sockets as a user's program does.
#[test]
#[ignore = "the other tests start it on the hosts of their testbeds"]
fn part() {
    let Ok(part) = std::env::var("KADENZ_TEST_PART") else {
        return;
    };
    let words: Vec<&str> = part.split(' ').collect();
    match words[..] {
        ["echo", _] => echo(),
        ["ask", to, count] => println!("answers: {}", ask(to, count.parse().unwrap())),
        _ => panic!("{part}"),
    }
}

fn echo() {
    let socket = UdpSocket::bind(("0.0.0.0", PORT)).unwrap();
    let mut bytes = [0; 2048];
    loop {
        let (length, from) = socket.recv_from(&mut bytes).unwrap();
        socket.send_to(&bytes[..length], from).unwrap();
    }
}

/// Asks until the first answer has come, since the echo may not have started yet; then counts answers.
fn ask(to: &str, count: u32) -> u32 {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect(to).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    let mut bytes = [0; 2048];
    let mut knocks = 0;
    while !matches!(socket.recv(&mut bytes), Ok(1)) {
        knocks += 1;
        assert!(knocks < 100, "no answer came");
        // The kernel refuses this while no program listens there.
        let _ = socket.send(&[0]);
    }
    for number in 0..count {
        socket.send(&[(number % 256) as u8; 200]).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    // A busy machine may delay an answer; after the last one, an answer too many would come at once.
    let wait_for_next = |milliseconds| {
        let wait = Some(Duration::from_millis(milliseconds));
        socket.set_read_timeout(wait).unwrap();
    };
    wait_for_next(10_000);
    let mut answers = 0;
    while let Ok(length) = socket.recv(&mut bytes) {
        answers += u32::from(length == 200);
        if answers == count {
            wait_for_next(500);
        }
    }
    answers
}

#[test]
fn datagrams_go_there_and_back_and_the_wire_knows_its_own_error() {
    let Some(bench) = bench("datagrams_go_there_and_back_and_the_wire_knows_its_own_error") else {
        return;
    };
    let testbed = bench.up(PAIR);
    assert_eq!(bench.ask(50), 50);
    let shown = bench.run(&["testbed", "status", "--json"]).json();
    assert_valid("testbed-status", &shown);
    assert_eq!(shown["status"]["topology"], "pair");
    let status = end(testbed);
    assert!(
        lane(&status, "a", "s")["delivered"].as_u64().unwrap() >= 50,
        "{status}"
    );
    let run = bench.folder.path().join(status["run"].as_str().unwrap());
    let recorded = &run_json(&run)["series"][0];
    assert_eq!(recorded["name"], "wire-error");
    assert!(recorded["counts"]["recorded"].as_u64().unwrap() >= 100);
    assert_eq!(
        recorded["counts"]["early"], 0,
        "a frame came before its time"
    );
    assert_eq!(bench.run(&["testbed", "status"]).code, 2);
}

#[test]
fn what_is_lost_on_purpose_is_counted_exactly() {
    let Some(bench) = bench("what_is_lost_on_purpose_is_counted_exactly") else {
        return;
    };
    // Only towards `b`'s switch port and back: both lanes of its link.
    let testbed = bench.up(&format!("{PAIR}loss = 0.2\nseed = 11\n"));
    let answers = u64::from(bench.ask(300));
    let status = end(testbed);
    let there = lane(&status, "s", "b");
    let back = lane(&status, "b", "s");
    let number = |lane: &Value, key: &str| lane[key].as_u64().unwrap();
    assert!(
        number(there, "lost") > 20 && number(back, "lost") > 20,
        "{status}"
    );
    for lane in [there, back] {
        assert_eq!(
            number(lane, "begun"),
            number(lane, "lost") + number(lane, "delivered")
        );
    }
    // `b` answers every datagram except those that came before it had started; of the answers, `a` counts the long
    // ones.
    assert!(answers <= number(back, "delivered"), "{answers}: {status}");
    assert!(
        answers + number(there, "lost") + number(back, "lost") >= 300,
        "{answers}: {status}"
    );
}

#[test]
fn a_program_that_is_run_gives_its_exit_code_and_leaves_no_testbed() {
    let Some(bench) = bench("a_program_that_is_run_gives_its_exit_code_and_leaves_no_testbed")
    else {
        return;
    };
    let topology = bench.topology(PAIR);
    let script = "test $(ls /sys/class/net | wc -l) -ge 1 && cat /proc/self/net/dev && exit 7";
    let said = bench.run(&["testbed", "run", text(&topology), "--", "sh", "-c", script]);
    assert_eq!(said.code, 7, "{}", said.err);
    assert!(
        said.out.contains("eth0") && !said.out.contains("wire-error"),
        "{}",
        said.out
    );
    assert!(said.err.contains("wire-error"), "{}", said.err);
    assert_eq!(bench.run(&["testbed", "status"]).code, 2);
}

#[test]
fn a_second_testbed_is_refused_with_the_remedy_and_down_ends_it() {
    let Some(bench) = bench("a_second_testbed_is_refused_with_the_remedy_and_down_ends_it") else {
        return;
    };
    let topology = bench.topology(PAIR);
    let detached = bench.run(&["testbed", "up", text(&topology), "--detach", "--json"]);
    assert_eq!(detached.code, 0, "{}", detached.err);
    assert_described("testbed", "up-detach", &detached.json());
    let second = bench.run(&["testbed", "up", text(&topology)]);
    assert_eq!(second.code, 2);
    assert!(second.err.contains("testbed down"), "{}", second.err);
    let unknown = bench.run(&["testbed", "exec", "c", "--", "true"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("it has a, b"), "{}", unknown.err);
    assert_eq!(
        bench
            .run(&["testbed", "exec", "a", "--", "no-such-program"])
            .code,
        127
    );
    let down = bench.run(&["testbed", "down", "--json"]).json();
    assert_described("testbed", "down", &down);
    assert_eq!(down["ended"], "pair");
    assert_eq!(bench.run(&["testbed", "status"]).code, 2);
    let none = bench.run(&["testbed", "down"]);
    assert!(
        none.code == 0 && none.out.contains("no testbed"),
        "{}",
        none.out
    );
}

#[test]
fn down_ends_the_program_of_a_testbed_and_its_run_is_complete() {
    let Some(bench) = bench("down_ends_the_program_of_a_testbed_and_its_run_is_complete") else {
        return;
    };
    let topology = bench.topology(PAIR);
    let words = [
        "testbed",
        "run",
        text(&topology),
        "--out",
        "run",
        "--",
        "sh",
        "-c",
        "touch started; exec sleep 1000",
    ];
    let running = bench.kadenz(&words).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(|| bench.folder.path().join("started").exists());
    let down = bench.run(&["testbed", "down"]);
    assert_eq!(down.code, 0, "{}", down.err);
    let said = Said::of(running.wait_with_output().unwrap());
    assert_eq!(said.code, 128 + 15, "{}", said.err);
    assert_eq!(run_json(&bench.folder.path().join("run"))["complete"], true);
}

#[test]
fn a_testbed_that_is_ended_before_its_program_starts_ends_as_well() {
    let Some(bench) = bench("a_testbed_that_is_ended_before_its_program_starts_ends_as_well")
    else {
        return;
    };
    let topology = bench.topology(PAIR);
    let run = bench.folder.path().join("run");
    let words = ["testbed", "run", text(&topology), "--out", text(&run), "--"];
    let mut command = bench.kadenz(&words);
    command.args(["sleep", "1000"]).stderr(Stdio::null());
    let mut running = command.spawn().unwrap();
    wait_until(|| run.exists());
    signal(&running, "TERM");
    let has_ended = comes_true(|| running.try_wait().unwrap().is_some());
    running.kill().unwrap();
    assert!(has_ended, "it waits for its program");
    // Depending on the moment, the program did not start, or ended by the signal.
    let code = running.wait().unwrap().code();
    assert!(matches!(code, Some(2 | 143)), "{code:?}");
    assert_eq!(run_json(&run)["complete"], true);
}

#[test]
fn a_program_of_a_detached_testbed_may_write_to_its_standard_error() {
    let Some(bench) = bench("a_program_of_a_detached_testbed_may_write_to_its_standard_error")
    else {
        return;
    };
    let script = "while :; do sleep 0.1; echo x >&2; touch said; done";
    let program = format!("program = ['sh', '-c', '{script}']\n");
    let described = PAIR.replace("role = 'device'\n", &format!("role = 'device'\n{program}"));
    let topology = bench.topology(&described);
    let up = bench.run(&["testbed", "up", text(&topology), "--detach"]);
    assert_eq!(up.code, 0, "{}", up.err);
    let said = bench.folder.path().join("said");
    // More than once after the command that detached it has ended.
    for _ in 0..3 {
        wait_until(|| said.exists());
        std::fs::remove_file(&said).unwrap();
    }
    assert_eq!(bench.run(&["testbed", "down"]).code, 0);
}

/// Whether some process is in this network namespace.
fn is_inhabited(network: &str) -> bool {
    let mut processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.any(|it| {
        let link = std::fs::read_link(it.path().join("ns/net"));
        link.is_ok_and(|link| link.to_string_lossy() == network)
    })
}

#[test]
fn a_killed_testbed_leaves_no_network_and_down_ends_what_its_programs_started() {
    let test = "a_killed_testbed_leaves_no_network_and_down_ends_what_its_programs_started";
    let Some(bench) = bench(test) else {
        return;
    };
    let program = "program = ['sh', '-c', 'sleep 1000 & exec sleep 1000']\n";
    let mut testbed =
        bench.up(&PAIR.replace("role = 'device'\n", &format!("role = 'device'\n{program}")));
    let hosts = bench.run(&["testbed", "status", "--json"]).json();
    let network = format!("net:[{}]", hosts["testbed"]["hosts"][1]["inode"]);
    wait_until(|| is_inhabited(&network));
    signal(&testbed, "KILL");
    testbed.wait().unwrap();
    // The processes that the program started live on, and their network with them.
    assert_eq!(bench.run(&["testbed", "status"]).code, 2);
    assert!(is_inhabited(&network));
    let cleared = bench.run(&["doctor", "--restore"]);
    assert_eq!(cleared.code, 0, "{}", cleared.err);
    assert!(cleared.out.contains("process"), "{}", cleared.out);
    wait_until(|| !is_inhabited(&network));
    assert!(bench.run(&["testbed", "down"]).out.contains("no testbed"));
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let Some(bench) = bench("a_program_that_cannot_be_started_is_named") else {
        return;
    };
    let program = "program = ['no-such-program']\n";
    let text = PAIR.replace("role = 'device'\n", &format!("role = 'device'\n{program}"));
    let testbed = bench.up(&text);
    let status = end(testbed);
    let trouble = status["programs"][0]["trouble"].as_str().unwrap();
    assert!(trouble.contains("no-such-program"), "{trouble}");
}

#[test]
fn without_rights_the_remedy_is_named() {
    let Some(bench) = bench("without_rights_the_remedy_is_named") else {
        return;
    };
    let topology = bench.topology(PAIR);
    let with = bench.kadenz(&["testbed", "up", text(&topology)]);
    let mut without = Command::new("setpriv");
    without
        .args(["--bounding-set=-sys_admin", "--inh-caps=-sys_admin"])
        .arg(with.get_program())
        .args(with.get_args())
        .current_dir(bench.folder.path())
        .env("KADENZ_JOURNAL_FOLDER", bench.folder.path().join("journal"));
    let Ok(output) = without.output() else {
        skip(
            "without_rights_the_remedy_is_named",
            "no setpriv: apt install util-linux",
        );
        return;
    };
    let said = Said::of(output);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("CAP_SYS_ADMIN"), "{}", said.err);
}
