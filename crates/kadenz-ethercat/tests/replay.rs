//! Captures of real devices, replayed into virtual ones: the frames that a MainDevice once sent to the former pass the
//! latter at the same times, and the test compares each answer with the real one, datagram by datagram.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

#[path = "replay/compare.rs"]
mod compare;
#[path = "replay/explain.rs"]
mod explain;
#[path = "replay/pcapng.rs"]
mod pcapng;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use compare::Difference;
use kadenz_ethercat::port::Side;
use kadenz_ethercat::sim::model::terminal;
use kadenz_ethercat::sim::{Cable, DeviceSettings, End, Passed, Segment, Time};
use kadenz_ethercat::wire::MAX_FRAME;
use pcapng::Packet;

/// ethercrab's address as MainDevice.
const MAIN_DEVICE: [u8; 6] = [0x10; 6];
/// How long the devices had been powered before the capture.
const SINCE_POWER_NS: u64 = 1_000_000_000;

const DIGITAL: &[&str] = &["ek1100", "el2828", "el2889"];
const ANALOG: &[&str] = &["ek1914", "el3004"];
/// Captures with their devices.
const CAPTURES: [(&str, &[&str]); 8] = [
    ("replay-dc", DIGITAL),
    ("replay-ek1100-alias-address", DIGITAL),
    ("replay-ek1100-el2828-el2889", DIGITAL),
    ("replay-ek1914-el3004-configure", ANALOG),
    ("replay-ek1914-el3004-mailbox", ANALOG),
    ("replay-ek1914-no-complete-access", ANALOG),
    ("replay-ek1914-segmented-upload", ANALOG),
    ("replay-issue-255", DIGITAL),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/ethercat/captures")
}

/// The devices in a line, with memories as slow as the recorded ones: the captures show them busy for at least 682 us
/// and at most 702 us.
fn segment(devices: &[&str]) -> Segment {
    let settings = DeviceSettings {
        sii_read_ns: 690_000,
        sii_write_ns: 297_000,
        sii_store_ns: 3_300_000,
        ..DeviceSettings::default()
    };
    let mut segment = Segment::new(1);
    let mut last = End::Main(Side::Primary);
    for name in devices {
        let model = match *name {
            "ek1100" => terminal::ek1100().model(),
            "ek1914" => terminal::ek1914().model(),
            "el2828" => terminal::el2828().model(),
            "el2889" => terminal::el2889().model(),
            _ => terminal::el3004().model(),
        };
        let device = segment.add(model.unwrap(), settings).unwrap();
        segment
            .connect(last, End::Device(device, 0), Cable::default())
            .unwrap();
        last = End::Device(device, 1);
    }
    segment
}

/// The requests of a capture with their answers.
fn exchanges(capture: &str) -> Vec<(Packet, Packet)> {
    let bytes = std::fs::read(folder().join(format!("{capture}.pcapng"))).unwrap();
    let (sent, came): (Vec<_>, Vec<_>) = pcapng::packets(&bytes)
        .into_iter()
        .partition(|it| it.bytes[6..12] == MAIN_DEVICE);
    assert_eq!(sent.len(), came.len(), "each frame came back");
    // Answers come in the order of the requests, as on a wire.
    let pairs = sent.into_iter().zip(came);
    pairs
        .inspect(|(sent, came)| assert_eq!(sent.bytes[16..18], came.bytes[16..18]))
        .collect()
}

/// Replays a capture; returns the number of datagrams, and those whose answers differ.
fn play(capture: &str, devices: &[&str]) -> (usize, Vec<Difference>) {
    let mut segment = segment(devices);
    let exchanges = exchanges(capture);
    let start = exchanges[0].0.ns;
    let (mut datagrams, mut differences) = (0, Vec::new());
    for (number, (sent, came)) in exchanges.iter().enumerate() {
        let now = Time(SINCE_POWER_NS + sent.ns - start);
        segment.advance(now);
        let mut bytes = [0; MAX_FRAME];
        let frame = &mut bytes[..sent.bytes.len()];
        frame.copy_from_slice(&sent.bytes);
        let passed = segment.pass(frame, now);
        assert!(matches!(passed, Passed::Returned { .. }), "{passed:?}");
        assert_eq!(frame[..14], came.bytes[..14], "addresses of frame {number}");
        datagrams += compare::frames(number, &came.bytes, frame, &mut differences);
    }
    (datagrams, differences)
}

/// All differences, one line per kind: place, count and reason.
fn summary(capture: &str, devices: &[&str]) -> String {
    let (datagrams, differences) = play(capture, devices);
    let mut kinds = BTreeMap::new();
    for it in &differences {
        let Some(reason) = explain::reason(it) else {
            panic!("{capture}: not explained: {it:02X?}");
        };
        // ethercrab assigns station addresses from 0x1000 on.
        let device = devices[usize::from(it.station() - 0x1000)];
        let command = format!("{:?}", it.command).to_uppercase();
        let place = (device, it.register(), command, reason);
        *kinds.entry(place).or_insert(0) += 1;
    }
    let mut text = format!(
        "{capture}: {datagrams} datagrams, {} answered otherwise\n",
        differences.len()
    );
    for ((device, register, command, reason), count) in kinds {
        text += &format!("  {device} 0x{register:04X} {command} {count}: {reason}\n");
    }
    text
}

#[test]
fn virtual_devices_answer_as_the_recorded_ones_or_it_is_explained() {
    let all: String = CAPTURES
        .iter()
        .map(|(capture, devices)| summary(capture, devices))
        .collect();
    let kept = std::fs::read_to_string(folder().join("differences.txt")).unwrap();
    assert!(all == kept, "differences.txt should be:\n{all}");
}

#[test]
fn what_is_not_explained_is_found() {
    let (_, differences) = play("replay-ek1914-el3004-mailbox", &["ek1100", "el2889"]);
    let strange = differences
        .iter()
        .filter(|it| explain::reason(it).is_none());
    assert!(strange.count() > 10, "these are other devices");
}
