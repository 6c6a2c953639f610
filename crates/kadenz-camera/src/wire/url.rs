//! URLs of cameras (RFC 3986); no text shows their user and password.

use std::fmt;

/// A user and a password. Neither is shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    /// The name, decoded.
    pub user: String,
    /// The password, decoded.
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(hidden)")
    }
}

/// Why a text is not a URL of a camera. The error never repeats the text, which may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// There is no `scheme://`.
    #[error("the URL has no scheme; write it as rtsp://HOST/PATH or http://HOST/PATH")]
    NoScheme,
    /// There is no host.
    #[error("the URL has no host; write it as SCHEME://HOST/PATH")]
    NoHost,
    /// The port is not a number from 1 to 65535.
    #[error(
        "the URL's port is not valid; write it as SCHEME://HOST:PORT/PATH, with %40 for an @ in a password"
    )]
    Port,
    /// There is a space or a control character in it.
    #[error("the URL holds a space or a control character; write %20 for a space")]
    Character,
}

/// Where a camera is: scheme, credentials, host, port, and the rest.
///
/// `Display` and `Debug` leave the credentials out.
#[derive(Clone, PartialEq, Eq)]
pub struct CameraUrl {
    scheme: String,
    credentials: Option<Credentials>,
    host: String,
    port: Option<u16>,
    /// From the slash on, with the query, without the fragment; empty where there is none.
    target: String,
}

impl CameraUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// [`UrlError`].
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::NoScheme)?;
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        if scheme.is_empty() || !scheme.bytes().all(letters) {
            return Err(UrlError::NoScheme);
        }
        has_no_control(text)?;
        let rest = rest.split('#').next().unwrap_or_default();
        let authority_end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(authority_end);
        // A password may hold an `@` of its own; a host does not.
        let (credentials, place) = match authority.rsplit_once('@') {
            Some((credentials, place)) => (Some(credentials_of(credentials)), place),
            None => (None, authority),
        };
        let (host, port) = place_of(place)?;
        Ok(Self {
            scheme: scheme.to_ascii_lowercase(),
            credentials,
            host,
            port,
            target: target.to_owned(),
        })
    }

    /// `rtsp`, `http`, in small letters.
    #[must_use]
    pub(crate) fn scheme(&self) -> &str {
        &self.scheme
    }

    /// User and password, where the URL has them.
    #[must_use]
    pub(crate) fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }

    /// Name or address; an IPv6 address without its brackets.
    #[must_use]
    pub(crate) fn host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    /// What stands in a `Host` field: the host, with its port where the URL states one.
    #[must_use]
    pub(crate) fn authority(&self) -> String {
        match self.port {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        }
    }

    /// The stated port, else the scheme's: 554 for `rtsp`, 322 for `rtsps`, 443 for `https`, 80 for others.
    #[must_use]
    pub(crate) fn port(&self) -> u16 {
        let by_scheme = || match self.scheme.as_str() {
            "rtsp" => 554,
            "rtsps" => 322,
            "https" => 443,
            _ => 80,
        };
        self.port.unwrap_or_else(by_scheme)
    }

    /// Path and query as a request line of HTTP has them: at least a slash.
    #[must_use]
    pub(crate) fn target(&self) -> String {
        match self.target.as_bytes().first() {
            Some(b'/') => self.target.clone(),
            _ => format!("/{}", self.target),
        }
    }

    /// Takes `key=value` out of the query, and gives the value.
    pub(crate) fn take_query(&mut self, key: &str) -> Option<String> {
        let (path, query) = self.target.split_once('?')?;
        let is_it = |part: &str| part.split_once('=').is_some_and(|(name, _)| name == key);
        let value = query.split('&').find(|part| is_it(part))?;
        let value = value.split_once('=')?.1.to_owned();
        let rest: Vec<&str> = query.split('&').filter(|part| !is_it(part)).collect();
        self.target = match rest.is_empty() {
            true => path.to_owned(),
            false => format!("{path}?{}", rest.join("&")),
        };
        Some(value)
    }

    /// The URL that a redirection names: a whole one, or a path on the same host. Credentials go along only to the
    /// same host by the same scheme.
    ///
    /// # Errors
    /// [`UrlError`].
    pub(crate) fn redirected(&self, location: &str) -> Result<Self, UrlError> {
        if location.starts_with('/') {
            has_no_control(location)?;
            let target = location.to_owned();
            return Ok(Self {
                target,
                ..self.clone()
            });
        }
        let mut other = Self::parse(location)?;
        let is_same_host =
            other.scheme == self.scheme && other.host.eq_ignore_ascii_case(&self.host);
        if other.credentials.is_none() && is_same_host {
            other.credentials.clone_from(&self.credentials);
        }
        Ok(other)
    }
}

