//! `kadenz msg delay`: the age of messages on arrival.

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use kadenz::lab::stamped::{ReadStamp, StampedCounts, StampedPlan, stamped};
use kadenz::msg::bus::SubscriptionOptions;
use kadenz::msg::service::types_on_wire::KnownTypes;
use kadenz::msg::types::{Path, Value};
use kadenz::report::numbers;
use kadenz::rt::clock::{self, Synchronisation, WallTime};

use super::bus::{self, BusOption};
use super::types::TypesOption;
use crate::commands::outcome::{self, OutcomeOptions};
use crate::options::{Defaults, MeasureOptions, Span};
use crate::output::{self, Reply};

/// Measure how old messages are when they arrive
///
/// Messages that carry the time of their creation, as LCM's `utime`, show their latency on the way here, from
/// programs without Kadenz: on one host, or on hosts with synchronised clocks. Records a run: from the stamp until
/// this program had the message (series `latency`, which the deadline applies to), and until the kernel had it
/// (`to-kernel`). Where the wall clock is set during the run, or stamps are in the future, the command reports that
/// and calls such values no latency.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg delay POSE --field utime --types lcmtypes --duration 1min  in microseconds, as usual with LCM
  kadenz msg delay IMU --field header.stamp --unit ns --types lcmtypes --deadline 2ms
  kadenz msg delay 'ARM_.*' --types lcmtypes --count 10000 --out arm  a run folder of that name

`kadenz report RUN` makes a page of it. Without stamps in messages: `kadenz msg latency`.
Exit codes: 0 kept, 1 `--deadline` missed, 2 the command failed, or not all values are latencies.")]
pub(crate) struct Options {
    /// Channel, or a regular expression that matches whole names
    #[arg(value_name = "CHANNEL")]
    channel: String,

    #[command(flatten)]
    bus: BusOption,

    #[command(flatten)]
    types: TypesOption,

    /// The member with the time
    #[arg(long, value_name = "PATH", default_value = "utime")]
    field: Path,

    /// Unit of the time, since 1970
    #[arg(long, value_name = "UNIT", default_value = "us")]
    unit: Unit,

    /// How long [default: until Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    /// End after this many messages
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    #[command(flatten)]
    measure: MeasureOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Unit {
    /// Nanoseconds
    Ns,
    /// Microseconds
    Us,
    /// Milliseconds
    Ms,
    /// Seconds
    S,
}

impl Unit {
    fn in_ns(self) -> i64 {
        match self {
            Self::Ns => 1,
            Self::Us => 1_000,
            Self::Ms => 1_000_000,
            Self::S => 1_000_000_000,
        }
    }

    /// A stamp beyond the representable years becomes the last of them, which no reader takes for a latency.
    fn stamp(self, value: &Value) -> Option<WallTime> {
        let ns = match value.integer() {
            Some(whole) => whole.saturating_mul(self.in_ns()),
            None => {
                let ns = value.number()? * self.in_ns() as f64;
                (!ns.is_nan()).then_some(ns as i64)?
            }
        };
        Some(WallTime::from_unix_ns(ns))
    }
}

/// Messages that may wait.
const QUEUE: usize = 1000;

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let bus = options.bus.open()?;
    let known = options.types.need_or_request(&bus)?;
    let queue = SubscriptionOptions {
        queue: QUEUE,
        ..SubscriptionOptions::default()
    };
    let messages = bus.aggregator_with(&options.channel, &queue);
    let messages = messages.context("the bus cannot be used")?;
    bus::note_refused(&bus);
    let mut measuring = options.measure.measuring(&Defaults::of("msg-delay"))?;
    let session = &mut measuring.session;
    session.set("url", bus.url());
    session.set("channel", options.channel.clone());
    session.set("field", options.field.to_string());
    note_clock();
    let plan = StampedPlan {
        messages,
        read: options.reader(known),
        duration: options.duration.map(|span| span.0),
        count: options.count,
    };
    let stop = options.measure.stop()?;
    let folder = measuring.session.out.clone();
    let total = options.duration.map(|span| span.0);
    let (_, counts) = outcome::measured("listening", total, &folder, |progress| {
        stamped(&measuring, plan, &stop, progress)
    })?;
    anyhow::ensure!(
        counts.recorded > 0,
        "{}; the run in {} has the details",
        why_nothing(&counts, options),
        folder.display()
    );
    let reply = outcome::report_run(OutcomeOptions::of(&folder, &options.measure))?;
    Ok(reply.map_outcome(|it| it.or_incomplete(!all_are_latencies(&counts))))
}

impl Options {
    fn reader(&self, mut known: KnownTypes) -> ReadStamp {
        let (path, unit) = (self.field.clone(), self.unit);
        Box::new(move |raw| {
            known.request(raw.fingerprint());
            let value = known.decode(raw.payload).ok()?;
            unit.stamp(&value.at(&path).ok()?)
        })
    }
}

/// Notes whether the wall clock is synchronised: latencies across hosts are no better than that.
fn note_clock() {
    match clock::synchronisation() {
        Synchronisation::Kept { .. } => {}
        Synchronisation::Free => output::note(
            "this host's wall clock is not synchronised: latencies of messages from other hosts mean nothing",
        ),
        Synchronisation::Unknown => {
            output::note("the system does not say whether its wall clock is synchronised");
        }
    }
}

fn all_are_latencies(counts: &StampedCounts) -> bool {
    counts.stepped_by_ns.is_none() && counts.from_the_future == 0 && counts.absurd == 0
}

fn why_nothing(counts: &StampedCounts, options: &Options) -> String {
    let (field, channel) = (&options.field, &options.channel);
    match counts {
        _ if counts.received == 0 => {
            format!("no messages received on {channel}; `kadenz msg list` lists the channels")
        }
        _ if counts.unreadable == counts.received => format!(
            "of {}, none has a member {field} that is a number, as `--types` or their sender describes \
             them; `kadenz msg echo {channel} --count 1 --types FOLDER` shows one. Name the member that holds the \
             stamp with `--field`, and what it counts with `--unit`",
            numbers::counted(counts.received, "message")
        ),
        _ if counts.absurd > 0 => format!(
            "the stamps are an hour or more away, as {} s after 1970; what does {field} count? Say it \
             with `--unit`",
            counts.an_absurd_stamp_ns.unwrap_or_default() / 1_000_000_000
        ),
        _ if counts.from_the_future > 0 => format!(
            "all stamps are from the future, by up to {} ms: the sender's clock is ahead of this one",
            counts.most_ahead_ns / 1_000_000
        ),
        _ => "the wall clock was set meanwhile".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_in_its_unit_and_never_wraps() {
        let ns = |unit: Unit, value: Value| unit.stamp(&value).map(WallTime::as_unix_ns);
        assert_eq!(ns(Unit::Us, Value::Int64(5)), Some(5_000));
        assert_eq!(ns(Unit::S, Value::Double(1.5)), Some(1_500_000_000));
        assert_eq!(ns(Unit::S, Value::Int64(i64::MAX)), Some(i64::MAX));
        assert_eq!(ns(Unit::S, Value::Double(-1e300)), Some(i64::MIN));
        assert_eq!(ns(Unit::S, Value::Double(f64::NAN)), None);
        assert_eq!(ns(Unit::Ns, Value::String("now".to_owned())), None);
    }
}
