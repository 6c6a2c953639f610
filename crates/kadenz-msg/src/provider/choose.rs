//! Which provider a URL names.

use std::sync::Arc;

use super::Provider;
use super::memq::Memq;
use crate::bus::OpenError;

/// What LCM's programs use without being told otherwise.
pub const DEFAULT_URL: &str = "udpm://239.255.76.67:7667?ttl=0";

/// What is wrong with a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It names no provider.
    #[error("{url}: there is no provider {scheme:?}; use one of {known}")]
    UnknownScheme {
        /// What was given.
        url: String,
        /// Its scheme.
        scheme: String,
        /// Those that there are.
        known: String,
    },
}

/// Schemes that this program was built with.
pub const SCHEMES: &[&str] = &["memq"];

/// The URL that the environment names in `LCM_DEFAULT_URL`, or LCM's own.
#[must_use]
pub fn default_url() -> String {
    std::env::var("LCM_DEFAULT_URL").unwrap_or_else(|_| DEFAULT_URL.to_owned())
}

/// The provider that a URL names.
///
/// # Errors
/// Where it names none, has parameters that it does not know, or cannot begin.
pub fn open(url: &str) -> Result<Arc<dyn Provider>, OpenError> {
    let scheme = url.split_once("://").map_or(url, |(scheme, _)| scheme);
    match scheme {
        "memq" => Ok(Arc::new(Memq::default())),
        _ => Err(OpenError::Url(UrlError::UnknownScheme {
            url: url.to_owned(),
            scheme: scheme.to_owned(),
            known: SCHEMES.join(", "),
        })),
    }
}
