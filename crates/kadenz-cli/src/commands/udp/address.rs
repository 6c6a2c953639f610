//! Addresses as users type them (`10.0.0.5`, `10.0.0.5:6176`, `[fe80::1]:6176`, `robot.local`), and the links to the
//! devices there: from the user, or from the testbed around this program.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::path::Path;

use anyhow::Context as _;
use clap::Args;
use kadenz::lab::testbed::LinkSpeed;
use kadenz::lab::testbed::inside::{FOLDER, HOST, Inside, PacketSchedule};
use kadenz::lab::testbed::wire::Chain;
use kadenz::lab::udp::wiring::Wiring;
use kadenz::record::run::network::ToldBy;

use crate::output;

/// The address of a listening host; a missing port is the service's default.
pub(in crate::commands) fn resolve(text: &str, port: u16) -> anyhow::Result<SocketAddr> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(address);
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, port));
    }
    let (host, port) = split(text, port)?;
    let found = (host, port).to_socket_addrs();
    let mut found = found.with_context(|| {
        format!("cannot find the host `{host}`; write an address, for example 10.0.0.5:{port}")
    })?;
    found
        .next()
        .with_context(|| format!("the host `{host}` has no address"))
}

fn split(text: &str, port: u16) -> anyhow::Result<(&str, u16)> {
    match text.rsplit_once(':') {
        None => Ok((text, port)),
        Some((host, number)) => {
            let number = number.parse();
            let number = number.with_context(|| {
                format!(
                    "`{text}` is not a valid address; write a host and a port, for example 10.0.0.5:{port}"
                )
            })?;
            Ok((host, number))
        }
    }
}

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
    /// The known links to the devices of this schedule.
    pub(crate) fn wiring(&self, schedule: &PacketSchedule) -> anyhow::Result<Wiring> {
        let testbed = around();
        let wiring = if self.path.is_empty() {
            let devices = schedule.devices.iter().copied();
            let chain = testbed.as_ref().and_then(|it| it.chain_to(devices));
            chain.map_or_else(Wiring::default, |it| Wiring::stated(it, ToldBy::Testbed))
        } else {
            Wiring::stated(Chain::new(self.path.clone())?, ToldBy::User)
        };
        Ok(match testbed {
            Some(testbed) => wiring.within(testbed.facts(schedule)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_port_has_the_service_s() {
        let of = |text: &str| resolve(text, 6176).unwrap().to_string();
        assert_eq!(of("10.0.0.5"), "10.0.0.5:6176");
        assert_eq!(of("10.0.0.5:7"), "10.0.0.5:7");
        assert_eq!(of("::1"), "[::1]:6176");
        assert_eq!(of("[::1]:7"), "[::1]:7");
    }

    #[test]
    fn nonsense_is_refused_with_an_example() {
        for text in ["10.0.0.5:", "10.0.0.5:99999", "", "a:b"] {
            let error = resolve(text, 6176).unwrap_err();
            assert!(
                format!("{error:#}").contains("10.0.0.5"),
                "{text}: {error:#}"
            );
        }
    }
}
