//! Shared parts of the commands on a bus: the URL, receiving, and the end.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use kadenz::lab::stop::Stop;
use kadenz::msg::bus::{
    Aggregator, Bus, Counters, Raw, RecvError, SubscribeError, SubscriptionOptions,
};
use kadenz::msg::provider::{self, Provider};
use kadenz::report::numbers;
use kadenz::rt::clock::{self, MonotonicTime};

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

/// Opens the provider of a URL; the error names the command that explains it.
pub(in crate::commands) fn open(url: &str) -> anyhow::Result<Arc<dyn Provider>> {
    // The provider may listen, and each peer needs a descriptor. With the old limit it would serve only as many peers
    // as that allows.
    let _ = kadenz::rt::net::listener::raise_open_files();
    provider::open(url).with_context(|| advice(url))
}

/// Names the command that explains why a bus is unavailable.
fn advice(url: &str) -> String {
    match url.split_once("://") {
        Some(("udpm", _)) => {
            format!("the bus cannot be used; `kadenz msg doctor --url '{url}'` explains why")
        }
        _ => "the bus cannot be used".to_owned(),
    }
}

/// Messages that may wait while this program prints.
const QUEUE: usize = 1000;
/// Interval at which a stop is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// After this time without a message the user gets a hint.
const SILENCE: Duration = Duration::from_secs(2);

/// Receives messages until the time has passed, Ctrl-C, or a log's end.
#[derive(Debug)]
pub(super) struct Ears {
    pub(super) bus: Bus,
    aggregator: Aggregator,
    pub(super) stop: Stop,
    pub(super) until: Option<MonotonicTime>,
    silent_since: Option<MonotonicTime>,
    trouble: Option<RecvError>,
}

/// Result of a wait for a message.
#[expect(
    clippy::large_enum_variant,
    reason = "it is looked at once and never kept"
)]
pub(super) enum Came<'a> {
    Message(Raw<'a>),
    /// No message for a while.
    Nothing,
    /// The time has passed, a stop was requested, or no further message will come.
    End,
}

impl Ears {
    /// Opens a bus and begins to receive.
    pub(super) fn open(
        option: &BusOption,
        pattern: &str,
        duration: Option<Span>,
    ) -> anyhow::Result<Self> {
        Self::over(option.open()?, pattern, duration)
    }

    /// Begins to receive on an open bus.
    pub(super) fn over(bus: Bus, pattern: &str, duration: Option<Span>) -> anyhow::Result<Self> {
        let stop = interrupt::quietly_stop_on_interrupt()?;
        Self::until(bus, pattern, duration, stop)
    }

    /// The same with the caller's own stop.
    pub(super) fn until(
        bus: Bus,
        pattern: &str,
        duration: Option<Span>,
        stop: Stop,
    ) -> anyhow::Result<Self> {
        let options = SubscriptionOptions {
            queue: QUEUE,
            ..SubscriptionOptions::default()
        };
        let aggregator = bus.aggregator_with(pattern, &options);
        let aggregator = aggregator.map_err(|error| match error {
            SubscribeError::Pattern(error) => anyhow::Error::from(error),
            error => anyhow::Error::from(error).context(advice(bus.url())),
        })?;
        note_refused(&bus);
        let now = clock::now();
        Ok(Self {
            bus,
            aggregator,
            stop,
            until: duration.map(|span| now + span.0),
            silent_since: Some(now),
            trouble: None,
        })
    }

    /// Waits for a message, for a tenth of a second and until the given time at most.
    pub(super) fn next(&mut self, before: Option<MonotonicTime>) -> Came<'_> {
        let now = clock::now();
        if self.stop.requested() || self.until.is_some_and(|until| now >= until) {
            return Came::End;
        }
        self.note_silence(now);
        let ends = [self.until, before].into_iter().flatten();
        let wait = ends
            .map(|end| end.remaining(now))
            .fold(POLL_INTERVAL, Duration::min);
        match self.aggregator.next_message(wait) {
            Ok(Some(raw)) => {
                self.silent_since = None;
                Came::Message(raw)
            }
            Ok(None) => Came::Nothing,
            Err(RecvError::Ended) => Came::End,
            Err(error) => {
                note_once(&mut self.trouble, error);
                std::thread::sleep(wait);
                Came::Nothing
            }
        }
    }

    fn note_silence(&mut self, now: MonotonicTime) {
        let silent = |since: MonotonicTime| now.remaining(since) >= SILENCE;
        if self.silent_since.is_some_and(silent) {
            self.silent_since = None;
            output::note(&words_of_silence(self.bus.url()));
        }
    }

    /// Counters of the messages received here.
    pub(super) fn counters(&self) -> Counters {
        self.aggregator.counters()
    }

    /// Prints no note of silence: the answer reports it.
    pub(super) fn without_note_of_silence(&mut self) {
        self.silent_since = None;
    }

    /// Reports at the end which messages are missing in the output.
    pub(super) fn note_missing(&self) {
        if self.silent_since.is_some() && !self.stop.requested() {
            output::note(&words_of_silence(self.bus.url()));
        }
        let counters = self.counters();
        let dropped = counters.dropped_oldest + counters.dropped_newest;
        if dropped > 0 {
            output::note(&format!(
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
                output::note(&format!("{count} {words}"));
            }
        }
    }
}

/// What to check on a silent bus besides its publishers.
pub(super) fn advice_on_silence(url: &str) -> Option<String> {
    match url.split_once("://")?.0 {
        "udpm" => Some(format!(
            "`kadenz msg doctor --url '{url}'` explains a multicast that fails"
        )),
        "tcpq" => Some("Is its server running? `kadenz msg server` starts one".to_owned()),
        _ => None,
    }
}

fn words_of_silence(url: &str) -> String {
    let advice = advice_on_silence(url);
    let advice = advice.unwrap_or_else(|| "`kadenz msg list` lists the channels".to_owned());
    format!("no messages received on {url}; is a publisher running? {advice}")
}

fn note_once(last: &mut Option<RecvError>, error: RecvError) {
    if last.as_ref() != Some(&error) {
        output::note(&format!("{error}; listening on"));
        *last = Some(error);
    }
}

/// Reports the settings that the provider requested and did not get: above all a receive buffer that is too short.
pub(super) fn note_refused(bus: &Bus) {
    for measure in bus.measures().iter().filter(|it| !it.ok) {
        let reason = measure.reason.as_deref().unwrap_or("no reason was given");
        let remedy = measure.remedy.as_ref();
        let remedy = remedy.map_or_else(String::new, |it| format!("; remedy: {it}"));
        output::note(&format!(
            "{} not granted, {} in force ({reason}){remedy}",
            measure.requested, measure.granted
        ));
    }
}
