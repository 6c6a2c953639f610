//! The activity of all axes, and the causes of their stops.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::wire::cia402::Statusword;

/// Why the group stopped all axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// So many cycles in a row were incomplete.
    Lost(u32),
    /// So many beats in a row were missed.
    Late(u32),
    /// An axis left operation by itself, or its fault stayed or came back after its one reset.
    Fault {
        /// The number of the axis, from 0.
        axis: usize,
        /// Its error code (object 0x603F), where it has a fault and its process data contains the code.
        code: Option<u16>,
    },
    /// An axis was not enabled in time.
    NotEnabled {
        /// The number of the axis, from 0.
        axis: usize,
        /// Its status word (object 0x6041).
        status: u16,
    },
    /// A user or program requested it.
    Asked,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(cycles) => write!(f, "{cycles} cycles in a row did not come back whole"),
            Self::Late(beats) => write!(
                f,
                "{beats} beats in a row were missed; late_cycles in [safety] sets the limit"
            ),
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
            Self::Asked => f.write_str("a user or program requested it"),
        }
    }
}

/// The current activity of the group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stage {
    /// Waits until all axes are enabled; an axis that still moves comes to rest before.
    Enabling,
    /// Brings the axes to where their programs begin; so many seconds of that have passed.
    Approaching(f64),
    /// Plays the programs; so many seconds of them have passed.
    Playing(f64),
    /// All axes are stopped until a user or program resets the stop.
    Stopped(Cause),
    /// Brings all axes to rest, and ends the loop.
    Ending,
}

impl Stage {
    pub(super) const fn moves(self) -> bool {
        matches!(self, Self::Approaching(_) | Self::Playing(_))
    }
}
