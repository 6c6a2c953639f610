//! Socket and process settings that a server of many connections needs beyond a listening socket. On systems other
//! than Linux they change nothing.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use super::watch::Watched;

/// Lets so many connections wait to be accepted, as far as the system allows (on Linux `net.core.somaxconn`), so
/// that a burst of connections from unknown peers keeps no client from connecting. The standard library requests
/// 128.
///
/// # Errors
/// Where the system refuses.
pub fn set_backlog(listener: &TcpListener, connections: u16) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let outcome = crate::os::linux::listener::listen(listener, connections.into());
        outcome.map_err(io::Error::from_raw_os_error)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (listener, connections);
        Ok(())
    }
}

/// Limits the bytes that the kernel holds unsent, on a connection or on each connection that a listener accepts
/// from now on (on Linux `TCP_NOTSENT_LOWAT`). Data for a peer that does not read then waits in the program, which
/// bounds it and holds it once for many peers. Without the limit the kernel takes megabytes for each. Data in
/// flight to a peer that reads does not count.
///
/// # Errors
/// Where the system refuses.
pub fn limit_unsent(socket: &impl Watched, bytes: u32) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let outcome = crate::os::linux::listener::limit_unsent(socket.number(), bytes);
        outcome.map_err(io::Error::from_raw_os_error)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (socket, bytes);
        Ok(())
    }
}

/// Returns the user that connected, or that made the other end of a pair, as the kernel noted it then
/// (`SO_PEERCRED`): the peer cannot change it. One system call.
///
/// ```
/// use std::os::unix::fs::MetadataExt;
/// use std::os::unix::net::UnixStream;
///
/// let (near, _far) = UnixStream::pair()?;
/// let ours = std::fs::metadata("/proc/self")?.uid();
/// assert_eq!(kadenz_rt::net::listener::user_of_peer(&near)?, ours);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// The kernel's error, for example on a socket that is not connected.
#[cfg(target_os = "linux")]
pub fn user_of_peer(stream: &std::os::unix::net::UnixStream) -> io::Result<u32> {
    use std::os::fd::AsFd as _;
    Ok(crate::os::linux::listener::of_peer(stream.as_fd())?.uid)
}

/// Raises the number of files, sockets included, that this process may have open (`ulimit -n`) to the most that
/// needs no privilege, and returns that number, or `None` where the system does not report it. Programs that this
/// process starts inherit it.
///
/// # Errors
/// Where the system refuses.
pub fn raise_open_files() -> io::Result<Option<u64>> {
    #[cfg(target_os = "linux")]
    {
        let raised = crate::os::linux::listener::raise_open_files();
        raised.map(Some).map_err(io::Error::from_raw_os_error)
    }
    #[cfg(not(target_os = "linux"))]
    Ok(None)
}

/// Returns whether accepting a connection failed because this process or the system has no descriptor or memory
/// left (on Linux `EMFILE`, `ENFILE`, `ENOBUFS`, `ENOMEM`). The connection then goes on waiting and the socket
/// stays readable: a loop that accepts again at once spins. On systems other than Linux any error counts as such,
/// except for a connection that its peer gave up.
#[must_use]
pub fn is_exhausted(error: &io::Error) -> bool {
    #[cfg(target_os = "linux")]
    {
        let number = error.raw_os_error();
        number.is_some_and(crate::os::linux::listener::is_exhausted)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let passing = [
            io::ErrorKind::ConnectionAborted,
            io::ErrorKind::ConnectionReset,
        ];
        !passing.contains(&error.kind())
    }
}

/// The connections of a listener that serves each on a thread of its own, up to a limit. When the limit is reached,
/// a new connection takes the place of the oldest one that has sent no request yet, so that silent peers keep no
/// client out.
#[derive(Debug)]
pub struct Connections {
    limit: usize,
    held: Vec<Weak<HeldConnection>>,
}

#[derive(Debug)]
struct HeldConnection {
    stream: TcpStream,
    has_asked: AtomicBool,
}

