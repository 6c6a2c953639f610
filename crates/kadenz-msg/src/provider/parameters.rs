//! A provider's URL: scheme, address, path, and parameters with units.
//!
//! ```
//! use std::time::Duration;
//! use kadenz_msg::provider::parameters::Address;
//!
//! let address = Address::parse("udpm://239.255.76.67:7667?ttl=1&busy_poll=50us&reassembly=16MB")?;
//! assert_eq!((address.scheme(), address.location()), ("udpm", "239.255.76.67:7667"));
//!
//! let mut parameters = address.parameters();
//! assert_eq!(parameters.number("ttl", 0..=255)?, Some(1));
//! assert_eq!(parameters.span("busy_poll")?, Some(Duration::from_micros(50)));
//! assert_eq!(parameters.bytes("reassembly")?, Some(16_000_000));
//! assert_eq!(parameters.text("iface"), None);
//! parameters.finish()?; // an error if the URL has an unknown parameter
//! # Ok::<(), kadenz_msg::provider::ProviderError>(())
//! ```

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use kadenz_rt::units::{self, ByteSize};

use super::ProviderError;

/// The longest URL, in bytes.
const MAX: usize = 4096;

/// A provider's URL, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    text: String,
    scheme: String,
    location: String,
    given: Vec<(String, String)>,
}

impl Address {
    /// Parses `scheme://location?name=value&name=value`. A parameter with nothing behind its `=` counts as
    /// not given, as in LCM. `%20` and the like are decoded in values.
    ///
    /// # Errors
    /// If there is no scheme, a parameter has no `=` or occurs twice, or the URL is longer than 4096 bytes.
    pub fn parse(url: &str) -> Result<Self, ProviderError> {
        let wrong = |reason: String, remedy: &str| ProviderError {
            url: url.chars().take(MAX).collect(),
            reason,
            remedy: remedy.to_owned(),
        };
        if url.len() > MAX {
            let reason = format!("it has {} bytes", url.len());
            return Err(wrong(reason, "give at most 4096"));
        }
        let form = "write scheme://address?name=value, for example udpm://239.255.76.67:7667?ttl=0";
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(wrong("it has no scheme".to_owned(), form));
        };
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        if scheme.is_empty() || !scheme.bytes().all(is_word) {
            return Err(wrong(format!("{scheme:?} is not a valid scheme"), form));
        }
        let (location, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut given: Vec<(String, String)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(wrong(format!("the parameter {pair:?} has no value"), form));
            };
            if given.iter().any(|(earlier, _)| earlier == name) {
                let reason = format!("the parameter {name} is given twice");
                return Err(wrong(reason, "leave one of them out"));
            }
            let value = decode(value).ok_or_else(|| {
                let reason = format!("the value of {name} has a broken %-escape");
                wrong(reason, "write % as %25")
            })?;
            given.push((name.to_owned(), value));
        }
        Ok(Self {
            text: url.to_owned(),
            scheme: scheme.to_ascii_lowercase(),
            location: location.to_owned(),
            given,
        })
    }

    /// Returns the text before `://`, in lower case.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Returns the text between `://` and `?`: a host and port, a name, or a path.
    #[must_use]
    pub fn location(&self) -> &str {
        &self.location
    }

    /// The whole URL, as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the location as `host` and `port`, without a port if it is missing; of `host:port/path`, the
    /// path is left out, and the square brackets of an IPv6 address are removed.
    ///
    /// # Errors
    /// If the port is invalid.
    pub(crate) fn host_and_port(&self) -> Result<(&str, Option<u16>), ProviderError> {
        let authority = self.location.split('/').next().unwrap_or_default();
        let is_v6 = authority.starts_with('[');
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !is_v6 || host.ends_with(']') => (host, Some(port)),
            _ => (authority, None),
        };
        let host = if is_v6 {
            host.trim_start_matches('[').trim_end_matches(']')
        } else {
            host
        };
        let port = port.filter(|port| !port.is_empty()).map(str::parse::<u16>);
        let port = port.transpose().map_err(|_| {
            let reason = format!("{authority:?} does not end in a port");
            self.wrong(reason, "give a port from 1 to 65535 behind the last colon")
        })?;
        Ok((host, port))
    }

    /// Returns the location as `host:port`, with the defaults for missing parts; the host may be a name.
    ///
    /// # Errors
    /// If the port is invalid.
    pub(crate) fn endpoint(
        &self,
        host_by_default: &str,
        port_by_default: u16,
    ) -> Result<String, ProviderError> {
        let (host, port) = self.host_and_port()?;
        let host = if host.is_empty() {
            host_by_default
        } else {
            host
        };
        let port = port.unwrap_or(port_by_default);
        // An address whose scope is a name is looked up as it is.
        Ok(match host.parse::<Ipv6Addr>() {
            Ok(_) => format!("[{host}]:{port}"),
            Err(_) => format!("{host}:{port}"),
        })
    }

    /// Returns the location as an address, with the defaults for missing parts.
    ///
    /// # Errors
    /// If the host is a name, or the port is invalid.
    pub(crate) fn socket_address(
        &self,
        host_by_default: IpAddr,
        port_by_default: u16,
    ) -> Result<SocketAddr, ProviderError> {
        let (host, port) = self.host_and_port()?;
        let ip = if host.is_empty() {
            host_by_default
        } else {
            host.parse().map_err(|_| {
                let reason = format!("{host:?} is not a valid IP address");
                self.wrong(reason, "give an address in digits, as 239.255.76.67")
            })?
        };
        Ok(SocketAddr::new(ip, port.unwrap_or(port_by_default)))
    }

    /// Returns its parameters, which a provider then takes one by one.
    #[must_use]
    pub fn parameters(&self) -> UrlParameters<'_> {
        UrlParameters {
            address: self,
            known: Vec::new(),
        }
    }

    /// Returns an error about this URL, or of a provider that was opened by it.
    #[must_use]
    pub fn wrong(&self, reason: impl Into<String>, remedy: impl Into<String>) -> ProviderError {
        ProviderError {
            url: self.text.clone(),
            reason: reason.into(),
            remedy: remedy.into(),
        }
    }
}

