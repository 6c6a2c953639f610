//! A simulated camera: RTSP over TCP and UDP, or MJPEG over HTTP, with the number and the time of each picture
//! painted into it, faults by script, and a log of when each picture was sent.
//!
//! What is exact: [`CameraSim::sent`] gives the time just before a picture's first byte was handed to the kernel, and
//! the time just after its last. Across processes, the [barcode](crate::barcode) carries when the picture was *meant*
//! to be sent ([`Code::sent_ns`](crate::barcode::Code::sent_ns)), on the same machine's monotonic clock; the log says
//! how much later it was.
//!
//! A camera whose pictures repeat ([`Options::loop_frames`]) is encoded at the start and then costs next to nothing,
//! so that it does not slow down what is measured beside it.
//!
//! ```no_run
//! use kadenz_camera::sim::{CameraSim, Options};
//!
//! let camera = CameraSim::start(Options::default())?;
//! println!("{}", camera.url());
//! # Ok::<(), kadenz_camera::sim::SimError>(())
//! ```

pub(crate) mod encode;
mod http;
mod jpeg;
mod pace;
mod packets;
mod request;
mod rtsp;
mod script;
mod stream;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use kadenz_rt::beat::{Interval, Rate};
use kadenz_rt::clock::{MonotonicTime, now};
use kadenz_rt::net::listener::{Connected, Connections};

pub use jpeg::JpegEncoder;
pub use pace::{MAX_LATENESS, Sent};
pub use script::{Event, Fault, Script, ScriptError};

use crate::picture::Size;
use stream::Stream;

/// How pictures are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// H.264 by RTSP; the client chooses TCP or UDP.
    Rtsp,
    /// JPEG as multipart by HTTP.
    Http,
}

/// What the simulated camera sends, and how.
#[derive(Clone)]
pub struct Options {
    /// Where to listen; port 0 takes a free one.
    pub bind: SocketAddr,
    /// How pictures are served.
    pub protocol: Protocol,
    /// The pictures' size.
    pub size: Size,
    /// The pictures' rate.
    pub rate: Rate,
    /// A key is every so many pictures.
    pub keys_every: u32,
    /// The pictures repeat after so many, rounded up to whole groups from key to key; they are encoded before the
    /// camera answers. `None` encodes each picture ahead of its time, on a thread.
    pub loop_frames: Option<u32>,
    /// User and password, which the camera asks for by Digest (RFC 2617, MD5).
    pub credentials: Option<(String, String)>,
    /// How often the camera sends a sender report; one comes with the first picture.
    pub reports_every: Duration,
    /// The faults of the camera and their times.
    pub script: Script,
    /// The seed of all that the script leaves to chance.
    pub seed: u64,
    /// The camera turns away more clients than this, where all of these get pictures.
    pub max_clients: usize,
    /// How many pictures the log holds; the oldest are forgotten.
    pub log_frames: usize,
}

impl Default for Options {
    /// 1080p at 30 Hz by RTSP on loopback, a loop of five seconds, a key every second.
    fn default() -> Self {
        let [_, _, (_, full_hd), _] = Size::NAMED;
        let rate = Interval::from_fraction(1_000_000_000, 30).map(Rate::of_interval);
        let rate = rate.unwrap_or_else(|error| unreachable!("30 Hz is a rate: {error}"));
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            protocol: Protocol::Rtsp,
            size: full_hd,
            rate,
            keys_every: 30,
            loop_frames: Some(150),
            credentials: None,
            reports_every: Duration::from_secs(5),
            script: Script::default(),
            seed: 0,
            max_clients: 8,
            log_frames: 1 << 16,
        }
    }
}

/// Why a camera cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The options ask for a camera that cannot be simulated.
    #[error("this camera cannot be simulated: {0}")]
    Options(String),
    /// The encoder's error text.
    #[error("the encoder refuses: {0}; choose a size up to 3840x2160 and a rate up to 60 Hz")]
    Encoder(String),
    /// The address cannot be listened at.
    #[error("cannot listen at {address}: {source}; choose a free address of this machine")]
    Listen {
        /// The address as stated.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
}

/// What all threads of a camera share.
struct SimContext {
    options: Options,
    stream: Stream,
    log: Mutex<VecDeque<Sent>>,
    is_over: AtomicBool,
}

impl SimContext {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn elapsed(&self) -> Duration {
        Duration::from_nanos(now().since(self.stream.begun).max(0) as u64)
    }

    fn log(&self) -> MutexGuard<'_, VecDeque<Sent>> {
        crate::lock(&self.log)
    }
}

/// A camera that runs until it is dropped.
pub struct CameraSim {
    shared: Arc<SimContext>,
    address: SocketAddr,
    threads: Vec<JoinHandle<()>>,
}

