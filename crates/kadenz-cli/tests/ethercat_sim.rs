//! `kadenz ethercat sim` at other places than one end of a cable: rings, bridges, taps, other segments, and terminals.
//! The tests run in networks of their own, which needs root.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;
#[path = "common/on_a_cable.rs"]
mod on_a_cable;
use on_a_cable::*;

use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::time::Duration;

use kadenz::ethercat::port::Side;
use kadenz::ethercat::port::{InterfacePort, Port, RingPort, WaitMode};
use kadenz::ethercat::wire::{self, DatagramAddress, Datagrams, FrameWriter};
use kadenz::rt::net::cable::Cable;
use kadenz::rt::net::tap::{Tap, TapPlan, TapWatch};

/// A frame that counts the devices by a broadcast read.
fn question(source: u8, index: u8) -> [u8; 60] {
    let mut frame = [0; 60];
    let mut writer = FrameWriter::new(&mut frame, [source; 6]).unwrap();
    let address = DatagramAddress::broadcast(wire::register::TYPE);
    writer.push(wire::Command::Brd, index, address, 1).unwrap();
    writer.finish();
    frame
}

/// The number of devices that have answered; `None` for a frame of another protocol.
fn counted(frame: &[u8]) -> Option<u16> {
    let datagram = Datagrams::of(frame).ok()?.next()?.unwrap();
    Some(datagram.working_counter)
}

fn devices(said: &Said) -> usize {
    assert_eq!(said.code, 0, "{}", said.err);
    said.json()["devices"].as_array().unwrap().len()
}

#[test]
fn of_two_segments_on_one_cable_one_answers_and_neither_the_other() {
    in_a_network("of two segments on one cable", || {
        let one = Sim::start(&["12"]);
        let mut other = Sim::at(&["--interface", "near", "3"]);
        assert!(other.next_note().contains("on near"));
        assert_eq!(devices(&near(&["scan", "--json"])), 12);
        let note = other.next_note();
        assert!(note.contains("another one answers on this wire"), "{note}");
        // The first segment takes the cable with it when it ends.
        let other = other.end();
        let one = one.end();
        let [asked, met, passed, answered] = [
            &one["frames"],
            &other["echoed"],
            &other["frames"],
            &one["echoed"],
        ]
        .map(|it| it.as_u64().unwrap());
        // The second segment received each answer of the first: it ignored those that a device had counted, and the
        // first ignored the answers of the second to the rest.
        assert!(asked > 100 && met > 100, "{one} {other}");
        assert_eq!((met + passed, answered), (asked, passed), "{one} {other}");
    });
}

#[test]
fn the_loopback_is_not_a_segment() {
    in_a_network("the loopback is not a segment", || {
        for command in [&["ethercat", "sim"][..], &["ethercat", "scan"]] {
            let said = run(&[command, &["--interface", "lo"]].concat());
            assert_eq!(said.code, 2);
            assert!(said.err.contains("loopback"), "{}", said.err);
        }
    });
}

#[test]
fn a_ring_on_two_interfaces_goes_on_when_it_is_cut() {
    in_a_network("a ring on two interfaces", || {
        let first = ["--interface", "a0", "--cable", "a1"];
        let second = ["--second", "b0", "--second-cable", "b1", "12"];
        let mut sim = Sim::at(&[first.as_slice(), &second].concat());
        let note = sim.next_note();
        assert!(
            note.contains("on a0, its other end is a1, and as a ring on b0, its other end is b1"),
            "{note}"
        );
        let mut port = RingPort::open("a1", "b1", WaitMode::Blocking).unwrap();
        let mut index = 0;
        let mut ask = |sides: &[Side]| {
            index += 1;
            for side in sides {
                let source = 0x10 + 4 * *side as u8;
                port.send_by(*side, &question(source, index)).unwrap();
            }
            let mut answers = Vec::new();
            while answers.len() < sides.len() {
                let until = port.now() + Duration::from_secs(10);
                assert!(port.wait(until).unwrap(), "{answers:?}");
                let mut frame = [0; 1514];
                while let Some((side, length)) = port.receive_from(&mut frame) {
                    answers.push((side as u8, counted(&frame[..length]).unwrap()));
                }
            }
            answers.sort_unstable();
            answers
        };
        assert_eq!(ask(&[Side::Primary]), [(1, 12)]);
        let both = [Side::Primary, Side::Redundant];
        assert_eq!(ask(&both), [(0, 0), (1, 12)]);
        assert!(sim.say("cut 'waist yaw'").starts_with("done"));
        let [(0, from_first), (1, from_second)] = ask(&both)[..] else {
            panic!("each side hears its own");
        };
        assert_eq!((from_first, from_second), (4, 8));
        assert!(sim.say("heal 'waist yaw'").starts_with("done"));
        assert!(sim.say("cut ring").starts_with("done"));
        assert_eq!(ask(&[Side::Primary]), [(0, 12)]);
        sim.end();
    });
}

