//! The run folder: `run.json` and a file or two a series.

pub mod camera;
pub mod disk;
pub mod folder;
pub mod labels;
pub mod matrix;
pub mod messages;
pub mod model;
pub mod network;
pub mod testbed;
pub mod tune;

/// Names in a run of `kadenz check`: its series, and the run of tunings that may lie in its folder.
pub mod check {
    /// Lateness under the requested tuning.
    pub const REALTIME: &str = "realtime";
    /// Lateness of an ordinary thread.
    pub const ORDINARY: &str = "ordinary";
    /// The run folder, in that of the check, of the search for the cheapest tuning: a run of `kadenz tune`. Absent
    /// where there was nothing to search for.
    pub const TUNING: &str = "tuning";
    /// The experiment's name in `run.json`.
    pub const EXPERIMENT: &str = "check";
}
