//! A run's facts about the testbed that it was measured in: its topology, and the computed results of a network of
//! ideal hosts.

use serde::{Deserialize, Serialize};

/// Series of a testbed's own run: how much later than its topology requires frames were handed to their receivers.
pub const WIRE_ERROR: &str = "wire-error";

/// The testbed around a run: networks of one machine, joined by switches that are a program.
///
/// How late the testbed itself was stands in a run of its own, which lies beside this one while both
/// are kept together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Testbed {
    /// Name of the topology.
    pub topology: String,
    /// Name of the folder of the testbed's own run, beside the run's.
    pub run: String,
    /// The host on which was measured.
    pub host: String,
    /// All hosts, in the order of the topology.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// The switches between the hosts.
    #[serde(default)]
    pub switches: Vec<TestbedSwitch>,
    /// The links between hosts and switches.
    #[serde(default)]
    pub links: Vec<TestbedLink>,
    /// The model's results for the same round trips; absent where the model cannot compute them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Modelled>,
}

/// A store-and-forward switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestbedSwitch {
    /// Its name in the topology, which links refer to.
    pub name: String,
    /// From having a frame until it may be sent on.
    pub forwarding_ns: u64,
}

/// A cable between two hosts or switches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestbedLink {
    /// The two ends: hosts and switches by their names.
    pub between: [String; 2],
    /// Its rate in bits a second.
    pub bit_s: u64,
}

/// Round trips as the model computes them: the testbed's network, and hosts that take no time but what
/// the topology gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Modelled {
    /// How many were computed.
    pub round_trips: u64,
    /// How many of them had no answer.
    pub lost: u64,
    /// Median of the modelled round trips.
    pub p50_ns: u64,
    /// 99th percentile of the modelled round trips.
    pub p99_ns: u64,
    /// The longest modelled round trip.
    pub max_ns: u64,
}
