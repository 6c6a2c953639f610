//! Many runs of one command with varying options, into one folder, whatever interrupts them.
//!
//! A [`Plan`] is read from a TOML file and says which runs there are, in which order: each combination of values
//! once a round, so that a machine that drifts spoils no combination alone. A [`Campaign`] is the folder with the
//! plan, the run folders and what failed. A run is done once its folder has its final name, which it is given when
//! it is complete; so no run is counted twice or by half, whatever kills the process. How a run is measured is the
//! caller's. docs/campaign.md describes the file.
//!
//! ```
//! use kadenz_lab::campaign::Plan;
//!
//! let plan = Plan::parse(
//!     "name = \"timers\"\ncommand = \"timer cyclic --count 1000 --rate 1kHz\"\nrounds = 3\n\
//!      [vary]\npolicy = [\"other\", \"fifo:80\"]\nload = [\"idle\", \"busy\"]\n",
//! )?;
//! assert_eq!(plan.count(), 12);
//! let first = plan.words(0).join(" ");
//! assert_eq!(first, "timer cyclic --count 1000 --rate 1kHz --policy other --load idle");
//!
//! let error = Plan::parse("name = \"timers\"\ncomand = \"hiccup\"\n").unwrap_err();
//! assert!(error.to_string().contains("line 2"), "{error}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod file;
mod folder;
mod plan;

pub use crate::file_error::FileError;
pub use crate::lock::LockError;
pub use folder::{Campaign, CampaignError, Record};
pub use plan::{Pace, Parameter, Plan, PlannedRun, Value, measuring_time};

/// What a plan may hold; one beyond it is refused.
pub mod limits {
    /// Runs of all rounds.
    pub const RUNS: usize = 100_000;
    /// Options that vary.
    pub const PARAMETERS: usize = 20;
    /// Letters of a name.
    pub const NAME: usize = 64;
    /// Bytes of a file.
    pub const FILE: usize = 256 << 10;
}
