//! Opening a port and setting its options.

use std::sync::Arc;
use std::time::Duration;

use super::error_queue::ErrorQueue;
use super::keys::Keys;
use super::multicast::Membership;
use super::receiving::WaitState;
use super::rights::{self, SocketBuffer};
use super::stamping::{self, Enabled};
use super::{ExtendedCounter, Port, SystemPortWaker};
use crate::net::port::{Fragmentation, GrantedPort, OpenPortError, PortOptions};
use crate::os::linux::udp::socket::{Family, Socket};
use crate::tuning::Measure;

pub(super) fn open(options: &PortOptions) -> Result<(Port, GrantedPort), OpenPortError> {
    let socket = bare_socket(options)?;
    let mut granted = GrantedPort::default();
    buffers(&socket, options, &mut granted);
    granted.busy_poll = busy_poll(&socket, options.busy_poll, &mut granted.measures);
    granted.measures.extend(choices(&socket, options));
    let drops = count_drops(&socket);
    place(&socket, options)?;
    let membership = Membership::set_up(&socket, options)?;
    // Stamps come last: the route to the peer determines the card.
    let stamping = stamping::enable(&socket, options, &mut granted);
    let port = around(socket, options, drops, (stamping, membership))?;
    Ok((port, granted))
}

fn bare_socket(options: &PortOptions) -> Result<Socket, OpenPortError> {
    let local = options.local;
    if let Some(peer) = options.peer
        && peer.is_ipv4() != local.is_ipv4()
    {
        return Err(OpenPortError::Families { local, peer });
    }
    let failed = |errno| OpenPortError::Socket { errno };
    let socket = Socket::open(Family::of(local)).map_err(failed)?;
    // Without this the kernel does not report a full queue of the interface to the sender (ip(7)).
    socket
        .set(libc::SOL_IP, libc::IP_RECVERR, 1)
        .or_else(|_| socket.set(libc::SOL_IPV6, libc::IPV6_RECVERR, 1))
        .map_err(failed)?;
    if local.is_ipv6() {
        socket
            .set(libc::SOL_IPV6, libc::IPV6_RECVERR, 1)
            .map_err(failed)?;
    }
    Ok(socket)
}

fn place(socket: &Socket, options: &PortOptions) -> Result<(), OpenPortError> {
    if let Some(interface) = &options.interface {
        let refused = |errno| OpenPortError::Interface {
            interface: interface.clone(),
            errno,
        };
        let name = interface.as_bytes();
        socket
            .set_bytes(libc::SOL_SOCKET, libc::SO_BINDTODEVICE, name)
            .map_err(refused)?;
    }
    if options.share_address {
        let failed = |errno| OpenPortError::Socket { errno };
        let name = libc::SO_REUSEADDR;
        socket.set(libc::SOL_SOCKET, name, 1).map_err(failed)?;
    }
    let address = options.local;
    socket
        .bind(address)
        .map_err(|errno| OpenPortError::Address { address, errno })?;
    match options.peer {
        Some(peer) => socket
            .connect(peer)
            .map_err(|errno| OpenPortError::Peer { peer, errno }),
        None => Ok(()),
    }
}

fn around(
    socket: Socket,
    options: &PortOptions,
    drops: Option<ExtendedCounter>,
    (stamping, membership): (Enabled, Option<Membership>),
) -> Result<Port, OpenPortError> {
    let waiting = WaitState::set_up(&socket, options.wakers_may_be_late);
    Ok(Port {
        socket,
        connected: options.peer.is_some(),
        waker: SystemPortWaker::create().map_err(|errno| OpenPortError::Socket { errno })?,
        keys: Arc::new(Keys::default()),
        error_queue: ErrorQueue::new(options.transmit_stamps_kept),
        drops,
        stamping: Arc::new(stamping),
        unread: Arc::default(),
        waiting,
        membership,
    })
}

fn buffers(socket: &Socket, options: &PortOptions, granted: &mut GrantedPort) {
    let wanted = [
        (SocketBuffer::Receive, options.receive_buffer),
        (SocketBuffer::Send, options.send_buffer),
    ];
    for (buffer, wanted) in wanted {
        if let Some(bytes) = wanted {
            granted.measures.push(rights::size(socket, buffer, bytes));
        }
    }
    granted.receive_buffer = SocketBuffer::Receive.bytes(socket);
    granted.send_buffer = SocketBuffer::Send.bytes(socket);
}

fn busy_poll(socket: &Socket, wanted: Option<Duration>, measures: &mut Vec<Measure>) -> Duration {
    let option = (libc::SOL_SOCKET, libc::SO_BUSY_POLL);
    let in_force = || socket.get(option.0, option.1).unwrap_or(0);
    if let Some(span) = wanted {
        let us = i32::try_from(span.as_micros()).unwrap_or(i32::MAX);
        let refused = socket.set(option.0, option.1, us).err();
        measures.push(rights::busy_poll(us, in_force(), refused));
    }
    Duration::from_micros(u64::try_from(in_force()).unwrap_or(0))
}

/// The measures of options that are either granted or refused, with nothing in between.
fn choices(socket: &Socket, options: &PortOptions) -> Vec<Measure> {
    let v6 = options.local.is_ipv6();
    let mut measures = Vec::new();
    if options.broadcast {
        let outcome = socket.set(libc::SOL_SOCKET, libc::SO_BROADCAST, 1);
        measures.push(rights::choice("broadcast", "allowed".to_owned(), outcome));
    }
    if let Some(byte) = options.type_of_service {
        let (level, name) = if v6 {
            (libc::SOL_IPV6, libc::IPV6_TCLASS)
        } else {
            (libc::SOL_IP, libc::IP_TOS)
        };
        let outcome = socket.set(level, name, byte.into());
        let requested = format!("{byte:#04x}");
        measures.push(rights::choice("type_of_service", requested, outcome));
    }
    // After the type of service, which sets a priority of its own.
    if let Some(priority) = options.priority {
        let value = i32::try_from(priority).unwrap_or(i32::MAX);
        let outcome = socket.set(libc::SOL_SOCKET, libc::SO_PRIORITY, value);
        measures.push(rights::choice("priority", priority.to_string(), outcome));
    }
    if options.fragmentation != Fragmentation::SystemDefault {
        let outcome = fragmentation(socket, v6, options.fragmentation);
        let requested = match options.fragmentation {
            Fragmentation::Forbid => "forbidden",
            Fragmentation::Allow | Fragmentation::SystemDefault => "allowed",
        };
        measures.push(rights::choice(
            "fragmentation",
            requested.to_owned(),
            outcome,
        ));
    }
    measures
}

fn fragmentation(socket: &Socket, v6: bool, wish: Fragmentation) -> Result<(), i32> {
    let forbid = wish == Fragmentation::Forbid;
    if v6 {
        let way = if forbid {
            libc::IPV6_PMTUDISC_DO
        } else {
            libc::IPV6_PMTUDISC_DONT
        };
        socket.set(libc::SOL_IPV6, libc::IPV6_MTU_DISCOVER, way)?;
        return socket.set(libc::SOL_IPV6, libc::IPV6_DONTFRAG, forbid.into());
    }
    let way = if forbid {
        libc::IP_PMTUDISC_DO
    } else {
        libc::IP_PMTUDISC_DONT
    };
    socket.set(libc::SOL_IP, libc::IP_MTU_DISCOVER, way)
}

/// Makes the kernel report with each datagram how many were dropped before; `None` where it does not.
fn count_drops(socket: &Socket) -> Option<ExtendedCounter> {
    let result = socket.set(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1);
    result.is_ok().then(ExtendedCounter::default)
}