#[test]
fn a_segment_is_reached_through_a_bridge() {
    let name = "a segment is reached through a bridge";
    in_a_network(name, || {
        let ip = |line: &str| {
            let mut ip = Command::new("ip");
            let output = ip.args(line.split(' ')).output();
            output.is_ok_and(|it| it.status.success())
        };
        if !ip("link add br0 type bridge") {
            return skip(
                name,
                "a bridge (apt install iproute2; sudo modprobe bridge)",
            );
        }
        let sim = Sim::start(&["12"]);
        let _cable = Cable::create("main", "port").unwrap();
        for line in [
            "link set near master br0",
            "link set port master br0",
            "link set br0 up",
        ] {
            assert!(ip(line), "{line}");
        }
        let on_main = |command: &[&str]| {
            run(&[&["ethercat"], command, &["--interface", "main", "--json"]].concat())
        };
        wait_until(|| on_main(&["scan"]).code == 0);
        assert_eq!(devices(&on_main(&["scan"])), 12);
        // The devices leave OP where a busy machine delays the cycles.
        wait_until(|| all_in_op(&on_main(&["state", "OP", "--duration", "200ms"])));
        sim.end();
    });
}

#[test]
fn a_segment_on_a_tap_answers_the_holder_of_the_tap() {
    in_a_network("a segment on a tap", || {
        // The test holds the tap as a virtual machine holds the other end of its network card.
        let tap = Tap::create(&TapPlan {
            name: "tap0".to_owned(),
            hardware_address: [2, 0, 0, 0, 0, 1],
            address: Ipv4Addr::new(10, 0, 0, 1),
            neighbours: Vec::new(),
        })
        .unwrap();
        let mut sim = Sim::at(&["--interface", "tap0", "12"]);
        assert!(sim.next_note().contains("on tap0"));
        // A virtual machine's address carries the mark of a processed frame from the beginning.
        tap.send(&question(0x52, 1)).unwrap();
        let taps = [tap];
        let mut watch = TapWatch::new(&taps);
        let answer = (0..100).find_map(|_| {
            assert!(watch.wait(Duration::from_secs(10)).unwrap());
            let mut frame = [0; 1514];
            let length = taps[0].receive(&mut frame).unwrap()?;
            counted(&frame[..length])
        });
        assert_eq!(answer, Some(12));
        sim.end();
    });
}

/// CPU time of a process in clock ticks, a hundred a second (`proc_pid_stat(5)`, fields 14 and 15).
fn ticks(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
    fields
        .skip(11)
        .take(2)
        .map(|it| it.parse::<u64>().unwrap())
        .sum()
}

#[test]
fn a_segment_waits_while_its_interface_is_down_and_ends_when_it_is_gone() {
    in_a_network("an interface down, up and gone", || {
        let cable = Cable::create("far", "near").unwrap();
        let mut sim = Sim::at(&["--interface", "far", "12"]);
        assert!(sim.next_note().contains("on far"));
        assert_eq!(devices(&near(&["scan", "--json"])), 12);
        for _ in 0..2 {
            cable.set_up(false).unwrap();
            let before = ticks(sim.id());
            std::thread::sleep(Duration::from_secs(1));
            let spent = ticks(sim.id()) - before;
            assert!(spent < 50, "{spent} of 100 ticks for nothing");
            cable.set_up(true).unwrap();
            assert_eq!(devices(&near(&["scan", "--json"])), 12);
        }
        drop(cable);
        let said = sim.ended();
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(
            said.err.contains("frames on far cannot be waited for"),
            "{}",
            said.err
        );
    });
}

#[test]
fn what_follows_in_a_line_that_is_too_long_is_not_obeyed() {
    in_a_network("a line that is too long", || {
        let mut sim = Sim::start(&["12"]);
        let long = "x".repeat(1_001);
        let note = sim.say(&format!("# {long} cut 0"));
        assert!(note.contains("1000 bytes at most"), "{note}");
        // The segment printed no other line.
        assert!(sim.say("counts").starts_with("0 frames"));
        assert_eq!(sim.end()["wire_faults"], 0);
    });
}

