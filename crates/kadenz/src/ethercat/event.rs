use std::fmt;
use std::time::Duration;

use kadenz_ethercat::control::notice::Incident;
use kadenz_ethercat::motion::Stopped;
use kadenz_record::numbers;

use super::error::BringUpNetworkError;

/// Notices that wait for the listener to events at most.
pub(super) const KEPT_NOTICES: usize = 4_096;

/// An event for the user while a network is brought up and its loop runs. It displays as a sentence.
#[derive(Debug)]
#[non_exhaustive]
pub enum NetworkEvent<'e> {
    /// Bring-up is tried again, for at most so long. Sent once.
    Retrying {
        /// The error of the first try.
        error: &'e BringUpNetworkError,
        /// For how long.
        within: Duration,
    },
    /// Bring-up, which was tried again, has succeeded.
    BroughtUp {
        /// How long it took.
        after: Duration,
    },
    /// The loop starts without expected devices, which may join later.
    Without {
        /// Their names and positions.
        devices: &'e str,
    },
    /// A note on the segment.
    Note(&'e str),
    /// Devices, links or frames went or came back, or devices left their states: all notices of one fault, as
    /// `kadenz ethercat run` prints them. Sent about a quarter of a second after the last loss, and at most 2 s after
    /// the first device came back. During the shutdown cycles nothing is reported.
    Incident(&'e Incident),
    /// All axes were stopped, and stay stopped until a reset.
    AxesStopped(&'e Stopped),
}

impl fmt::Display for NetworkEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retrying { error, within } => {
                let within = numbers::span(within.as_nanos() as f64);
                write!(f, "bring-up, tried again for up to {within}: {error}")
            }
            Self::BroughtUp { after } => {
                write!(f, "bring-up: done after {:.1} s", after.as_secs_f64())
            }
            Self::Without { devices } => write!(f, "bring-up: starts without {devices}"),
            Self::Note(note) => f.write_str(note),
            Self::Incident(incident) => incident.fmt(f),
            Self::AxesStopped(stopped) => write!(f, "all axes are stopped: {}", stopped.why),
        }
    }
}

type Listener = Box<dyn Fn(&NetworkEvent<'_>) + Send + Sync>;

/// The listener to events, where there is one.
#[derive(Default)]
pub(super) struct Events(pub(super) Option<Listener>);

impl Events {
    pub(super) fn send(&self, event: &NetworkEvent<'_>) {
        if let Some(listener) = &self.0 {
            listener(event);
        }
    }

    pub(super) const fn is_heard(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn note(&self, note: &str) {
        self.send(&NetworkEvent::Note(note));
    }
}
