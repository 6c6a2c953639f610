//! The file as its author writes it, without checks.

use serde::Deserialize;
use toml::Spanned;

/// The file of a motion.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MotionFile {
    pub(super) cycle_us: Option<Spanned<u64>>,
    pub(super) mode: Option<Spanned<String>>,
    pub(super) wait_us: Option<Spanned<u64>>,
    pub(super) overrun: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) safety: SafetySection,
    #[serde(default)]
    pub(super) axis: Vec<Spanned<AxisSection>>,
}

/// A number of cycles, or "any".
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "it is neither a number of cycles nor \"any\"")]
pub(super) enum Cycles {
    Number(u32),
    Word(String),
}

/// The `[safety]` of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SafetySection {
    pub(super) lost_cycles: Option<Spanned<Cycles>>,
    pub(super) late_cycles: Option<Spanned<Cycles>>,
    pub(super) stop_on_fault: Option<bool>,
    pub(super) enabling_s: Option<Spanned<f64>>,
    pub(super) braking_s: Option<Spanned<f64>>,
}

/// An `[[axis]]` of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AxisSection {
    pub(super) device: Option<Spanned<String>>,
    pub(super) position: Option<Spanned<u16>>,
    pub(super) control: Option<Spanned<String>>,
    pub(super) increments_per_turn: Option<Spanned<f64>>,
    pub(super) velocity_per_turn: Option<Spanned<f64>>,
    pub(super) gear: Option<Spanned<f64>>,
    pub(super) rated_torque: Option<Spanned<f64>>,
    #[serde(default)]
    pub(super) reverse: bool,
    pub(super) gains: Option<Spanned<GainsSection>>,
    pub(super) limits: Option<Spanned<LimitsSection>>,
    pub(super) start: Option<Spanned<f64>>,
    #[serde(default)]
    pub(super) repeat: bool,
    #[serde(default)]
    pub(super) moves: Vec<Spanned<Move>>,
}

/// The `gains` of an axis.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GainsSection {
    #[serde(default)]
    pub(super) proportional: f64,
    #[serde(default)]
    pub(super) integral: f64,
    #[serde(default)]
    pub(super) derivative: f64,
    #[serde(default)]
    pub(super) filter_ms: f64,
    pub(super) limit: Option<f64>,
}

/// The `limits` of an axis.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsSection {
    pub(super) velocity: Option<f64>,
    pub(super) acceleration: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Move {
    pub(super) to: Option<f64>,
    pub(super) by: Option<Spanned<String>>,
    pub(super) velocity: Option<f64>,
    pub(super) acceleration: Option<f64>,
    pub(super) hold_s: Option<f64>,
    pub(super) sine: Option<f64>,
    pub(super) frequency_hz: Option<f64>,
    pub(super) periods: Option<u32>,
}
