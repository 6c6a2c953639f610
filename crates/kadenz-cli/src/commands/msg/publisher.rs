//! The publisher that `kadenz msg latency` starts.

use std::io::BufRead as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use kadenz::lab::measuring_threads::LoopContext;
use kadenz::lab::pubsub::{PublishPlan, greet, publish_on_beat};
use kadenz::lab::session::measures_of;
use kadenz::lab::stop::Stop;
use kadenz::msg::bus::Bus;
use kadenz::rt::beat::Interval;
use kadenz::rt::clock::{self, ClockKind};
use kadenz::rt::sleep;
use kadenz::rt::tuning;

use super::latency::{BEGIN, PublisherReport};
use crate::commands::interrupt;
use crate::options::{Defaults, MeasureOptions, Span};
use crate::output::{self, Outcome};

/// Sends greetings on a channel, and keeps the beat after a command on standard input.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[arg(long)]
    url: String,
    #[arg(long)]
    channel: String,
    #[arg(long)]
    run: i64,
    #[arg(long)]
    beat: Span,
    #[arg(long)]
    warm_up: u32,
    #[arg(long)]
    count: u64,
    #[arg(long)]
    bytes: usize,
    #[command(flatten)]
    measure: MeasureOptions,
}

/// Time between two greetings.
const BETWEEN_GREETINGS: Duration = Duration::from_millis(5);
/// From the command to begin until the first beat.
const HEAD_START: Duration = Duration::from_millis(50);

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let measuring = options.measure.measuring(&Defaults {
        samples: false,
        ..Defaults::of("msg-latency")
    })?;
    let stop = interrupt::stop_on_interrupt()?;
    let begun = listen_to_parent(&stop);
    let plan = PublishPlan {
        run: options.run,
        interval: Interval::try_from(options.beat.0)?,
        warm_up: options.warm_up,
        count: options.count,
        message_bytes: options.bytes,
    };
    let bus = Bus::open(&options.url)?;
    let mut publisher = bus.publisher(&options.channel)?;
    let applied = tuning::apply(&measuring.tuning);
    let clock = clock::open(ClockKind::Monotonic)?;
    let mut sleeper = sleep::open(measuring.sleeper, measuring.sleeper_options)?;
    while !begun.load(Ordering::Acquire) && !stop.requested() {
        greet(&plan, &mut publisher)?;
        std::thread::sleep(BETWEEN_GREETINGS);
    }
    let now = clock::now();
    let published = publish_on_beat(
        &plan,
        &mut publisher,
        &mut LoopContext {
            start: now + HEAD_START,
            origin: now,
            clock: clock.as_ref(),
            sleeper: sleeper.as_mut(),
            stop: &stop,
            owed: 0,
        },
    );
    output::say_json(&serde_json::to_string_pretty(&PublisherReport {
        published,
        tuning: measures_of(&applied.measures),
    })?);
    Ok(Outcome::Kept)
}

/// Sets the flag at the command to begin, and requests the stop when standard input closes.
fn listen_to_parent(stop: &Stop) -> Arc<AtomicBool> {
    let begun = Arc::new(AtomicBool::new(false));
    let (flag, asked) = (Arc::clone(&begun), stop.clone());
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if line == BEGIN {
                flag.store(true, Ordering::Release);
            }
        }
        asked.request();
    });
    begun
}
