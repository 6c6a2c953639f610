//! `kadenz udp log`: the logging server.

use std::num::NonZeroUsize;

use clap::Args;
use kadenz::lab::udp::LOG_PORT;
use kadenz::lab::udp::log::{LogPlan, log};
use kadenz::rt::beat::Rate;

use super::address;
use super::socket::{SocketOptions, TokenOption, per_second};
use crate::commands::interrupt;
use crate::commands::outcome::{self, OutcomeOptions};
use crate::options::{Defaults, MeasureOptions, Span};
use crate::output::{self, Reply};

/// Record the measurements of many controllers into one run.
///
/// The logging server of [Enner2016b], for controllers without a disk: `kadenz udp send --log` and firmware send their
/// measurements in batches (docs/udp-protocol.md). Receiving never waits for the disk. Listens on the loopback
/// address by default.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz udp log --bind 0.0.0.0 --out night               until Ctrl-C
  kadenz udp log --bind 10.0.0.9 --token-file token       from controllers with the token
  kadenz udp log --controllers 2                          until two controllers have ended")]
pub(crate) struct Options {
    /// Address to listen on, with a port or without
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6177")]
    bind: String,

    /// End when this many controllers have reported their end [default: at Ctrl-C]
    #[arg(long, value_name = "N")]
    controllers: Option<NonZeroUsize>,

    /// How long [default: until Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    /// The most batches per second, from all controllers together
    #[arg(long, value_name = "RATE", default_value = "100kHz")]
    limit: Rate,

    /// Maximum number of controllers; each run of a controller counts as one
    #[arg(
        long,
        alias = "most-controllers",
        value_name = "N",
        default_value_t = 256,
        value_parser = clap::value_parser!(u16).range(1..=4096)
    )]
    max_controllers: u16,

    /// Maximum number of devices with a series of their own
    #[arg(
        long,
        alias = "most-devices",
        value_name = "N",
        default_value_t = 512,
        value_parser = clap::value_parser!(u16).range(1..=2046)
    )]
    max_devices: u16,

    #[command(flatten)]
    token: TokenOption,

    #[command(flatten)]
    socket: SocketOptions,

    #[command(flatten)]
    measure: MeasureOptions,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let local = address::resolve(&options.bind, LOG_PORT)?;
    let mut measuring = options.measure.measuring(&Defaults::of("udp-log"))?;
    let session = &mut measuring.session;
    session.set("bind", local.to_string());
    let plan = LogPlan {
        port: options.socket.port(local),
        token: options.token.token()?,
        limit: Some(per_second(options.limit)),
        most_streams: options.max_controllers.into(),
        most_devices: options.max_devices.into(),
        until_ended: options.controllers.map(NonZeroUsize::get),
    };
    let stop = options.measure.stop()?;
    interrupt::stop_after(options.duration, &stop);
    let folder = measuring.session.out.clone();
    let ready = |address| output::note(&format!("logging on {address}; Ctrl-C ends it"));
    let total = options.duration.map(|span| span.0);
    outcome::measured("logging", total, &folder, |progress| {
        log(&measuring, &plan, ready, &stop, progress)
    })?;
    outcome::report_run(OutcomeOptions {
        may_be_empty: true,
        ..OutcomeOptions::of(&folder, &options.measure)
    })
}
