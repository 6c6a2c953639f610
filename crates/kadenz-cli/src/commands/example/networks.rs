//! `kadenz networks`.

use clap::Args;
use kadenz::report::document::{Answer, Document, Table, Version};
use kadenz::rt::net::interface::{self, Broadcast};
use schemars::JsonSchema;
use serde::Serialize;

/// List the networks that `kadenz udp discover` searches.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz networks --json    for a script")]
pub(crate) struct Options {
    /// One interface only [default: all]
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
}

/// The networks of this machine that have a broadcast address.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Networks {
    version: Version<1>,
    /// In the order in which the system lists them.
    networks: Vec<Network>,
}

/// A network that the machine is attached to.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Network {
    /// Interface of this machine on the network.
    interface: String,
    /// The address that reaches every host of it.
    broadcast: String,
}

impl Networks {
    /// Keeps the networks of one interface, or all.
    pub(crate) fn new(all: Vec<Broadcast>, interface: Option<&str>) -> Self {
        let asked = |it: &Broadcast| interface.is_none_or(|name| it.interface == name);
        let networks = all.into_iter().filter(asked).map(|it| Network {
            interface: it.interface,
            broadcast: it.broadcast.to_string(),
        });
        Self {
            version: Version,
            networks: networks.collect(),
        }
    }
}

impl Answer for Networks {
    fn document(&self) -> Document {
        let networks = self.networks.iter();
        let rows = networks.map(|it| vec![it.interface.clone(), it.broadcast.clone()]);
        Document::new().table(Table::new(&["interface", "broadcast"], 2, rows.collect()))
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Networks> {
    let all = interface::list_broadcast();
    Ok(Networks::new(all, options.interface.as_deref()))
}
