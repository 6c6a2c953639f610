//! What a server of many connections needs of the system beyond a listening socket. On systems other
//! than Linux nothing is changed.

use std::io;
use std::net::TcpListener;

/// Lets so many connections wait to be accepted, as far as the system allows (on Linux
/// `net.core.somaxconn`), so that a burst of strangers keeps nobody from connecting. The standard
/// library asks for 128.
///
/// # Errors
/// Where the system refuses.
pub fn set_backlog(listener: &TcpListener, connections: u16) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;
        let outcome = crate::os::linux::listener::listen(listener.as_raw_fd(), connections.into());
        outcome.map_err(io::Error::from_raw_os_error)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (listener, connections);
        Ok(())
    }
}

/// Lets the kernel take no more than so many bytes that it cannot send yet on each connection that is
/// accepted from now on (on Linux `TCP_NOTSENT_LOWAT`): what waits for a peer that does not read is then
/// in the program, where it is bounded and held once for many. Without it the kernel takes megabytes for
/// each. What is on its way to a peer that reads does not count, so that it gets no slower.
///
/// # Errors
/// Where the system refuses.
pub fn limit_unsent(listener: &TcpListener, bytes: u32) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;
        let outcome = crate::os::linux::listener::limit_unsent(listener.as_raw_fd(), bytes);
        outcome.map_err(io::Error::from_raw_os_error)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (listener, bytes);
        Ok(())
    }
}

/// Raises the number of files, with sockets, that this process may have open (`ulimit -n`) to the most
/// that needs no privilege: how many those are, or `None` where the system does not tell. Programs that
/// it starts inherit it.
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

/// Whether accepting a connection failed because this process or the system has no descriptor or memory left
/// (on Linux `EMFILE`, `ENFILE`, `ENOBUFS`, `ENOMEM`). The connection then goes on waiting, and the socket stays
/// readable: whoever accepts again at once spins. On systems other than Linux any error counts as that but a
/// connection that was given up by its peer.
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

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

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
    fn the_soft_limit_of_files_is_raised_to_the_hard_one() {
        let once = raise_open_files().unwrap();
        assert_eq!(raise_open_files().unwrap(), once);
        assert!(once.is_none_or(|files| files > 0));
    }
}
