//! The state machine, from both sides: what a drive does with a controlword, and which controlword a
//! controller writes to get somewhere.

use super::{Controlword, DriveState};

/// The drive's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    state: DriveState,
    /// For the edge of the fault reset.
    before: Controlword,
}

/// What a step changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineOutcome {
    /// Nothing.
    Same,
    /// The state, from one to another.
    Changed(DriveState, DriveState),
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            state: DriveState::SwitchOnDisabled,
            // A reset bit that stands since before is no edge.
            before: Controlword(0xFFFF),
        }
    }
}

impl Machine {
    /// The state that stands.
    #[must_use]
    pub const fn state(&self) -> DriveState {
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

    /// Takes a controlword (the transitions of IEC 61800-7-201, figure 24). `stays_in_quick_stop` is
    /// what object 0x605A says: from 5 on the drive waits there, and may be enabled again.
    pub fn control(&mut self, word: Controlword, stays_in_quick_stop: bool) -> MachineOutcome {
        use DriveState as S;
        let reset = word.has(0x80) && !self.before.has(0x80);
        self.before = word;
        let next = match (self.state, word.0 & 0x0F) {
            (S::Fault, _) if reset => S::SwitchOnDisabled,
            (S::Fault | S::FaultReactionActive | S::NotReadyToSwitchOn, _) => self.state,
            // Disable voltage, whatever the rest.
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

    /// Something went wrong.
    pub fn fault(&mut self) -> MachineOutcome {
        match self.state {
            DriveState::Fault | DriveState::FaultReactionActive => MachineOutcome::Same,
            state if state.has_torque() => self.go(DriveState::FaultReactionActive),
            _ => self.go(DriveState::Fault),
        }
    }

    /// The axis stands after a quick stop or a fault's reaction. With `stays_in_quick_stop` the former
    /// changes nothing.
    pub fn stopped(&mut self, stays_in_quick_stop: bool) -> MachineOutcome {
        match self.state {
            DriveState::FaultReactionActive => self.go(DriveState::Fault),
            DriveState::QuickStopActive if !stays_in_quick_stop => {
                self.go(DriveState::SwitchOnDisabled)
            }
            _ => MachineOutcome::Same,
        }
    }
}

/// Where a controller wants a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Goal {
    /// No torque.
    Disabled,
    /// Power on, nothing moves.
    SwitchedOn,
    /// It follows what is asked.
    Enabled,
    /// It stops as fast as it may.
    QuickStop,
}

impl Goal {
    /// The controlword that brings a drive in that state one step nearer. Faults are reset only where
    /// `reset_faults` says so; then this alternates with `before`, the word sent last, so that there is an
    /// edge.
    #[must_use]
    pub const fn controlword(
        self,
        state: DriveState,
        reset_faults: bool,
        before: Controlword,
    ) -> Controlword {
        match (state, self) {
            (DriveState::Fault, _) if reset_faults && !before.has(0x80) => Controlword::FAULT_RESET,
            (DriveState::Fault | DriveState::FaultReactionActive, _)
            | (_, Self::Disabled)
            | (DriveState::NotReadyToSwitchOn, _) => Controlword::DISABLE_VOLTAGE,
            (_, Self::QuickStop) => Controlword::QUICK_STOP,
            (DriveState::SwitchOnDisabled, _) => Controlword::SHUTDOWN,
            (DriveState::ReadyToSwitchOn, _) | (_, Self::SwitchedOn) => Controlword::SWITCH_ON,
            (_, Self::Enabled) => Controlword::ENABLE_OPERATION,
        }
    }

    /// Whether a drive in that state is there.
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
