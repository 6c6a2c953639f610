//! Enabling the stamps of the kernel and of the card. Source: kernel documentation `timestamping.rst`.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::rights;
use crate::net::interface;
use crate::net::port::{GrantedPort, PortOptions, StampSource, Stamping, TransmitKey};
use crate::os::linux::udp::messages::{BlockingMode, Messages, Queue};
use crate::os::linux::udp::socket;
use crate::os::linux::udp::socket::{Family, Socket};
use crate::tuning::{Measure, Note};

/// The enabled stamps. The card's setting is restored when the last handle of the port is dropped.
#[derive(Debug)]
pub(super) struct Enabled {
    flags: u32,
    /// Datagrams carry keys of their own, so that the kernel need not count.
    own_keys: bool,
    _card: Option<socket::HwtstampGuard>,
}

const RECEIVE_SOFTWARE: u32 = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
/// Stamps carry a count of datagrams instead of the datagram itself, which would need a right.
const TRANSMIT_SOFTWARE: u32 = libc::SOF_TIMESTAMPING_TX_SOFTWARE
    | libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;
const RECEIVE_HARDWARE: u32 =
    libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
/// Without the last flag, the kernel withholds its own stamp where the card stamps.
const TRANSMIT_HARDWARE: u32 = libc::SOF_TIMESTAMPING_TX_HARDWARE
    | libc::SOF_TIMESTAMPING_RAW_HARDWARE
    | libc::SOF_TIMESTAMPING_OPT_TX_SWHW;

impl Enabled {
    /// Whether sent datagrams are stamped.
    pub(super) fn transmits(&self) -> bool {
        self.flags & libc::SOF_TIMESTAMPING_TX_SOFTWARE != 0
    }

    /// Whether stamps carry the kernel's count of datagrams.
    pub(super) fn counts(&self) -> bool {
        self.transmits() && !self.own_keys
    }

    /// The key that a datagram carries in its control message.
    pub(super) fn own_key(&self, key: TransmitKey) -> Option<u32> {
        (self.transmits() && self.own_keys).then_some(key.ordinal() as u32)
    }

    /// The same on a kernel without keys of datagrams.
    #[cfg(test)]
    pub(super) fn counting(&self) -> Self {
        Self {
            flags: self.flags,
            own_keys: false,
            _card: None,
        }
    }

    /// Makes the kernel count datagrams from zero.
    pub(super) fn restart_keys(&self, socket: &Socket) {
        let without = self.flags & !libc::SOF_TIMESTAMPING_OPT_ID;
        // The kernel granted these flags at the start, so it grants them now.
        let _ = set(socket, without).and_then(|()| set(socket, self.flags));
    }
}

fn set(socket: &Socket, flags: u32) -> Result<(), i32> {
    socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags.cast_signed())
}

/// Enables the requested stamps, as far as the system grants them.
pub(super) fn enable(socket: &Socket, options: &PortOptions, granted: &mut GrantedPort) -> Enabled {
    let wishes = [
        (options.receive_stamps, RECEIVE_SOFTWARE, RECEIVE_HARDWARE),
        (
            options.transmit_stamps,
            TRANSMIT_SOFTWARE,
            TRANSMIT_HARDWARE,
        ),
    ];
    let wants_card = wishes.iter().any(|(wish, ..)| *wish == Stamping::Hardware);
    let card = wants_card.then(|| open_card(options));
    let has_card = matches!(card, Some(Ok(_)));
    let flags = wishes.iter().fold(0, |flags, (wish, software, hardware)| {
        flags
            | match wish {
                Stamping::Off => 0,
                Stamping::Hardware if has_card => software | hardware,
                Stamping::Hardware | Stamping::Software => *software,
            }
    });
    let outcome = turn_on(socket, flags);
    let refused = card.as_ref().and_then(|card| card.as_ref().err());
    let in_force = |wish| match (wish, &outcome) {
        (Stamping::Off, _) | (_, Err(_)) => None,
        (Stamping::Hardware, Ok(())) if has_card => Some(StampSource::Hardware),
        (_, Ok(())) => Some(StampSource::Software),
    };
    granted.receive_stamps = in_force(options.receive_stamps);
    granted.transmit_stamps = in_force(options.transmit_stamps);
    for (name, wish, found) in [
        (
            "receive_stamps",
            options.receive_stamps,
            granted.receive_stamps,
        ),
        (
            "transmit_stamps",
            options.transmit_stamps,
            granted.transmit_stamps,
        ),
    ] {
        if wish != Stamping::Off {
            let why = outcome.as_ref().err();
            let why = why.or(refused);
            granted.measures.push(measure(name, wish, found, why));
        }
    }
    let flags = if outcome.is_ok() { flags } else { 0 };
    let transmits = flags & libc::SOF_TIMESTAMPING_TX_SOFTWARE != 0;
    Enabled {
        flags,
        own_keys: transmits && takes_own_keys(TRANSMIT_SOFTWARE),
        _card: card.and_then(Result::ok),
    }
}

