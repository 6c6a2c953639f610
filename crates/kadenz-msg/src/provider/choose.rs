//! Chooses the provider that a URL names.

use std::sync::Arc;

use super::amqp::Amqp;
use super::file::FileProvider;
use super::memq::Memq;
use super::parameters::Address;
use super::ros1::Ros1;
use super::tcpq::Tcpq;
use super::udpm::Udpm;
use super::zmq::Zmq;
use super::{Provider, ProviderError};

/// The default URL of LCM's programs.
pub const DEFAULT_URL: &str = "udpm://239.255.76.67:7667?ttl=0";

/// The schemes of this program's build.
pub const SCHEMES: &[&str] = &[
    "udpm",
    "memq",
    "tcpq",
    "file",
    "zmq",
    "ros1",
    "amqp",
    #[cfg(all(feature = "shm", target_os = "linux"))]
    "shm",
    #[cfg(feature = "zenoh")]
    "zenoh",
    #[cfg(feature = "dds")]
    "dds",
];

/// The schemes of a program that was built with the feature of their name.
const BY_FEATURE: &[&str] = &["shm", "zenoh", "dds"];

/// The variable of the environment that names the default URL.
const VARIABLE: &str = "LCM_DEFAULT_URL";

/// The URL that the environment names in `LCM_DEFAULT_URL`, or LCM's own where the variable is unset or empty.
#[must_use]
pub fn default_url() -> String {
    of_environment().unwrap_or_else(|| DEFAULT_URL.to_owned())
}

fn of_environment() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|it| !it.is_empty())
}

/// Opens the provider that a URL names.
///
/// # Errors
/// If the URL names none, has parameters that the provider does not know, or the provider cannot begin. The error names
/// `LCM_DEFAULT_URL` where that holds the URL.
pub fn open(url: &str) -> Result<Arc<dyn Provider>, ProviderError> {
    open_address(url).map_err(|error| match of_environment() {
        Some(named) if named == url => ProviderError {
            remedy: format!("{} (the URL is that of {VARIABLE})", error.remedy),
            ..error
        },
        _ => error,
    })
}

fn open_address(url: &str) -> Result<Arc<dyn Provider>, ProviderError> {
    let address = Address::parse(url)?;
    match address.scheme() {
        "memq" => {
            address.parameters().finish()?;
            Ok(Arc::new(Memq::default()))
        }
        "file" => Ok(Arc::new(FileProvider::open(&address)?)),
        "udpm" => Ok(Arc::new(Udpm::open(&address)?)),
        "tcpq" => Ok(Arc::new(Tcpq::open(&address)?)),
        "ros1" => Ok(Arc::new(Ros1::open(&address)?)),
        "amqp" => Ok(Arc::new(Amqp::open(&address)?)),
        "zmq" => Ok(Arc::new(Zmq::open(&address)?)),
        #[cfg(all(feature = "shm", target_os = "linux"))]
        "shm" => Ok(Arc::new(super::shm::Shm::open(&address)?)),
        #[cfg(feature = "zenoh")]
        "zenoh" => Ok(Arc::new(super::zenoh::Zenoh::open(&address)?)),
        #[cfg(feature = "dds")]
        "dds" => Ok(Arc::new(super::dds::Dds::open(&address)?)),
        scheme => Err(unknown(url, scheme)),
    }
}

fn unknown(url: &str, scheme: &str) -> ProviderError {
    let others = format!("use one of {}", SCHEMES.join(", "));
    let (reason, remedy) = if BY_FEATURE.contains(&scheme) {
        (
            format!("this program was built without the provider {scheme}"),
            format!("build it with `--features {scheme}` (shm: on Linux alone), or {others}"),
        )
    } else {
        (format!("there is no provider {scheme:?}"), others)
    };
    ProviderError {
        url: url.to_owned(),
        reason,
        remedy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_scheme_is_known() {
        for scheme in SCHEMES {
            // Some need more of an address than this; none may fail as unknown.
            let said = open(&format!("{scheme}://127.0.0.1:1?nonsense=1")).unwrap_err();
            assert!(!said.to_string().contains("there is no provider"), "{said}");
        }
        let said = open("carrier-pigeon://roof").unwrap_err().to_string();
        assert!(said.contains("udpm, memq"), "{said}");
    }

    #[test]
    fn a_provider_that_was_left_out_is_named_with_its_feature() {
        for scheme in BY_FEATURE {
            if !SCHEMES.contains(scheme) {
                let said = open(&format!("{scheme}://")).unwrap_err().to_string();
                assert!(said.contains(&format!("--features {scheme}")), "{said}");
            }
        }
    }
}
