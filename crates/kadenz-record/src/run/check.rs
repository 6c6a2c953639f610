//! Names in a run of `kadenz check`: its series, and the run of tunings that may lie in its folder.

/// Lateness under the requested tuning.
pub const REALTIME: &str = "realtime";
/// Lateness of an ordinary thread.
pub const ORDINARY: &str = "ordinary";
/// The run folder, in that of the check, of the search for the cheapest tuning: a run of `kadenz tune`. Absent
/// where there was nothing to search for.
pub const TUNING: &str = "tuning";
/// The experiment's name in `run.json`.
pub const EXPERIMENT: &str = "check";
