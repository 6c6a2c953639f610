//! `kadenz check`.

#[cfg(all(feature = "camera", target_os = "linux"))]
mod camera;

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use kadenz::lab::check::{Answering, CheckPlan, MessagesPlan, NetworkPlan, TIMEOUT, check};
use kadenz::lab::floor::FloorPlan;
use kadenz::lab::stop::Stop;
use kadenz::lab::testbed::inside::PacketSchedule;
use kadenz::lab::testbed::model::Receivers;
use kadenz::lab::udp::discover::{DiscoverPlan, address_as_name, discover};
use kadenz::lab::udp::probe::Device;
use kadenz::lab::udp::wiring::Wiring;
use kadenz::lab::udp::{ECHO_PORT, any_like};
use kadenz::msg::provider::DEFAULT_URL;
use kadenz::report::numbers;
use kadenz::rt::beat::Rate;
use kadenz::rt::net::port::PortOptions;
use kadenz::rt::tuning::Policy;

use super::cheapest;
use super::outcome::{self, OutcomeOptions};
use super::udp::{DISCOVERY, PathOption, resolve};
use crate::options::{Defaults, MeasureOptions, Size, Span};
use crate::output::{self, Reply};

/// Check whether this machine keeps a rate and a deadline
///
/// Keeps the beat on two threads at once, half a period apart: one with the requested real-time tuning (SCHED_FIFO 80
/// and locked memory by default), one as an ordinary thread. Before that it probes how much time the machine takes
/// from a thread that never sleeps. In a fifth of the time it sends a packet on every beat and waits for its answer,
/// and shows how the deadline divides: wake-up, send stack, wire and device, receive stack, and what is left for the
/// control law. The packets go over the loopback to an echo of its own, or to a device (`--peer`). In the last tenth
/// it publishes a message on every beat, over LCM's multicast or another bus (`--url`), and shows how the time of
/// messages divides. Where the ordinary thread misses the deadline, it then searches for the cheapest tuning that
/// keeps it, for about as long again (`kadenz tune` does that in full, also under load); else, for a third as long,
/// it measures what holding the CPUs' idle states off gains. Writes a run folder with report.html.
#[derive(Debug, Args)]
#[command(mut_arg("deadline", |it| it.help("The limit: a sample above it is a miss [default: 400us]")))]
#[command(mut_arg("policy", |it| it.help("Scheduling policy: other, fifo:1..99, rr:1..99 or deadline:RUNTIME/PERIOD [default: fifo:80]")))]
#[command(after_help = "\
Examples:
  kadenz check                                     1 kHz, 400 us, one minute
  kadenz check --rate 500Hz --deadline 1ms
  kadenz check --peer 10.0.0.5                     with round trips to a device
  kadenz check --policy fifo:90 --cpus 1 --sleeper spin --duration 10min
  kadenz check --require                           fails unless the tuning is granted
  kadenz check --json --out run | jq .answer

On the device runs `kadenz udp echo --bind 0.0.0.0`, or firmware (docs/udp-protocol.md).

Exit codes: 0 the deadline was kept (under the tuning that was granted), by the wake-ups and, with \
--peer, by the round trips; 1 it was missed; 2 the check could not be done.")]
pub(crate) struct Options {
    /// Rate of the beat
    #[arg(long, value_name = "RATE", default_value = "1kHz")]
    rate: Rate,

    /// How long to keep the beat; a fifth of it with round trips, a tenth with messages
    #[arg(long, value_name = "SPAN", default_value = "60s")]
    duration: Span,

    /// Device that answers, with a port or without [default: an echo of its own over the loopback]
    #[arg(
        long,
        value_name = "ADDRESS",
        conflicts_with = "no_network",
        help_heading = "Network"
    )]
    peer: Option<String>,

    /// UDP payload of a packet, 18B to 65507B; 200B is an actuator's feedback
    #[arg(
        long = "size",
        value_name = "SIZE",
        default_value = "200B",
        help_heading = "Network"
    )]
    payload: Size,

    #[command(flatten)]
    path: PathOption,

    /// Do not measure round trips
    #[arg(long, help_heading = "Network")]
    no_network: bool,

    /// Bus on which to measure messages, with a socket for each of two threads [default: LCM's multicast on this
    /// host, udpm://239.255.76.67:7667?ttl=0]
    #[arg(
        long,
        value_name = "URL",
        conflicts_with = "no_messages",
        help_heading = "Messages"
    )]
    url: Option<String>,

    /// Do not measure messages
    #[arg(long, help_heading = "Messages")]
    no_messages: bool,

    #[cfg(all(feature = "camera", target_os = "linux"))]
    #[command(flatten)]
    camera: camera::CameraOption,

    /// Do not search for the cheapest tuning afterwards, which takes about as long again
    #[arg(long, alias = "no-tuning")]
    no_tune: bool,

    #[command(flatten)]
    measure: MeasureOptions,
}

/// The deadline of the PREEMPT_RT developers' test farm, which Sticha used too.
const DEADLINE: Duration = Duration::from_micros(400);

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let plan = options.plan()?;
    let stop = options.measure.stop()?;
    if let Some(network) = &plan.network {
        must_answer(network, &stop)?;
    }
    #[cfg(all(feature = "camera", target_os = "linux"))]
    options.camera.must_answer()?;
    output::note(&options.how_long(&plan));
    let folder = &plan.measuring.session.out;
    let total = Some(plan.floor.duration + plan.duration);
    outcome::measured("keeping the beat", total, folder, |progress| {
        check(&plan, &stop, progress)
    })?;
    #[cfg(all(feature = "camera", target_os = "linux"))]
    let also = Vec::from_iter(options.camera.measure(&plan, &stop)?);
    #[cfg(not(all(feature = "camera", target_os = "linux")))]
    let also = Vec::new();
    let cheapest = if options.no_tune {
        None
    } else {
        cheapest::find(&plan, options.rate, &stop)?
    };
    outcome::report_run(OutcomeOptions {
        report: true,
        also: &also,
        cheapest,
        ..OutcomeOptions::of(folder, &options.measure)
    })
}

