//! The state of all axes, as other threads read it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::motion::stage::Cause;

/// The current activity of the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StageName {
    /// Waits until all axes are enabled.
    Enabling,
    /// Brings the axes to where their programs begin.
    Approaching,
    /// The axes follow their programs.
    Playing,
    /// All axes are stopped until a user or program resets the stop.
    Stopped,
    /// Brings all axes to rest, and ends the loop.
    Ending,
    /// There is no loop yet: Kadenz finds and configures devices.
    BringingUp,
}

impl StageName {
    /// All, in the order of their numbers in a process image.
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
    /// The cycle; it grows as long as the loop runs.
    pub cycle: u64,
    /// The current activity of the group.
    pub stage: StageName,
    /// Seconds of the loop's time since the activity began; of programs, the seconds of them that were played.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0)))]
    pub seconds: f64,
    /// How often the group stopped all axes.
    pub stops: u64,
    /// The stop of the axes, or the one in force when the loop ended; `None` where they are not stopped.
    pub stopped: Option<Stopped>,
    /// The status of each axis, in the order of their numbers.
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
    /// The name of the user or program that requested the stop; `None` for other causes.
    pub by: Option<String>,
    /// The cycle in which the group stopped the axes; they come to rest later.
    pub cycle: u64,
    /// Seconds of the loop's time from the stop to the status's cycle.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0)))]
    pub ago_s: f64,
}

/// The status of one axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxisStatus {
    /// Its number, from 0.
    pub axis: usize,
    /// Its drive's position.
    pub device: usize,
    /// The name by which reports call the axis.
    pub name: String,
    /// The kind of its set-point: position, velocity or torque.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["position", "velocity", "torque"])))]
    pub control: String,
    /// The state of its power, as its status word has it.
    pub state: String,
    /// The status word (object 0x6041).
    pub statusword: u16,
    /// The error code (object 0x603F), where the drive has an error and the code is known.
    pub error_code: Option<u16>,
    /// Its position, in rad.
    pub position_rad: f64,
    /// Its set-point, in rad, rad/s or N m.
    pub target: f64,
    /// Whether it left operation by itself, and the others go on without it.
    pub out: bool,
}
