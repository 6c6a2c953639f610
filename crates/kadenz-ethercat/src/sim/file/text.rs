//! The file as its author writes it, without checks.

use serde::Deserialize;
use toml::Spanned;

/// The file of a segment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SegmentFile {
    #[serde(default)]
    pub(super) seed: u64,
    pub(super) ring: Option<Spanned<RingSection>>,
    #[serde(default)]
    pub(super) device: Vec<Spanned<DeviceSection>>,
    #[serde(default)]
    pub(super) fault: Vec<Spanned<FaultSection>>,
}

/// The `[ring]` of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RingSection {
    pub(super) device: Option<Spanned<String>>,
    pub(super) port: Option<Spanned<u8>>,
    pub(super) delay_ns: Option<u64>,
    #[serde(default)]
    pub(super) jitter_ns: u64,
}

/// A `[[device]]` of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeviceSection {
    pub(super) name: Spanned<String>,
    pub(super) model: Option<Spanned<String>>,
    pub(super) esi: Option<Spanned<String>>,
    pub(super) product: Option<Spanned<u32>>,
    pub(super) revision: Option<Spanned<u32>>,
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
    pub(super) seed: Option<u64>,
    pub(super) eeprom: Option<Spanned<EepromSection>>,
    pub(super) drive: Option<Spanned<DriveSection>>,
}

/// The `eeprom` of a device.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EepromSection {
    pub(super) length: Option<u32>,
    pub(super) read: Option<u8>,
    pub(super) busy_us: Option<u64>,
    #[serde(default)]
    pub(super) spoiled: Vec<(u32, u8)>,
}

/// The `drive` of a device.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DriveSection {
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

/// A number with or without a point.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "it is not a number")]
pub(super) enum TomlNumber {
    Whole(i64),
    Real(f64),
}

impl TomlNumber {
    /// A whole number that fits.
    pub(super) fn whole<T: TryFrom<i64>>(self) -> Option<T> {
        match self {
            Self::Whole(it) => T::try_from(it).ok(),
            Self::Real(_) => None,
        }
    }

    pub(super) fn real(self) -> f64 {
        match self {
            Self::Whole(it) => it as f64,
            Self::Real(it) => it,
        }
    }

    /// Milliseconds, in ns; `None` for a number that is not a span.
    pub(super) fn ms(self) -> Option<u64> {
        match self {
            Self::Whole(it) => u64::try_from(it).ok()?.checked_mul(1_000_000),
            Self::Real(it) => {
                let ns = (it * 1e6).round();
                (0.0..MAX_NS).contains(&ns).then_some(ns as u64)
            }
        }
    }
}

/// Up to this, 26 days, a number with a point holds ns exactly.
const MAX_NS: f64 = (1_u64 << 51) as f64;

/// A `[[fault]]` of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FaultSection {
    pub(super) what: Spanned<String>,
    pub(super) at_ms: Option<Spanned<TomlNumber>>,
    pub(super) every_ms: Option<Spanned<TomlNumber>>,
    pub(super) frame: Option<Spanned<u64>>,
    pub(super) frames: Option<Spanned<u64>>,
    pub(super) for_ms: Option<Spanned<TomlNumber>>,
    pub(super) chance: Option<Spanned<f64>>,
    pub(super) device: Option<Spanned<String>>,
    pub(super) after: Option<Spanned<TomlNumber>>,
    pub(super) state: Option<Spanned<String>>,
    pub(super) address: Option<Spanned<TomlNumber>>,
    /// The fault's further value: ns, ms, bytes, a difference, an error code.
    pub(super) value: Option<Spanned<TomlNumber>>,
}
