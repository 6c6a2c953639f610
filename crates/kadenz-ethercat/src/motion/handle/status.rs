//! The state of all axes, as others read it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::motion::stage::Cause;

/// What the group is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StageName {
    /// Waits until all axes are enabled.
    Enabling,
    /// Brings them to where their programs begin.
    Approaching,
    /// Plays the programs.
    Playing,
    /// All are stopped until somebody resets that.
    Stopped,
    /// Brings all to rest, and ends the loop.
    Ending,
    /// There is no loop yet: devices are found and configured.
    BringingUp,
}

impl StageName {
    /// All, in the order of their numbers in a post.
    pub(super) const ALL: [Self; 6] = [
        Self::Enabling,
        Self::Approaching,
        Self::Playing,
        Self::Stopped,
        Self::Ending,
        Self::BringingUp,
    ];
}

impl fmt::Display for StageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Enabling => "enabling",
            Self::Approaching => "approaching",
            Self::Playing => "playing",
            Self::Stopped => "stopped",
            Self::Ending => "ending",
            Self::BringingUp => "bringing up",
        })
    }
}

/// All axes, as of a cycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// That cycle; it grows as long as the loop runs.
    pub cycle: u64,
    /// What is done with them.
    pub stage: StageName,
    /// For so many seconds of the loop's time; of a program, so many of its own have been played.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0)))]
    pub seconds: f64,
    /// How often all were stopped.
    pub stops: u64,
    /// Why they are stopped, or were when the loop was ended; `None` where they are not.
    pub stopped: Option<Stopped>,
    /// Each of them.
    pub axes: Vec<AxisStatus>,
}

/// A stop of all axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stopped {
    /// Its cause; the first one stays.
    pub cause: Cause,
    /// The same in words, with the axis's name.
    pub why: String,
    /// Who asked for it, where somebody did.
    pub by: Option<String>,
    /// The cycle in which they were stopped.
    pub cycle: u64,
    /// Seconds of the loop's time from then to the status's cycle.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0)))]
    pub ago_s: f64,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxisStatus {
    /// Its number, from 0.
    pub axis: usize,
    /// Its drive's position.
    pub device: usize,
    /// Its name.
    pub name: String,
    /// What is asked of the drive: position, velocity or torque.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["position", "velocity", "torque"])))]
    pub control: String,
    /// The state of its power, as its status word has it.
    pub state: String,
    /// The status word (object 0x6041).
    pub statusword: u16,
    /// The error code (object 0x603F), where it has an error and the code is known.
    pub error_code: Option<u16>,
    /// Where it is, in rad.
    pub position_rad: f64,
    /// What is asked of it, in rad, rad/s or N m.
    pub target: f64,
    /// It left its operation by itself, and the others go on without it.
    pub out: bool,
}
