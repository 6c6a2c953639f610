//! Finds devices: one broadcast, a list of devices.

use std::net::SocketAddr;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::net::port::{
    Inbox, OpenPortError, PortOptions, Reception, SendError, UdpPort, Wait,
};
use kadenz_udp::wire::{Discover, Kind, Packet, RunId, Sequence, Stamp, Token};

use super::probe::Device;
use crate::stop::Stop;

/// Parameters of a search for devices.
#[derive(Clone, Debug)]
pub struct DiscoverPlan {
    /// A broadcast address, or the address of one device.
    pub to: SocketAddr,
    /// How long to wait for answers; the packet is sent three times meanwhile.
    pub wait: Duration,
    /// Maximum number of listed devices.
    pub most: usize,
    /// The token that the devices know.
    pub token: Option<Token>,
    /// The address, interface and other options of the socket.
    pub port: PortOptions,
}

/// Why no device could be asked.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// The socket cannot be opened.
    #[error(transparent)]
    Port(#[from] OpenPortError),
    /// The packet was not sent.
    #[error(transparent)]
    Send(#[from] SendError),
}

/// The packet is sent this often: a single datagram may get lost.
const ASKED: u32 = 3;

/// Sends the packet, and lists the devices that answer, by address.
///
/// Devices of one name get their address as name, and so do those without one.
///
/// # Errors
/// [`DiscoverError`]; a missing answer is not an error.
pub fn discover(plan: &DiscoverPlan, stop: &Stop) -> Result<Vec<Device>, DiscoverError> {
    let mut port = UdpPort::open(&plan.port)?;
    let mut inbox = Inbox::new(64, Discover::ROOMY_BYTES + 16);
    let mut found: Vec<Device> = Vec::new();
    let run = RunId((clock::now().as_ns() >> 10) as u32);
    for turn in 0..ASKED {
        let until = clock::now() + plan.wait / ASKED;
        ask(plan, &mut port, run, turn)?;
        while clock::now() < until && !stop.requested() {
            // An error about one device does not prevent asking the others.
            let Ok(Reception::Datagrams(_)) = port.receive_batch(&mut inbox, Wait::Until(until))
            else {
                continue;
            };
            for datagram in inbox.datagrams() {
                take(plan, run, datagram.from, datagram.bytes, &mut found);
            }
        }
    }
    found.sort_by_key(|device| device.address);
    name_apart(&mut found);
    Ok(found)
}

fn ask(
    plan: &DiscoverPlan,
    port: &mut UdpPort,
    run: RunId,
    turn: u32,
) -> Result<(), DiscoverError> {
    let question = Discover {
        run,
        sequence: Sequence(turn),
        stamp: Stamp(MonotonicTime::as_ns(clock::now())),
        token: plan.token.as_ref(),
    };
    let mut bytes = [0; Discover::ROOMY_BYTES + 16];
    if question.write(&mut bytes).is_ok() {
        port.send_to(&bytes, plan.to)?;
    }
    Ok(())
}

fn take(plan: &DiscoverPlan, run: RunId, from: SocketAddr, bytes: &[u8], found: &mut Vec<Device>) {
    let Ok(packet) = Packet::open(bytes, plan.token.as_ref()) else {
        return;
    };
    let known = found.iter().any(|device| device.address == from);
    let ours = packet.kind() == Kind::Present && packet.run() == run;
    if !ours || known || found.len() >= plan.most {
        return;
    }
    let name = packet
        .name()
        .map_or_else(|_| String::new(), |name| name.to_string());
    found.push(Device {
        name: sound(&name),
        address: from,
    });
}

/// The part of a name that can begin the name of a series.
fn sound(name: &str) -> String {
    let sound = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || letter == '_' || letter == '-' => letter,
        _ => '-',
    };
    let name: String = name.chars().take(48).map(sound).collect();
    name.trim_start_matches('-').to_owned()
}

/// Gives each device a unique name, also where two differ only in case: names become files.
pub fn name_apart(devices: &mut [Device]) {
    let names: Vec<String> = devices
        .iter()
        .map(|it| it.name.to_ascii_lowercase())
        .collect();
    for device in devices.iter_mut() {
        let same = names
            .iter()
            .filter(|name| **name == device.name.to_ascii_lowercase());
        if device.name.is_empty() || device.name == "all" || same.count() > 1 {
            device.name = address_as_name(device.address);
        }
    }
}

/// `10.0.0.5`, `10.0.0.5-7000`: an address as the beginning of a series' name; the usual port is left out.
#[must_use]
pub fn address_as_name(address: SocketAddr) -> String {
    let text = match address.port() {
        super::ECHO_PORT => address.ip().to_string(),
        _ => address.to_string(),
    };
    let sound = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || letter == '.' => letter,
        _ => '-',
    };
    let name: String = text.chars().map(sound).collect();
    name.trim_start_matches('-').replace("--", "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, last: u8) -> Device {
        Device {
            name: name.to_owned(),
            address: SocketAddr::from(([10, 0, 0, last], 6176)),
        }
    }

    #[test]
    fn devices_of_one_name_go_by_their_address() {
        let mut devices = [
            device("foot", 1),
            device("Foot", 2),
            device("", 3),
            device("knee", 4),
        ];
        name_apart(&mut devices);
        let names = devices.map(|device| device.name);
        assert_eq!(names, ["10.0.0.1", "10.0.0.2", "10.0.0.3", "knee"]);
    }

    #[test]
    fn a_name_becomes_the_begin_of_a_file_s_name() {
        assert_eq!(sound("../left foot"), "left-foot");
        assert_eq!(sound("X5-4 #12"), "X5-4--12");
        assert_eq!(
            address_as_name("[::1]:7".parse().expect("an address")),
            "1-7"
        );
    }
}
