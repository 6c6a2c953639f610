//! Faults that end by themselves.

use super::*;
use crate::sim::fault::When;

#[test]
fn planned_flaps_come_and_go_by_time() {
    let mut segment = line(3);
    let cable = segment.cable_at(port(1, 0)).unwrap();
    let flap = Fault::Wire(WireFault::Flap(cable, 2_500_000));
    let when = When::Every {
        first: Time(5_000_000),
        period: 10_000_000,
    };
    segment.faults().add(when, flap).unwrap();
    let mut sender = Sender::new(segment);
    let counts: Vec<u16> = (0..16).map(|_| sender.count()).collect();
    let expected = [3, 3, 3, 3, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 1, 1];
    assert_eq!(counts, expected);
}

#[test]
fn a_new_command_forgets_how_an_earlier_one_was_to_end() {
    let segment = line(3);
    let cable = segment.cable_at(port(1, 0)).unwrap();
    let mut sender = Sender::new(segment);
    for (first, then) in [
        (WireFault::Flap(cable, 5_000_000), WireFault::Cut(cable)),
        (
            WireFault::PowerCycle(id(1), 5_000_000),
            WireFault::PowerOff(id(1)),
        ),
    ] {
        for fault in [first, then] {
            sender.segment.inject(Fault::Wire(fault), sender.now);
        }
        let counts: Vec<u16> = (0..10).map(|_| sender.count()).collect();
        assert_eq!(counts, [1; 10], "{then:?} stands");
        for mends in [WireFault::Heal(cable), WireFault::PowerOn(id(1))] {
            sender.segment.inject(Fault::Wire(mends), sender.now);
        }
        assert_eq!(sender.count(), 3);
    }
}
