//! What a program opens: [`Camera`], or several as a [`CameraGroup`].

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
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(10);
/// How often it looks whether a ring is there.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// How often it looks whether the camera has failed, while it waits for the first frame.
const FAILURE_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Where nothing was published for so long, the camera may have another ring.
const QUIET: Duration = Duration::from_millis(200);

/// Why a camera cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenCameraError {
    /// What was asked for is not a valid layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// No server of that name runs here.
    #[error(
        "no camera `{0}` is served on this machine; start it with `kadenz camera serve URL --name {0}`, or open its URL"
    )]
    NotServed(String),
    /// The URL cannot be opened.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It cannot be served in this process.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// Shared memory.
    #[error(transparent)]
    Shared(#[from] SharedError),
    /// A ring that this program cannot read.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// Its server has given up, or its source is at its end.
    #[error("cannot open the camera: {0}")]
    Failed(String),
    /// No frame came in time.
    #[error("no frame of `{camera}` came within {patience:?}: {why}")]
    Silent {
        /// Its name or URL.
        camera: String,
        /// How long it was waited.
        patience: Duration,
        /// What the server says.
        why: String,
    },
}

/// Why there is no frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The newest frame is older than was asked for.
    #[error("the newest frame is {age:?} old, asked for was {max_age:?} at most; {why}")]
    Stale {
        /// Its age.
        age: Duration,
        /// What was asked for.
        max_age: Duration,
        /// How the camera is.
        why: String,
    },
    /// No new frame came in time.
    #[error("no new frame came within {waited:?}; {why}")]
    Timeout {
        /// How long it was waited.
        waited: Duration,
        /// How the camera is.
        why: String,
    },
}

/// How a camera is opened.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// The layout of its frames.
    pub layout: Layout,
    /// How long to wait for the first frame.
    pub patience: Duration,
    /// How its URL is opened, where it is not served already.
    pub source: NetworkOptions,
}

impl Default for OpenOptions {
    /// Rows of interleaved red, green, blue; 10 s.
    fn default() -> Self {
        Self {
            layout: Layout::whole(Channels::Rgb, Order::Interleaved),
            patience: DEFAULT_PATIENCE,
            source: NetworkOptions::default(),
        }
    }
}

/// A camera: its newest frame, in a layout, with its age.
///
/// What has a name is served by another process (`kadenz camera serve`); a URL is served by threads of this one.
/// Either way the handle stays good: a camera that reboots, changes its size or whose server is started again is found
/// again, and meanwhile [`latest`](Self::latest) tells that the newest frame is too old.
#[derive(Debug)]
pub struct Camera {
    name: String,
    layout: Layout,
    ring: RingReader,
    /// The count of the last frame that [`next`](Self::next) gave.
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
        // What killed processes left is large.
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
        let end = clock::now() + options.patience;
        loop {
            let said = match &server {
                Some(server) => Some(server.status()),
                None => status::read(name),
            };
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
                // It is being made, or about to be replaced.
                Ok(_) | Err(RingError::Shared(_) | RingError::Foreign { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            if said.is_none() {
                return Err(match Viewer::open(&status::memory_name(name)) {
                    // Its name is taken.
                    Err(error @ SharedError::File(_)) => error.into(),
                    _ => OpenCameraError::NotServed(name.to_owned()),
                });
            }
            let has_ended = |it: &status::Status| matches!(it.state, State::Ended | State::Failed);
            if said.as_ref().is_some_and(has_ended) {
                return Err(OpenCameraError::Failed(describe(said.as_ref())));
            }
            if end.remaining(clock::now()).is_zero() {
                return Err(OpenCameraError::Silent {
                    camera: said
                        .as_ref()
                        .map_or_else(|| name.to_owned(), |it| it.url.clone()),
                    patience: options.patience,
                    why: describe(said.as_ref()),
                });
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// The newest frame, where it is not older than `max_age`.
    ///
    /// # Errors
    /// [`FrameError::Stale`]; the handle stays good.
    ///
    /// # Real-time safety
    /// While frames come: neither allocates, locks nor calls the system. Where the newest is too old, or none was
    /// published for 200 ms, it looks whether the camera has another ring now, which allocates and calls the system.
    pub fn latest(&mut self, max_age: Duration) -> Result<Frame<'_>, FrameError> {
        if !self.has_fresh(max_age) {
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

    /// Why no frame comes. Calls the system.
    fn why(&self) -> String {
        describe(status::read(&self.name).as_ref())
    }

    /// What it is called: the URL of one that this process serves, whose name means nothing.
    fn label(&self) -> String {
        match &self.server {
            Some(server) => server.status().url,
            None => self.name.clone(),
        }
    }

    fn has_fresh(&self, max_age: Duration) -> bool {
        let newest = self.ring.latest();
        !self.is_quiet() && newest.is_some_and(|frame| frame.age() <= max_age)
    }

    /// Whether nothing was published for some time, so that there may be another ring.
    fn is_quiet(&self) -> bool {
        self.ring.latest().is_none_or(|frame| {
            let since_ns = clock::now().since(frame.info().published);
            u128::from(since_ns.max(0).unsigned_abs()) > QUIET.as_nanos()
        })
    }

    /// The newest frame that was not given yet, waiting for one until the span is over.
    ///
    /// # Errors
    /// [`FrameError::Timeout`]; the handle stays good.
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
        // Only a writer that is a whole ring further hides it, and then another one is there.
        let frame = self.ring.latest().ok_or(FrameError::Timeout {
            waited: timeout,
            why: "frames are overwritten faster than they are read".to_owned(),
        })?;
        self.given = frame.count();
        Ok(frame)
    }

    /// Opens the ring that has taken the place of this one; whether there is one.
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

    /// The ring that it reads, for views and waits of your own.
    #[must_use]
    pub fn ring(&self) -> &RingReader {
        &self.ring
    }

    /// Its name: what other processes of this user open it by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The layout of its frames.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What its server says; `None` where there is none any more. Calls the system.
    #[must_use]
    pub fn status(&self) -> Option<status::Status> {
        match &self.server {
            Some(server) => Some(server.status()),
            None => status::read(&self.name),
        }
    }
}

fn describe(status: Option<&status::Status>) -> String {
    let Some(status) = status else {
        return "its server has ended; start it again".to_owned();
    };
    match (status.state, &status.trouble) {
        (State::Running, _) => "the camera runs, and sends no frames".to_owned(),
        (State::Ended, _) => "the source has ended".to_owned(),
        (_, Some(trouble)) => trouble.clone(),
        (_, None) => "the camera was not reached yet".to_owned(),
    }
}