impl CameraSim {
    /// Encodes the pictures and starts to serve them. This takes seconds where the loop is long and the pictures are
    /// large.
    ///
    /// # Errors
    /// [`SimError`].
    pub fn start(options: Options) -> Result<Self, SimError> {
        let address = options.bind;
        let listen = |source| SimError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let stream = Stream::new(&options)?;
        let shared = Arc::new(SimContext {
            log: Mutex::new(VecDeque::with_capacity(options.log_frames.min(1 << 16))),
            is_over: AtomicBool::new(false),
            options,
            stream,
        });
        let mut threads = Vec::new();
        if shared.options.loop_frames.is_none() {
            let shared = Arc::clone(&shared);
            threads.push(std::thread::spawn(move || {
                // The encoder refuses options with the first picture; a client then gets none.
                let _ = shared
                    .stream
                    .encode_live(&shared.options, &|| shared.is_over());
            }));
        }
        let of_listener = Arc::clone(&shared);
        threads.push(std::thread::spawn(move || {
            listen_on(&of_listener, listener, address);
        }));
        Ok(Self {
            shared,
            address,
            threads,
        })
    }

    /// The address that it listens at.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL, without credentials.
    #[must_use]
    pub fn url(&self) -> String {
        match self.shared.options.protocol {
            Protocol::Rtsp => format!("rtsp://{}/camera", self.address),
            Protocol::Http => format!("http://{}/camera.mjpg", self.address),
        }
    }

    /// All pictures sent to any client, oldest first, as far as the log reaches.
    #[must_use]
    pub fn log(&self) -> Vec<Sent> {
        self.shared.log().iter().copied().collect()
    }

    /// The last time before `seen` that the picture with a painted number was sent.
    #[must_use]
    pub fn sent(&self, number: u32, seen: MonotonicTime) -> Option<Sent> {
        let log = self.shared.log();
        let mut backwards = log.iter().rev();
        backwards
            .find(|it| it.number == number && it.first_byte <= seen)
            .copied()
    }
}

impl Drop for CameraSim {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that panicked has reported it.
            let _ = thread.join();
        }
    }
}

/// How often the listener looks for clients and faults.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A client that does not take its data within this time is given up.
const MAX_WRITING: Duration = Duration::from_secs(10);

/// The clients and the threads that serve them.
struct Clients {
    connections: Connections,
    threads: Vec<JoinHandle<()>>,
}

impl Clients {
    fn close(&mut self) {
        self.connections.close();
        for thread in self.threads.drain(..) {
            // A thread that panicked has reported it.
            let _ = thread.join();
        }
    }
}

/// Takes clients in, closes their connections where the script says so, and all of them at the end.
fn listen_on(shared: &Arc<SimContext>, listener: TcpListener, address: SocketAddr) {
    let script = &shared.options.script;
    let mut listener = Some(listener);
    let mut clients = Clients {
        connections: Connections::new(shared.options.max_clients),
        threads: Vec::new(),
    };
    let (mut looked, mut client) = (Duration::ZERO, 0);
    while !shared.is_over() {
        let elapsed = shared.elapsed();
        if script.is_rebooting(elapsed) {
            listener = None;
        } else if listener.is_none() {
            listener = TcpListener::bind(address).ok();
        }
        if script.closes_between(looked, elapsed) {
            clients.close();
        }
        looked = elapsed;
        clients.threads.retain(|it| !it.is_finished());
        let accepted = listener.as_ref().and_then(|listener| {
            listener.set_nonblocking(true).ok()?;
            listener.accept().ok()
        });
        let Some((stream, _)) = accepted else {
            std::thread::sleep(POLL_INTERVAL);
            continue;
        };
        if let Some(connected) = clients.connections.admit(&stream) {
            client += 1;
            let thread = serve(shared, stream, client, connected);
            clients.threads.extend(thread);
        }
    }
    clients.close();
}

/// Starts the thread of a client; `None` where the connection is gone already.
fn serve(
    shared: &Arc<SimContext>,
    stream: TcpStream,
    client: u64,
    connected: Connected,
) -> Option<JoinHandle<()>> {
    stream.set_nonblocking(false).ok()?;
    stream.set_nodelay(true).ok()?;
    stream.set_write_timeout(Some(MAX_WRITING)).ok()?;
    let shared = Arc::clone(shared);
    Some(std::thread::spawn(move || {
        // An error of a connection ends it, and the client sees that.
        let _ = match shared.options.protocol {
            Protocol::Rtsp => rtsp::serve(&shared, &stream, client, &connected),
            Protocol::Http => http::serve(&shared, &stream, client, &connected),
        };
        let _ = stream.shutdown(Shutdown::Both);
    }))
}
