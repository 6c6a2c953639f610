use super::*;

const OP: u16 = 8;
const SAFE_OP_ERROR: u16 = 0x14;
const WATCHDOG: u16 = 0x1B;

/// Notices at these milliseconds, grouped.
fn grouped(notices: &[(u64, Option<usize>, Event)]) -> Vec<String> {
    let mut incidents = Incidents::default();
    let mut settled = Vec::new();
    for (number, (ms, device, event)) in (1..).zip(notices) {
        let at_ns = ms * 1_000_000;
        settled.extend(incidents.settled(MonotonicTime::from_ns(at_ns)));
        incidents.add(Notice {
            number,
            at_ns,
            device: device.map(|device| NoticeDevice {
                device,
                name: format!("joint {device}"),
                station: 0x1001,
            }),
            event: event.clone(),
        });
    }
    settled.extend(incidents.rest());
    settled.iter().map(ToString::to_string).collect()
}

fn state(from: u16, to: u16, code: u16) -> Event {
    Event::State { from, to, code }
}

fn back(powered: bool) -> Event {
    Event::Back {
        position: 8,
        powered,
    }
}

#[test]
fn a_cable_that_is_cut_and_whole_again_is_two_incidents() {
    let frames = Event::WorkingCounter {
        frames: 3,
        got: 1,
        expected: 9,
    };
    let errors = Event::PortErrors {
        port: 1,
        invalid: 2,
        physical: 0,
        forwarded: 0,
        lost_links: 1,
    };
    let emergency = Event::Emergency {
        code: 0x7500,
        register: 0x11,
        data: [0; 5],
    };
    let mut notices = vec![(0, None, frames.clone())];
    notices.extend((8..12).map(|it| (3, Some(it), Event::Lost)));
    notices.push((5, Some(7), Event::LinkDown { port: 1 }));
    notices.push((1_005, None, frames));
    notices.push((1_500, Some(7), Event::LinkUp { port: 1 }));
    notices.extend((8..12).map(|it| (1_503, Some(it), back(true))));
    for it in 8..12 {
        notices.push((1_510, Some(it), state(OP, SAFE_OP_ERROR, WATCHDOG)));
        notices.push((1_520, Some(it), state(SAFE_OP_ERROR, 4, 0)));
        notices.push((1_900, Some(it), state(4, OP, 0)));
        notices.push((1_950, Some(it), emergency.clone()));
    }
    notices.push((2_400, Some(7), errors));
    assert_eq!(
        grouped(&notices),
        [
            "lost: 8 (joint 8) to 11 (joint 11), link down at port 1 of 7 (joint 7)",
            "back: 8 (joint 8) to 11 (joint 11), in OP, emergency 0x7500, link up at port 1 of 7 (joint 7)",
        ]
    );
}

#[test]
fn the_same_of_several_devices_is_one_incident_and_others_are_others() {
    let mut notices: Vec<_> = [0, 1, 2, 5]
        .map(|it| (0, Some(it), state(OP, SAFE_OP_ERROR, WATCHDOG)))
        .to_vec();
    notices.extend([0, 1, 2].map(|it| (9, Some(it), state(SAFE_OP_ERROR, OP, 0))));
    let why = "no such object".to_owned();
    notices.push((12, Some(5), Event::Setup { why }));
    assert_eq!(
        grouped(&notices),
        [
            "0 (joint 0) to 2 (joint 2): OP -> SAFEOP with an error (0x001B, sync manager watchdog), in OP again; \
             5 (joint 5): OP -> SAFEOP with an error (0x001B, sync manager watchdog)",
            "5 (joint 5): its setup failed: no such object",
        ]
    );
}

#[test]
fn a_dead_wire_is_one_incident_with_all_devices() {
    let mut notices = vec![(0, None, Event::WireLost)];
    notices.extend((0..12).map(|it| (0, Some(it), Event::Lost)));
    assert_eq!(
        grouped(&notices),
        ["no frame comes back; is the cable plugged in? lost: 0 (joint 0) to 11 (joint 11)"]
    );
}

#[test]
fn a_return_waits_for_op_and_counts_the_devices_there() {
    let mut notices: Vec<_> = (3..5).map(|it| (0, Some(it), back(false))).collect();
    notices.push((900, Some(3), state(1, 2, 0)));
    notices.push((1_700, Some(3), state(2, OP, 0)));
    notices.push((4_000, Some(4), state(1, OP, 0)));
    assert_eq!(
        grouped(&notices),
        [
            "back: 3 (joint 3) to 4 (joint 4), 1 of 2 in OP, after a loss of power",
            "4 (joint 4): INIT -> OP",
        ]
    );
}

#[test]
fn what_comes_much_later_is_another_incident() {
    let lost = |ms: u64, device: usize| (ms, Some(device), Event::Lost);
    assert_eq!(
        grouped(&[lost(0, 3), lost(10, 5), lost(600, 7)]),
        ["lost: 3 (joint 3), 5 (joint 5)", "lost: 7 (joint 7)"]
    );
    // Notices without a pause end their incident nevertheless.
    let on_and_on: Vec<_> = (0..30).map(|it| lost(it * 100, 3)).collect();
    assert_eq!(grouped(&on_and_on).len(), 2);
}
