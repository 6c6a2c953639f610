//! The probes that come with Kadenz: programs that measure a middleware by its own client
//! (docs/messages-probes.md). Their sources are part of this library, which builds them where their middleware
//! is installed.

mod build;
mod catalog;
mod server;

pub use build::{BuildError, Built, build, cache, is_built, write_sources};
pub use catalog::{ALL, Language, Probe, probe};
pub use server::{Server, ServerError, ServerKind};
