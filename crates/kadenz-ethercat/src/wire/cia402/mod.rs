//! Drives: CiA 402 over CoE (ETG.6010, IEC 61800-7-201): objects, controlword and statusword, the state machine,
//! modes of operation.

mod machine;
pub mod object;
mod words;

pub use machine::Goal;
pub(crate) use machine::{Machine, MachineOutcome};
pub use words::{Controlword, DriveState, Polarity, Statusword};

numbered! {
    /// The quantity that a drive controls (object 0x6060).
    pub enum OperationMode: i8 {
        /// Nothing chosen.
        None = 0,
        /// The drive plans the way to a position.
        ProfilePosition = 1,
        /// The drive plans the way to a velocity.
        ProfileVelocity = 3,
        /// The drive plans the way to a torque.
        ProfileTorque = 4,
        /// The drive looks for its home.
        Homing = 6,
        /// A position every cycle.
        CyclicPosition = 8,
        /// A velocity every cycle.
        CyclicVelocity = 9,
        /// A torque every cycle.
        CyclicTorque = 10,
    }
}

impl OperationMode {
    /// Its bit in object 0x6502, supported drive modes.
    #[must_use]
    pub(crate) const fn supported_bit(self) -> u32 {
        match self {
            Self::None => 0,
            other => 1 << (other as i8 - 1),
        }
    }

    /// Its short name, as in PP, CSP.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ProfilePosition => "PP",
            Self::ProfileVelocity => "PV",
            Self::ProfileTorque => "PT",
            Self::Homing => "HM",
            Self::CyclicPosition => "CSP",
            Self::CyclicVelocity => "CSV",
            Self::CyclicTorque => "CST",
        }
    }
}

/// Error codes (object 0x603F, and in emergencies).
pub mod error_code {
    /// Nothing is wrong.
    pub const NONE: u16 = 0x0000;
    /// The drive is too hot.
    pub const TEMPERATURE: u16 = 0x4310;
    /// The bus is silent: communication failed.
    pub const COMMUNICATION: u16 = 0x7500;
    /// The axis is too far from where it should be.
    pub const FOLLOWING_ERROR: u16 = 0x8611;
    /// The axis is too fast.
    pub const OVERSPEED: u16 = 0x8400;
}

#[cfg(test)]
mod tests;
