//! Authentication of RTSP and HTTP: Basic (RFC 7617) and Digest (RFC 2617, RFC 7616: MD5 and SHA-256).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::Md5;
use sha2::{Digest as _, Sha256};

use super::url::Credentials;

/// The hash of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Md5,
    Sha256,
}

impl Algorithm {
    /// The hash of a text, in hexadecimal digits.
    pub(crate) fn hex(self, text: &str) -> String {
        match self {
            Self::Md5 => hex(&Md5::digest(text.as_bytes())),
            Self::Sha256 => hex(&Sha256::digest(text.as_bytes())),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The scheme of a challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Scheme {
    Basic,
    Digest {
        realm: String,
        nonce: String,
        opaque: Option<String>,
        /// The algorithm as the server wrote it, where it did.
        stated: Option<String>,
        algorithm: Algorithm,
        is_session: bool,
        has_quality: bool,
    },
}

/// The server's challenge, and how often the client answered it.
#[derive(Clone, PartialEq, Eq)]
pub struct Challenge {
    scheme: Scheme,
    /// Whether the server said that only the nonce was too old.
    pub is_stale: bool,
    count: u32,
}

impl fmt::Debug for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.scheme {
            Scheme::Basic => "Challenge(Basic)",
            Scheme::Digest { .. } => "Challenge(Digest)",
        })
    }
}

