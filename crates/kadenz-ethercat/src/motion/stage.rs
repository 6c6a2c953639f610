//! What all axes are doing, and why they were stopped.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::wire::cia402::Statusword;

/// Why all axes were stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// So many cycles in a row did not come back whole.
    Lost(u32),
    /// So many deadlines in a row were missed.
    Late(u32),
    /// An axis left its operation by itself, or its fault stayed, or came back, after it was reset once.
    Fault {
        /// Its number.
        axis: usize,
        /// Its error code (object 0x603F), where it has a fault and its process data tells.
        code: Option<u16>,
    },
    /// An axis was not enabled in time.
    NotEnabled {
        /// Its number.
        axis: usize,
        /// Its status word (object 0x6041).
        status: u16,
    },
    /// Somebody asked for it.
    Asked,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(cycles) => write!(f, "{cycles} cycles in a row did not come back whole"),
            Self::Late(beats) => write!(f, "{beats} deadlines in a row were missed"),
            Self::Fault { axis, code: None } => write!(f, "axis {axis} stopped by itself"),
            Self::Fault {
                axis,
                code: Some(code),
            } => write!(f, "axis {axis} has a fault, error code 0x{code:04X}"),
            Self::NotEnabled { axis, status } => {
                let state = Statusword(*status).state();
                write!(
                    f,
                    "axis {axis} was not enabled in time, its status word is 0x{status:04X} ({state})"
                )
            }
            Self::Asked => f.write_str("somebody asked for it"),
        }
    }
}

/// What the group is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stage {
    /// Waits until all axes are enabled; one that still moves comes to rest before.
    Enabling,
    /// Brings them to where their programs begin; so many seconds of that have passed.
    Approaching(f64),
    /// Plays the programs; so many seconds of them have passed.
    Playing(f64),
    /// All are stopped until somebody resets that.
    Stopped(Cause),
    /// Brings all to rest, and ends the loop.
    Ending,
}

impl Stage {
    pub(super) const fn moves(self) -> bool {
        matches!(self, Self::Approaching(_) | Self::Playing(_))
    }
}