#[test]
fn frames_are_late_by_as_much_as_a_fault_says_also_where_that_is_little() {
    in_a_network("frames that are a little late", || {
        let mut sim = Sim::start(&["3"]);
        let mut port = InterfacePort::open("near", WaitMode::Blocking).unwrap();
        let mut way = |index| {
            let start = port.now();
            port.send(&question(0x10, index)).unwrap();
            assert!(port.wait(start + Duration::from_secs(10)).unwrap());
            let took = port.now().since(start);
            assert!(port.receive(&mut [0; 1514]).is_some());
            took
        };
        way(0);
        for (index, us) in [(1, 800), (2, 1_900)] {
            assert!(sim.say(&format!("delay {us}us")).starts_with("done"));
            let took = way(index);
            assert!(took >= us * 1_000, "{took} ns and not {us} us");
        }
        assert_eq!(sim.end()["frame_faults"], 2);
    });
}

#[test]
fn what_prints_a_file_takes_no_options_of_what_runs() {
    for more in [
        &["--pace", "as-wire"][..],
        &["--duration", "1s"],
        &["--until-stdin-closes"],
        &["--json"],
        &["--interface", "far"],
    ] {
        let said = run(&[&["ethercat", "sim", "--print"], more].concat());
        assert_eq!(said.code, 2, "{more:?}: {}", said.err);
        assert!(said.err.contains(more[0]), "{}", said.err);
    }
}

#[test]
fn in_the_background_of_a_terminal_it_goes_on() {
    let name = "in the background of a terminal";
    if Command::new("script").arg("--version").output().is_err() {
        return skip(name, "script (apt install bsdutils)");
    }
    in_a_network(name, || {
        let folder = folder();
        let number = folder.path().join("number");
        let program = env!("CARGO_BIN_EXE_kadenz");
        let sim = format!("{program} ethercat sim 3 --interface far --cable near");
        // The duration ends the segment even if this test fails.
        let sim = format!("{sim} --duration 1min");
        let line = format!("set -m; {sim} & echo $! >{}; wait", text(&number));
        // A terminal with the shell in its foreground, which has job control.
        let mut terminal = Command::new("script")
            .args(["-qec", &format!("sh -c '{line}'"), "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let answers = || near(&["scan", "--json"]).code == 0;
        for _ in 0..10 {
            // One scan may fail on a busy machine; of a segment that was stopped when it read the terminal, all do.
            wait_until(answers);
        }
        let number = std::fs::read_to_string(&number).unwrap();
        assert!(started::kill("INT", number.trim()));
        assert!(terminal.wait().unwrap().success());
    });
}

#[test]
fn a_file_that_says_everything_is_printed_as_it_is() {
    let folder = folder();
    let conformance = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/ethercat");
    for (from, to) in [
        ("segment/everything.toml", "everything.toml"),
        ("esi/axis.xml", "axis.xml"),
    ] {
        std::fs::copy(format!("{conformance}/{from}"), folder.path().join(to)).unwrap();
    }
    let print = |name: &str| {
        let file = folder.path().join(name);
        let said = run(&["ethercat", "sim", text(&file), "--print"]);
        assert_eq!(said.code, 0, "{}", said.err);
        said.out
    };
    let printed = print("everything.toml");
    for part in [
        "[ring]",
        "what = \"spoil\"",
        "esi = \"axis.xml\"",
        "spoiled = [[",
    ] {
        assert!(printed.contains(part), "{part}");
    }
    std::fs::write(folder.path().join("again.toml"), &printed).unwrap();
    assert_eq!(print("again.toml"), printed);
}

#[test]
fn commands_see_all_of_a_ring_in_their_own_process() {
    let folder = folder();
    let file = folder.path().join("ring.toml");
    let whole = run(&["ethercat", "sim", "12", "--print"]).out;
    std::fs::write(
        &file,
        format!("[ring]\n{}", whole.replace("seed = 59\n", "")),
    )
    .unwrap();
    let said = run(&["ethercat", "state", "OP", "--json", "--sim", text(&file)]);
    assert_eq!(devices(&said), 12);
    let json = said.json();
    let mut states = json["devices"].as_array().unwrap().iter();
    assert!(states.all(|it| it["state"] == "OP"), "{json}");
}
