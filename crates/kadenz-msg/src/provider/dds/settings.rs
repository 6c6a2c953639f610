//! The settings of a `dds://` URL.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use kadenz_rt::net::interface::list_broadcast;
use rustdds::policy::{History, ResourceLimits};
use rustdds::{QosPolicies, QosPolicyBuilder};

use crate::provider::ProviderError;
use crate::provider::parameters::Address;

/// The highest domain whose ports are below 65536 (RTPS 2.5, 9.6.2.3).
const MAX_DOMAIN: u16 = 232;
/// The longest name of a bus.
const MAX_NAME: usize = 200;
/// The minimum window: a writer that waits for each acknowledgement would be as slow as they are.
const MIN_WINDOW: usize = 16;

/// The parameters of the URL, with the defaults for missing ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DdsSettings {
    pub(super) domain: u16,
    pub(super) topic: String,
    /// The addresses of the interfaces for discovery; `None` for all.
    pub(super) interfaces: Option<Vec<IpAddr>>,
    pub(super) reliable: bool,
    pub(super) history: usize,
    pub(super) send_wait: Duration,
    pub(super) largest: usize,
    pub(super) receive_buffer: Option<usize>,
}

impl DdsSettings {
    pub(super) fn read(address: &Address) -> Result<Self, ProviderError> {
        let mut given = address.parameters();
        let words = [("reliable", true), ("best_effort", false)];
        let name = given.text("bus").unwrap_or("messages");
        let settings = Self {
            domain: domain(address)?,
            topic: topic(address, name)?,
            interfaces: interfaces(address, given.text("iface").unwrap_or("lo"))?,
            reliable: given.choice("reliability", &words)?.unwrap_or(true),
            history: given.number("history", 1..=1 << 16)?.unwrap_or(256) as usize,
            send_wait: given
                .span("send_wait")?
                .unwrap_or(Duration::from_millis(100)),
            largest: given.bytes("largest")?.unwrap_or(4 << 20).max(1),
            receive_buffer: given.bytes("recv_buf_size")?.filter(|bytes| *bytes > 0),
        };
        given.finish()?;
        if settings.largest > (u32::MAX / 2) as usize {
            let reason = format!("largest={} cannot be", settings.largest);
            return Err(address.wrong(reason, "give at most 2GB"));
        }
        Ok(settings)
    }

    /// Returns the maximum time for which publishing waits, in milliseconds; 0 if it never does.
    pub(super) fn longest_wait_ms(&self) -> u32 {
        let wait = self.send_wait.as_millis();
        u32::try_from(wait).unwrap_or(u32::MAX)
    }

    /// Returns the policies of both ends: messages for the present readers, the newest ones.
    pub(super) fn policies(&self) -> QosPolicies {
        let limit = |most: usize| i32::try_from(most).unwrap_or(i32::MAX);
        let most = limit(self.history.max(MIN_WINDOW));
        let policies = QosPolicyBuilder::new()
            .history(History::KeepLast {
                depth: limit(self.history),
            })
            .resource_limits(ResourceLimits {
                max_samples: most,
                max_instances: 1,
                max_samples_per_instance: most,
            });
        let policies = if self.reliable {
            policies.reliable(rustdds::Duration::from(self.send_wait))
        } else {
            policies.best_effort()
        };
        policies.build()
    }
}

fn domain(address: &Address) -> Result<u16, ProviderError> {
    let location = address.location();
    if location.is_empty() {
        return Ok(0);
    }
    let number = location.parse().ok();
    number
        .filter(|domain| *domain <= MAX_DOMAIN)
        .ok_or_else(|| {
            let reason = format!("{location:?} is not a valid domain");
            let remedy = "give a number from 0 to 232, as dds://0; the bus has its name by ?bus=";
            address.wrong(reason, remedy)
        })
}

fn topic(address: &Address, bus: &str) -> Result<String, ProviderError> {
    // Cyclone DDS refuses topics with any other sign.
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "_/".contains(sign);
    if bus.len() <= MAX_NAME && bus.chars().all(is_sign) {
        return Ok(format!("kadenz_{bus}"));
    }
    let remedy = "give at most 200 letters, digits, `_` and `/`";
    Err(address.wrong(format!("bus={bus} cannot be"), remedy))
}

/// Returns the interfaces by an address, a name, or `all`.
fn interfaces(address: &Address, text: &str) -> Result<Option<Vec<IpAddr>>, ProviderError> {
    if text == "all" {
        return Ok(None);
    }
    if text == "lo" {
        return Ok(Some(vec![Ipv4Addr::LOCALHOST.into()]));
    }
    if let Ok(given) = text.parse::<Ipv4Addr>() {
        return Ok(Some(vec![given.into()]));
    }
    let all = list_broadcast();
    let named = all.iter().filter(|it| it.interface == text);
    let found: Vec<IpAddr> = named.map(|it| it.local.into()).collect();
    if !found.is_empty() {
        return Ok(Some(found));
    }
    let names: Vec<&str> = all.iter().map(|it| it.interface.as_str()).collect();
    let reason = format!("there is no interface {text:?} with an IPv4 address");
    let known = names.join(", ");
    Err(address.wrong(
        reason,
        format!("give lo, all, an IPv4 address of this host, or one of: {known}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<DdsSettings, String> {
        let address = Address::parse(url).map_err(|error| error.to_string())?;
        DdsSettings::read(&address).map_err(|error| error.to_string())
    }

    #[test]
    fn without_parameters_it_is_loopback_and_reliable() {
        let settings = read("dds://").unwrap();
        assert_eq!(
            (settings.domain, settings.topic.as_str()),
            (0, "kadenz_messages")
        );
        assert_eq!(settings.interfaces, Some(vec![Ipv4Addr::LOCALHOST.into()]));
        assert!(settings.reliable && settings.policies().is_reliable());
    }

    #[test]
    fn everything_can_be_said() {
        let url = "dds://7?bus=arm&iface=10.0.0.7&reliability=best_effort&history=1&largest=1MB";
        let settings = read(url).unwrap();
        assert_eq!(
            (settings.domain, settings.topic.as_str()),
            (7, "kadenz_arm")
        );
        assert_eq!(settings.interfaces, Some(vec!["10.0.0.7".parse().unwrap()]));
        assert_eq!((settings.history, settings.largest), (1, 1_000_000));
        assert!(!settings.policies().is_reliable());
        assert_eq!(read("dds://?iface=all").unwrap().interfaces, None);
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_remedy() {
        for (url, remedy) in [
            ("dds://233", "0 to 232"),
            ("dds://robot", "?bus="),
            ("dds://0?bus=left-arm", "letters"),
            ("dds://0?iface=nowhere0", "an IPv4 address of this host"),
            ("dds://0?largest=3GB", "at most 2GB"),
            ("dds://0?depth=3", "history"),
            ("dds://0?partition=a", "has no parameter"),
        ] {
            let error = read(url).unwrap_err();
            assert!(error.contains(remedy), "{url}: {error}");
        }
    }
}
