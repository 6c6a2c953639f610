//! The run folder: `run.json` and a file or two a series.

pub mod camera;
pub mod check;
pub mod disk;
pub mod folder;
pub mod labels;
pub mod matrix;
pub mod messages;
pub mod model;
pub mod network;
pub mod testbed;
pub mod tune;