fn turn_on(socket: &Socket, flags: u32) -> Result<(), Note> {
    if flags == 0 {
        return Ok(());
    }
    set(socket, flags).map_err(by_the_kernel)?;
    let receives = flags & libc::SOF_TIMESTAMPING_RX_SOFTWARE != 0;
    if receives && wait_for_stamps(RECEIVE_SOFTWARE) == StampingTest::Never {
        // No call need then wait for stamps that never come.
        let _ = set(socket, 0);
        return Err(Note::new(
            "the kernel accepts the wish and stamps nothing, as sandboxes do",
            "measure outside of the sandbox",
        ));
    }
    Ok(())
}

fn by_the_kernel(errno: i32) -> Note {
    Note::new(
        rights::text(errno),
        "measure on Linux 4.0 or later, outside of a sandbox",
    )
}

/// Opens the card of the requested interface, else of the interface that leads to the peer.
fn open_card(options: &PortOptions) -> Result<socket::HwtstampGuard, Note> {
    let towards = |peer: std::net::SocketAddr| interface::route_to(peer.ip()).ok()?.interface;
    let named = options.interface.clone();
    let Some(name) = named.or_else(|| options.peer.and_then(towards)) else {
        return Err(Note::new(
            "which card should stamp is not known: the port has neither an interface nor a peer",
            "name the interface",
        ));
    };
    socket::HwtstampGuard::begin(&name).map_err(|errno| card_refusal(&name, errno))
}

fn card_refusal(name: &str, errno: i32) -> Note {
    let (reason, remedy) = match errno {
        libc::EOPNOTSUPP | libc::ENOTTY | libc::EINVAL => (
            format!("the card or driver of {name} cannot stamp datagrams"),
            format!("use software stamps; `ethtool -T {name}` shows what it supports"),
        ),
        libc::ERANGE => (
            format!("the card of {name} stamps frames of PTP alone when they come"),
            format!("use software stamps; `ethtool -T {name}` shows what it supports"),
        ),
        libc::EPERM => (
            "changing a card's setting needs CAP_NET_ADMIN".to_owned(),
            "run as root, or: sudo setcap cap_net_admin+ep PROGRAM".to_owned(),
        ),
        _ => (
            format!("{name}: {}", rights::text(errno)),
            format!("`ethtool -T {name}` shows what it supports"),
        ),
    };
    Note::new(reason, remedy)
}

fn measure(
    name: &'static str,
    wish: Stamping,
    found: Option<StampSource>,
    why: Option<&Note>,
) -> Measure {
    let requested = match wish {
        Stamping::Hardware => "hardware",
        Stamping::Software | Stamping::Off => "software",
    };
    let granted = match found {
        Some(StampSource::Hardware) => "hardware",
        Some(StampSource::Software) => "software",
        None => "none",
    };
    let ok = requested == granted;
    let why = why.filter(|_| !ok).cloned();
    Measure::noted(name, requested, granted, ok, why)
}

/// Pauses between tries: the thread of the kernel is usually done within microseconds, but waits for a CPU on a
/// busy machine like any other thread.
const PAUSES: [(u32, Duration); 2] = [
    (100, Duration::from_micros(100)),
    (1_000, Duration::from_millis(2)),
];

/// The result of the test on the loopback interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StampingTest {
    /// A datagram came with a stamp.
    Stamping,
    /// Many datagrams came, all without a stamp.
    Never,
    /// No datagram could be sent: the loopback interface is down, or this host has no IPv4.
    Unknown,
}

/// Sends datagrams to itself until one is stamped. `flags` turn the stamps on.
///
/// The kernel enables its stamps by rewriting its own code, which a thread of the kernel does later
/// (`net_enable_timestamp`, net/core/dev.c): the first datagrams after the request may come without a stamp.
/// Besides, a sandbox may accept the request and never stamp a datagram.
fn wait_for_stamps(flags: u32) -> StampingTest {
    try_to_wait(flags).unwrap_or(StampingTest::Unknown)
}

/// Whether datagrams may carry keys of their own. A kernel that does not know them refuses before it looks up the
/// route, so the destination does not matter.
fn takes_own_keys(flags: u32) -> bool {
    let option = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
    let tried = Socket::open(Family::V4).and_then(|socket| {
        socket.set(option.0, option.1, flags.cast_signed())?;
        // The socket's own port: datagrams that arrive are dropped with the socket.
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).ok();
        let to = socket.local_address().ok().filter(|own| own.port() > 0);
        socket.send([b"", &[]], to, Some(0))
    });
    !matches!(tried, Err(libc::EINVAL))
}

fn try_to_wait(flags: u32) -> Result<StampingTest, i32> {
    let socket = Socket::open(Family::V4)?;
    let option = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
    socket.set(option.0, option.1, flags.cast_signed())?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let own = socket.local_address()?;
    let mut messages = Messages::for_receiving(1);
    let mut settled = StampingTest::Unknown;
    let pauses = PAUSES
        .iter()
        .flat_map(|(times, pause)| (0..*times).map(|_| *pause));
    for pause in pauses {
        socket.send([b"kadenz", &[]], Some(own), None)?;
        if let Ok(1..) = messages.receive(
            &socket,
            Queue::Datagrams,
            BlockingMode::None,
            &mut [0; 8],
            8,
        ) {
            if messages.notes(0).software_ns.is_some() {
                return Ok(StampingTest::Stamping);
            }
            settled = StampingTest::Never;
        }
        std::thread::sleep(pause);
    }
    Ok(settled)
}
