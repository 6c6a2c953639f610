//! The socket: what both sides may ask of it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use clap::{Args, ValueEnum};
use kadenz_rt::net::port::{PortOptions, Stamping};

use crate::options::{Size, Span};

/// The socket.
#[derive(Clone, Debug, Args)]
pub(super) struct SocketOptions {
    /// Send and receive through this interface alone
    #[arg(long, value_name = "NAME", help_heading = "Socket")]
    interface: Option<String>,

    /// Room for datagrams that wait to be read; what is granted is in the run
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "4MiB",
        help_heading = "Socket"
    )]
    receive_buffer: Size,

    /// Ask again and again instead of waiting for the kernel: no wake-up, and a whole CPU
    #[arg(long, help_heading = "Socket")]
    pub(super) busy_poll: bool,

    /// Let the kernel poll the network card's queue this long before it waits (SO_BUSY_POLL)
    #[arg(long, value_name = "SPAN", help_heading = "Socket")]
    kernel_busy_poll: Option<Span>,

    /// Type of service of the packets, 0 to 255 (DSCP << 2): switches may prefer them by it
    #[arg(long, value_name = "BYTE", help_heading = "Socket")]
    tos: Option<u8>,
}

/// Who stamps packets on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Stamps {
    /// Nobody
    Off,
    /// The kernel: a round trip splits into send stack, wire and device, and receive stack
    Software,
    /// The network card, where it can, and the kernel
    Hardware,
}

impl SocketOptions {
    /// What the port asks for.
    pub(super) fn port(&self, local: SocketAddr) -> PortOptions {
        let bytes = usize::try_from(self.receive_buffer.0).unwrap_or(usize::MAX);
        PortOptions {
            local,
            interface: self.interface.clone(),
            receive_buffer: Some(bytes),
            busy_poll: self.kernel_busy_poll.map(|span| span.0),
            type_of_service: self.tos,
            ..PortOptions::default()
        }
    }
}

impl From<Stamps> for Stamping {
    fn from(stamps: Stamps) -> Self {
        match stamps {
            Stamps::Off => Self::Off,
            Stamps::Software => Self::Software,
            Stamps::Hardware => Self::Hardware,
        }
    }
}

/// Any address of the family of `of`, and a port that the system chooses.
pub(in crate::commands) fn any_like(of: SocketAddr) -> SocketAddr {
    let ip: IpAddr = match of {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    SocketAddr::new(ip, 0)
}

/// How long devices have to answer the question who is there.
pub(in crate::commands) const DISCOVERY: Duration = Duration::from_millis(900);
