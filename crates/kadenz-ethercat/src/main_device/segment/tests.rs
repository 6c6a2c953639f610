use super::*;
use crate::control::catalogue::Catalogue;
use crate::main_device::bring_up::find;
use crate::sim::WirePort;
use crate::sim::humanoid::humanoid;
use crate::wire::sii::Direction;

fn opened(devices: usize) -> OpenSegment<WirePort> {
    OpenSegment::new(humanoid(devices).port().unwrap(), "sim")
}

/// The states of all devices.
fn states_of(segment: &mut OpenSegment<WirePort>) -> Vec<Option<State>> {
    let met = segment.survey().unwrap();
    met.iter().map(|it| it.status.state()).collect()
}

#[test]
fn chosen_devices_reach_op_and_the_others_stay() {
    let mut segment = opened(8);
    segment.ensure_alone().unwrap();
    let mut met = segment.adopt().unwrap();
    let esi = Matched::default();
    let mut cycle = segment.to_safe_op(&mut met, &[3, 5], &esi).unwrap();
    segment.to_op(&mut cycle, &met, &[3, 5]).unwrap();
    for place in 0..8 {
        let share = &cycle.layout().shares[place];
        assert_eq!(share.frame.is_some(), [3, 5].contains(&place), "{place}");
    }
    let begun = segment.now();
    let outcome = segment.exchange(&mut cycle);
    assert!(outcome.is_whole(), "{outcome:?}");
    assert_eq!(segment.now().remaining(begun), INTERVAL);
    let states = states_of(&mut segment);
    for (place, state) in states.into_iter().enumerate() {
        let wanted = if [3, 5].contains(&place) {
            State::Op
        } else {
            State::Init
        };
        assert_eq!(state, Some(wanted), "{place}");
    }
}

#[test]
fn a_device_is_in_pre_op_after_one_call_and_unchanged_after_another() {
    let mut segment = opened(3);
    let mut met = segment.adopt().unwrap();
    let esi = Matched::default();
    assert!(segment.to_pre_op(&mut met[2], &esi).unwrap());
    assert!(!segment.to_pre_op(&mut met[2], &esi).unwrap());
    let wanted = [State::Init, State::Init, State::PreOp].map(Some);
    assert_eq!(states_of(&mut segment), wanted);
}

#[test]
fn a_device_that_went_to_op_meanwhile_is_brought_to_pre_op() {
    let mut segment = opened(6);
    let mut met = segment.adopt().unwrap();
    let esi = Matched::default();
    assert!(segment.to_pre_op(&mut met[5], &esi).unwrap());
    let mut cycle = segment.to_safe_op(&mut met, &[5], &esi).unwrap();
    segment.to_op(&mut cycle, &met, &[5]).unwrap();
    assert!(segment.to_pre_op(&mut met[5], &esi).unwrap());
    assert_eq!(states_of(&mut segment)[5], Some(State::PreOp));
}

#[test]
fn devices_of_an_earlier_cycle_take_no_part_in_the_next_one() {
    let mut segment = opened(8);
    let (esi, all) = (Matched::default(), Vec::from_iter(0..8));
    let mut met = segment.adopt().unwrap();
    segment.to_safe_op(&mut met, &all, &esi).unwrap();
    let mut met = segment.adopt().unwrap();
    let mut cycle = segment.to_safe_op(&mut met, &[5], &esi).unwrap();
    segment.to_op(&mut cycle, &met, &[5]).unwrap();
    let outcome = segment.exchange(&mut cycle);
    assert!(outcome.is_whole(), "{outcome:?}");
}

#[test]
fn process_data_is_that_of_the_cycle_and_of_a_loop_s_catalogue() {
    let mut segment = opened(59);
    let mut met = segment.adopt().unwrap();
    let (esi, all) = (Matched::default(), Vec::from_iter(0..59));
    let data = segment.process_data(&mut met, &esi).unwrap();
    let cycle = segment.to_safe_op(&mut met, &all, &esi).unwrap();
    let layout = cycle.layout();
    assert_eq!((data.outputs, data.inputs), (layout.outputs, layout.inputs));
    assert_eq!(data.frames, Some(layout.frames.len()));

    let mapped = segment.ask(|registers| {
        let mut found = find(registers).unwrap();
        let of_one = |it: &mut SubDevice| (it.called(), mapping::read(registers, it).unwrap());
        found.iter_mut().map(of_one).collect::<Vec<_>>()
    });
    let of_loop = Catalogue::of(layout, &mapped, &[]).process_data();
    let mut named = data.entries;
    named.retain(|it| it.entry.address.is_some());
    assert_eq!(named.len(), of_loop.entries.len());
    for (ours, theirs) in named.iter().zip(&of_loop.entries) {
        assert_eq!((ours.device, ours.bit), (theirs.device, theirs.bit));
        assert_eq!(ours.logical_bit, theirs.logical_bit);
        assert_eq!(ours.entry_type(), theirs.entry_type(), "{ours:?}");
    }
}

#[test]
fn a_value_is_in_the_image_of_its_direction() {
    let mut segment = opened(8);
    let mut met = segment.adopt().unwrap();
    let data = segment.process_data(&mut met, &Matched::default()).unwrap();
    let (inputs, outputs) = (vec![0x11; data.inputs], vec![0x22; data.outputs]);
    for it in &data.entries {
        let byte = match it.direction {
            Direction::Inputs => 0x11,
            Direction::Outputs => 0x22,
        };
        if it.bit % 8 == 0 && it.entry.bits % 8 == 0 {
            assert!(it.value((&inputs, &outputs)).iter().all(|it| *it == byte));
        }
    }
}
