//! The device that answers a check.

use kadenz_lab::check::{Answering, NetworkPlan};
use kadenz_lab::stop::Stop;
use kadenz_lab::udp::ECHO_PORT;
use kadenz_lab::udp::discover::{DiscoverPlan, address_as_name, discover};
use kadenz_lab::udp::probe::Device;
use kadenz_rt::net::port::PortOptions;

use crate::commands::udp::{DISCOVERY, any_like, resolve};

/// The device as a user types its address.
pub(super) fn device(text: &str) -> anyhow::Result<Device> {
    let address = resolve(text, ECHO_PORT)?;
    Ok(Device {
        name: address_as_name(address),
        address,
    })
}

/// Asks the device whether it is there, before a minute is spent on it.
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
        "nobody answers on {to}; run `kadenz udp echo --bind 0.0.0.0{}` there, without a token, and let \
         UDP port {} through its firewall",
        match to.port() {
            ECHO_PORT => String::new(),
            port => format!(":{port}"),
        },
        to.port()
    );
    Ok(())
}
