//! Many faults at once.

use super::*;
use crate::sim::fault::When;

#[test]
fn all_that_is_to_strike_with_one_frame_does() {
    let mut sender = Sender::new(line(59));
    for device in 0..59 {
        let off = Fault::Wire(WireFault::PowerOff(id(device)));
        let lose = Fault::Frame(FrameFault::Lose { after: None });
        for fault in [off, lose] {
            let plan = sender.segment.faults();
            plan.add(When::Frame(3), fault).unwrap();
        }
    }
    for frame in 1..=4 {
        let (_, passed) = sender.frame(Command::Brd, DatagramAddress::broadcast(0), &[0]);
        let came = matches!(passed, Passed::Returned { .. });
        assert_eq!(came, frame < 3, "frame {frame}: {passed:?}");
    }
    let counts = sender.segment.counts();
    assert_eq!((counts.wire_faults, counts.frame_faults), (59, 59));
    assert!((0..59).all(|it| sender.segment.powered(id(it)) == Some(false)));
    assert!(sender.segment.faults().is_empty());
}
