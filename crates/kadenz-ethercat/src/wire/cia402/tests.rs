use super::*;
use proptest::prelude::*;

#[test]
fn a_statusword_shows_its_state_whatever_else_it_says() {
    for state in DriveState::ALL {
        for bits in [0, Statusword::VOLTAGE, 0xFF80 | Statusword::VOLTAGE] {
            assert_eq!(Statusword::new(state, bits).state(), state, "{bits:04X}");
        }
    }
}

/// Writes controlwords until the machine reaches the goal.
fn reach(machine: &mut Machine, goal: Goal, reset: bool) -> Vec<DriveState> {
    let mut word = Controlword::default();
    let mut states = Vec::new();
    for _ in 0..8 {
        if goal.is_reached(machine.state()) {
            break;
        }
        word = goal.controlword(machine.state(), reset, word);
        machine.control(word, false);
        states.push(machine.state());
    }
    states
}

#[test]
fn a_drive_is_enabled_step_by_step() {
    let mut machine = Machine::default();
    assert_eq!(
        reach(&mut machine, Goal::Enabled, false),
        [
            DriveState::ReadyToSwitchOn,
            DriveState::SwitchedOn,
            DriveState::OperationEnabled
        ]
    );
}

#[test]
fn a_fault_needs_an_edge_and_a_will_to_be_reset() {
    let mut machine = Machine::default();
    reach(&mut machine, Goal::Enabled, false);
    machine.fault();
    assert_eq!(machine.state(), DriveState::FaultReactionActive);
    machine.stopped(false);
    assert_eq!(machine.state(), DriveState::Fault);
    reach(&mut machine, Goal::Enabled, false);
    assert_eq!(machine.state(), DriveState::Fault);
    reach(&mut machine, Goal::Enabled, true);
    assert_eq!(machine.state(), DriveState::OperationEnabled);
    // A bit that was set from the beginning is not an edge.
    let mut fresh = Machine::default();
    fresh.fault();
    fresh.control(Controlword::FAULT_RESET, false);
    assert_eq!(fresh.state(), DriveState::Fault);
}

#[test]
fn a_quick_stop_ends_where_its_option_says() {
    let mut machine = Machine::default();
    reach(&mut machine, Goal::Enabled, false);
    machine.control(Controlword::QUICK_STOP, true);
    assert_eq!(machine.state(), DriveState::QuickStopActive);
    assert_eq!(machine.stopped(true), MachineOutcome::Same);
    machine.control(Controlword::ENABLE_OPERATION, true);
    assert_eq!(machine.state(), DriveState::OperationEnabled);
    machine.control(Controlword::QUICK_STOP, false);
    machine.stopped(false);
    assert_eq!(machine.state(), DriveState::SwitchOnDisabled);
}

#[test]
fn a_drive_that_stays_in_its_quick_stop_is_switched_on_by_way_of_no_voltage() {
    let mut machine = Machine::default();
    reach(&mut machine, Goal::Enabled, false);
    machine.control(Controlword::QUICK_STOP, true);
    let mut words = Vec::new();
    while !Goal::SwitchedOn.is_reached(machine.state()) && words.len() < 5 {
        let state = machine.state();
        words.push(Goal::SwitchedOn.controlword(state, false, Controlword::default()));
        machine.control(words[words.len() - 1], true);
    }
    assert_eq!(machine.state(), DriveState::SwitchedOn, "{words:?}");
    assert_eq!(words[0], Controlword::DISABLE_VOLTAGE);
}

proptest! {
    #[test]
    fn torque_comes_by_enable_operation_alone(words in prop::collection::vec(any::<u16>(), 0..50), stays in any::<bool>()) {
        let mut machine = Machine::default();
        for word in words {
            let before = machine.state();
            machine.control(Controlword(word), stays);
            if machine.state() == DriveState::OperationEnabled && before != DriveState::OperationEnabled {
                prop_assert_eq!(word & 0xF, 0xF);
                prop_assert!(matches!(before, DriveState::SwitchedOn | DriveState::QuickStopActive));
            }
        }
    }

    #[test]
    fn any_state_but_a_fault_comes_to_any_goal(words in prop::collection::vec(any::<u16>(), 0..20)) {
        let mut machine = Machine::default();
        for word in words {
            machine.control(Controlword(word), false);
        }
        machine.stopped(false);
        for goal in [Goal::Enabled, Goal::SwitchedOn, Goal::QuickStop, Goal::Enabled, Goal::Disabled] {
            machine.stopped(false);
            reach(&mut machine, goal, false);
            prop_assert!(goal.is_reached(machine.state()), "{goal:?} {}", machine.state());
        }
    }
}

#[test]
fn modes_are_their_numbers() {
    for mode in OperationMode::ALL {
        assert_eq!(OperationMode::from_number(mode.number()), Some(mode));
    }
    assert_eq!(OperationMode::from_number(2), None);
    assert_eq!(OperationMode::CyclicPosition.supported_bit(), 0x80);
}
