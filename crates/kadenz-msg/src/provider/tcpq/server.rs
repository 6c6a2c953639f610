//! The server in the middle.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use kadenz_rt::net::watch::Waker;

use super::ServerOptions;
use super::counters::{AtomicServerCounters, ClientCounters, ServerCounters};
use super::serving::Serving;

/// Passes messages from each client to all that want them, as LCM's `TCPService` does, with a bounded
/// queue for each. Runs on a thread of its own until it is dropped.
///
/// No client can take the server from the others: memory is bounded for each and in all, silent and idle
/// clients lose their slots to others, patterns are small, and clients with few requests are served before
/// those with many. A process may have few files open (`ulimit -n`); a server of many clients begins with
/// [`raise_open_files`](kadenz_rt::net::listener::raise_open_files).
///
/// ```
/// use kadenz_msg::provider::tcpq::{ServerOptions, TcpqServer};
///
/// let anywhere = ServerOptions { address: "127.0.0.1:0".parse()?, ..ServerOptions::default() };
/// let server = TcpqServer::start(&anywhere)?;
/// let url = format!("tcpq://{}", server.address());
/// assert_eq!(server.counters().clients, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TcpqServer {
    address: SocketAddr,
    counters: Arc<AtomicServerCounters>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl TcpqServer {
    /// Begins to listen, on a thread of its own.
    ///
    /// # Errors
    /// If the address is taken or not this host's, the system has no descriptor left, or the memory is less
    /// than [`ServerOptions::least_memory`].
    pub fn start(options: &ServerOptions) -> io::Result<Self> {
        if options.memory < options.least_memory() {
            let least = options.least_memory();
            let reason = format!("messages of that length need {least} bytes of memory");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let counters = Arc::new(AtomicServerCounters::default());
        let serving = Serving::begin(options, Arc::clone(&counters))?;
        let port = serving.port().unwrap_or(options.address.port());
        let waker = serving.waker();
        let thread = std::thread::Builder::new()
            .name("tcpq-server".to_owned())
            .spawn(move || serving.run())?;
        Ok(Self {
            address: SocketAddr::new(options.address.ip(), port),
            counters,
            waker,
            thread: Some(thread),
        })
    }

    /// Returns the address at which it listens; its port is never 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns its counters since the start.
    #[must_use]
    pub fn counters(&self) -> ServerCounters {
        self.counters.counters()
    }

    /// The connected clients, in the order of connection, with the messages that each was given or not.
    #[must_use]
    pub fn clients(&self) -> Vec<ClientCounters> {
        self.counters.clients()
    }
}

impl Drop for TcpqServer {
    fn drop(&mut self) {
        self.counters.ends.store(true, Ordering::Release);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            // A panic has printed its own message.
            let _ = thread.join();
        }
    }
}
