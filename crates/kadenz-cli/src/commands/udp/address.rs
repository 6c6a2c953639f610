//! Addresses as users type them: `10.0.0.5`, `10.0.0.5:6176`, `[fe80::1]:6176`, `robot.local`.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

use anyhow::Context as _;

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
