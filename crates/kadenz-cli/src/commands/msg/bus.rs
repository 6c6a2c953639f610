//! Shared parts of the commands on a bus: the URL, receiving, and the end.

use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use kadenz::lab::stop::Stop;
use kadenz::msg::bus::{Bus, BusListener, ListenerEvent, Raw, RecvError, SubscribeError};
use kadenz::msg::provider::{self, Provider};
use kadenz::msg::service::types_on_wire::{NotAnnouncedError, TypeAnnouncer};
use kadenz::report::numbers;
use kadenz::rt::clock::MonotonicTime;

use crate::commands::interrupt;
use crate::options::Span;
use crate::output;

/// URL of the bus.
#[derive(Clone, Debug, Args)]
pub(in crate::commands) struct BusOption {
    /// The bus: udpm://239.255.76.67:7667?ttl=0, tcpq://127.0.0.1:7700, ...
    /// [default: LCM_DEFAULT_URL, or LCM's own]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

impl BusOption {
    pub(in crate::commands) fn url(&self) -> String {
        self.url.clone().unwrap_or_else(provider::default_url)
    }

    pub(super) fn open(&self) -> anyhow::Result<Bus> {
        let url = self.url();
        let provider = open(&url)?;
        Ok(Bus::over(&url, provider))
    }
}

/// URL of the bus, which for one version may still stand without `--url`, as before.
#[derive(Clone, Debug, Args)]
pub(in crate::commands) struct BusOptionOrUrl {
    #[command(flatten)]
    bus: BusOption,

    /// The bus, without `--url`
    #[arg(value_name = "URL", hide = true, conflicts_with = "url")]
    bare_url: Option<String>,
}

impl BusOptionOrUrl {
    pub(in crate::commands) fn url(&self) -> String {
        self.bare_url.clone().unwrap_or_else(|| self.bus.url())
    }
}

/// Announces types to other programs; `None` where no program could ask, or where that fails, which is noted.
pub(in crate::commands) fn type_announcer(
    url: &str,
    provider: &Arc<dyn Provider>,
) -> Option<TypeAnnouncer> {
    let started = TypeAnnouncer::start(url, provider);
    started.unwrap_or_else(|error| {
        note_unannounced(&error);
        None
    })
}

pub(in crate::commands) fn note_unannounced(error: &NotAnnouncedError) {
    output::note(&error.to_string());
}

/// Opens the provider of a URL.
pub(in crate::commands) fn open(url: &str) -> anyhow::Result<Arc<dyn Provider>> {
    // The provider may listen, and each peer needs a descriptor. With the old limit it would serve only as many peers
    // as that allows.
    let _ = kadenz::rt::net::listener::raise_open_files();
    provider::open(url).context(UNUSABLE)
}

/// The context of an error that a provider explains.
const UNUSABLE: &str = "the bus cannot be used";

/// The error of a bus that cannot be listened to.
pub(super) fn unusable(error: SubscribeError) -> anyhow::Error {
    match error {
        SubscribeError::Pattern(error) => error.into(),
        error => anyhow::Error::from(error).context(UNUSABLE),
    }
}

/// Receives messages until the time has passed, Ctrl-C, or a log's end, and notes silence and trouble.
#[derive(Debug)]
pub(super) struct BusReceiver {
    pub(super) bus: Bus,
    /// What selects channels, as the user wrote it.
    pattern: String,
    listener: BusListener,
    pub(super) stop: Stop,
}

/// Result of a wait for a message.
#[expect(
    clippy::large_enum_variant,
    reason = "it is looked at once and never kept"
)]
pub(super) enum BusEvent<'a> {
    Message(Raw<'a>),
    /// No message for a while.
    Nothing,
    /// The time has passed, a stop was requested, or no further message will come.
    End,
}

impl BusReceiver {
    /// Opens a bus and begins to receive.
    pub(super) fn open(
        option: &BusOption,
        pattern: &str,
        duration: Option<Span>,
    ) -> anyhow::Result<Self> {
        let bus = option.open()?;
        let stop = interrupt::quietly_stop_on_interrupt()?;
        let duration = duration.map(|span| span.0);
        let listener = BusListener::open(&bus, pattern, duration, stop.flag());
        let listener = listener.map_err(unusable)?;
        note_refused(&bus);
        Ok(Self {
            bus,
            pattern: pattern.to_owned(),
            listener,
            stop,
        })
    }

    /// Waits for a message, for a tenth of a second and until the given time at most.
    pub(super) fn next(&mut self, before: Option<MonotonicTime>) -> BusEvent<'_> {
        match self.listener.next(before) {
            ListenerEvent::Message(raw) => return BusEvent::Message(raw),
            ListenerEvent::End => return BusEvent::End,
            ListenerEvent::Nothing => {}
            ListenerEvent::Silence => {
                output::note(&words_of_silence(self.bus.url(), &self.pattern));
            }
            ListenerEvent::Trouble(error) => output::note(&words_of_trouble(&error)),
        }
        BusEvent::Nothing
    }

    /// Prints no note of silence: the answer reports it.
    pub(super) fn without_note_of_silence(&mut self) {
        self.listener.ignore_silence();
    }

    /// Notes at the end on the messages that are missing in the output.
    pub(super) fn notes_of_missing(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.listener.is_silent() && !self.stop.requested() {
            notes.push(words_of_silence(self.bus.url(), &self.pattern));
        }
        let counters = self.listener.counters();
        let dropped = counters.dropped_oldest + counters.dropped_newest;
        if dropped > 0 {
            notes.push(format!(
                "{} missing here: this program was too slow for them",
                numbers::counted(dropped, "message")
            ));
        }
        let inlet = self.bus.inlet_counters();
        for (count, words) in [
            (
                inlet.overrun,
                "were dropped by the system because its buffer was full; request a larger one (docs/messages-udpm.md)",
            ),
            (inlet.incomplete, "were incomplete"),
            (inlet.malformed, "were not valid messages"),
        ] {
            if count > 0 {
                notes.push(format!("{count} {words}"));
            }
        }
        notes
    }
}

/// What to check on a silent bus besides its publishers.
pub(super) fn advice_on_silence(url: &str) -> Option<String> {
    match url.split_once("://")?.0 {
        "udpm" => Some(format!(
            "`kadenz msg doctor --url '{url}'` explains a multicast that fails"
        )),
        "tcpq" => Some("`kadenz msg server` starts the server if none is running".to_owned()),
        _ => None,
    }
}

/// The pattern of all channels.
const ALL_CHANNELS: &str = ".*";

pub(super) fn words_of_silence(url: &str, pattern: &str) -> String {
    let advice = advice_on_silence(url);
    let advice = advice.unwrap_or_else(|| "`kadenz msg list` lists the channels".to_owned());
    let nothing = nothing_received(url, pattern);
    format!("{nothing}; is a publisher running? {advice}")
}

/// Says that no message came, and of which channels.
pub(super) fn nothing_received(url: &str, pattern: &str) -> String {
    match pattern {
        ALL_CHANNELS => format!("no message was received on {url}"),
        _ => format!("no message on a channel that matches `{pattern}` was received on {url}"),
    }
}

pub(super) fn words_of_trouble(error: &RecvError) -> String {
    format!("{error}; still listening")
}

/// Reports the settings that the provider requested and did not get: above all a receive buffer that is too short.
pub(super) fn note_refused(bus: &Bus) {
    output::note_refused(&bus.measures());
}
