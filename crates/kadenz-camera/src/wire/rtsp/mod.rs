//! The client's part of RTSP 1.0 (RFC 2326), sans-IO.
//!
//! A [`MessageReader`] cuts the stream of bytes into messages and interleaved frames; a [`Client`] sends requests and
//! understands the answers. It opens a stream by three requests, `DESCRIBE`, `SETUP`, `PLAY`. `OPTIONS` is its first
//! keep-alive, and the answer says whether `GET_PARAMETER` would do; so the first picture waits for one answer less.

mod client;
mod message;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

pub use client::{Client, RtspError, RtspEvent};
pub(crate) use message::{FRAME_HEADER, frame_header};
pub use message::{Message, MessageError, MessageReader};

use super::head;

// The field `Transport` (RFC 2326, section 12.39).

/// The transport of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// In the connection of requests and answers: nothing is lost or reordered, and firewalls let it through.
    #[default]
    Tcp,
    /// In datagrams: a lost packet delays no other.
    Udp,
}

impl FromStr for Transport {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "tcp" => Ok(Self::Tcp),
            "udp" => Ok(Self::Udp),
            _ => Err("a transport is tcp or udp".to_owned()),
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        })
    }
}

/// The transport that a camera granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantedTransport {
    /// Whether packets come over UDP or over the connection.
    pub transport: Transport,
    /// The channels of RTP and RTCP over TCP. Cameras take others than the client requested.
    pub channels: (u8, u8),
    /// The camera's ports of RTP and RTCP over UDP, where it names them.
    pub server_ports: Option<(u16, u16)>,
    /// The address that it sends from, where it names one.
    pub source: Option<IpAddr>,
}

impl GrantedTransport {
    /// Reads the answer; a missing part is as the client requested it. `None` where the camera takes another transport
    /// than the requested one, and it is not TCP.
    fn of_answer(value: Option<&str>, asked: Transport) -> Option<Self> {
        let value = value.unwrap_or_default();
        let first = value
            .split(';')
            .next()
            .unwrap_or_default()
            .to_ascii_uppercase();
        let channels = head::parameter(value, "interleaved").and_then(pair);
        let server_ports = head::parameter(value, "server_port").and_then(pair);
        let is_tcp = first.contains("/TCP") || channels.is_some();
        let transport = match asked {
            _ if is_tcp => Transport::Tcp,
            Transport::Tcp if server_ports.is_some() => return None,
            asked => asked,
        };
        let source = head::parameter(value, "source").and_then(|it| it.parse().ok());
        Some(Self {
            transport,
            channels: channels.unwrap_or((0, 1)),
            server_ports,
            source,
        })
    }
}

/// `4-5`; a number alone stands for itself and the next one.
fn pair<T: FromStr + Copy + Into<u32> + TryFrom<u32>>(text: &str) -> Option<(T, T)> {
    let (first, second) = text.split_once('-').unwrap_or((text, ""));
    let first: T = first.trim().parse().ok()?;
    let next = || T::try_from(first.into() + 1).ok();
    Some((first, second.trim().parse().ok().or_else(next)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_cameras_are_understood() {
        let granted = |value, asked| GrantedTransport::of_answer(value, asked);
        let channels = |value| granted(Some(value), Transport::Tcp).map(|it| it.channels);
        assert_eq!(
            channels("RTP/AVP/TCP;ssrc=22345684;interleaved=0-1"),
            Some((0, 1))
        );
        assert_eq!(
            channels("RTP/AVP/TCP;unicast;interleaved=2;ssrc= d6d6627"),
            Some((2, 3))
        );
        assert_eq!(channels("RTP/AVP;unicast;interleaved=1-0"), Some((1, 0)));
        assert_eq!(
            channels("RTP/AVP;unicast;client_port=0-1;server_port=6970-6971"),
            None
        );
        assert_eq!(
            granted(None, Transport::Udp).map(|it| it.transport),
            Some(Transport::Udp)
        );
        let udp = granted(
            Some("RTP/AVP/UDP;unicast;source=10.0.0.7;client_port=4-5;server_port=6970-6971"),
            Transport::Udp,
        );
        let expected = GrantedTransport {
            transport: Transport::Udp,
            channels: (0, 1),
            server_ports: Some((6970, 6971)),
            source: Some(IpAddr::from([10, 0, 0, 7])),
        };
        assert_eq!(udp, Some(expected));
        let other = granted(Some("RTP/AVP/TCP;interleaved=255"), Transport::Udp);
        assert_eq!(
            other.map(|it| (it.transport, it.channels)),
            Some((Transport::Tcp, (0, 1)))
        );
    }
}