fn has_no_control(text: &str) -> Result<(), UrlError> {
    let is_control = |it: char| it <= ' ' || it.is_control();
    match text.chars().any(is_control) {
        true => Err(UrlError::Character),
        false => Ok(()),
    }
}

fn credentials_of(text: &str) -> Credentials {
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    Credentials {
        user: decoded(user),
        password: decoded(password),
    }
}

/// `host`, `host:port`, `[address]`, `[address]:port`.
fn place_of(place: &str) -> Result<(String, Option<u16>), UrlError> {
    let host_end = place.find(']').map_or(0, |bracket| bracket + 1);
    let (host, port) = match place[host_end..].find(':') {
        Some(colon) => (
            &place[..host_end + colon],
            Some(&place[host_end + colon + 1..]),
        ),
        None => (place, None),
    };
    if host.trim_matches(['[', ']']).is_empty() {
        return Err(UrlError::NoHost);
    }
    let number = |text: &str| match text.parse() {
        Ok(0) | Err(_) => Err(UrlError::Port),
        Ok(port) => Ok(port),
    };
    let port = port.filter(|text| !text.is_empty()).map(number);
    Ok((host.to_owned(), port.transpose()?))
}

/// Decodes percent signs (RFC 3986, section 2.1); other text stays as it is.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = (bytes[at] == b'%').then(|| Some(digit(at + 1)? * 16 + digit(at + 2)?));
        match pair.flatten() {
            Some(byte) => {
                out.push(byte as u8);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

impl fmt::Display for CameraUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority(), self.target)
    }
}

impl fmt::Debug for CameraUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CameraUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use super::*;

    fn url(text: &str) -> CameraUrl {
        CameraUrl::parse(text).unwrap()
    }

    #[test]
    fn the_parts_of_a_url_are_found_and_the_credentials_hidden() {
        let camera = url("RTSP://us%65r:p@ss%20word@[fe80::1]:8554/a/b?c=d#e");
        let credentials = camera.credentials().unwrap();
        assert_eq!(
            (credentials.user.as_str(), credentials.password.as_str()),
            ("user", "p@ss word")
        );
        assert_eq!((camera.host(), camera.port()), ("fe80::1", 8554));
        assert_eq!(camera.to_string(), "rtsp://[fe80::1]:8554/a/b?c=d");
        let shown = format!("{camera} {camera:?} {credentials:?}");
        assert!(
            !shown.contains("ss word") && !shown.contains("user"),
            "{shown}"
        );
        assert_eq!(url("http://camera?x").target(), "/?x");
        assert_eq!(
            (url("rtsp://camera").port(), url("http://camera:").port()),
            (554, 80)
        );
    }

    #[test]
    fn what_is_not_a_url_is_refused_without_repeating_it() {
        let wrong = [
            "",
            "camera",
            "://x",
            "rtsp://",
            "rtsp://u:secret@",
            "rtsp://h:0/",
            "rtsp://h:secret/",
            "rtsp://a b/",
        ];
        for text in wrong {
            let error = CameraUrl::parse(text).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_key_is_taken_out_of_the_query() {
        let mut camera = url("rtsp://h/p?channel=1&kadenz-transport=udp&subtype=0");
        assert_eq!(
            camera.take_query("kadenz-transport").as_deref(),
            Some("udp")
        );
        assert_eq!(camera.take_query("kadenz-transport"), None);
        assert_eq!(camera.to_string(), "rtsp://h/p?channel=1&subtype=0");
        let mut camera = url("rtsp://h/p?kadenz-transport=tcp");
        assert_eq!(
            camera.take_query("kadenz-transport").as_deref(),
            Some("tcp")
        );
        assert_eq!(camera.to_string(), "rtsp://h/p");
    }

    #[test]
    fn credentials_follow_a_redirection_to_the_same_host_only() {
        let camera = url("rtsp://u:p@h/a");
        for (location, follow) in [
            ("/b", true),
            ("rtsp://H:1/b", true),
            ("rtsp://other/b", false),
            ("http://h/b", false),
        ] {
            let redirected = camera.redirected(location).unwrap();
            assert_eq!(redirected.credentials().is_some(), follow, "{location}");
        }
        for wrong in ["nowhere", "/a\rHost: b", "/\u{1b}[2J", "rtsp://h/\u{9b}2J"] {
            assert!(camera.redirected(wrong).is_err(), "{wrong:?}");
        }
    }
}
