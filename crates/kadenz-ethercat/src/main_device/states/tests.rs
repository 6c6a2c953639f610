//! Firmware that takes its time to look at AL control.

use super::*;
use crate::main_device::bring_up::{find, prepare};
use crate::main_device::device::SubDevice;
use crate::main_device::discover::discover;
use crate::main_device::exchange::BlockingExchange;
use crate::main_device::link::Link;
use crate::port::Side;
use crate::sim::WirePort;
use crate::sim::fault::{Fault, WireFault};
use crate::sim::humanoid::humanoid;
use crate::wire::DlControl;
use crate::wire::register::{DL_CONTROL, LOOP_CONTROL};

const MS: u64 = 1_000_000;
/// A coupler, terminals with and without firmware, an IMU, a drive.
const DEVICES: usize = 6;
/// How long applications take to look.
const REACTIONS: [u64; 4] = [0, MS, 20 * MS, 75 * MS];

struct Bench(Link<WirePort>);

impl Bench {
    /// A segment whose applications take this long.
    fn slow(ns: u64) -> Self {
        let mut port = WirePort::new(humanoid(DEVICES).build().unwrap());
        for device in port.segment_mut().positions(Side::Primary) {
            port.segment_mut()
                .device_mut(device)
                .unwrap()
                .set_reaction(ns);
        }
        Self(Link::new(port, 1))
    }

    fn request<T>(&mut self, request: impl FnOnce(&mut Registers<'_>) -> T) -> T {
        let mut exchange = BlockingExchange::over(&mut self.0);
        request(&mut Registers::by(&mut exchange))
    }

    fn inject(&mut self, fault: WireFault) {
        let port = self.0.port_mut();
        let now = port.time();
        port.segment_mut().inject(Fault::Wire(fault), now);
    }

    /// All of them in PREOP.
    fn found(&mut self) -> Vec<SubDevice> {
        self.request(|it| find(it).unwrap())
    }

    fn status(&mut self, target: Target) -> AlStatus {
        self.request(|it| read(it, target).unwrap())
    }
}

#[test]
fn slow_firmware_comes_up_from_whatever_it_was_left_in() {
    for ns in REACTIONS {
        let mut bench = Bench::slow(ns);
        for _ in 0..2 {
            let mut devices = bench.found();
            assert_eq!(devices.len(), DEVICES);
            bench.request(|it| prepare(it, &mut devices, None).unwrap());
            let all = bench.status(Target::All(DEVICES as u16));
            assert_eq!(all, AlStatus::new(State::SafeOp, false), "{ns}");
            // The next time, some have left that state, and a request was made just now.
            for device in bench.0.port_mut().segment_mut().positions(Side::Primary) {
                let code = AlStatusCode::WATCHDOG;
                bench.inject(WireFault::Leave(device, State::PreOp, code));
            }
            let asked = AlControl::request(State::SafeOp).0.to_le_bytes();
            let target = devices[DEVICES - 1].target();
            bench.request(|it| it.count_writing(target, AL_CONTROL, &asked).unwrap());
        }
    }
}

#[test]
fn an_error_is_acknowledged_before_the_next_state_is_asked_for() {
    for ns in REACTIONS {
        let mut bench = Bench::slow(ns);
        let devices = bench.found();
        for device in &devices {
            let target = device.target();
            // Twice: the second time the old error stands at the request.
            for _ in 0..2 {
                let refused = bench.request(|it| reach(it, target, State::Op));
                match refused {
                    Err(StateError::Refused { code, .. }) => {
                        assert_eq!(code, AlStatusCode::INVALID_CHANGE, "{}", device.name);
                        assert!(bench.status(target).error());
                    }
                    // A SubDevice without firmware refuses nothing.
                    Ok(()) if !device.has_mailbox() => {}
                    other => panic!("{ns}, {}: {other:?}", device.name),
                }
            }
            bench.request(|it| reach(it, target, State::PreOp).unwrap());
            let expected = AlStatus::new(State::PreOp, false);
            assert_eq!(bench.status(target), expected, "{ns}, {}", device.name);
        }
    }
}

#[test]
fn an_error_that_stays_is_a_refusal_at_last() {
    let mut bench = Bench::slow(0);
    let devices = bench.found();
    let target = devices[DEVICES - 1].target();
    let op = AlControl::request(State::Op).0;
    bench.request(|it| it.put_u16(target, AL_CONTROL, op).unwrap());
    let start = bench.0.now();
    let refused = bench.request(|it| wait(it, target, State::Op, longest(State::Op)));
    assert!(matches!(refused, Err(StateError::Refused { .. })));
    let took = Duration::from_nanos(bench.0.now().since(start) as u64);
    assert!(took >= REACTION && took < REACTION * 2, "{took:?}");
}

#[test]
fn loops_that_were_left_closed_are_opened() {
    let mut bench = Bench::slow(0);
    let devices = bench.request(|it| discover(it).unwrap());
    // The IMU hides the waist, which in turn hides the chest.
    for position in [4, 3] {
        let target = devices[position].target();
        // Ports 1 to 3 are always closed.
        bench.request(|it| it.write(target, LOOP_CONTROL, &[0xFC]).unwrap());
    }
    let again = bench.request(|it| discover(it).unwrap());
    assert_eq!(again.len(), DEVICES);
    let control = bench.request(|it| it.get_u32(again[3].target(), DL_CONTROL).unwrap());
    assert_eq!(
        DlControl(control),
        DlControl::POWER_ON,
        "and nothing else changed"
    );
}