/// The parameters of a URL. A provider takes each by name and type; [`UrlParameters::finish`] then refuses
/// parameters that were not taken, and lists the known ones.
#[derive(Debug)]
pub struct UrlParameters<'a> {
    address: &'a Address,
    known: Vec<&'static str>,
}

impl<'a> UrlParameters<'a> {
    /// Returns the text of a parameter; `None` if it is not given.
    pub fn text(&mut self, name: &'static str) -> Option<&'a str> {
        self.known.push(name);
        let mut given = self.address.given.iter();
        let found = given.find(|(given, _)| given == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// Takes a whole number within a range.
    ///
    /// # Errors
    /// If the value is not a number, or outside.
    pub fn number(
        &mut self,
        name: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, ProviderError> {
        let remedy = format!(
            "give a whole number from {} to {}",
            range.start(),
            range.end()
        );
        self.typed(name, &remedy, |text| {
            text.parse().ok().filter(|number| range.contains(number))
        })
    }

    /// Takes a number of bytes: `4096`, `64KiB`, `16MB`.
    ///
    /// # Errors
    /// If the value is not such a number.
    pub fn bytes(&mut self, name: &'static str) -> Result<Option<usize>, ProviderError> {
        let remedy = "give bytes, with kB, MB, GB (1000) or KiB, MiB, GiB (1024), as 16MB";
        self.typed(name, remedy, bytes)
    }

    /// Takes a span of time with its unit: `50us`, `1.5ms`, `2s`.
    ///
    /// # Errors
    /// If the value is not a span.
    pub fn span(&mut self, name: &'static str) -> Result<Option<Duration>, ProviderError> {
        self.typed(name, "give a span with ns, us, ms or s, as 50us", span)
    }

    /// Takes `yes` or `no`; also `true`, `false`, `1` and `0`.
    ///
    /// # Errors
    /// If the value is not one of them.
    pub fn switch(&mut self, name: &'static str) -> Result<Option<bool>, ProviderError> {
        self.typed(name, "give yes or no", |text| match text {
            "yes" | "true" | "1" | "on" => Some(true),
            "no" | "false" | "0" | "off" => Some(false),
            _ => None,
        })
    }

    /// Takes one of several words.
    ///
    /// # Errors
    /// If the value is not one of them.
    pub fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, ProviderError> {
        let list: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let remedy = format!("give one of {}", list.join(", "));
        self.typed(name, &remedy, |text| {
            let found = words.iter().find(|(word, _)| *word == text);
            found.map(|(_, value)| *value)
        })
    }

    /// Checks that every given parameter was taken.
    ///
    /// # Errors
    /// If the URL has a parameter that this provider does not know.
    pub fn finish(self) -> Result<(), ProviderError> {
        let mut given = self.address.given.iter();
        let Some((name, _)) = given.find(|(name, _)| !self.known.contains(&name.as_str())) else {
            return Ok(());
        };
        let scheme = self.address.scheme();
        let reason = format!("{scheme}:// has no parameter {name:?}");
        Err(self.address.wrong(
            reason,
            if self.known.is_empty() {
                "it has none".to_owned()
            } else {
                format!("it has {}", self.known.join(", "))
            },
        ))
    }

    fn typed<T>(
        &mut self,
        name: &'static str,
        remedy: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, ProviderError> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let wrong = || {
            let reason = format!("{name}={text} cannot be");
            self.address.wrong(reason, remedy)
        };
        read(text).map(Some).ok_or_else(wrong)
    }
}

fn decode(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let code = digit()? * 16 + digit()?;
        bytes.push(u8::try_from(code).ok()?);
    }
    String::from_utf8(bytes).ok()
}

fn bytes(text: &str) -> Option<usize> {
    let plain = text.parse().ok();
    let with_unit = || text.parse::<ByteSize>().ok().map(|size| size.0);
    usize::try_from(plain.or_else(with_unit)?).ok()
}

fn span(text: &str) -> Option<Duration> {
    units::duration(text).ok()
}

#[cfg(test)]
mod tests;
