//! jHiccup's measurement, for any operating system and any program.
//!
//! A thread sleeps for a resolution, again and again, and records how much longer each sleep took
//! than the shortest one seen: the *hiccup* that any other program on the machine would have felt
//! too. Beside it stands the value against the intended time, which does not depend on the
//! shortest sleep.

mod experiment;
mod meter;
mod worker;

pub use experiment::{HiccupExperiment, HiccupOutcome, experiment};
pub use meter::{Hiccup, HiccupMeter};
pub use worker::{HiccupPlan, HiccupRecorders, hiccup};
