pub(super) mod bench;

use bench::Bench;

use super::terminal::{ek1100, ek1914, el2828, el2889, el3004};
use super::{Device, Idle, sensor};
use crate::wire::coe::{Address, Message};
use crate::wire::mailbox::Header;
use crate::wire::sii::{Direction, Image};
use crate::wire::{AlStatusCode, State};

fn golden(path: &str) -> Vec<u8> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/ethercat/");
    std::fs::read(format!("{root}{path}")).unwrap()
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<_> = hexadecimal
        .chars()
        .filter(|it| !it.is_whitespace())
        .collect();
    digits
        .chunks(2)
        .map(|it| u8::from_str_radix(&it.iter().collect::<String>(), 16).unwrap())
        .collect()
}

/// Words of the SII that a MainDevice read from a real device.
fn words(name: &str) -> Vec<(usize, Vec<u8>)> {
    let text = String::from_utf8(golden(&format!("words/{name}.txt"))).unwrap();
    let lines = text.lines().filter(|it| !it.starts_with('#'));
    lines
        .map(|line| {
            let (address, words) = line.split_once(':').unwrap();
            (
                usize::from_str_radix(address, 16).unwrap() * 2,
                bytes(words),
            )
        })
        .collect()
}

#[test]
fn masters_read_of_a_model_what_they_read_of_a_real_device() {
    let models: [(&str, Device<Idle>); 5] = [
        ("ek1100", ek1100()),
        ("el2828", el2828()),
        ("el2889", el2889()),
        ("ek1914", ek1914()),
        ("el3004", el3004()),
    ];
    for (name, device) in models {
        let sii = device.model().unwrap().sii;
        for (start, expected) in words(name) {
            // The bytes behind the last category that was read differ.
            let got = &sii[start..start + expected.len()];
            assert_eq!(got, expected, "{name} at byte {start:#x}");
        }
    }
}

#[test]
fn whole_images_equal_those_of_real_devices() {
    for (name, device) in [
        ("ek1100", ek1100()),
        ("el2828", el2828()),
        ("el2889", el2889()),
    ] {
        let mut expected = golden(&format!("sii/{name}.bin"));
        // Words 0x20 to 0x24 are specific to one device.
        expected[0x40..0x4A].fill(0);
        let sii = device.model().unwrap().sii;
        assert!(Image::of(&sii).unwrap().checksum_holds());
        let differs = (0..2048).find(|at| sii[*at] != expected[*at]);
        assert_eq!(differs, None, "{name}");
    }
}

/// Replays an exchange with a real device to a model; returns the differing answers. Bytes without meaning do not
/// count: the answer of the real EL3004 to a download still holds the downloaded bytes.
fn replay(device: Device<Idle>, exchange: &str) -> Vec<String> {
    let mut bench = Bench::new(device);
    bench.to(State::PreOp).unwrap();
    let text = String::from_utf8(golden(&format!("coe/{exchange}.txt"))).unwrap();
    let mut answer = Vec::new();
    let mut differences = Vec::new();
    for line in text.lines() {
        match line.split_at(1) {
            (">", message) => answer = bench.ask(&bytes(message)),
            ("<", message) => {
                let (real, data) = Header::read(&answer).unwrap();
                let expected = bytes(message);
                let (header, wanted) = Header::read(&expected).unwrap();
                let same =
                    Message::read(data) == Message::read(wanted) && data.len() == wanted.len();
                if !same || (real.counter, real.protocol) != (header.counter, header.protocol) {
                    differences.push(format!("{wanted:02x?} != {data:02x?}"));
                }
            }
            _ => {}
        }
    }
    differences
}

#[test]
fn models_answer_by_coe_what_real_devices_answered() {
    assert_eq!(replay(el3004(), "el3004-configure"), [""; 0]);
    assert_eq!(replay(el3004(), "el3004-mailbox"), [""; 0]);
    assert_eq!(replay(el3004(), "el3004-no-complete-access"), [""; 0]);
    assert_eq!(replay(ek1914(), "ek1914-no-complete-access"), [""; 0]);
    assert_eq!(replay(ek1914(), "ek1914-segmented-upload"), [""; 0]);
}

#[test]
fn mailboxes_elsewhere_are_refused() {
    let mut bench = Bench::new(el3004());
    assert_eq!(bench.change(State::PreOp), Err(AlStatusCode::BAD_MAILBOX));
    assert_eq!(
        bench.change(State::Bootstrap),
        Err(AlStatusCode::NO_BOOTSTRAP)
    );
    bench.to(State::Op).unwrap();
}

