//! Probes: programs in any language that measure a library of their own, and report by [lines](protocol) what arrived
//! and when (docs/messages-probes.md).
//!
//! Kadenz contains the probes of [`ALL`] as sources, which [`build`] builds where their middleware is installed.

mod build;
mod catalog;
pub(crate) mod program;
pub mod protocol;
mod server;

pub use build::{BuildError, Built, Cache, build, cache, is_built, write_sources};
pub use catalog::{ALL, Language, Measures, Probe, probe};
pub use program::{ProbeCommand, ProbeFailed};
pub use server::{Server, ServerError, ServerKind, free_port};
