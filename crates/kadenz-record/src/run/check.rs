//! What a run of `kadenz check` names: its series, and the run of tunings that may lie in its folder.

/// Lateness under the tuning that was asked for.
pub const REALTIME: &str = "realtime";
/// Lateness of an ordinary thread.
pub const ORDINARY: &str = "ordinary";
/// The run folder, in that of the check, in which the search for the cheapest tuning lies: a run of
/// `kadenz tune`. Absent where there was nothing to search for.
pub const TUNING: &str = "tuning";
/// What `run.json` calls the experiment.
pub const EXPERIMENT: &str = "check";
