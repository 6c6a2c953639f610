//! `kadenz msg list`: lists the channels of a bus, and the guarantees of providers.

use clap::Args;
use kadenz::msg::provider::{
    self, BackPressure, DeliveryOrder, Discovery, Guarantees, History, Loss, SCHEMES,
};
use kadenz::msg::watch::{WatchOptions, Watcher};
use kadenz::report::document::{Answer, Document, Table, Version};
use kadenz::report::numbers;
use kadenz::rt::clock;
use schemars::JsonSchema;
use serde::Serialize;

use super::bus::{BusEvent, BusOption, BusReceiver, advice_on_silence, nothing_received};
use super::table::{self, BANDWIDTH, CHANNEL, HeardChannel, MESSAGES, RATE, SENDERS, TYPE};
use super::types::TypesOption;
use crate::options::{Span, waiting};
use crate::output::{self, Reply};

/// List the channels of a bus with their types and rates
///
/// No program keeps a list of a bus's channels: the command lists those that carry a message within
/// `--duration`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg list                                channels with messages within two seconds
  kadenz msg list --duration 30s --types lcmtypes  slow channels, too, with the names of their types
  kadenz msg list --providers                    all transports with their guarantees")]
pub(crate) struct Options {
    #[command(flatten)]
    bus: BusOption,

    #[command(flatten)]
    types: TypesOption,

    /// How long to listen
    #[arg(long, value_name = "SPAN", default_value = "2s")]
    duration: Span,

    /// Only channels of this name, or that this regular expression matches whole
    #[arg(long = "channel", value_name = "PATTERN", default_value = ".*")]
    channels: String,

