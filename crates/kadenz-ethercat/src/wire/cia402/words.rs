//! Controlword and statusword.

/// State of a drive's power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum DriveState {
    /// The drive starts up.
    NotReadyToSwitchOn = 0x00,
    /// The drive has started; power must stay off.
    SwitchOnDisabled = 0x40,
    /// Power may be switched on.
    ReadyToSwitchOn = 0x21,
    /// Power is on; nothing moves.
    SwitchedOn = 0x23,
    /// The drive follows its set-points.
    OperationEnabled = 0x27,
    /// The drive stops as fast as it may.
    QuickStopActive = 0x07,
    /// The drive stops because of a fault.
    FaultReactionActive = 0x0F,
    /// The drive has a fault; power is off.
    Fault = 0x08,
}

impl DriveState {
    /// All eight states.
    pub const ALL: [Self; 8] = [
        Self::NotReadyToSwitchOn,
        Self::SwitchOnDisabled,
        Self::ReadyToSwitchOn,
        Self::SwitchedOn,
        Self::OperationEnabled,
        Self::QuickStopActive,
        Self::FaultReactionActive,
        Self::Fault,
    ];

    /// Whether the drive's torque acts in this state.
    #[must_use]
    pub const fn has_torque(self) -> bool {
        matches!(
            self,
            Self::OperationEnabled | Self::QuickStopActive | Self::FaultReactionActive
        )
    }

    /// Whether the drive has a fault.
    #[must_use]
    pub(crate) const fn is_fault(self) -> bool {
        matches!(self, Self::FaultReactionActive | Self::Fault)
    }

    /// Bits 0 to 3, 5 and 6 of the statusword.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self as u16
    }
}

impl std::fmt::Display for DriveState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::NotReadyToSwitchOn => "not ready to switch on",
            Self::SwitchOnDisabled => "switch on disabled",
            Self::ReadyToSwitchOn => "ready to switch on",
            Self::SwitchedOn => "switched on",
            Self::OperationEnabled => "operation enabled",
            Self::QuickStopActive => "quick stop active",
            Self::FaultReactionActive => "fault reaction active",
            Self::Fault => "fault",
        })
    }
}

/// The statusword of a drive (object 0x6041).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Statusword(pub u16);

impl Statusword {
    /// Power is applied.
    pub const VOLTAGE: u16 = 1 << 4;
    /// A warning is active.
    pub const WARNING: u16 = 1 << 7;
    /// The drive follows the controlword.
    pub const REMOTE: u16 = 1 << 9;
    /// The drive has reached its target.
    pub const TARGET_REACHED: u16 = 1 << 10;
    /// A limit acts.
    pub const LIMIT: u16 = 1 << 11;
    /// A bit of the mode: PP set-point acknowledged, cyclic modes follow the target, homing attained.
    pub const MODE_12: u16 = 1 << 12;
    /// A bit of the mode: following error, homing error.
    pub const MODE_13: u16 = 1 << 13;

    /// The statusword of a state, with further bits.
    #[must_use]
    pub const fn new(state: DriveState, bits: u16) -> Self {
        Self(state.bits() | bits)
    }

    /// The state; by the standard's masks, whatever the other bits are.
    #[must_use]
    pub const fn state(self) -> DriveState {
        match (self.0 & 0x4F, self.0 & 0x20 != 0) {
            (0x40, _) => DriveState::SwitchOnDisabled,
            (0x0F, _) => DriveState::FaultReactionActive,
            (0x08, _) => DriveState::Fault,
            (0x01, true) => DriveState::ReadyToSwitchOn,
            (0x03, true) => DriveState::SwitchedOn,
            (0x07, true) => DriveState::OperationEnabled,
            (0x07, false) => DriveState::QuickStopActive,
            _ => DriveState::NotReadyToSwitchOn,
        }
    }

    /// Whether all of those bits are set.
    #[must_use]
    pub const fn has(self, bits: u16) -> bool {
        self.0 & bits == bits
    }
}

/// The controlword of a drive (object 0x6040).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Controlword(pub u16);

impl Controlword {
    /// Leads to ready to switch on.
    pub const SHUTDOWN: Self = Self(0x06);
    /// Leads to switched on; from operation enabled, too.
    pub const SWITCH_ON: Self = Self(0x07);
    /// Leads to operation enabled.
    pub const ENABLE_OPERATION: Self = Self(0x0F);
    /// Leads to switch on disabled.
    pub const DISABLE_VOLTAGE: Self = Self(0x00);
    /// Leads to quick stop active.
    pub const QUICK_STOP: Self = Self(0x02);
    /// Leads out of a fault, by its rising edge.
    pub const FAULT_RESET: Self = Self(0x80);
    /// Profile position: takes the new set-point by its rising edge. Homing: begins.
    pub const NEW_SET_POINT: u16 = 1 << 4;
    /// Profile position: takes the new set-point at once, not after the one before.
    pub const AT_ONCE: u16 = 1 << 5;
    /// Profile position: the target is relative.
    pub const RELATIVE: u16 = 1 << 6;
    /// Stops the axis.
    pub const HALT: u16 = 1 << 8;

    /// Whether all of those bits are set.
    #[must_use]
    pub const fn has(self, bits: u16) -> bool {
        self.0 & bits == bits
    }

    /// The same with further bits.
    #[must_use]
    pub const fn with(self, bits: u16) -> Self {
        Self(self.0 | bits)
    }
}

/// Which values of a drive have the reverse sign, both set-points and actual values (object 0x607E).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Polarity(pub u8);

impl Polarity {
    /// Positions have the reverse sign.
    pub const POSITION: u8 = 1 << 7;
    /// Velocities have the reverse sign.
    pub const VELOCITY: u8 = 1 << 6;
    /// Torques; reserved by the standard, used by some vendors.
    pub const TORQUE: u8 = 1 << 5;

    /// Whether all of those bits are set.
    #[must_use]
    pub const fn has(self, bits: u8) -> bool {
        self.0 & bits == bits
    }
}
