//! Sockets that do not block: TCP, and Unix sockets if the system has them.

use std::io::{self, ErrorKind, IoSlice, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};
#[cfg(unix)]
use std::os::unix::fs::FileTypeExt as _;
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

use kadenz_rt::net::listener;
use kadenz_rt::net::poller::Poller;
use kadenz_rt::net::watch::{Interest, Watch};

/// The maximum number of connections that wait to be accepted.
const BACKLOG: u16 = 4096;

/// The bytes that the kernel may hold for a peer that does not read, beside those on their way.
const MAX_UNSENT: u32 = 256 << 10;
/// The same for a peer that gets longer messages, so that they need one call.
const MAX_UNSENT_OF_LONG: u32 = 4 << 20;

/// How long connecting may take.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// The address of a peer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::provider) enum SocketAddress {
    /// `host:port`.
    Tcp(String),
    /// The path of a socket.
    Unix(PathBuf),
}

impl std::fmt::Display for SocketAddress {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => formatter.write_str(address),
            Self::Unix(path) => write!(formatter, "{}", path.display()),
        }
    }
}

impl SocketAddress {
    /// Parses the location of a URL: a path begins with a slash.
    pub(in crate::provider) fn of(location: &str) -> Self {
        if location.starts_with('/') {
            Self::Unix(PathBuf::from(location))
        } else {
            Self::Tcp(location.to_owned())
        }
    }

    pub(in crate::provider) fn connect(&self) -> io::Result<Socket> {
        match self {
            Self::Tcp(address) => {
                let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
                for resolved in address.to_socket_addrs()? {
                    match TcpStream::connect_timeout(&resolved, CONNECT_TIMEOUT) {
                        Ok(stream) => return Socket::of_tcp(stream, None),
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
            #[cfg(unix)]
            Self::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_nonblocking(true)?;
                Ok(Socket::Unix(stream))
            }
            #[cfg(not(unix))]
            Self::Unix(_) => Err(ErrorKind::Unsupported.into()),
        }
    }

    /// Listens at the address. A Unix socket at which no program listens any more is replaced.
    pub(in crate::provider) fn listen(&self) -> io::Result<ListeningSocket> {
        match self {
            Self::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                listener::set_backlog(&listener, BACKLOG)?;
                listener::limit_unsent(&listener, MAX_UNSENT)?;
                Ok(ListeningSocket::Tcp(listener))
            }
            #[cfg(unix)]
            Self::Unix(path) => {
                if let Ok(there) = std::fs::symlink_metadata(path) {
                    if !there.file_type().is_socket() {
                        return Err(ErrorKind::AlreadyExists.into());
                    }
                    if UnixStream::connect(path).is_ok() {
                        return Err(ErrorKind::AddrInUse.into());
                    }
                    std::fs::remove_file(path)?;
                }
                let listener = UnixListener::bind(path)?;
                listener.set_nonblocking(true)?;
                Ok(ListeningSocket::Unix(listener, path.clone()))
            }
            #[cfg(not(unix))]
            Self::Unix(_) => Err(ErrorKind::Unsupported.into()),
        }
    }
}

/// A listening socket.
#[derive(Debug)]
pub(in crate::provider) enum ListeningSocket {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener, PathBuf),
}

