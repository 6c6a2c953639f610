//! The client's side: a program opens one [`Camera`], or several as a [`CameraGroup`].

mod group;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kadenz_rt::clock;
use kadenz_rt::shared::{self, SharedError, Viewer, Wanted};

pub use group::{CameraGroup, FrameSet, FrameSetError};

use crate::layout::{Channels, Layout, LayoutError, Order};
use crate::ring::{Frame, RingError, RingReader, RingState};
use crate::server::status::{self, State};
use crate::server::{CameraServer, OpenSource, ServerError, ServerOptions, is_name, ring_name};
use crate::source::{self, NetworkOptions, SourceError};

/// How long opening waits for the first frame, where nothing else is stated.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// How often opening looks whether the ring exists.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// How often opening looks whether the camera has failed, while it waits for the first frame.
const FAILURE_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// After this time without a new frame, the client looks whether the camera has another ring.
const RING_CHECK_AFTER: Duration = Duration::from_millis(200);

/// Why a camera cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenCameraError {
    /// The requested layout is not valid.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// No server of that name runs on this machine.
    #[error(
        "no camera `{0}` is served on this machine; start it with `kadenz camera serve URL --name {0}`, or open its URL"
    )]
    NotServed(String),
    /// The URL cannot be opened.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// This process cannot serve the camera.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The shared memory cannot be used.
    #[error(transparent)]
    Shared(#[from] SharedError),
    /// A ring that this program cannot read.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// The camera's server has given up, or its source has ended.
    #[error("cannot open the camera: {0}")]
    Failed(String),
    /// No frame came in time.
    #[error("no frame of `{camera}` came within {timeout:?}: {why}")]
    Silent {
        /// The camera's name or URL.
        camera: String,
        /// How long the client waited.
        timeout: Duration,
        /// The state of the camera, from its server's status.
        why: String,
    },
}

/// Why there is no frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The newest frame is older than the caller allows.
    #[error("the newest frame is {age:?} old, and {max_age:?} is allowed; {why}")]
    Stale {
        /// The frame's age.
        age: Duration,
        /// The limit that the caller gave.
        max_age: Duration,
        /// The state of the camera, from its server's status.
        why: String,
    },
    /// No new frame came in time.
    #[error("no new frame came within {waited:?}; {why}")]
    Timeout {
        /// How long the client waited.
        waited: Duration,
        /// The state of the camera, from its server's status.
        why: String,
    },
}

/// Options for opening a camera.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// The layout of its frames.
    pub layout: Layout,
    /// How long to wait for the first frame.
    pub timeout: Duration,
    /// How a URL is opened; the name of a server does not use them.
    pub source: NetworkOptions,
}

impl Default for OpenOptions {
    /// Rows of interleaved red, green, blue; 10 s.
    fn default() -> Self {
        Self {
            layout: Layout::whole(Channels::Rgb, Order::Interleaved),
            timeout: DEFAULT_TIMEOUT,
            source: NetworkOptions::default(),
        }
    }
}

/// A camera: gives its newest frame, in a layout, with the frame's age.
///
/// A name opens a camera that another process serves (`kadenz camera serve`); threads of this process serve a URL.
/// Either way the handle stays valid: it finds a camera again that reboots, changes its size or whose server restarts,
/// and meanwhile [`latest`](Self::latest) reports that the newest frame is too old.
///
/// # Real-time safety
/// [`Camera::latest`] is for a loop while frames come, as stated there. [`Camera::next`] waits. Opening a camera, and
/// asking for its status, allocate and call the system. The other methods do neither.
#[derive(Debug)]
pub struct Camera {
    name: String,
    layout: Layout,
    ring: RingReader,
    /// The count of the last frame that [`next`](Self::next) returned.
    given: u64,
    _wanted: Wanted,
    server: Option<CameraServer>,
}

