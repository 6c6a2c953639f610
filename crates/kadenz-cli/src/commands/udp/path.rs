//! The links to the devices: what the user names, or the testbed around this program.

use std::path::Path;

use clap::Args;
use kadenz::lab::testbed::LinkSpeed;
use kadenz::lab::testbed::inside::{FOLDER, HOST, Inside, Questions};
use kadenz::lab::testbed::wire::Chain;
use kadenz::lab::udp::wiring::Wiring;
use kadenz::record::run::network::ToldBy;

use crate::output;

/// The links between this machine and the devices.
#[derive(Debug, Args)]
pub(crate) struct PathOption {
    /// Speed of each link from here to the devices, with a switch between each two (as `kadenz wire
    /// --links`): how much of a round trip is wire [default: in a testbed its links, else one link as
    /// fast as the interface says]
    #[arg(
        long,
        value_name = "SPEEDS",
        value_delimiter = ',',
        help_heading = "Network"
    )]
    path: Vec<LinkSpeed>,
}

impl PathOption {
    /// What is known of the links to the devices that are asked.
    pub(crate) fn wiring(&self, questions: &Questions) -> anyhow::Result<Wiring> {
        let testbed = around();
        let wiring = if self.path.is_empty() {
            let devices = questions.devices.iter().copied();
            let chain = testbed.as_ref().and_then(|it| it.chain_to(devices));
            chain.map_or_else(Wiring::default, |it| Wiring::told(it, ToldBy::Testbed))
        } else {
            Wiring::told(Chain::new(self.path.clone())?, ToldBy::User)
        };
        Ok(match testbed {
            Some(testbed) => wiring.within(testbed.facts(questions)),
            None => wiring,
        })
    }

    /// As a parameter of the run, where the user named it.
    pub(crate) fn named(&self) -> Option<String> {
        let links: Vec<String> = self.path.iter().map(ToString::to_string).collect();
        (!links.is_empty()).then(|| links.join(","))
    }
}

/// The testbed around this program. A note names one that cannot be read, and the measurement goes on without it.
fn around() -> Option<Inside> {
    let folder = std::env::var_os(FOLDER)?;
    let host = std::env::var(HOST).unwrap_or_default();
    match Inside::read(Path::new(&folder), &host) {
        Ok(inside) => Some(inside),
        Err(error) => {
            output::note(&format!("{error}"));
            None
        }
    }
}
