use std::time::Duration;

use kadenz_rt::clock::WallTime;

use crate::channel::Pattern;

/// How a log is played.
#[derive(Debug, Clone)]
pub struct PlayOptions {
    /// How much faster than it was recorded; 0 for as fast as possible.
    pub speed: f64,
    /// From which time of the log on.
    pub from: Option<WallTime>,
    /// Before which time of the log it ends.
    pub until: Option<WallTime>,
    /// Which channels; all where there is none.
    pub channels: Vec<Pattern>,
    /// Whether those channels are the ones to leave out.
    pub inverted: bool,
    /// Whether it begins again at its end.
    pub looped: bool,
    /// By how much each message may be late, evenly from zero on.
    pub jitter: Duration,
    /// Which share of messages is left out, from 0 to 1.
    pub loss: f64,
    /// The same seed gives the same jitter and loss.
    pub seed: u64,
}

impl Default for PlayOptions {
    /// Everything, once, as it was recorded.
    fn default() -> Self {
        Self {
            speed: 1.0,
            from: None,
            until: None,
            channels: Vec::new(),
            inverted: false,
            looped: false,
            jitter: Duration::ZERO,
            loss: 0.0,
            seed: 0,
        }
    }
}

impl PlayOptions {
    /// Whether a channel is to be played.
    #[must_use]
    pub fn wants(&self, channel: &str) -> bool {
        let named = self.channels.iter().any(|it| it.matches(channel));
        self.channels.is_empty() || named != self.inverted
    }
}
