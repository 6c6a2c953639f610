//! Recording: measurements store their values with this crate, and reports read them with it.
//!
//! Every latency, wherever it is measured, becomes a *series* in a *run*: a folder with `run.json` and a file or
//! two a series. This crate needs no other crate of the workspace and holds no `unsafe`.

pub mod histogram;
pub mod hlog;
pub mod numbers;
pub mod phaser;
pub mod recorder;
pub mod run;
pub mod samples;

mod sync;
