//! Serves a camera: receives, decodes, converts and publishes on threads of its own.
//!
//! One thread receives, so that a slow decoder never fills the network's buffers; one decodes, converts and
//! publishes. Pictures that need no decoder are published by the thread that receives them. A camera that is lost is
//! opened again, with waits that double from [`ServerOptions::retry_first`] to [`ServerOptions::retry_longest`], under
//! the same name: readers keep what they have. A layout is converted only while a living process
//! [wants](kadenz_rt::shared::Wanted) it, and once however many do.

mod pipeline;
mod queue;
pub mod status;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::shared::{self, SharedError};

use pipeline::Pipeline;
pub use pipeline::ring_name;
use queue::{Meta, UnitQueue};
use status::{State, Status, StatusBoard};

use crate::layout::Layout;
use crate::lock;
use crate::picture::Picture;
use crate::ring::DEFAULT_SLOTS;
use crate::source::{Content, Next, Source, SourceError, Unit};

/// How long a thread waits before it looks whether it must stop.
const STOP_INTERVAL: Duration = Duration::from_millis(100);
/// How often the status is written.
const STATUS_INTERVAL: Duration = Duration::from_millis(250);

/// Opens a camera, and opens it again.
pub type OpenSource = Box<dyn FnMut() -> Opened + Send>;

/// The result of opening a camera.
pub type Opened = Result<Box<dyn Source>, SourceError>;

/// Options for serving a camera.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The name under which clients find it: letters, digits, `-` and `_`.
    pub name: String,
    /// The source's URL in the status; it must hold no credentials.
    pub url: String,
    /// Layouts that are published whether a client wants them or not.
    pub layouts: Vec<Layout>,
    /// Frames that each ring holds.
    pub slots: usize,
    /// The first wait before a lost camera is opened again.
    pub retry_first: Duration,
    /// The longest such wait.
    pub retry_longest: Duration,
}

impl ServerOptions {
    /// The defaults: 4 slots; opened again after 100 ms, doubling up to 5 s.
    #[must_use]
    pub fn new(name: &str, url: &str) -> Self {
        Self {
            name: name.to_owned(),
            url: url.to_owned(),
            layouts: Vec::new(),
            slots: DEFAULT_SLOTS,
            retry_first: Duration::from_millis(100),
            retry_longest: Duration::from_secs(5),
        }
    }
}

/// Why a camera cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The name is not valid.
    #[error("`{0}` is not a valid name of a camera; take 1 to 64 letters, digits, `-` and `_`")]
    Name(String),
    /// Another process serves under that name, or the system refuses shared memory.
    #[error(transparent)]
    Shared(#[from] SharedError),
    /// No thread can be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

/// A camera that is being served, until the value is dropped.
#[derive(Debug)]
pub struct CameraServer {
    common: Arc<Common>,
    threads: Vec<JoinHandle<()>>,
}

impl CameraServer {
    /// Starts to serve. Returns at once: the [`status`](Self::status) tells whether the camera answers.
    ///
    /// # Errors
    /// [`ServerError`], for example where another process serves a camera of that name.
    pub fn start(open: OpenSource, options: &ServerOptions) -> Result<Self, ServerError> {
        let name = &options.name;
        if !(1..=64).contains(&name.len()) || !is_name(name) {
            return Err(ServerError::Name(name.clone()));
        }
        // Killed servers leave their rings, which may be large.
        shared::sweep(status::PREFIX);
        let board = StatusBoard::create(name)?;
        let common = Arc::new(Common::new(board, options));
        common.update_status(true, |_| {});
        let mut server = Self {
            common,
            threads: Vec::new(),
        };
        let receiver = Receiver {
            common: Arc::clone(&server.common),
            options: options.clone(),
            number: 0,
            missed: 0,
            duplicated: 0,
            previous: None,
        };
        server.spawn("camera-receive", move || receiver.run(open))?;
        let common = Arc::clone(&server.common);
        server.spawn("camera-decode", move || common.decode_all())?;
        Ok(server)
    }

    fn spawn(
        &mut self,
        name: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), ServerError> {
        let mut thread = std::thread::Builder::new().name(name.to_owned());
        if cfg!(debug_assertions) {
            // Unoptimised, the conversion of a frame alone takes 1.7 MB of stack.
            thread = thread.stack_size(8 << 20);
        }
        self.threads
            .push(thread.spawn(work).map_err(ServerError::Thread)?);
        Ok(())
    }

    /// The server's present status.
    #[must_use]
    pub fn status(&self) -> Status {
        lock(&self.common.status_publisher).status.clone()
    }

    /// Whether the camera ended by itself or can never be opened.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.status().state, State::Ended | State::Failed)
    }
}

