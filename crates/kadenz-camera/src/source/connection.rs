//! A connection by TCP to a camera.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, TcpStream};
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;
use kadenz_rt::net::port::Wait;
use kadenz_rt::net::watch::{Interest, Watch};

use super::SourceError;
use super::network::{connect, transient};
use crate::wire::url::CameraUrl;

const CLOSED: &str = "see whether the camera restarted, or too many watch it already";
/// The most bytes that wait for a camera that does not read.
const MAX_UNSENT: usize = 64 << 10;

/// A connection that does not block.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    watch: Watch,
    unsent: Vec<u8>,
}

impl Connection {
    pub(super) fn open(url: &CameraUrl, timeout: Duration) -> Result<Self, SourceError> {
        let stream = connect(url, timeout)?;
        let watch =
            Watch::new().map_err(|error| transient(url, &error, "close other programs' files"))?;
        Ok(Self {
            stream,
            watch,
            unsent: Vec::new(),
        })
    }

    /// The local address and the camera's.
    pub(super) fn addresses(&self) -> Option<(IpAddr, IpAddr)> {
        let local = self.stream.local_addr().ok()?;
        Some((local.ip(), self.stream.peer_addr().ok()?.ip()))
    }

    /// Sends bytes as far as the camera takes them; the rest goes with the next call.
    pub(super) fn send(&mut self, url: &CameraUrl, bytes: &[u8]) -> Result<(), SourceError> {
        self.unsent.extend_from_slice(bytes);
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error)
                    if error.kind() == ErrorKind::WouldBlock && self.unsent.len() < MAX_UNSENT =>
                {
                    break;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(transient(url, &format!("cannot send: {error}"), CLOSED)),
            }
        }
        Ok(())
    }

    /// Waits for bytes until a time at the latest and reads once into the room; returns how many came.
    pub(super) fn receive(
        &mut self,
        url: &CameraUrl,
        room: &mut [u8],
        until: MonotonicTime,
    ) -> Result<usize, SourceError> {
        self.watch.clear();
        let interest = if self.unsent.is_empty() {
            Interest::Read
        } else {
            Interest::ReadAndWrite
        };
        let place = self.watch.add(&self.stream, interest);
        let lost = |error| transient(url, &format!("the connection is lost: {error}"), CLOSED);
        self.watch.wait(Wait::Until(until)).map_err(lost)?;
        if !self.watch.readable(place) {
            return Ok(0);
        }
        match self.stream.read(room) {
            Ok(0) => Err(transient(url, &"the camera closed the connection", CLOSED)),
            Ok(count) => Ok(count),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                Ok(0)
            }
            Err(error) => Err(lost(error)),
        }
    }
}
