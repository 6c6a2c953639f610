//! Common code of the sources over the network.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::net::port::Wait;
use kadenz_rt::net::watch::{Interest, Watch};

use super::SourceError;
use crate::wire::rtp::ReorderLimits;
use crate::wire::rtsp::Transport;
use crate::wire::url::CameraUrl;

/// Redirections that are followed.
const MAX_REDIRECTIONS: usize = 5;

/// Options for a camera on the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkOptions {
    /// The transport of RTP packets. The URL's key `kadenz-transport`, which is not sent to the camera, takes
    /// precedence: `rtsp://HOST/PATH?kadenz-transport=udp`.
    pub transport: Transport,
    /// The time limit of connecting and of each answer.
    pub timeout: Duration,
    /// A camera that sends nothing for so long is given up.
    pub silence: Duration,
    /// How long the source waits over UDP for a missing packet, where those behind it may have overtaken it.
    pub reordering: Duration,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self {
            transport: Transport::Tcp,
            timeout: Duration::from_secs(10),
            silence: Duration::from_secs(5),
            reordering: ReorderLimits::UDP.time,
        }
    }
}

impl NetworkOptions {
    /// Takes Kadenz's own keys out of the URL.
    ///
    /// # Errors
    /// Where there is no such transport.
    fn of_url(mut self, url: &mut CameraUrl) -> Result<Self, SourceError> {
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

/// An error after which another try may help.
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

/// An error after which another try does not help.
pub(super) fn permanent(
    url: &CameraUrl,
    cause: &dyn std::fmt::Display,
    remedy: &str,
) -> SourceError {
    SourceError::permanent(format!("{url}: {cause}"), remedy)
}

/// A URL as a user wrote it.
fn camera_url(text: &str) -> Result<CameraUrl, SourceError> {
    CameraUrl::parse(text).map_err(|error| {
        let text = error.to_string();
        let split = text.split_once("; ");
        let (cause, remedy) = split.unwrap_or((&text, "write it as rtsp://HOST/PATH"));
        SourceError::permanent(cause, remedy)
    })
}

/// The result of an attempt to open a stream.
pub(super) enum OpenOutcome<S> {
    Stream(S),
    /// The camera redirects to a URL, or a path.
    Elsewhere(String),
    /// The caller must try once more.
    Again,
}

/// Opens a stream, and follows redirections by the same scheme.
pub(super) fn open<S>(
    scheme: &str,
    url: &str,
    options: &NetworkOptions,
    mut open: impl FnMut(CameraUrl, NetworkOptions) -> Result<OpenOutcome<S>, SourceError>,
) -> Result<S, SourceError> {
    let mut url = camera_url(url)?;
    let options = options.of_url(&mut url)?;
    for _ in 0..=MAX_REDIRECTIONS {
        if url.scheme() != scheme {
            let cause = format!("{}:// is not spoken here", url.scheme());
            let name = scheme.to_ascii_uppercase();
            let remedy = format!("turn on {name} without TLS at the camera, and write {scheme}://");
            return Err(permanent(&url, &cause, &remedy));
        }
        match open(url.clone(), options)? {
            OpenOutcome::Stream(stream) => return Ok(stream),
            OpenOutcome::Elsewhere(location) => {
                let cause = |error| format!("a redirection: {error}");
                let remedy = "open the right URL itself";
                let next = url.redirected(&location);
                url = next.map_err(|error| permanent(&url, &cause(error), remedy))?;
            }
            OpenOutcome::Again => {}
        }
    }
    let cause = format!("more than {MAX_REDIRECTIONS} redirections");
    let remedy = "open the URL to which the camera redirects";
    Err(permanent(&url, &cause, remedy))
}

/// The camera wants another user and password than the URL has.
pub(super) fn wrong_credentials(url: &CameraUrl, cause: &dyn std::fmt::Display) -> SourceError {
    let remedy = format!(
        "write the user and the password into the URL: {}://USER:PASSWORD@HOST/PATH, %40 for an @ in them",
        url.scheme()
    );
    permanent(url, cause, &remedy)
}

/// The camera sent nothing for so long.
pub(super) fn silent(url: &CameraUrl, silence: Duration, remedy: &str) -> SourceError {
    let cause = format!("nothing came for {} s", silence.as_secs_f32());
    transient(url, &cause, remedy)
}

/// Connects to the camera: to the first of its addresses that answers.
fn connect(url: &CameraUrl, timeout: Duration) -> Result<TcpStream, SourceError> {
    const REMEDY: &str =
        "see that the camera is on, that its address is right and that no firewall is between";
    let unreachable =
        |error: &io::Error| transient(url, &format!("cannot connect: {error}"), REMEDY);
    let addresses = (url.host(), url.port())
        .to_socket_addrs()
        .map_err(|error| unreachable(&error))?;
    let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
    for address in addresses {
        match TcpStream::connect_timeout(&address, timeout) {
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

/// A number that differs from call to call and from run to run.
pub(super) fn unpredictable() -> u64 {
    RandomState::new().hash_one(clock::now().as_ns())
}

// A connection by TCP to a camera.

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
