//! The status of a camera server, for people and other programs.
//!
//! The text is JSON in the shared memory `/dev/shm/kadenz-camera-NAME`: a word with a sequence that is odd while the
//! text is written, a word with its length, and the text from byte 16 on.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use kadenz_rt::shared::{self, Owner, SharedError, Viewer};
use serde::{Deserialize, Serialize};

use crate::picture::Size;

/// The prefix of the names of all shared memory of cameras.
pub const PREFIX: &str = "kadenz-camera-";
const WORDS: usize = 1024;
const TEXT_AT: usize = 16;

/// The state of a camera.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// No frame came yet, or none since the connection was lost; the server tries again.
    Connecting,
    /// Frames come from the camera.
    Running,
    /// It ended by itself: a file at its end.
    Ended,
    /// It cannot be opened, and trying again would not help.
    Failed,
}

/// Counts since the server's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Frames that were decoded.
    pub frames: u64,
    /// Frames that were lost on the way, damaged or undecodable.
    pub missed: u64,
    /// Frames with the same bytes as the frame before.
    pub duplicated: u64,
    /// Frames skipped because decoding fell behind.
    pub skipped: u64,
    /// How often the camera was opened again.
    pub reconnects: u64,
}

/// The status of a camera server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// The name of the camera, by which programs find its frames.
    pub name: String,
    /// Where the frames come from, without credentials.
    pub url: String,
    /// Whether frames come, or why not.
    pub state: State,
    /// The last trouble, with its remedy.
    pub trouble: Option<String>,
    /// What comes: `H.264 1920x1080 by RTSP over TCP`.
    pub description: String,
    /// The decoder's name; none where none is needed.
    pub decoder: Option<String>,
    /// Width and height of what the camera sends.
    pub size: Option<Size>,
    /// Frames a second, over the last ones.
    pub rate_hz: f64,
    /// The layouts that are published now.
    pub layouts: Vec<String>,
    /// What the server has counted since its start.
    pub counts: Counts,
    /// The server's process number.
    pub process: u32,
}

/// Each text has at most so many characters, so that all fit into the memory.
const MAX_TEXT: usize = 300;

impl Status {
    /// Leaves out the middle of long texts: a camera determines some of them, by what it redirects to.
    pub(super) fn shorten(&mut self) {
        let texts = [&mut self.url, &mut self.description];
        for text in texts.into_iter().chain(&mut self.trouble) {
            let count = text.chars().count();
            if count > MAX_TEXT {
                let half = MAX_TEXT / 2;
                let begin: String = text.chars().take(half).collect();
                *text = begin + "…" + &text.chars().skip(count - half).collect::<String>();
            }
        }
    }
}

/// Where a server writes its status.
#[derive(Debug)]
pub(super) struct StatusBoard {
    owner: Owner,
}

impl StatusBoard {
    pub(super) fn create(name: &str) -> Result<Self, SharedError> {
        let owner = Owner::create(&memory_name(name), WORDS)?;
        Ok(Self { owner })
    }

    pub(super) fn write(&mut self, status: &Status) {
        let text = serde_json::to_string(status).unwrap_or_default();
        if text.len() > WORDS * 8 - TEXT_AT {
            return;
        }
        let sequence = self.word(0).load(Ordering::Relaxed);
        self.word(0).store(sequence | 1, Ordering::Relaxed);
        fence(Ordering::Release);
        self.word(1).store(text.len() as u64, Ordering::Relaxed);
        self.owner
            .bytes_mut(TEXT_AT..TEXT_AT + text.len())
            .copy_from_slice(text.as_bytes());
        self.word(0).store((sequence | 1) + 1, Ordering::Release);
    }

    fn word(&self, place: usize) -> &AtomicU64 {
        &self.owner.words()[place]
    }
}

/// The name of the shared memory that holds a camera's status.
#[must_use]
pub fn memory_name(camera: &str) -> String {
    format!("{PREFIX}{camera}")
}

/// Reads the status of a camera's server; `None` where no server of that name runs.
#[must_use]
pub fn read(camera: &str) -> Option<Status> {
    let viewer = Viewer::open(&memory_name(camera)).ok()?;
    if viewer.count() != WORDS || !viewer.owner_lives() {
        return None;
    }
    (0..100).find_map(|_| read_once(&viewer))
}

fn read_once(viewer: &Viewer) -> Option<Status> {
    let before = viewer.load(0, Ordering::Acquire);
    let length = usize::try_from(viewer.load(1, Ordering::Relaxed)).ok()?;
    if before == 0 || before % 2 == 1 || length > WORDS * 8 - TEXT_AT {
        std::thread::yield_now();
        return None;
    }
    let mut text = vec![0; length];
    viewer.copy_to(TEXT_AT, &mut text);
    fence(Ordering::Acquire);
    let is_whole = viewer.load(0, Ordering::Relaxed) == before;
    is_whole.then(|| serde_json::from_slice(&text).ok())?
}

/// The cameras that are served on this machine, sorted by name.
#[must_use]
pub fn list() -> Vec<Status> {
    let names = shared::names(PREFIX).into_iter();
    let cameras = names.filter_map(|name| {
        let camera = name.strip_prefix(PREFIX)?;
        // A dot begins the name of a layout.
        (!camera.contains('.')).then(|| read(camera))?
    });
    let mut cameras: Vec<Status> = cameras.collect();
    cameras.sort_by(|one, other| one.name.cmp(&other.name));
    cameras
}
