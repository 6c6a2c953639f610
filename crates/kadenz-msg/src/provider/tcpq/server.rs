//! The server in the middle.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use kadenz_rt::net::port::Wait;
use kadenz_rt::net::watch::{Interest, Waker, Watch};

use super::books::{Books, ClientBooks, ClientCounters, ServerCounters, count};
use crate::channel::Pattern;
use crate::provider::stream::outgoing::Outgoing;
use crate::provider::stream::socket::{Door, Place, Socket};
use crate::wire::tcpq::{Broken, Decoder, Frame, MAGIC_SERVER, MessageHeader, Peer, greeting};

/// What a server allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOptions {
    /// Where it listens; port 0 lets the kernel choose.
    pub address: SocketAddr,
    /// Bytes that may wait for a client that does not read; what does not fit is dropped and counted.
    pub queue: usize,
    /// The longest message, in bytes; a client that sends a longer one is hung up on.
    pub longest: usize,
    /// The most clients.
    pub clients: usize,
}

impl Default for ServerOptions {
    /// LCM's port on the loopback address, so that nobody outside is served unless that is asked for.
    fn default() -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], super::PORT)),
            queue: 4_000_000,
            longest: 64 << 20,
            clients: 256,
        }
    }
}

/// After what the system refused, until it is asked again.
const REST: Duration = Duration::from_millis(10);

/// Patterns of one client.
const MOST_PATTERNS: usize = 1000;

/// Passes messages from each client to all that want them, as LCM's `TCPService` does, with a bounded
/// queue for each. Runs on a thread of its own until it is dropped.
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
    books: Arc<Books>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl TcpqServer {
    /// Begins to listen.
    ///
    /// # Errors
    /// Where the address is taken or not this host's, or the system has no descriptor left.
    pub fn start(options: &ServerOptions) -> io::Result<Self> {
        let door = Place::Tcp(options.address.to_string()).listen()?;
        let port = door.port().unwrap_or(options.address.port());
        let watch = Watch::new()?;
        let waker = watch.waker();
        let books = Arc::new(Books::default());
        let serving = Serving {
            options: options.clone(),
            books: Arc::clone(&books),
            door,
            watch,
            clients: Vec::new(),
            decoders: Vec::new(),
        };
        let thread = std::thread::Builder::new()
            .name("tcpq-server".to_owned())
            .spawn(move || serving.run())?;
        Ok(Self {
            address: SocketAddr::new(options.address.ip(), port),
            books,
            waker,
            thread: Some(thread),
        })
    }

    /// Where it listens; its port is never 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it did until now.
    #[must_use]
    pub fn counters(&self) -> ServerCounters {
        self.books.counters()
    }

    /// Who is connected, in the order of coming, and what each was given or not.
    #[must_use]
    pub fn clients(&self) -> Vec<ClientCounters> {
        self.books.clients()
    }
}

impl Drop for TcpqServer {
    fn drop(&mut self) {
        self.books.ends.store(true, Ordering::Release);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            // Its panic has been told already.
            let _ = thread.join();
        }
    }
}

struct Serving {
    options: ServerOptions,
    books: Arc<Books>,
    door: Door,
    watch: Watch,
    clients: Vec<Client>,
    /// Of each client, apart from it: what one sent is read while all are written to.
    decoders: Vec<Decoder>,
}

struct Client {
    socket: Socket,
    outgoing: Outgoing,
    wanted: Vec<Pattern>,
    books: Arc<ClientBooks>,
    gone: bool,
}

impl Serving {
    fn run(mut self) {
        while !self.books.ends.load(Ordering::Acquire) {
            self.watch.clear();
            for client in &self.clients {
                let interest = if client.outgoing.is_empty() {
                    Interest::Read
                } else {
                    Interest::ReadAndWrite
                };
                client.socket.watch(&mut self.watch, interest);
            }
            self.door.watch(&mut self.watch);
            if self.watch.wait(Wait::Forever).is_err() {
                // The kernel has no memory for it now.
                std::thread::sleep(REST);
                continue;
            }
            for at in 0..self.clients.len() {
                self.serve(at);
            }
            self.hang_up();
            self.let_in();
        }
    }

    fn serve(&mut self, at: usize) {
        let client = &mut self.clients[at];
        if self.watch.writable(at) && client.outgoing.flush(&mut client.socket).is_err() {
            client.gone = true;
        }
        if !self.watch.readable(at) || client.gone {
            return;
        }
        match client.socket.read(self.decoders[at].space()) {
            Ok(Some(count)) => self.decoders[at].filled(count),
            Ok(None) => return,
            Err(_) => {
                client.gone = true;
                return;
            }
        }
        if self.hear(at).is_err() {
            count(&self.books.refused);
            self.clients[at].gone = true;
        }
    }

    fn hear(&mut self, at: usize) -> Result<(), Broken> {
        while let Some(frame) = self.decoders[at].next()? {
            match frame {
                Frame::Publish { channel, payload } => {
                    count(&self.books.messages);
                    pass_on(&mut self.clients, channel, payload, &self.books)?;
                }
                Frame::Subscribe { pattern } => {
                    let wanted = &mut self.clients[at].wanted;
                    if wanted.len() == MOST_PATTERNS {
                        return Err(Broken::Name);
                    }
                    wanted.push(Pattern::new(pattern).map_err(|_| Broken::Name)?);
                }
                Frame::Unsubscribe { pattern } => {
                    let wanted = &mut self.clients[at].wanted;
                    if let Some(place) = wanted.iter().position(|it| it.as_str() == pattern) {
                        wanted.remove(place);
                    }
                }
            }
        }
        Ok(())
    }

    fn hang_up(&mut self) {
        for at in (0..self.clients.len()).rev() {
            if self.clients[at].gone {
                let gone = self.clients.swap_remove(at);
                self.decoders.swap_remove(at);
                self.books.forget(&gone.books);
            }
        }
    }

    fn let_in(&mut self) {
        loop {
            let mut socket = match self.door.accept() {
                Ok(Some(socket)) => socket,
                Ok(None) => return,
                Err(_) => {
                    // No descriptor is left, or who knocked is gone; the door stays readable.
                    std::thread::sleep(REST);
                    return;
                }
            };
            if self.clients.len() >= self.options.clients {
                count(&self.books.refused);
                continue;
            }
            let mut outgoing = Outgoing::new(self.options.queue);
            outgoing.say(&greeting(MAGIC_SERVER));
            let gone = outgoing.flush(&mut socket).is_err();
            self.clients.push(Client {
                books: self.books.remember(socket.peer()),
                socket,
                outgoing,
                wanted: Vec::new(),
                gone,
            });
            let decoder = Decoder::new(Peer::Client, self.options.longest);
            self.decoders.push(decoder);
        }
    }
}

fn pass_on(
    clients: &mut [Client],
    name: &str,
    payload: &[u8],
    books: &Books,
) -> Result<(), Broken> {
    let channel = name.parse().map_err(|_| Broken::Name)?;
    let header = MessageHeader::new(&channel, u32::try_from(payload.len()).unwrap_or(u32::MAX));
    for client in clients.iter_mut().filter(|it| !it.gone) {
        if !client.wanted.iter().any(|wanted| wanted.matches(name)) {
            continue;
        }
        let parts = [header.bytes(), payload, &[]];
        match client.outgoing.send(&mut client.socket, parts) {
            Ok(true) => books.delivered(&client.books),
            Ok(false) => books.dropped(&client.books),
            Err(_) => {
                books.dropped(&client.books);
                client.gone = true;
            }
        }
    }
    Ok(())
}
