//! The device that answers a check.

use std::net::SocketAddr;

use kadenz::lab::check::{Answering, NetworkPlan};
use kadenz::lab::stop::Stop;
use kadenz::lab::udp::discover::{DiscoverPlan, address_as_name, discover};
use kadenz::lab::udp::probe::Device;
use kadenz::lab::udp::{ECHO_PORT, any_like};
use kadenz::rt::net::port::PortOptions;

use crate::commands::udp::{DISCOVERY, resolve};

/// Parses a device's address as a user types it.
pub(super) fn device(text: &str) -> anyhow::Result<Device> {
    let address = resolve(text, ECHO_PORT)?;
    Ok(Device {
        name: address_as_name(address),
        address,
    })
}

/// Checks that the device answers, before the check spends a minute on it.
pub(super) fn must_answer(network: &NetworkPlan, stop: &Stop) -> anyhow::Result<()> {
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
