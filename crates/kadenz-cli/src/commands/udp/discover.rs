//! `kadenz udp discover`: finds devices.

use clap::Args;
use kadenz::lab::udp::discover::{DiscoverPlan, discover};
use kadenz::lab::udp::probe::Device;
use kadenz::lab::udp::{ECHO_PORT, any_like};
use kadenz::report::document::{Answer, Document, Version};
use kadenz::rt::net::interface;
use kadenz::rt::net::port::PortOptions;
use schemars::JsonSchema;
use serde::Serialize;

use super::address;
use super::socket::{SocketOptions, TokenOption};
use crate::commands::interrupt;
use crate::options::{Span, waiting};

/// List the devices that answer a broadcast
///
/// Sends a question to a broadcast address, and lists the devices that answer: name, address and port.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz udp discover                         on every network of this machine
  kadenz udp discover --to 10.0.0.255         on that one
  kadenz udp discover --to 10.0.0.255 --json  for a script")]
pub(crate) struct Options {
    /// Broadcast address, or a device's [default: the broadcast address of every interface]
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,

    /// How long to wait for answers
    #[arg(long, value_name = "SPAN", default_value = "900ms")]
    wait: Span,

    #[command(flatten)]
    socket: SocketOptions,

    #[command(flatten)]
    token: TokenOption,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct Discovered {
    version: Version<1>,
    devices: Vec<DiscoveredDevice>,
}

#[derive(JsonSchema, Serialize)]
struct DiscoveredDevice {
    name: String,
    address: String,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Discovered> {
    let everywhere = || {
        interface::list_broadcast()
            .into_iter()
            .map(|it| it.broadcast.to_string())
    };
    let to: Vec<String> = match &options.to {
        Some(to) => vec![to.clone()],
        None => everywhere().collect(),
    };
    anyhow::ensure!(
        !to.is_empty(),
        "no interface has a broadcast address; name one with `--to`, for example --to 127.0.0.1"
    );
    let stop = interrupt::stop_on_interrupt()?;
    let mut devices = Vec::new();
    for to in &to {
        let to = address::resolve(to, ECHO_PORT)?;
        let plan = DiscoverPlan {
            to,
            wait: options.wait.0,
            most: 1024,
            token: options.token.token()?,
            port: PortOptions {
                broadcast: true,
                ..options.socket.port(any_like(to))
            },
        };
        let found = waiting(&format!("waiting for answers from {to}"), || {
            discover(&plan, &stop)
        });
        devices.extend(found?);
    }
    let devices = devices.iter().map(|device: &Device| DiscoveredDevice {
        name: device.name.clone(),
        address: device.address.to_string(),
    });
    Ok(Discovered {
        version: Version,
        devices: devices.collect(),
    })
}

impl Answer for Discovered {
    fn document(&self) -> Document {
        if self.devices.is_empty() {
            let none = "no device answered; does `kadenz udp echo --bind 0.0.0.0` run there?";
            return Document::new().sentence(none);
        }
        let lines = self.devices.iter();
        Document::new().sentences(lines.map(|it| format!("{}\t{}", it.address, it.name)))
    }
}
