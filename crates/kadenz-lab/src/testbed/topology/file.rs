//! The fields of the file as written; only their types are checked.

use serde::Deserialize;
use toml::Spanned;

use super::Role;

/// The TOML file of a topology.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TopologyFile {
    pub(super) name: String,
    #[serde(default)]
    pub(super) summary: String,
    pub(super) detection: Option<Spanned<String>>,
    #[serde(default, rename = "host")]
    pub(super) hosts: Vec<Spanned<HostEntry>>,
    #[serde(default, rename = "switch")]
    pub(super) switches: Vec<Spanned<SwitchEntry>>,
    #[serde(default, rename = "link")]
    pub(super) links: Vec<Spanned<LinkEntry>>,
    #[serde(default, rename = "cut")]
    pub(super) cuts: Vec<Spanned<CutEntry>>,
    #[serde(default)]
    pub(super) traffic: Vec<Spanned<TrafficEntry>>,
}

/// A `[[host]]` of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostEntry {
    pub(super) name: Spanned<String>,
    /// Number of such hosts, named `name-1` and so on.
    pub(super) count: Option<Spanned<u64>>,
    #[serde(default)]
    pub(super) role: Role,
    #[serde(default)]
    pub(super) program: Vec<String>,
    pub(super) answer: Option<Spanned<String>>,
}

/// A `[[switch]]` of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SwitchEntry {
    pub(super) name: Spanned<String>,
    pub(super) forwarding: Option<Spanned<String>>,
    pub(super) jitter: Option<Spanned<String>>,
    pub(super) buffer: Option<Spanned<String>>,
}

/// A `[[link]]` of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkEntry {
    pub(super) name: Option<Spanned<String>>,
    pub(super) between: Spanned<Vec<String>>,
    pub(super) rate: Spanned<String>,
    pub(super) cable: Option<Spanned<String>>,
    pub(super) loss: Option<Spanned<f64>>,
    pub(super) duplicate: Option<Spanned<f64>>,
    pub(super) reorder: Option<Spanned<f64>>,
    pub(super) jitter: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) seed: u64,
}

/// A `[[cut]]` of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CutEntry {
    pub(super) link: Spanned<String>,
    pub(super) at: Spanned<String>,
    #[serde(rename = "for")]
    pub(super) lasts: Option<Spanned<String>>,
}

/// A `[[traffic]]` of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrafficEntry {
    pub(super) from: Spanned<String>,
    pub(super) to: Spanned<String>,
    pub(super) rate: Spanned<String>,
    pub(super) packets: Option<Spanned<u64>>,
    pub(super) payload: Spanned<String>,
}
