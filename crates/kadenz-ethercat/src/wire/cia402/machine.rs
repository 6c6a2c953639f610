//! The state machine, from both sides: the drive's reaction to a controlword, and the controlwords by which a
//! controller reaches a state.

use super::{Controlword, DriveState};

/// The drive's side of the state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Machine {
    state: DriveState,
    /// The last controlword, to detect the edge of the fault reset.
    before: Controlword,
}

/// The outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MachineOutcome {
    /// Nothing changed.
    Same,
    /// The state, from one to another.
    Changed(DriveState, DriveState),
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            state: DriveState::SwitchOnDisabled,
            // A reset bit that was set from the beginning is not an edge.
            before: Controlword(0xFFFF),
        }
    }
}

impl Machine {
    /// The current state.
    #[must_use]
    pub(crate) const fn state(&self) -> DriveState {
        self.state
    }

    fn go(&mut self, state: DriveState) -> MachineOutcome {
        let before = std::mem::replace(&mut self.state, state);
        if before == state {
            MachineOutcome::Same
        } else {
            MachineOutcome::Changed(before, state)
        }
    }

    /// Takes a controlword (the transitions of IEC 61800-7-201, figure 24). `stays_in_quick_stop` comes from object
    /// 0x605A: from 5 on the drive stays in quick stop, and may be enabled again.
    pub(crate) fn control(
        &mut self,
        word: Controlword,
        stays_in_quick_stop: bool,
    ) -> MachineOutcome {
        use DriveState as S;
        let reset = word.has(0x80) && !self.before.has(0x80);
        self.before = word;
        let next = match (self.state, word.0 & 0x0F) {
            (S::Fault, _) if reset => S::SwitchOnDisabled,
            (S::Fault | S::FaultReactionActive | S::NotReadyToSwitchOn, _) => self.state,
            // Disable voltage, whatever the other bits are.
            (_, bits) if bits & 0x2 == 0 => S::SwitchOnDisabled,
            // Quick stop.
            (S::OperationEnabled | S::QuickStopActive, bits) if bits & 0x4 == 0 => {
                S::QuickStopActive
            }
            (_, bits) if bits & 0x4 == 0 => S::SwitchOnDisabled,
            (S::QuickStopActive, 0xF) if stays_in_quick_stop => S::OperationEnabled,
            (S::QuickStopActive, _) => self.state,
            (S::SwitchOnDisabled, 0x6 | 0xE) => S::ReadyToSwitchOn,
            (S::SwitchOnDisabled, _) => self.state,
            (_, 0x6 | 0xE) => S::ReadyToSwitchOn,
            (S::ReadyToSwitchOn, _) => S::SwitchedOn,
            (S::SwitchedOn | S::OperationEnabled, 0xF) => S::OperationEnabled,
            (S::SwitchedOn | S::OperationEnabled, _) => S::SwitchedOn,
        };
        self.go(next)
    }

    /// Enters the fault reaction.
    pub(crate) fn fault(&mut self) -> MachineOutcome {
        match self.state {
            DriveState::Fault | DriveState::FaultReactionActive => MachineOutcome::Same,
            state if state.has_torque() => self.go(DriveState::FaultReactionActive),
            _ => self.go(DriveState::Fault),
        }
    }

    /// Takes notice that the axis has come to rest after a quick stop or a fault reaction. With `stays_in_quick_stop`
    /// a quick stop stays active.
    pub(crate) fn stopped(&mut self, stays_in_quick_stop: bool) -> MachineOutcome {
        match self.state {
            DriveState::FaultReactionActive => self.go(DriveState::Fault),
            DriveState::QuickStopActive if !stays_in_quick_stop => {
                self.go(DriveState::SwitchOnDisabled)
            }
            _ => MachineOutcome::Same,
        }
    }
}

/// The state that a controller wants of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Goal {
    /// No torque.
    Disabled,
    /// Power on, nothing moves.
    SwitchedOn,
    /// The drive follows its set-points.
    Enabled,
    /// The drive stops as fast as it may.
    QuickStop,
}

impl Goal {
    /// Returns the controlword that brings a drive in that state one step nearer. It resets faults only with
    /// `reset_faults`, and then alternates with `before`, the word sent last, so that there is an edge.
    #[must_use]
    pub const fn controlword(
        self,
        state: DriveState,
        reset_faults: bool,
        before: Controlword,
    ) -> Controlword {
        match (state, self) {
            (DriveState::Fault, _) if reset_faults && !before.has(0x80) => Controlword::FAULT_RESET,
            // From its quick stop a drive is switched on by way of no voltage alone.
            (DriveState::QuickStopActive, Self::SwitchedOn)
            | (DriveState::Fault | DriveState::FaultReactionActive, _)
            | (_, Self::Disabled)
            | (DriveState::NotReadyToSwitchOn, _) => Controlword::DISABLE_VOLTAGE,
            (_, Self::QuickStop) => Controlword::QUICK_STOP,
            (DriveState::SwitchOnDisabled, _) => Controlword::SHUTDOWN,
            (DriveState::ReadyToSwitchOn, _) | (_, Self::SwitchedOn) => Controlword::SWITCH_ON,
            (_, Self::Enabled) => Controlword::ENABLE_OPERATION,
        }
    }

    /// Whether a drive in that state has reached the goal.
    #[must_use]
    pub const fn is_reached(self, state: DriveState) -> bool {
        match self {
            Self::Disabled => !state.has_torque(),
            Self::SwitchedOn => matches!(state, DriveState::SwitchedOn),
            Self::Enabled => matches!(state, DriveState::OperationEnabled),
            Self::QuickStop => matches!(state, DriveState::QuickStopActive) || !state.has_torque(),
        }
    }
}
