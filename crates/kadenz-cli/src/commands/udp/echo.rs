//! `kadenz udp echo`: the device's side.

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use kadenz::lab::stop::Stop;
use kadenz::lab::udp::ECHO_PORT;
use kadenz::lab::udp::echo::{EchoDevice, EchoPlan, Echoed, Listening, StampClock};
use kadenz::report::document::{Answer, Document, Version};
use kadenz::report::numbers;
use kadenz::rt::beat::Rate;
use kadenz::rt::tuning::{self, AppliedTuning, CpuSet, Policy, Tuning};
use kadenz::udp::device::Policy as EchoPolicy;
use kadenz::udp::wire::Name;
use schemars::JsonSchema;
use serde::Serialize;

use super::address;
use super::socket::{SocketOptions, TokenOption, per_second, wall_clock};
use crate::commands::interrupt;
use crate::options::{POLICIES, Span, StdinOption, complete};
use crate::output::{self, Reply};

/// Answer the packets of a controller, as a robot's device does.
///
/// Listens on the loopback address by default. Returns each packet to its sender, and never more bytes than it
/// received; it does not answer answers.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz udp echo                                       for a controller on this machine
  kadenz udp echo --bind 0.0.0.0 --policy fifo:50       for the robot's network, at real-time priority
  kadenz udp echo --bind 10.0.0.5 --token-file token    for controllers with the token
  kadenz udp echo --bind 0.0.0.0 --name left-foot       as a device of that name
  kadenz udp echo --bind 0.0.0.0 --stamps wall          on a host whose wall clock PTP keeps")]
pub(crate) struct Options {
    /// Address to listen on, with a port or without
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6176")]
    bind: String,

    /// Name for programs that discover devices [default: the host's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// The most answers per second, to all senders together
    #[arg(long, value_name = "RATE", default_value = "200kHz")]
    limit: Rate,

    /// Clock for stamps, where a controller requests them
    #[arg(long, value_name = "CLOCK", default_value = "monotonic")]
    stamps: StampsOption,

    /// How long [default: until Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    /// Scheduling policy: other, fifo:1..99, rr:1..99; with a real-time policy memory is locked [default: inherited]
    #[arg(long, value_name = "POLICY", value_parser = complete::<Policy>(POLICIES),
          hide_possible_values = true, help_heading = "Tuning")]
    policy: Option<Policy>,

    /// CPUs it may run on, for example 0,2-3
    #[arg(long, value_name = "CPUS", help_heading = "Tuning")]
    cpus: Option<CpuSet>,

    /// Wake before the next periodic request and warm the caches; costs a tenth of a CPU at 100 Hz, up to two fifths at
    /// 1 kHz and beyond
    #[arg(long, conflicts_with = "busy_poll", help_heading = "Socket")]
    anticipate: bool,

    #[command(flatten)]
    socket: SocketOptions,

    #[command(flatten)]
    token: TokenOption,

    #[command(flatten)]
    ends: StdinOption,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StampsOption {
    /// A monotonic clock
    Monotonic,
    /// The wall clock, for a controller with `--clocks synchronised`
    Wall,
}

/// Counts of answers.
#[derive(JsonSchema, Serialize)]
pub(super) struct Answered {
    version: Version<1>,
    address: String,
    #[serde(flatten)]
    echoed: Echoed,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let local = address::resolve(&options.bind, ECHO_PORT)?;
    let plan = EchoPlan {
        port: options.socket.port(local),
        policy: EchoPolicy {
            token: options.token.token()?,
            rate: Some(per_second(options.limit)),
            name: name(options)?,
        },
        listening: match options.socket.busy_poll {
            true => Listening::BusyPoll,
            false if options.anticipate => Listening::Anticipating,
            false => Listening::Blocking,
        },
        stamps: match options.stamps {
            StampsOption::Monotonic => StampClock::Monotonic,
            StampsOption::Wall => StampClock::Wall,
        },
    };
    let mut device = EchoDevice::open(&plan)?;
    let stop = stop(options)?;
    let applied = tune(options);
    let of_thread = applied.iter().flat_map(|it| &it.measures);
    let measures = device.port().granted().measures.iter().chain(of_thread);
    output::note_refused(measures);
    let address = device.port().local_address();
    if options.stamps == StampsOption::Wall {
        output::note(&format!("stamps by the wall clock: {}", wall_clock()));
    }
    output::note(&format!("answering on {address}; Ctrl-C ends it"));
    device.run(&stop);
    Ok(Reply::summary(Answered {
        version: Version,
        address: address.to_string(),
        echoed: device.echoed(),
    }))
}

/// Tunes this thread, if the user requested it: the program that started this one may have tuned it already.
fn tune(options: &Options) -> Option<AppliedTuning> {
    if options.policy.is_none() && options.cpus.is_none() {
        return None;
    }
    let policy = options.policy.unwrap_or(Policy::Other);
    Some(tuning::apply(&Tuning {
        policy,
        lock_memory: policy != Policy::Other,
        cpus: options.cpus.clone(),
        ..Tuning::default()
    }))
}

fn stop(options: &Options) -> anyhow::Result<Stop> {
    let stop = options.ends.stop()?;
    interrupt::stop_after(options.duration, &stop);
    Ok(stop)
}

fn name(options: &Options) -> anyhow::Result<Name> {
    match &options.name {
        Some(name) => Name::new(name).with_context(|| {
            format!(
                "`{name}` cannot be a device's name: up to {} printable ASCII characters can",
                Name::MAX_BYTES
            )
        }),
        None => {
            let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            Ok(Name::new(host.trim()).unwrap_or_default())
        }
    }
}

impl Answer for Answered {
    fn document(&self) -> Document {
        let Echoed {
            counts,
            unsent,
            dropped,
        } = self.echoed;
        let parts = [
            (counts.malformed, "of other programs or broken"),
            (counts.not_a_question, "answers, and not answered"),
            (counts.wrong_token, "without the right token"),
            (counts.too_fast, "beyond the limit"),
            (unsent, "answers that the system refused to send"),
            (dropped, "dropped because the receive buffer was full"),
        ];
        let mut text = format!("{} answered", numbers::thousands(counts.answered));
        for (count, words) in parts.into_iter().filter(|(count, _)| *count > 0) {
            text.push_str(&format!(", {} {words}", numbers::thousands(count)));
        }
        text.into()
    }
}