/// One of [`Connections`], until this is dropped. Its thread holds it.
#[derive(Debug)]
pub struct Connected(Arc<HeldConnection>);

impl Connected {
    /// Marks that the peer has sent a request; the connection keeps its place from now on.
    pub fn has_asked(&self) {
        self.0.has_asked.store(true, Ordering::Relaxed);
    }
}

impl Connections {
    /// Starts without connections.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            held: Vec::new(),
        }
    }

    /// Gives a new connection its place; returns `None` where all others have sent requests, or the system has no
    /// descriptor left. It shuts down the connection that makes room, so that the thread of that connection ends.
    pub fn admit(&mut self, stream: &TcpStream) -> Option<Connected> {
        self.held.retain(|it| it.strong_count() > 0);
        if self.held.len() >= self.limit {
            let is_silent = |it: &Weak<HeldConnection>| {
                let held = it.upgrade();
                held.is_none_or(|it| !it.has_asked.load(Ordering::Relaxed))
            };
            let silent = self.held.iter().position(is_silent)?;
            shut_down(&self.held.remove(silent));
        }
        let held = Arc::new(HeldConnection {
            stream: stream.try_clone().ok()?,
            has_asked: AtomicBool::new(false),
        });
        self.held.push(Arc::downgrade(&held));
        Some(Connected(held))
    }

    /// Shuts all of them down, so that their threads end.
    pub fn close(&mut self) {
        self.held.drain(..).for_each(|it| shut_down(&it));
    }
}

fn shut_down(held: &Weak<HeldConnection>) {
    if let Some(held) = held.upgrade() {
        // Where this fails, the peer has gone.
        let _ = held.stream.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_connections_wait_than_the_standard_library_lets() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        set_backlog(&listener, 512).unwrap();
        let address = listener.local_addr().unwrap();
        // Without it the 130th waits for a second, and the next ones for longer and longer.
        let waiting: Vec<_> = (0..300)
            .map(|_| TcpStream::connect_timeout(&address, std::time::Duration::from_millis(900)))
            .collect();
        assert!(waiting.iter().all(Result::is_ok));
    }

    #[test]
    fn the_kernel_takes_little_for_a_peer_that_does_not_read() {
        use std::io::Write as _;
        if !cfg!(target_os = "linux") {
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        limit_unsent(&listener, 64 << 10).unwrap();
        let _peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut accepted = listener.accept().unwrap().0;
        accepted.set_nonblocking(true).unwrap();
        let mut taken = 0;
        while let Ok(count) = accepted.write(&[0; 16 << 10]) {
            taken += count;
        }
        assert!((64 << 10..1 << 20).contains(&taken), "{taken}");
    }

    #[test]
    fn a_silent_connection_makes_room_and_one_with_a_request_does_not() {
        use std::io::Read as _;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut connections = Connections::new(2);
        let mut come = || {
            let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let stream = listener.accept().unwrap().0;
            let connected = connections.admit(&stream);
            (peer, stream, connected)
        };
        let (asking, silent, next) = (come(), come(), come());
        // The oldest of the silent connections.
        assert_eq!((&asking.0).read(&mut [0]).unwrap(), 0);
        silent.2.as_ref().unwrap().has_asked();
        let after = come();
        assert_eq!((&next.0).read(&mut [0]).unwrap(), 0);
        after.2.as_ref().unwrap().has_asked();
        assert!(come().2.is_none(), "all have asked");
        drop((after.1, after.2));
        assert_eq!(
            (&after.0).read(&mut [0]).unwrap(),
            0,
            "it is closed with its thread"
        );
        assert!(come().2.is_some(), "one has gone");
        connections.close();
        assert_eq!((&silent.0).read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn the_soft_limit_of_files_is_raised_to_the_hard_one() {
        let once = raise_open_files().unwrap();
        assert_eq!(raise_open_files().unwrap(), once);
        assert!(once.is_none_or(|files| files > 0));
    }
}
