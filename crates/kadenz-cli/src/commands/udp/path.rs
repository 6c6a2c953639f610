//! The links to the devices: from the user, or from the testbed around this program.

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
    /// Speed of each link from here to the devices, with a switch between each two (as `kadenz wire --links`), from
    /// which the wire's share of a round trip is computed [default: in a testbed its links, else one link with the
    /// interface's speed]
    #[arg(
        long,
        value_name = "SPEEDS",
        value_delimiter = ',',
        help_heading = "Network"
    )]
    path: Vec<LinkSpeed>,
}

impl PathOption {
    /// The known links to the devices of these questions.
    pub(crate) fn wiring(&self, questions: &Questions) -> anyhow::Result<Wiring> {
        let testbed = around();
        let wiring = if self.path.is_empty() {
            let devices = questions.devices.iter().copied();
            let chain = testbed.as_ref().and_then(|it| it.chain_to(devices));
            chain.map_or_else(Wiring::default, |it| Wiring::stated(it, ToldBy::Testbed))
        } else {
            Wiring::stated(Chain::new(self.path.clone())?, ToldBy::User)
        };
        Ok(match testbed {
            Some(testbed) => wiring.within(testbed.facts(questions)),
            None => wiring,
        })
    }

    /// The links as a parameter of the run, where the user named them.
    pub(crate) fn named(&self) -> Option<String> {
        let links: Vec<String> = self.path.iter().map(ToString::to_string).collect();
        (!links.is_empty()).then(|| links.join(","))
    }
}

/// The testbed around this program. If its file cannot be read, a note reports that, and the measurement continues
/// without it.
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