impl Options {
    /// Says before the start how long the whole check takes.
    fn how_long(&self, plan: &CheckPlan) -> String {
        let span = |span: Duration| numbers::span(span.as_nanos() as f64);
        let checking = plan.floor.duration + plan.duration;
        #[cfg(all(feature = "camera", target_os = "linux"))]
        let checking = checking + self.camera.duration(plan);
        let tuning = cheapest::longest(plan);
        match self.no_tune || !cfg!(target_os = "linux") {
            true => format!("this takes {}", span(checking)),
            false => format!(
                "this takes {}; up to {} in total if it then tries tunings (not with --no-tune)",
                span(checking),
                span(checking + tuning)
            ),
        }
    }

    fn plan(&self) -> anyhow::Result<CheckPlan> {
        let mut measuring = self.measure.measuring(&Defaults {
            policy: Policy::Fifo(80),
            deadline: Some(DEADLINE),
            ..Defaults::of("check")
        })?;
        let network = self.network()?;
        let messages = self.messages()?;
        let timeout = Span(TIMEOUT.max(measuring.deadline.unwrap_or_default()));
        let session = &mut measuring.session;
        session.set("rate", format!("{:#}", self.rate));
        session.set("duration", self.duration.to_string());
        if let Some(messages) = &messages {
            session.set("url", messages.url.clone());
        }
        if let Some(network) = &network {
            session.set("payload", self.payload.to_string());
            session.set("timeout", timeout.to_string());
            if let Answering::Peer(device) = &network.answering {
                session.set("peer", device.address.to_string());
            }
            if let Some(path) = self.path.named() {
                session.set("path", path);
            }
        }
        let plan = CheckPlan {
            interval: self.rate.interval(),
            duration: self.duration.0,
            floor: FloorPlan::default(),
            network,
            messages,
            measuring,
        };
        anyhow::ensure!(
            plan.duration >= plan.interval.as_duration(),
            "`--duration {}` is shorter than one beat of {}",
            self.duration,
            self.rate
        );
        Ok(plan)
    }

    fn messages(&self) -> anyhow::Result<Option<MessagesPlan>> {
        if self.no_messages {
            return Ok(None);
        }
        let url = self.url.clone();
        Ok(Some(MessagesPlan {
            asked_for: url.is_some(),
            url: url.unwrap_or_else(|| DEFAULT_URL.to_owned()),
            message_bytes: usize::try_from(self.payload.0)?.max(kadenz::lab::pubsub::MIN),
        }))
    }

    fn network(&self) -> anyhow::Result<Option<NetworkPlan>> {
        anyhow::ensure!(
            self.peer.is_some() || self.path.named().is_none(),
            "`--path` names the links to a device; say with `--peer` which, or leave it out: nothing is on \
             the wire of the loopback"
        );
        if self.no_network {
            return Ok(None);
        }
        let answering = match &self.peer {
            None => Answering::Loopback,
            Some(peer) => Answering::Peer(device(peer)?),
        };
        let wiring = match &answering {
            Answering::Loopback => Wiring::default(),
            Answering::Peer(device) => self.path.wiring(&PacketSchedule {
                devices: vec![device.address.ip()],
                payload_bytes: self.payload.0,
                interval: self.rate.interval().as_duration(),
                receivers: Receivers::Each,
            })?,
        };
        Ok(Some(NetworkPlan {
            wiring,
            answering,
            payload_bytes: usize::try_from(self.payload.0)?,
        }))
    }
}

/// Parses a device's address as a user types it.
fn device(text: &str) -> anyhow::Result<Device> {
    let address = resolve(text, ECHO_PORT)?;
    Ok(Device {
        name: address_as_name(address),
        address,
    })
}

/// Checks that the device answers, before the check spends a minute on it.
fn must_answer(network: &NetworkPlan, stop: &Stop) -> anyhow::Result<()> {
    let Answering::Peer(device) = &network.answering else {
        return Ok(());
    };
    let to = device.address;
    let found = discover(
        &DiscoverPlan {
            to,
            wait: DISCOVERY,
            most: 1,
            token: None,
            port: PortOptions {
                local: any_like(to),
                ..PortOptions::default()
            },
        },
        stop,
    )?;
    anyhow::ensure!(
        !found.is_empty() || stop.requested(),
        "no device answers on {to}; run `kadenz udp echo --bind {}` there, without a token, and let UDP \
         port {} through its firewall",
        everywhere(to),
        to.port()
    );
    Ok(())
}

/// The address on which an echo must listen to receive what this host sends to `to`.
fn everywhere(to: SocketAddr) -> String {
    let any = any_like(to).ip();
    match to.port() {
        ECHO_PORT => any.to_string(),
        port => SocketAddr::new(any, port).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_can_be_typed_on_the_device() {
        for (to, bind) in [
            ("10.0.0.5:6176", "0.0.0.0"),
            ("10.0.0.5:7", "0.0.0.0:7"),
            ("[fe80::1]:6176", "::"),
            ("[fe80::1]:7", "[::]:7"),
        ] {
            assert_eq!(everywhere(to.parse().unwrap()), bind);
        }
    }
}