impl Camera {
    /// Opens the camera of a name or a URL, and waits for its first frame: rows of interleaved red, green, blue.
    ///
    /// # Errors
    /// [`OpenCameraError`].
    pub fn open(name_or_url: &str) -> Result<Self, OpenCameraError> {
        Self::open_with(name_or_url, &OpenOptions::default())
    }

    /// Opens a camera in a layout of your choice.
    ///
    /// # Errors
    /// [`OpenCameraError`].
    pub fn open_with(name_or_url: &str, options: &OpenOptions) -> Result<Self, OpenCameraError> {
        if is_name(name_or_url) {
            return Self::attach(name_or_url, options, None);
        }
        let url = name_or_url.to_owned();
        let source = options.source;
        let open: OpenSource = Box::new(move || source::open(&url, &source));
        Self::serve(open, &source::without_credentials(name_or_url), options)
    }

    /// Opens a source of your own.
    ///
    /// # Errors
    /// [`OpenCameraError`].
    pub fn serve(
        open: OpenSource,
        url: &str,
        options: &OpenOptions,
    ) -> Result<Self, OpenCameraError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Killed processes leave their shared memory, which is large.
        shared::sweep(&format!("{}process-", status::PREFIX));
        let name = format!("process-{}-{count}", std::process::id());
        let server = CameraServer::start(open, &ServerOptions::new(&name, url))?;
        Self::attach(&name, options, Some(server))
    }

    fn attach(
        name: &str,
        options: &OpenOptions,
        server: Option<CameraServer>,
    ) -> Result<Self, OpenCameraError> {
        let memory = ring_name(name, &options.layout);
        let wanted = Wanted::say(&memory)?;
        let end = clock::now() + options.timeout;
        loop {
            let said = status_of(server.as_ref(), name);
            let wait = end.remaining(clock::now()).min(FAILURE_POLL_INTERVAL);
            match RingReader::open(&memory) {
                Ok(ring) if ring.state() == RingState::InUse && ring.wait_beyond(0, wait) => {
                    return Ok(Self {
                        name: name.to_owned(),
                        layout: options.layout,
                        ring,
                        given: 0,
                        _wanted: wanted,
                        server,
                    });
                }
                Err(RingError::Shared(error @ SharedError::File(_))) => return Err(error.into()),
                // The server is making the ring, or is about to replace it.
                Ok(_) | Err(RingError::Shared(_) | RingError::Foreign { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            if said.is_none() {
                return Err(match Viewer::open(&status::memory_name(name)) {
                    // A file that is not the server's has the name.
                    Err(error @ SharedError::File(_)) => error.into(),
                    _ => OpenCameraError::NotServed(name.to_owned()),
                });
            }
            let has_ended = |it: &status::Status| matches!(it.state, State::Ended | State::Failed);
            if said.as_ref().is_some_and(has_ended) {
                return Err(OpenCameraError::Failed(describe(said.as_ref())));
            }
            if let Some(size) = said.as_ref().and_then(|it| it.size) {
                options.layout.output_size(size)?;
            }
            if end.remaining(clock::now()).is_zero() {
                return Err(OpenCameraError::Silent {
                    camera: said
                        .as_ref()
                        .map_or_else(|| name.to_owned(), |it| it.url.clone()),
                    timeout: options.timeout,
                    why: describe(said.as_ref()),
                });
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Returns the newest frame, where it is not older than `max_age`.
    ///
    /// # Errors
    /// [`FrameError::Stale`]; the handle stays valid.
    ///
    /// # Real-time safety
    /// While frames come: neither allocates, locks nor calls the system. Where the newest frame is too old, or the
    /// server published none for 200 ms, the handle looks whether the camera has another ring now, which allocates and
    /// calls the system.
    pub fn latest(&mut self, max_age: Duration) -> Result<Frame<'_>, FrameError> {
        if !self.has_frame_within(max_age) {
            self.follow();
        }
        let newest = self.ring.latest();
        match newest {
            Some(frame) if frame.age() <= max_age => {
                self.given = frame.count();
                Ok(frame)
            }
            _ => Err(self.stale(max_age)),
        }
    }

    fn stale(&self, max_age: Duration) -> FrameError {
        FrameError::Stale {
            age: self
                .ring
                .latest()
                .map_or(Duration::MAX, |frame| frame.age()),
            max_age,
            why: self.why(),
        }
    }

    /// Says why no frame comes. Calls the system.
    fn why(&self) -> String {
        describe(status::read(&self.name).as_ref())
    }

    /// The camera's name in error texts: the URL where this process serves it, since its generated name tells the user
    /// nothing.
    fn label(&self) -> String {
        match &self.server {
            Some(server) => server.status().url,
            None => self.name.clone(),
        }
    }

    fn has_frame_within(&self, max_age: Duration) -> bool {
        let newest = self.ring.latest();
        !self.is_quiet() && newest.is_some_and(|frame| frame.age() <= max_age)
    }

    /// Whether the server published nothing for some time, so that there may be another ring.
    fn is_quiet(&self) -> bool {
        self.ring.latest().is_none_or(|frame| {
            let since_ns = clock::now().since(frame.info().published);
            u128::from(since_ns.max(0).unsigned_abs()) > RING_CHECK_AFTER.as_nanos()
        })
    }

    /// Returns the newest frame that it has not returned yet, and waits for one until the span is over.
    ///
    /// # Errors
    /// [`FrameError::Timeout`]; the handle stays valid.
    pub fn next(&mut self, timeout: Duration) -> Result<Frame<'_>, FrameError> {
        let end = clock::now() + timeout;
        loop {
            if self
                .ring
                .wait_beyond(self.given, end.remaining(clock::now()))
            {
                break;
            }
            if end.remaining(clock::now()).is_zero() {
                return Err(FrameError::Timeout {
                    waited: timeout,
                    why: self.why(),
                });
            }
            if !self.follow() {
                std::thread::sleep(POLL_INTERVAL);
            }
        }
        // Only a writer that is a whole ring ahead hides the frame, and then another one is there.
        let frame = self.ring.latest().ok_or(FrameError::Timeout {
            waited: timeout,
            why: "frames are overwritten faster than they are read".to_owned(),
        })?;
        self.given = frame.count();
        Ok(frame)
    }

    /// Opens the ring that has taken the place of this one; returns whether there is one.
    fn follow(&mut self) -> bool {
        let Ok(ring) = RingReader::open(&ring_name(&self.name, &self.layout)) else {
            return false;
        };
        if ring.generation() == self.ring.generation() {
            return false;
        }
        self.ring = ring;
        self.given = 0;
        true
    }

    /// The ring that the camera reads, for views and waits of your own.
    #[must_use]
    pub fn ring(&self) -> &RingReader {
        &self.ring
    }

    /// The camera's name, by which other processes of this user open it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The layout of its frames.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The status of the camera's server; `None` where the server has ended. Calls the system.
    #[must_use]
    pub fn status(&self) -> Option<status::Status> {
        status_of(self.server.as_ref(), &self.name)
    }
}

/// The status of a server of this process, or else of the one of that name.
fn status_of(server: Option<&CameraServer>, name: &str) -> Option<status::Status> {
    server
        .map(CameraServer::status)
        .or_else(|| status::read(name))
}

fn describe(status: Option<&status::Status>) -> String {
    let Some(status) = status else {
        return "its server has ended; start it again".to_owned();
    };
    match (status.state, &status.trouble) {
        (State::Ended, _) => "the source has ended".to_owned(),
        (State::Running, Some(trouble)) => {
            format!("the camera runs, and sends no frames; its last error: {trouble}")
        }
        (_, Some(trouble)) => trouble.clone(),
        (State::Running, None) => "the camera runs, and sends no frames".to_owned(),
        (_, None) => "the camera was not reached yet".to_owned(),
    }
}