impl ListeningSocket {
    /// Accepts the next connection; `None` if there is none.
    pub(in crate::provider) fn accept(&self) -> io::Result<Option<Socket>> {
        let accepted = match self {
            Self::Tcp(listener) => listener
                .accept()
                .and_then(|it| Socket::of_tcp(it.0, Some(MAX_UNSENT))),
            #[cfg(unix)]
            Self::Unix(listener, _) => listener.accept().and_then(|it| {
                it.0.set_nonblocking(true)?;
                Ok(Socket::Unix(it.0))
            }),
        };
        match accepted {
            Ok(socket) => Ok(Some(socket)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the port of a TCP socket.
    pub(in crate::provider) fn port(&self) -> Option<u16> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok().map(|address| address.port()),
            #[cfg(unix)]
            Self::Unix(..) => None,
        }
    }

    pub(in crate::provider) fn watch(&self, watch: &mut Watch) -> usize {
        match self {
            Self::Tcp(listener) => watch.add(listener, Interest::Read),
            #[cfg(unix)]
            Self::Unix(listener, _) => watch.add(listener, Interest::Read),
        }
    }

    pub(in crate::provider) fn register(&self, poller: &mut Poller, token: u64) -> io::Result<()> {
        match self {
            Self::Tcp(listener) => poller.add(listener, token),
            #[cfg(unix)]
            Self::Unix(listener, _) => poller.add(listener, token),
        }
    }
}

impl Drop for ListeningSocket {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Self::Unix(_, path) = self {
            // If the file is gone already, there is nothing left to do.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A connection over TCP or a Unix domain socket.
#[derive(Debug)]
pub(in crate::provider) enum Socket {
    Tcp {
        stream: TcpStream,
        /// The bytes that the kernel may hold unsent, if they are limited.
        max_unsent: Option<u32>,
    },
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Socket {
    fn of_tcp(stream: TcpStream, max_unsent: Option<u32>) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self::Tcp { stream, max_unsent })
    }

    /// Lets the kernel take a message of that many bytes at once, up to [`MAX_UNSENT_OF_LONG`], because a
    /// message in parts needs the thread that serves peers, and a copy of the rest. The bytes that the kernel
    /// holds so for a peer that does not read count in no budget. A system call for the first message that is
    /// longer than all before it.
    pub(in crate::provider) fn admit(&mut self, bytes: usize) {
        let Self::Tcp {
            stream,
            max_unsent: Some(most),
        } = self
        else {
            return;
        };
        let wanted = u32::try_from(bytes)
            .unwrap_or(u32::MAX)
            .min(MAX_UNSENT_OF_LONG);
        // If the system refuses, the message is sent in parts.
        if wanted > *most && listener::limit_unsent(stream, wanted).is_ok() {
            *most = wanted;
        }
    }

    /// Returns the address of the other end, as the system reports it.
    pub(in crate::provider) fn peer(&self) -> String {
        match self {
            Self::Tcp { stream, .. } => stream.peer_addr().map(|it| it.to_string()),
            #[cfg(unix)]
            Self::Unix(_) => Ok("a Unix socket".to_owned()),
        }
        .unwrap_or_else(|_| "gone".to_owned())
    }

    /// Reads what is there; `None` when nothing is, and an error at the end.
    pub(in crate::provider) fn read(&mut self, room: &mut [u8]) -> io::Result<Option<usize>> {
        let outcome = match self {
            Self::Tcp { stream, .. } => stream.read(room),
            #[cfg(unix)]
            Self::Unix(stream) => stream.read(room),
        };
        match outcome {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => Ok(Some(count)),
            Err(error) if is_passing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes what there is room for; that may be nothing.
    pub(in crate::provider) fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let outcome = match self {
            Self::Tcp { stream, .. } => stream.write_vectored(parts),
            #[cfg(unix)]
            Self::Unix(stream) => stream.write_vectored(parts),
        };
        match outcome {
            Err(error) if is_passing(&error) => Ok(0),
            outcome => outcome,
        }
    }

    pub(in crate::provider) fn watch(&self, watch: &mut Watch, interest: Interest) -> usize {
        match self {
            Self::Tcp { stream, .. } => watch.add(stream, interest),
            #[cfg(unix)]
            Self::Unix(stream) => watch.add(stream, interest),
        }
    }

    pub(in crate::provider) fn register(&self, poller: &mut Poller, token: u64) -> io::Result<()> {
        match self {
            Self::Tcp { stream, .. } => poller.add(stream, token),
            #[cfg(unix)]
            Self::Unix(stream) => poller.add(stream, token),
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