impl Drop for CameraServer {
    fn drop(&mut self) {
        self.common.stop.store(true, Ordering::Relaxed);
        self.common.ready.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// What the threads share.
struct Common {
    stop: AtomicBool,
    /// Whether an opened source sends: a picture that is decoded after its end does not make the camera run again. It
    /// becomes false with the status that says so.
    receives: AtomicBool,
    queue: Mutex<UnitQueue>,
    ready: Condvar,
    pipeline: Mutex<Pipeline>,
    status_publisher: Mutex<StatusPublisher>,
}

struct StatusPublisher {
    status: Status,
    board: StatusBoard,
    next: MonotonicTime,
}

impl std::fmt::Debug for Common {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Common").finish_non_exhaustive()
    }
}

impl Common {
    fn new(board: StatusBoard, options: &ServerOptions) -> Self {
        let pipeline = Pipeline::new(&options.name, &options.layouts, options.slots);
        let status = Status {
            name: options.name.clone(),
            url: options.url.clone(),
            state: State::Connecting,
            trouble: None,
            description: String::new(),
            decoder: None,
            size: None,
            rate_hz: 0.0,
            layouts: Vec::new(),
            counts: status::Counts::default(),
            process: std::process::id(),
        };
        Self {
            stop: AtomicBool::new(false),
            receives: AtomicBool::new(false),
            queue: Mutex::default(),
            ready: Condvar::new(),
            pipeline: Mutex::new(pipeline),
            status_publisher: Mutex::new(StatusPublisher {
                status,
                board,
                next: MonotonicTime::default(),
            }),
        }
    }

    fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Changes the status, and writes it where that is due or `now` is set.
    fn update_status(&self, now: bool, change: impl FnOnce(&mut Status)) {
        let mut status_publisher = lock(&self.status_publisher);
        let StatusPublisher {
            status,
            board,
            next,
        } = &mut *status_publisher;
        change(status);
        status.shorten();
        let time = clock::now();
        if now || time >= *next {
            *next = time + STATUS_INTERVAL;
            board.write(status);
        }
    }

    /// Writes what the pipeline knows into the status, after each frame.
    fn update_status_from(&self, pipeline: &mut Pipeline) {
        let decoder = pipeline.decoder_name();
        let publisher = pipeline.publisher();
        self.update_status(false, |status| {
            if self.receives.load(Ordering::Relaxed) {
                status.state = State::Running;
            }
            status.decoder = decoder.map(str::to_owned);
            status.size = publisher.size;
            status.counts = status::Counts {
                reconnects: status.counts.reconnects,
                ..publisher.counts
            };
            if publisher.interval_ns > 0.0 {
                status.rate_hz = 1e9 / publisher.interval_ns;
            }
            status.layouts = publisher.layouts();
            if let Some(trouble) = publisher.trouble.take() {
                status.trouble = Some(trouble);
            }
        });
    }

    /// The work of the thread that decodes.
    fn decode_all(&self) {
        while !self.stops() {
            let mut queue = lock(&self.queue);
            let Some(waiting) = queue.pop() else {
                let waited = self.ready.wait_timeout(queue, STOP_INTERVAL);
                drop(waited);
                continue;
            };
            let skipped = queue.skipped();
            drop(queue);
            let mut pipeline = lock(&self.pipeline);
            pipeline.publisher().counts.skipped = skipped;
            pipeline.decode(&waiting);
            self.update_status_from(&mut pipeline);
            drop(pipeline);
            lock(&self.queue).done(waiting);
        }
    }
}

/// The thread that receives.
struct Receiver {
    common: Arc<Common>,
    options: ServerOptions,
    /// The number of the last unit; lost ones count.
    number: u64,
    missed: u64,
    duplicated: u64,
    /// Length and checksum of the unit before.
    previous: Option<(usize, u32)>,
}

/// How an opened source ended.
enum SourceEnd {
    Stopped,
    Ended,
    Lost(SourceError),
}

impl Receiver {
    fn run(mut self, mut open: OpenSource) {
        let mut pause = self.options.retry_first;
        loop {
            let opened;
            (open, opened) = match self.opened(open) {
                Some(opened) => opened,
                None => return,
            };
            let before = self.number;
            let end = match opened {
                Ok(mut source) => self.receive(&mut *source),
                Err(error) => SourceEnd::Lost(error),
            };
            let error = match end {
                SourceEnd::Stopped => return,
                SourceEnd::Ended if self.number == 0 => SourceError::permanent(
                    format!("{} ended before its first picture", self.options.url),
                    "check that it is a video file or a folder of .jpg files, or that the camera sends",
                ),
                SourceEnd::Ended => {
                    self.drain();
                    return self.common.update_status(true, |status| {
                        self.common.receives.store(false, Ordering::Relaxed);
                        status.state = State::Ended;
                    });
                }
                SourceEnd::Lost(error) => error,
            };
            if self.number != before {
                pause = self.options.retry_first;
            }
            self.report_lost(&error);
            if !error.is_transient || !self.pause(pause) {
                return;
            }
            pause = (pause * 2).min(self.options.retry_longest);
        }
    }

