//! The file as it is written, before anything is checked.

use serde::Deserialize;
use toml::Spanned;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    pub(super) seed: u64,
    #[serde(default)]
    pub(super) device: Vec<Spanned<Device>>,
    #[serde(default)]
    pub(super) fault: Vec<Spanned<Fault>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Device {
    pub(super) name: Spanned<String>,
    pub(super) model: Option<Spanned<String>>,
    pub(super) esi: Option<Spanned<String>>,
    pub(super) product: Option<Spanned<u32>>,
    pub(super) revision: Option<u32>,
    pub(super) parent: Option<Spanned<String>>,
    pub(super) port: Option<Spanned<u8>>,
    pub(super) ports: Option<Spanned<u8>>,
    #[serde(default)]
    pub(super) alias: u16,
    pub(super) serial: Option<u32>,
    pub(super) delay_ns: Option<u64>,
    #[serde(default)]
    pub(super) jitter_ns: u64,
    pub(super) drift_ppm: Option<Spanned<f64>>,
    pub(super) drive: Option<Spanned<Drive>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Drive {
    pub(super) motor: Option<Spanned<String>>,
    pub(super) inertia: Option<f64>,
    pub(super) viscous: Option<f64>,
    pub(super) coulomb: Option<f64>,
    pub(super) gravity: Option<f64>,
    pub(super) load: Option<f64>,
    pub(super) rated: Option<f64>,
    pub(super) peak: Option<f64>,
    pub(super) increments: Option<u32>,
    pub(super) start: Option<f64>,
    pub(super) bandwidth: Option<f64>,
    pub(super) following_error: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fault {
    pub(super) what: Spanned<String>,
    pub(super) at_ms: Option<u64>,
    pub(super) every_ms: Option<u64>,
    pub(super) frame: Option<u64>,
    pub(super) chance: Option<f64>,
    pub(super) device: Option<Spanned<String>>,
    /// What the fault needs besides: ns, ms, bytes, a difference, an error code.
    pub(super) value: Option<i64>,
}
