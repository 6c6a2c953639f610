//! What sources over the network share.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, ErrorKind};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use kadenz_rt::clock;

use super::SourceError;
use crate::wire::rtp::ReorderLimits;
use crate::wire::rtsp::Transport;
use crate::wire::url::CameraUrl;

/// Redirections that are followed.
pub(super) const MAX_REDIRECTIONS: usize = 5;

/// How a camera on the network is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkOptions {
    /// How packets of RTP come. The URL's key `kadenz-transport`, which is not sent to the camera, comes first:
    /// `rtsp://HOST/PATH?kadenz-transport=udp`.
    pub transport: Transport,
    /// How long connecting and each answer may take.
    pub patience: Duration,
    /// A camera that sends nothing for so long is given up.
    pub silence: Duration,
    /// How long a missing packet is waited for over UDP, where those behind it may have overtaken it.
    pub reordering: Duration,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self {
            transport: Transport::Tcp,
            patience: Duration::from_secs(10),
            silence: Duration::from_secs(5),
            reordering: ReorderLimits::UDP.time,
        }
    }
}

impl NetworkOptions {
    /// Takes what is meant for us out of the URL.
    ///
    /// # Errors
    /// A transport that there is not.
    pub(super) fn of_url(mut self, url: &mut CameraUrl) -> Result<Self, SourceError> {
        if let Some(transport) = url.take_query("kadenz-transport") {
            let wrong = |cause| {
                permanent(
                    url,
                    &cause,
                    "write kadenz-transport=tcp or kadenz-transport=udp",
                )
            };
            self.transport = transport.parse().map_err(wrong)?;
        }
        Ok(self)
    }
}

/// An error after which trying again may help.
pub(super) fn transient(
    url: &CameraUrl,
    cause: &dyn std::fmt::Display,
    remedy: &str,
) -> SourceError {
    SourceError {
        cause: format!("{url}: {cause}"),
        remedy: remedy.to_owned(),
        is_transient: true,
    }
}

/// An error after which trying again does not help.
pub(super) fn permanent(
    url: &CameraUrl,
    cause: &dyn std::fmt::Display,
    remedy: &str,
) -> SourceError {
    SourceError {
        is_transient: false,
        ..transient(url, cause, remedy)
    }
}

/// A URL as a user wrote it.
pub(super) fn camera_url(text: &str) -> Result<CameraUrl, SourceError> {
    CameraUrl::parse(text).map_err(|error| {
        let (cause, remedy) = match error.to_string().split_once("; ") {
            Some((cause, remedy)) => (cause.to_owned(), remedy.to_owned()),
            None => (error.to_string(), "write it as rtsp://HOST/PATH".to_owned()),
        };
        SourceError {
            cause,
            remedy,
            is_transient: false,
        }
    })
}

/// Connects to the camera: to the first of its addresses that answers.
pub(super) fn connect(url: &CameraUrl, patience: Duration) -> Result<TcpStream, SourceError> {
    const REMEDY: &str =
        "see that the camera is on, that its address is right and that no firewall is between";
    let unreachable =
        |error: &io::Error| transient(url, &format!("cannot connect: {error}"), REMEDY);
    let addresses = (url.host(), url.port())
        .to_socket_addrs()
        .map_err(|error| unreachable(&error))?;
    let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
    for address in addresses {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => {
                let prepared = stream
                    .set_nodelay(true)
                    .and_then(|()| stream.set_nonblocking(true));
                prepared.map_err(|error| unreachable(&error))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(unreachable(&last))
}

/// What differs from call to call and from run to run.
pub(super) fn unpredictable() -> u64 {
    RandomState::new().hash_one(clock::now().as_ns())
}