#[test]
fn outputs_reach_their_channels() {
    let mut bench = Bench::new(el2889());
    bench.to(State::Op).unwrap();
    bench.write_entry(Address::new(0x7000, 1), 1);
    bench.write_entry(Address::new(0x70F0, 1), 1);
    bench.exchange();
    let on = |index| bench.device.objects().number(Address::new(index, 1));
    assert_eq!(
        (on(0x7000), on(0x7010), on(0x70F0)),
        (Some(1), Some(0), Some(1))
    );
}

#[test]
fn a_value_that_is_set_is_in_the_inputs() {
    let mut bench = Bench::new(el3004());
    bench.to(State::Op).unwrap();
    bench
        .device
        .objects_mut()
        .set_number(Address::new(0x6010, 17), -2);
    bench.refresh();
    assert_eq!(bench.inputs(3).len(), 16);
    assert_eq!(bench.inputs(3)[4..8], [0, 0, 0xFE, 0xFF]);
    assert_eq!(bench.upload(Address::new(0x6010, 17)), [0xFE, 0xFF]);
}

#[test]
fn a_sensor_gives_a_new_sample_every_millisecond_with_its_time() {
    let mut bench = Bench::new(sensor::imu("torso", 1, 42));
    bench.to(State::Op).unwrap();
    bench.wait_ms(50);
    let data = bench.inputs(3).to_vec();
    assert_eq!(data.len(), 18);
    let number = |at: usize| i16::from_le_bytes([data[at], data[at + 1]]);
    assert!(
        (9_500..10_100).contains(&number(4)),
        "gravity: {}",
        number(4)
    );
    let counter = number(12);
    let time = u32::from_le_bytes([data[14], data[15], data[16], data[17]]);
    assert_eq!(u64::from(time), bench.fake.now.0);
    bench.wait_ms(7);
    let later = &bench.inputs(3)[12..14];
    assert_eq!(i16::from_le_bytes([later[0], later[1]]), counter + 7);
}

#[test]
fn with_a_clock_outputs_wait_for_its_pulse_and_missing_ones_are_counted() {
    let mut bench = Bench::new(el3004());
    bench.fake.sync0 = Some(1_000_000);
    bench.to(State::Op).unwrap();
    assert_eq!(bench.upload(Address::new(0x1C33, 1)), [2, 0], "by SYNC0");
    let mut bench = Bench::new(ek1914());
    bench.fake.sync0 = Some(1_000_000);
    bench.to(State::Op).unwrap();
    bench.pulse();
    bench.exchange();
    bench.pulse();
    assert_eq!(bench.upload(Address::new(0x1C32, 11)), [2, 0]);
}

#[test]
fn every_model_s_description_is_whole() {
    let device = super::drive::Drive::device("left knee", 9, super::drive::Parameters::default());
    let sii = device.description().sii().unwrap();
    let image = Image::of(&sii).unwrap();
    assert_eq!(image.fixed().identity.serial, 9);
    let outputs: Vec<_> = image.pdos(Direction::Outputs).collect();
    assert_eq!((outputs.len(), outputs[0].bits()), (4, 64));
    assert_eq!(image.clock_modes().nth(1).unwrap().activate, 0x0300);
    let long = image.general().unwrap().name;
    assert_eq!(image.string(long).unwrap().to_string(), "left knee");
    assert_eq!(image.sync_managers().count(), 4);
}

#[test]
fn a_stamp_reports_when_its_work_on_a_command_was_done_and_when_events_were() {
    use super::stamp::{StampOutput, StampSettings, stamp};
    use crate::sim::Application as _;
    let settings = StampSettings {
        work_ns: 400_000,
        least_gap_ns: 10_000_000,
        more_gap_ns: 0,
        seed: 1,
    };
    let mut bench = Bench::new(stamp("stamp", 1, settings));
    bench.to(State::Op).unwrap();
    bench.write_entry(Address::new(0x7000, 1), 7);
    bench.exchange();
    let woken = bench.fake.now;
    let output = |bench: &Bench<_>| StampOutput::read(bench.inputs(3)).unwrap();
    assert_eq!(output(&bench).command, 0, "it works");
    bench.fake.now = woken.after(400_000);
    bench.device.run(&mut bench.fake);
    let after = output(&bench);
    assert_eq!((after.command, after.command_ns), (7, woken.0 + 400_000));
    assert_eq!(after.events, 0);
    for _ in 0..25 {
        bench.exchange();
        bench.fake.now = bench.fake.now.after(400_000);
        bench.device.run(&mut bench.fake);
    }
    let later = output(&bench);
    assert_eq!((later.command, later.command_ns), (7, after.command_ns));
    assert_eq!((later.events, later.event_ns), (3, 30_000_000));
}
