use std::net::{IpAddr, SocketAddr};

/// Why a port could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenPortError {
    /// The system had no socket, event or descriptor left.
    #[error("no UDP socket could be opened: {}; {}", system_text(*errno), socket_remedy(*errno))]
    Socket {
        /// The system's error number.
        errno: i32,
    },
    /// The port cannot listen on the address.
    #[error("cannot listen on {address}: {}; {}", system_text(*errno), bind_remedy(*errno))]
    Address {
        /// The requested local address and port.
        address: SocketAddr,
        /// The system's error number.
        errno: i32,
    },
    /// A datagram cannot leave on the loopback interface.
    #[error("the loopback interface sends nothing: {}; sudo ip link set lo up", system_text(*errno))]
    LoopbackDown {
        /// The system's error number.
        errno: i32,
    },
    /// The port cannot use the interface.
    #[error("cannot use the interface {interface}: {}; `ip link` lists those that there are", system_text(*errno))]
    Interface {
        /// The name of the requested interface.
        interface: String,
        /// The system's error number.
        errno: i32,
    },
    /// The port cannot join the group, or cannot send multicast.
    #[error(
        "cannot join the group {group}{}: {}; {}",
        interface.as_ref().map(|it| format!(" on {it}")).unwrap_or_default(),
        system_text(*errno),
        group_remedy(*errno)
    )]
    Group {
        /// The address of the multicast group.
        group: IpAddr,
        /// The requested interface, if any.
        interface: Option<String>,
        /// The system's error number.
        errno: i32,
    },
    /// There is no route to the peer.
    #[error("cannot connect to {peer}: {}; `ip route get {}` shows the way there, if any", system_text(*errno), peer.ip())]
    Peer {
        /// The requested peer's address and port.
        peer: SocketAddr,
        /// The system's error number.
        errno: i32,
    },
    /// The local address and the peer's are not of one family.
    #[error(
        "{local} and {peer} are of two address families; give an IPv4 address for both, or an IPv6 address"
    )]
    Families {
        /// The requested local address and port.
        local: SocketAddr,
        /// The requested peer's address and port.
        peer: SocketAddr,
    },
}

/// Why a datagram did not leave.
///
/// # Real-time safety
/// Making one allocates nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum SendError {
    /// The port has no peer.
    #[error("this port has no peer; send to an address, or open it with a peer")]
    NoPeer,
    /// An earlier datagram reached a closed port. This one was not sent.
    #[error(
        "the peer's port is closed: nothing listens there; start the program that should answer"
    )]
    Refused,
    /// The interface's queue or its memory is full: the kernel dropped the datagram.
    #[error(
        "the interface's queue is full; send less at once, or lengthen it with `ip link set DEV txqueuelen N`"
    )]
    QueueFull,
    /// The send buffer is full of datagrams that have not left yet.
    #[error("the send buffer is full; send less at once, or request a larger one")]
    BufferFull,
    /// The datagram is longer than UDP carries, or than the MTU where fragments are forbidden.
    #[error(
        "the datagram is too long for UDP or for the interface's MTU; shorten it or allow fragments"
    )]
    TooLong,
    /// There is no route to the address, or a host on the way did not answer.
    #[error(
        "there is no way to that address; `ip route get ADDRESS` and `ip neigh` show where it ends"
    )]
    Unreachable,
    /// The kernel forbids it: a firewall's rule, or broadcast without the option.
    #[error(
        "sending is forbidden: by a firewall (see `nft list ruleset`), or by a broadcast that the port was not opened for"
    )]
    Forbidden,
    /// The interface is down or was removed.
    #[error("the interface is down or gone; `ip link` shows its state")]
    InterfaceDown,
    /// An error without a variant of its own.
    #[error("sending failed: {}; `ip -s link` and `ip route` show the interface and the way", system_text(*errno))]
    Other {
        /// The system's error number.
        errno: i32,
    },
}

/// Why nothing was received.
///
/// # Real-time safety
/// Making one allocates nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ReceiveError {
    /// A datagram that this port sent before reached a closed port of the peer.
    #[error(
        "the peer's port is closed: nothing listens there; start the program that should answer"
    )]
    Refused,
    /// A datagram that this port sent before found no route to its address.
    #[error(
        "there is no way to the peer; `ip route get ADDRESS` and `ip neigh` show where it ends"
    )]
    Unreachable,
    /// The interface is down or was removed.
    #[error("the interface is down or gone; `ip link` shows its state")]
    InterfaceDown,
    /// An error without a variant of its own.
    #[error("receiving failed: {}; `ip -s link` shows the state of the interface", system_text(*errno))]
    Other {
        /// The system's error number.
        errno: i32,
    },
}

/// What the network reported of a sent datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NetworkError {
    /// The destination of the datagram.
    pub to: SocketAddr,
    /// The error that the network reported for the datagram.
    pub error: ReceiveError,
}

fn system_text(errno: i32) -> std::io::Error {
    std::io::Error::from_raw_os_error(errno)
}

fn kind(errno: i32) -> std::io::ErrorKind {
    system_text(errno).kind()
}

fn bind_remedy(errno: i32) -> &'static str {
    use std::io::ErrorKind;
    match kind(errno) {
        ErrorKind::AddrInUse => {
            "another program has it: `ss -ulpn` names it; end that one or take another port"
        }
        ErrorKind::PermissionDenied => "ports below 1024 need root; take a higher one",
        ErrorKind::AddrNotAvailable => "no interface has that address; `ip address` lists them",
        _ => "take another address or port; `ip address` and `ss -ulpn` list what there is",
    }
}

fn group_remedy(errno: i32) -> &'static str {
    use std::io::ErrorKind;
    match kind(errno) {
        ErrorKind::NetworkDown => "bring the interface up: sudo ip link set INTERFACE up",
        ErrorKind::InvalidInput => {
            "multicast groups are 224.0.0.0 to 239.255.255.255, and ff00::/8"
        }
        ErrorKind::OutOfMemory => {
            "a socket may join so many groups: sudo sysctl -w net.ipv4.igmp_max_memberships=100"
        }
        _ => {
            "no route leads there: name an interface, or on a host without a network \
             sudo ip link set lo multicast on && sudo ip route add 224.0.0.0/4 dev lo"
        }
    }
}

fn socket_remedy(errno: i32) -> &'static str {
    if kind(errno) == std::io::ErrorKind::Unsupported {
        "the system lacks this address family; use the other one"
    } else {
        "close other files or raise the limit with `ulimit -n`"
    }
}