    /// List the providers of this program instead, with their guarantees
    #[arg(long)]
    providers: bool,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct Channels {
    version: Version<1>,
    url: String,
    channels: Vec<HeardChannel>,
    /// What selects channels, for people.
    #[serde(skip)]
    pattern: String,
    /// Duration of listening, for people.
    #[serde(skip)]
    within: Span,
}

pub(super) fn run(options: &Options) -> anyhow::Result<Reply> {
    if options.providers {
        return Ok(providers());
    }
    let mut receiver = BusReceiver::open(&options.bus, &options.channels, Some(options.duration))?;
    if !output::is_json() {
        receiver.without_note_of_silence();
    }
    let mut known = options.types.read_and_request(&receiver.bus)?;
    let mut watcher = Watcher::new(WatchOptions {
        window: options.duration.0,
        ..WatchOptions::default()
    });
    let listening = format!("listening on {}", options.bus.url());
    waiting(&listening, || {
        loop {
            match receiver.next(None) {
                BusEvent::Message(raw) if known.is_about_types(raw.channel) => {}
                BusEvent::Message(raw) => {
                    known.request(raw.fingerprint());
                    watcher.add(&(&raw).into());
                }
                BusEvent::Nothing => {}
                BusEvent::End => break,
            }
        }
    });
    let figures = watcher.figures_with(clock::now(), &receiver.bus.losses());
    let url = options.bus.url();
    let channels = Channels {
        version: Version,
        channels: HeardChannel::all(&figures, &known, &url),
        url,
        pattern: options.channels.clone(),
        within: options.duration,
    };
    let beyond = watcher.untracked().messages;
    let beyond = (beyond > 0).then(|| {
        let messages = numbers::counted(beyond, "message");
        format!("{messages} of further channels; `--channel` narrows it down")
    });
    let reply = Reply::from(channels).notes(beyond);
    Ok(reply.notes(receiver.notes_of_missing()))
}

impl Answer for Channels {
    fn document(&self) -> Document {
        if self.channels.is_empty() {
            let advice = advice_on_silence(&self.url);
            let advice = advice.map_or_else(String::new, |it| format!(" {it}"));
            return format!(
                "{} within {}; is a publisher running?{advice}",
                nothing_received(&self.url, &self.pattern),
                self.within
            )
            .into();
        }
        let columns = [CHANNEL, TYPE, MESSAGES, RATE, BANDWIDTH, SENDERS];
        Document::new().table(table::of_channels(&columns, &self.channels))
    }
}

#[derive(JsonSchema, Serialize)]
pub(super) struct Providers {
    version: Version<1>,
    providers: Vec<ListedProvider>,
}

#[derive(JsonSchema, Serialize)]
struct ListedProvider {
    scheme: &'static str,
    example: &'static str,
    /// null where the provider is not available here.
    promises: Option<Promises>,
    /// Why the provider is not available here.
    trouble: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Promises {
    order: &'static str,
    loss: &'static str,
    back_pressure: String,
    history: &'static str,
    discovery: &'static str,
    longest_payload_bytes: usize,
    /// Whether a real-time thread may publish.
    real_time: bool,
    zero_copy: bool,
}

/// A URL with which a provider of this scheme states its guarantees.
fn example(scheme: &'static str) -> &'static str {
    match scheme {
        "memq" => "memq://",
        "udpm" => provider::DEFAULT_URL,
        "tcpq" => "tcpq://127.0.0.1:7700",
        "shm" => "shm://robot",
        "file" => "file://run.mcap?mode=r",
        "zmq" => "zmq://127.0.0.1:7710",
        "zenoh" => "zenoh://",
        "dds" => "dds://0",
        "amqp" => "amqp://127.0.0.1:5672",
        "ros1" => "ros1://127.0.0.1:11311",
        _ => "",
    }
}

fn providers() -> Reply {
    let providers: Vec<_> = SCHEMES.iter().map(|scheme| of(scheme)).collect();
    let trouble = providers.iter();
    let trouble = trouble
        .filter_map(|it| Some(format!("{}://: {}", it.scheme, it.trouble.as_ref()?)))
        .collect::<Vec<_>>();
    let version = Version;
    Reply::from(Providers { version, providers }).notes(trouble)
}

impl Answer for Providers {
    fn document(&self) -> Document {
        let head = [
            "Provider",
            "Order",
            "Lost",
            "Slow subscriber",
            "History",
            "Found by",
            "Longest",
            "Real time",
            "Zero copy",
        ];
        let rows = self.providers.iter().map(|it| match &it.promises {
            Some(promises) => promises.row(it.scheme),
            None => {
                let mut row = vec![format!("{}://", it.scheme)];
                row.resize(head.len(), "?".to_owned());
                row
            }
        });
        Document::new().table(Table::new(&head, 6, rows.collect()))
    }
}

fn of(scheme: &'static str) -> ListedProvider {
    let opened = provider::open(example(scheme));
    let (promises, trouble) = match opened {
        Ok(provider) => (Some(Promises::of(&provider.guarantees())), None),
        Err(error) => (None, Some(error.to_string())),
    };
    ListedProvider {
        scheme,
        example: example(scheme),
        promises,
        trouble,
    }
}

impl Promises {
    fn of(guarantees: &Guarantees) -> Self {
        Self {
            order: match guarantees.order {
                DeliveryOrder::Kept => "kept",
                DeliveryOrder::KeptPerChannel => "kept, by channel",
                DeliveryOrder::AsDelivered => "as delivered",
            },
            loss: match guarantees.loss {
                Loss::None => "nothing",
                Loss::WhenSlow => "when slow",
                Loss::Network => "when slow, on the way",
            },
            back_pressure: match guarantees.back_pressure {
                BackPressure::None => "loses".to_owned(),
                BackPressure::Bounded(0) => "is refused".to_owned(),
                BackPressure::Bounded(ms) => format!("slows down, {ms} ms"),
            },
            history: match guarantees.history {
                History::None => "none",
                History::LastOfEachChannel => "the last of each channel",
                History::Everything => "everything",
            },
            discovery: match guarantees.discovery {
                Discovery::Process => "one process",
                Discovery::Multicast => "multicast",
                Discovery::Host => "shared memory",
                Discovery::Server => "a server",
                Discovery::Peers => "asking peers",
                Discovery::File => "a file",
            },
            longest_payload_bytes: guarantees.longest_payload,
            real_time: guarantees.real_time,
            zero_copy: guarantees.zero_copy,
        }
    }

    fn row(&self, scheme: &str) -> Vec<String> {
        let yes = |it: bool| if it { "yes" } else { "no" }.to_owned();
        vec![
            format!("{scheme}://"),
            self.order.to_owned(),
            self.loss.to_owned(),
            self.back_pressure.clone(),
            self.history.to_owned(),
            self.discovery.to_owned(),
            match self.longest_payload_bytes {
                usize::MAX => "any".to_owned(),
                bytes => table::size(bytes as f64),
            },
            yes(self.real_time),
            yes(self.zero_copy),
        ]
    }
}
