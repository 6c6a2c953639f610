//! The steps of `cargo xtask test`, in the order in which they run.

use anyhow::Result;

use super::tally::Tally;
use super::{peers, steps};
use crate::repository::Repository;

/// One step: a test runner with what it needs.
pub struct Step {
    /// Name for `--only` and for the summary.
    pub name: &'static str,
    /// What it shows, in a line.
    pub about: &'static str,
    /// Does it.
    pub run: fn(&Repository, &mut Tally) -> Result<Outcome>,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All it looked at is well.
    Passed,
    /// Something is wrong; its own output says what.
    Failed(String),
    /// This machine lacks something.
    Skipped {
        /// What is missing.
        missing: String,
        /// How to get it.
        remedy: String,
    },
}

impl Outcome {
    /// A step ended as its command did.
    pub fn of(success: bool, what: &str) -> Self {
        if success {
            Self::Passed
        } else {
            Self::Failed(format!("{what} failed"))
        }
    }

    /// A step that cannot run here.
    pub fn skipped(missing: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Skipped {
            missing: missing.into(),
            remedy: remedy.into(),
        }
    }
}

/// All steps. The first needs nothing but Rust and a C compiler; each other one may be skipped.
pub const STEPS: &[Step] = &[
    Step {
        name: "workspace",
        about: "unit, integration and documentation tests of every crate",
        run: steps::workspace,
    },
    Step {
        name: "features",
        about: "what plain Kadenz leaves out: shared memory, Zenoh, DDS, ROS 2's SQLite bags",
        run: steps::features,
    },
    Step {
        name: "attack",
        about: "hostile files, datagrams, connections, kills and disks against the program",
        run: steps::attack,
    },
    Step {
        name: "peers",
        about: "ethercrab's own tests on our virtual segment",
        run: peers::ethercrab,
    },
    Step {
        name: "loom",
        about: "the phaser and the rings under every interleaving loom finds",
        run: steps::loom,
    },
    Step {
        name: "miri",
        about: "the same code in Miri, which sees data races and undefined behaviour",
        run: steps::miri,
    },
    Step {
        name: "browser",
        about: "the HTML report in a real browser, offline",
        run: steps::browser,
    },
    Step {
        name: "windows",
        about: "types for x86_64-pc-windows-gnu",
        run: steps::windows,
    },
    Step {
        name: "macos",
        about: "types for aarch64-apple-darwin",
        run: steps::macos,
    },
    Step {
        name: "firmware",
        about: "what firmware takes, without the standard library, for thumbv7m-none-eabi",
        run: steps::firmware,
    },
    Step {
        name: "fuzz",
        about: "every fuzz target for a few seconds",
        run: steps::fuzz,
    },
];
