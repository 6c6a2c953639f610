//! Runs code beside a segment: both in a network namespace of their own, which holds nothing else.
//!
//! So a MainDevice that uses network interfaces meets a segment without any change of the machine's own network, and
//! the end of this process, however it comes, leaves nothing behind.

use kadenz_rt::net::cable::{Cable, CableError};
use kadenz_rt::net::namespace::{Namespace, NamespaceError};
use kadenz_rt::net::packet::PacketError;
use kadenz_rt::tuning::Tuning;

use super::Segment;
use super::serve::{Pace, Server};
use crate::port::{InterfacePort, WaitMode};

/// Why there is no segment.
#[derive(Debug, thiserror::Error)]
pub enum BesideError {
    /// The network namespace failed.
    #[error(transparent)]
    Network(#[from] NamespaceError),
    /// The virtual cable in it failed.
    #[error(transparent)]
    Cable(#[from] CableError),
    /// Raw frames are not possible.
    #[error(transparent)]
    Port(#[from] PacketError),
}

impl BesideError {
    /// Whether rights are missing: a test may then be skipped.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Network(error) if error.is_refusal())
    }
}

/// Runs `work` on a thread whose network holds one cable: the segment answers at its far end, and the near one is the
/// interface `near`. Programs that `work` starts are in that network too. Needs root.
///
/// ```no_run
/// use kadenz_ethercat::sim::{beside::beside, humanoid::humanoid};
///
/// let segment = humanoid(59).build()?;
/// let seen = beside(segment, "ec0", || {
///     std::process::Command::new("my-master").arg("ec0").status()
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Without rights, or where the kernel has no network namespaces or no veth.
///
/// # Panics
/// When `work` panics.
pub fn beside<R: Send>(
    segment: Segment,
    near: &str,
    work: impl FnOnce() -> R + Send,
) -> Result<R, BesideError> {
    Namespace::create()?.run(|| {
        let _cable = Cable::create(near, "far")?;
        let port = InterfacePort::open("far", WaitMode::Blocking)?;
        let server = Server::new(port, segment, Pace::AtOnce);
        Ok(server.serve_while(&Tuning::default(), work))
    })?
}