    /// Opens the camera on a thread of its own, which the server leaves running where it must stop meanwhile: a camera
    /// or a name server may take long to answer.
    fn opened(&self, mut open: OpenSource) -> Option<(OpenSource, Opened)> {
        let (sender, opened) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name("camera-open".to_owned());
        let spawned = thread.spawn(move || {
            let source = open();
            // Where the receiver is gone, the source is closed.
            let _ = sender.send((open, source));
        });
        if let Err(error) = spawned {
            let cause = format!("cannot start a thread: {error}");
            self.report_lost(&SourceError::permanent(cause, "end other programs"));
            return None;
        }
        while !self.common.stops() {
            match opened.recv_timeout(STOP_INTERVAL) {
                Ok(opened) => return Some(opened),
                Err(RecvTimeoutError::Timeout) => {}
                // The thread panicked and has reported it.
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        None
    }

    fn report_lost(&self, error: &SourceError) {
        let state = if error.is_transient {
            State::Connecting
        } else {
            State::Failed
        };
        self.common.update_status(true, |status| {
            self.common.receives.store(false, Ordering::Relaxed);
            status.state = state;
            status.trouble = Some(error.to_string());
            status.counts.reconnects += 1;
        });
    }

    /// Sleeps; returns false where the server must stop.
    fn pause(&self, span: Duration) -> bool {
        let end = clock::now() + span;
        while !self.common.stops() {
            let left = end.remaining(clock::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(STOP_INTERVAL));
        }
        false
    }

    /// Waits until the decoder has taken all waiting units.
    fn drain(&self) {
        for _ in 0..100 {
            if self.common.stops() || lock(&self.common.queue).is_empty() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // The last one may still be in the decoder.
        drop(lock(&self.common.pipeline));
    }

    fn receive(&mut self, source: &mut dyn Source) -> SourceEnd {
        lock(&self.common.queue).clear();
        lock(&self.common.pipeline).reset();
        self.common.receives.store(true, Ordering::Relaxed);
        let mut is_first = true;
        while !self.common.stops() {
            match source.next(clock::now() + STOP_INTERVAL) {
                Ok(Next::Unit(unit)) => self.take(&unit),
                Ok(Next::Nothing) => continue,
                Ok(Next::Ended) => return SourceEnd::Ended,
                Err(error) => return SourceEnd::Lost(error),
            }
            if is_first {
                is_first = false;
                let description = source.description();
                self.common.update_status(true, |status| {
                    status.description = description;
                    status.trouble = None;
                });
            }
        }
        SourceEnd::Stopped
    }

    fn take(&mut self, unit: &Unit<'_>) {
        self.number += 1 + unit.missed;
        self.missed += unit.missed;
        let (coding, bytes) = match unit.content {
            Content::Encoded(coding, bytes) => (coding, bytes),
            Content::Picture(picture) => return self.publish(&picture, unit),
        };
        let content = (bytes.len(), crc32fast::hash(bytes));
        self.duplicated += u64::from(self.previous.replace(content) == Some(content));
        let meta = self.meta(unit);
        lock(&self.common.queue).push(coding, bytes, unit.is_key, meta);
        self.common.ready.notify_all();
    }

    fn publish(&self, picture: &Picture<'_>, unit: &Unit<'_>) {
        let meta = self.meta(unit);
        let mut pipeline = lock(&self.common.pipeline);
        let publisher = pipeline.publisher();
        publisher.note(&meta);
        publisher.update_demand();
        publisher.publish(picture, &meta, unit.arrival, 0);
        self.common.update_status_from(&mut pipeline);
    }

    fn meta(&self, unit: &Unit<'_>) -> Meta {
        Meta {
            number: self.number,
            capture: unit.capture,
            first_byte: unit.first_byte,
            arrival: unit.arrival,
            is_damaged: unit.is_damaged,
            missed: self.missed,
            duplicated: self.duplicated,
        }
    }
}

/// Whether a text can be the name of a served camera: URLs and paths of files contain characters that no name has.
#[must_use]
pub fn is_name(name_or_url: &str) -> bool {
    let allowed = |it: char| it.is_ascii_alphanumeric() || "-_".contains(it);
    name_or_url.chars().all(allowed)
}