impl Challenge {
    /// The strongest supported challenge in a server's `WWW-Authenticate` fields; `None` where none is supported.
    pub fn strongest<'a>(fields: impl Iterator<Item = &'a str>) -> Option<Self> {
        fields
            .flat_map(offers)
            .filter_map(|offer| Self::of_offer(&offer))
            .max_by_key(|it| match &it.scheme {
                Scheme::Basic => 0,
                Scheme::Digest { algorithm, .. } => {
                    1 + usize::from(*algorithm == Algorithm::Sha256)
                }
            })
    }

    fn of_offer(offer: &Offer) -> Option<Self> {
        let value = |name: &str| {
            let named = |it: &&(String, String)| it.0.eq_ignore_ascii_case(name);
            offer.parameters.iter().find(named).map(|it| it.1.clone())
        };
        let scheme = match offer.scheme.to_ascii_lowercase().as_str() {
            "basic" => Scheme::Basic,
            "digest" => {
                let stated = value("algorithm");
                let name = stated.as_deref().unwrap_or("MD5").to_ascii_uppercase();
                let base = name.strip_suffix("-SESS");
                Scheme::Digest {
                    realm: value("realm").unwrap_or_default(),
                    nonce: value("nonce")?,
                    opaque: value("opaque"),
                    stated,
                    algorithm: match base.unwrap_or(&name) {
                        "MD5" => Algorithm::Md5,
                        "SHA-256" => Algorithm::Sha256,
                        _ => return None,
                    },
                    is_session: base.is_some(),
                    has_quality: value("qop").is_some_and(|it| {
                        it.split(',')
                            .any(|it| it.trim().eq_ignore_ascii_case("auth"))
                    }),
                }
            }
            _ => return None,
        };
        Some(Self {
            scheme,
            is_stale: value("stale").is_some_and(|it| it.eq_ignore_ascii_case("true")),
            count: 0,
        })
    }

    /// The value of `Authorization` for a request. `client_nonce` is anything that differs from session to session.
    pub(crate) fn answer(
        &mut self,
        credentials: &Credentials,
        method: &str,
        uri: &str,
        client_nonce: &str,
    ) -> String {
        self.count = self.count.wrapping_add(1);
        let Credentials { user, password } = credentials;
        let Scheme::Digest {
            realm,
            nonce,
            opaque,
            stated,
            algorithm,
            is_session,
            has_quality,
        } = &self.scheme
        else {
            return format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        };
        let mut secret = algorithm.hex(&format!("{user}:{realm}:{password}"));
        if *is_session {
            secret = algorithm.hex(&format!("{secret}:{nonce}:{client_nonce}"));
        }
        let request = algorithm.hex(&format!("{method}:{uri}"));
        let count = self.count;
        let response = match has_quality {
            true => algorithm.hex(&format!(
                "{secret}:{nonce}:{count:08x}:{client_nonce}:auth:{request}"
            )),
            false => algorithm.hex(&format!("{secret}:{nonce}:{request}")),
        };
        let user = quoted(user);
        let (realm, nonce) = (quoted(realm), quoted(nonce));
        let mut answer = format!(
            "Digest username={user}, realm={realm}, nonce={nonce}, uri=\"{uri}\", response=\"{response}\""
        );
        if let Some(stated) = stated {
            answer += &format!(", algorithm={stated}");
        }
        if *has_quality {
            answer += &format!(", qop=auth, nc={count:08x}");
        }
        if *has_quality || *is_session {
            answer += &format!(", cnonce=\"{client_nonce}\"");
        }
        if let Some(opaque) = opaque {
            answer += &format!(", opaque={}", quoted(opaque));
        }
        answer
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

struct Offer {
    scheme: String,
    parameters: Vec<(String, String)>,
}

/// The offers of one field: `Digest realm="a", nonce="b", Basic realm="c"`.
fn offers(field: &str) -> Vec<Offer> {
    let mut offers: Vec<Offer> = Vec::new();
    for part in split_outside_quotes(field) {
        let (before, value) = part.split_once('=').unwrap_or((part, ""));
        // A name with a word before it begins another offer.
        let mut words = before.split_ascii_whitespace();
        let (first, second) = (words.next().unwrap_or_default(), words.next());
        let name = match (second, offers.last_mut(), part.contains('=')) {
            (None, Some(_), true) => first,
            _ => {
                let (scheme, parameters) = (first.to_owned(), Vec::new());
                offers.push(Offer { scheme, parameters });
                second.unwrap_or_default()
            }
        };
        if let Some(offer) = offers.last_mut() {
            offer
                .parameters
                .push((name.to_owned(), unquoted(value.trim())));
        }
    }
    offers
}

fn split_outside_quotes(field: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut is_quoted, mut is_escaped) = (Vec::new(), 0, false, false);
    for (at, byte) in field.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => {
                parts.push(&field[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&field[begin..]);
    parts
}

fn unquoted(value: &str) -> String {
    let inner = value.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let Some(inner) = inner else {
        return value.to_owned();
    };
    let mut out = String::new();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.extend(letters.next()),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use super::*;

    fn credentials(user: &str, password: &str) -> Credentials {
        Credentials {
            user: user.to_owned(),
            password: password.to_owned(),
        }
    }

    fn challenge(field: &str) -> Challenge {
        Challenge::strongest([field].into_iter()).unwrap()
    }

    #[test]
    fn the_examples_of_the_standards_are_answered() {
        // RFC 2617, section 3.5; the same user, password and request serve RFC 7616, section 3.9.1.
        let mut asked = challenge(
            r#"Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41""#,
        );
        let answer = asked.answer(
            &credentials("Mufasa", "Circle Of Life"),
            "GET",
            "/dir/index.html",
            "0a4f113b",
        );
        assert!(
            answer.contains(r#"response="6629fae49393a05397450978507c4ef1""#),
            "{answer}"
        );
        let common = r#"realm="http-auth@example.org", qop="auth, auth-int", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v""#;
        for (algorithm, response) in [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            (
                "SHA-256",
                "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
            ),
        ] {
            let mut asked = challenge(&format!("Digest {common}, algorithm={algorithm}"));
            let cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";
            let answer = asked.answer(
                &credentials("Mufasa", "Circle of Life"),
                "GET",
                "/dir/index.html",
                cnonce,
            );
            assert!(answer.contains(response), "{answer}");
        }
        // RFC 7617, section 2.
        let answer = challenge("Basic realm=\"x\"").answer(
            &credentials("Aladdin", "open sesame"),
            "GET",
            "/",
            "",
        );
        assert_eq!(answer, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }

    #[test]
    fn a_digest_without_quality_has_neither_count_nor_client_nonce() {
        let mut asked = challenge(r#"Digest realm="Surveillance Server", nonce="98481030""#);
        let answer = asked.answer(&credentials("admin", "12345"), "DESCRIBE", "rtsp://h/", "c");
        let expected = hex(&Md5::digest(
            format!(
                "{}:98481030:{}",
                hex(&Md5::digest(b"admin:Surveillance Server:12345")),
                hex(&Md5::digest(b"DESCRIBE:rtsp://h/"))
            )
            .as_bytes(),
        ));
        assert!(
            answer.contains(&expected) && !answer.contains("nc="),
            "{answer}"
        );
    }

    #[test]
    fn the_strongest_offer_is_taken() {
        let fields = [
            "Basic realm=\"a, b\"",
            r#"Digest realm="a", nonce="1", Basic realm="b""#,
            r#"Digest realm="a", nonce="2", algorithm=SHA-256, stale=TRUE"#,
            r#"Digest realm="a", nonce="3", algorithm=SHA-512"#,
            "Negotiate",
        ];
        let strongest = Challenge::strongest(fields.into_iter()).unwrap();
        assert!(matches!(&strongest.scheme, Scheme::Digest { nonce, .. } if nonce == "2"));
        assert!(strongest.is_stale);
        let strongest = Challenge::strongest(fields.into_iter().take(2)).unwrap();
        assert!(matches!(&strongest.scheme, Scheme::Digest { nonce, .. } if nonce == "1"));
        assert_eq!(
            Challenge::strongest(["Negotiate", "", "=", "Digest realm=\"x\""].into_iter()),
            None
        );
    }
}
