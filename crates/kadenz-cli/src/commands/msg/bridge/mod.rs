//! `kadenz msg bridge`: carries the messages of one bus to another.

mod meeting;
mod one_way;

use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use kadenz::lab::stop::Stop;
use kadenz::msg::bus::Bus;
use kadenz::report::document::{Answer, Document, Table, Version};
use kadenz::report::numbers;
use kadenz::rt::beat::Rate;
use schemars::JsonSchema;
use serde::Serialize;

use super::bus::{self, Ears};
use crate::commands::interrupt;
use crate::options::Span;
use crate::output::{self, Outcome};
use meeting::Shore;
use one_way::{Carried, OneWayBridge};

/// Carry the messages of one bus to another.
///
/// Carries the messages of one bus to another, with `--both` also back: between networks, or between transports. It
/// never carries its own messages back: it recognises them by its own sender, and on a bus that does not distinguish
/// senders, by their content. It refuses two buses that are one, or that another bridge joins already; it detects
/// that by a message on the channel KADENZ_BRIDGE. Messages that the other bus does not accept are counted and
/// reported at the end.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg bridge udpm://239.255.76.67:7667 tcpq://10.0.0.5:7700 --both     two networks
  kadenz msg bridge udpm://239.255.76.67:7667 udpm://239.255.76.68:7668 --channel 'ARM_.*'
  kadenz msg bridge shm://robot udpm://239.255.76.67:7667?ttl=1 --rate-limit 10Hz   for a laptop
  kadenz msg bridge file://run.lcm udpm://239.255.76.67:7667                  a log, played

Exit codes: 0 every message was carried or held back, 1 some were refused or missed, 2 the command failed.")]
pub(crate) struct Options {
    /// The source bus
    #[arg(value_name = "URL_A")]
    from: String,

    /// The target bus
    #[arg(value_name = "URL_B")]
    to: String,

    /// Only channels of this name, or that this regular expression matches whole
    #[arg(long = "channel", value_name = "PATTERN", default_value = ".*")]
    channels: String,

    /// Carry messages of the second bus to the first, too
    #[arg(long)]
    both: bool,

    /// The most messages per second of each channel; the bridge drops further ones and counts them as held
    /// back
    #[arg(long, value_name = "RATE")]
    rate_limit: Option<Rate>,

    /// How long [default: until Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct Bridged {
    version: Version<1>,
    ways: Vec<Carried>,
}

pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    anyhow::ensure!(
        options.from != options.to,
        "both URLs are {}; a bridge joins two buses",
        options.from
    );
    let stop = interrupt::quietly_stop_on_interrupt()?;
    let (mut a, mut b) = (Shore::open(&options.from)?, Shore::open(&options.to)?);
    meeting::meet(&mut a, &mut b, options.both)?;
    let mut ways = vec![options.way(&a, &b, &stop)?];
    if options.both {
        ways.push(options.way(&b, &a, &stop)?);
    }
    output::note(&format!(
        "carrying {} from {} to {}{}; Ctrl-C ends it",
        options.channels,
        options.from,
        options.to,
        if options.both { " and back" } else { "" }
    ));
    let ways: Vec<Carried> = std::thread::scope(|scope| {
        let running = ways.iter_mut().map(|way| scope.spawn(|| way.carry()));
        let running: Vec<_> = running.collect();
        running
            .into_iter()
            .filter_map(|it| it.join().ok())
            .collect()
    });
    let lossy = ways.iter().any(|it| it.refused + it.unheard > 0);
    output::answer(&Bridged {
        version: Version,
        ways,
    })?;
    Ok(Outcome::missed_if(lossy))
}

impl Options {
    fn way(&self, from: &Shore, to: &Shore, stop: &Stop) -> anyhow::Result<OneWayBridge> {
        let ears = Ears::until(
            from.bus.clone(),
            &self.channels,
            self.duration,
            stop.clone(),
        )?;
        let outlet = match &to.outlet {
            Some(outlet) => std::sync::Arc::clone(outlet),
            None => anyhow::bail!(
                "nothing can be carried to {}: {}",
                to.bus.url(),
                to.trouble.as_deref().unwrap_or("it takes no messages")
            ),
        };
        let interval = self.rate_limit.map(|rate| rate.interval().as_duration());
        Ok(OneWayBridge::new(
            ears, from, to, outlet, interval, self.both,
        ))
    }
}

impl Answer for Bridged {
    fn document(&self) -> Document {
        let head = [
            "From",
            "To",
            "Heard",
            "Carried",
            "Bytes",
            "Own",
            "Held back",
            "Refused",
            "Unheard",
        ];
        let rows = self.ways.iter().map(|it| {
            let mut row = vec![it.from.clone(), it.to.clone()];
            let counts = [
                it.heard,
                it.carried,
                it.bytes,
                it.own,
                it.held_back,
                it.refused,
                it.unheard,
            ];
            row.extend(counts.map(numbers::thousands));
            row
        });
        Document::new().table(Table::new(&head, 2, rows.collect()))
    }
}

/// How long the bridge remembers messages that may return.
const REMEMBERED: Duration = Duration::from_secs(1);
/// The most remembered messages.
const MAX_REMEMBERED: usize = 65_536;

/// Opens a bus over one provider, for both directions.
fn open(url: &str) -> anyhow::Result<(Bus, std::sync::Arc<dyn kadenz::msg::provider::Provider>)> {
    let provider = bus::open(url).with_context(|| format!("cannot bridge {url}"))?;
    let bus = Bus::over(url, std::sync::Arc::clone(&provider));
    Ok((bus, provider))
}
