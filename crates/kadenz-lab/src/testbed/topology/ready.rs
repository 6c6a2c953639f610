//! The topologies that are built in.

/// Name and text of each.
pub const READY: &[(&str, &str)] = &[
    (
        "baseline",
        include_str!("../../../topology/ready/baseline.toml"),
    ),
    (
        "baseline-gigabit",
        include_str!("../../../topology/ready/baseline-gigabit.toml"),
    ),
    (
        "extra-ksz8863",
        include_str!("../../../topology/ready/extra-ksz8863.toml"),
    ),
    (
        "extra-gs105",
        include_str!("../../../topology/ready/extra-gs105.toml"),
    ),
    (
        "extra-rb750",
        include_str!("../../../topology/ready/extra-rb750.toml"),
    ),
    (
        "forty-devices",
        include_str!("../../../topology/ready/forty-devices.toml"),
    ),
    (
        "daisy-chain",
        include_str!("../../../topology/ready/daisy-chain.toml"),
    ),
    (
        "redundant-path",
        include_str!("../../../topology/ready/redundant-path.toml"),
    ),
    (
        "two-switches",
        include_str!("../../../topology/ready/two-switches.toml"),
    ),
    (
        "cross-traffic",
        include_str!("../../../topology/ready/cross-traffic.toml"),
    ),
    (
        "cut-cable",
        include_str!("../../../topology/ready/cut-cable.toml"),
    ),
];

/// The text of a topology that is built in.
#[must_use]
pub fn ready(name: &str) -> Option<&'static str> {
    let found = READY.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text)
}
