//! A port on the standard library's socket, for systems without a file of their own.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::inbox::{DatagramFacts, MAX_DATAGRAM};
use super::{
    Fragmentation, GrantedPort, Inbox, MembershipState, Multicast, NetworkError, OpenPortError,
    Outbox, PortOptions, PortWaker, ReceiveError, Reception, SendError, Stamping, Stamps,
    TransmitKey, TransmitStamp, Wait,
};
use crate::clock;
use crate::tuning::{Measure, Note};

/// Interval between checks for a waker: there is no portable way to end a socket's wait.
const WAKER_INTERVAL: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) struct Port {
    socket: UdpSocket,
    woken: Arc<AtomicBool>,
    sent: u64,
    stamps: VecDeque<TransmitStamp>,
}

/// A flag that says whether the wait is to end.
#[derive(Debug, Clone)]
pub(super) struct SystemPortWaker(Arc<AtomicBool>);

impl SystemPortWaker {
    pub(super) fn wake(&self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Port {
    pub(super) fn open(options: &PortOptions) -> Result<(Self, GrantedPort), OpenPortError> {
        let local = options.local;
        let socket = UdpSocket::bind(local).map_err(|error| OpenPortError::Address {
            address: local,
            errno: errno(&error),
        })?;
        if let Some(peer) = options.peer {
            if peer.is_ipv4() != local.is_ipv4() {
                return Err(OpenPortError::Families { local, peer });
            }
            socket.connect(peer).map_err(|error| OpenPortError::Peer {
                peer,
                errno: errno(&error),
            })?;
        }
        if let Some(wish) = &options.multicast {
            join(&socket, wish, local.is_ipv6())?;
        }
        let mut measures = refusals(options);
        if options.broadcast {
            measures.push(broadcast(&socket));
        }
        let granted = GrantedPort {
            measures,
            ..GrantedPort::default()
        };
        Ok((Self::around(socket), granted))
    }

    fn around(socket: UdpSocket) -> Self {
        Self {
            socket,
            woken: Arc::new(AtomicBool::new(false)),
            sent: 0,
            stamps: VecDeque::new(),
        }
    }

    pub(super) fn try_clone(&self) -> Result<Self, OpenPortError> {
        let socket = self
            .socket
            .try_clone()
            .map_err(|error| socket_error(&error))?;
        Ok(Self::around(socket))
    }

    pub(super) fn local_address(&self) -> Result<SocketAddr, OpenPortError> {
        self.socket
            .local_addr()
            .map_err(|error| socket_error(&error))
    }

    pub(super) fn waker(&self) -> PortWaker {
        PortWaker(SystemPortWaker(Arc::clone(&self.woken)))
    }

    pub(super) fn receive(
        &mut self,
        inbox: &mut Inbox,
        wait: Wait,
    ) -> Result<Reception, ReceiveError> {
        loop {
            if wait != Wait::Poll && self.woken.swap(false, Ordering::Acquire) {
                return Ok(Reception::Woken);
            }
            self.take_all(inbox)?;
            if !inbox.is_empty() {
                return Ok(Reception::Datagrams(inbox.len()));
            }
            let span = match wait {
                Wait::Poll => return Ok(Reception::Nothing),
                Wait::Until(deadline) => deadline.remaining(clock::now()).min(WAKER_INTERVAL),
                Wait::Forever => WAKER_INTERVAL,
            };
            if span.is_zero() {
                return Ok(Reception::Nothing);
            }
            self.take_first(inbox, span)?;
            if !inbox.is_empty() {
                self.take_all(inbox)?;
                return Ok(Reception::Datagrams(inbox.len()));
            }
        }
    }

    /// Takes the datagrams that are there, without waiting.
    fn take_all(&mut self, inbox: &mut Inbox) -> Result<(), ReceiveError> {
        self.socket
            .set_nonblocking(true)
            .map_err(|it| failed(&it))?;
        while inbox.len() < inbox.slots() {
            match self.take_one(inbox) {
                Ok(true) => {}
                Ok(false) => break,
                // Datagrams that came before the error are kept; the error concerns another datagram.
                Err(_) if !inbox.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn take_first(&mut self, inbox: &mut Inbox, span: Duration) -> Result<(), ReceiveError> {
        self.socket
            .set_nonblocking(false)
            .and_then(|()| self.socket.set_read_timeout(Some(span)))
            .map_err(|it| failed(&it))?;
        self.take_one(inbox).map(drop)
    }

    fn take_one(&mut self, inbox: &mut Inbox) -> Result<bool, ReceiveError> {
        let at = inbox.filled;
        let whole = &mut inbox.system;
        let (length, from) = match self.socket.recv_from(whole) {
            Ok(received) => received,
            Err(error) => {
                return match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {
                        Ok(false)
                    }
                    _ => Err(failed(&error)),
                };
            }
        };
        let kept = length.min(inbox.slot_bytes);
        let slot = at * inbox.slot_bytes;
        inbox.payload[slot..slot + kept].copy_from_slice(&whole[..kept]);
        inbox.about[at] = DatagramFacts {
            whole_length: length,
            from,
            stamps: Stamps::default(),
            dropped_before: None,
        };
        inbox.filled += 1;
        Ok(true)
    }

    pub(super) fn send(
        &mut self,
        parts: [&[u8]; 2],
        to: Option<SocketAddr>,
    ) -> Result<TransmitKey, SendError> {
        let [head, rest] = parts;
        let mut whole = Vec::new();
        let bytes = if rest.is_empty() {
            head
        } else {
            // The standard library sends from one buffer only.
            whole.extend_from_slice(head);
            whole.extend_from_slice(rest);
            &whole[..]
        };
        let key = TransmitKey::new(self.sent);
        self.sent += 1;
        let sent = match to {
            Some(to) => self.socket.send_to(bytes, to),
            None => self.socket.send(bytes),
        };
        sent.map(|_| key)
            .map_err(|error| refused(&error, bytes.len()))
    }

    pub(super) fn send_batch(&mut self, outbox: &mut Outbox) {
        for at in 0..outbox.filled {
            let parcel = outbox.parcels[at];
            let from = at * outbox.slot_bytes;
            let bytes = &outbox.payload[from..from + parcel.length];
            outbox.parcels[at].outcome = Some(self.send([bytes, &[]], Some(parcel.to)));
        }
    }

    #[expect(clippy::unused_self, reason = "Linux asks the socket")]
    pub(super) fn wait_for_room(&mut self, at_most: Duration) -> bool {
        std::thread::sleep(at_most.min(Duration::from_millis(1)));
        true
    }

    #[expect(clippy::unused_self, reason = "Linux looks for the interface")]
    pub(super) fn renew_membership(&mut self) -> MembershipState {
        MembershipState::Kept
    }

    pub(super) fn transmit_stamps(&mut self) -> impl Iterator<Item = TransmitStamp> + '_ {
        self.stamps.drain(..)
    }

    #[expect(clippy::unused_self, reason = "Linux counts them")]
    pub(super) fn transmit_stamps_lost(&self) -> u64 {
        0
    }

    #[expect(clippy::unused_self, reason = "Linux keeps them")]
    pub(super) fn network_errors(&mut self) -> impl Iterator<Item = NetworkError> + '_ {
        std::iter::empty()
    }

    #[expect(clippy::unused_self, reason = "Linux counts them")]
    pub(super) fn dropped(&mut self) -> Option<u64> {
        None
    }
}

fn join(socket: &UdpSocket, wish: &Multicast, is_v6: bool) -> Result<(), OpenPortError> {
    let done = match wish.join {
        Some(IpAddr::V4(group)) => socket.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED),
        Some(IpAddr::V6(group)) => socket.join_multicast_v6(&group, 0),
        None => Ok(()),
    };
    let done = done.and_then(|()| {
        if is_v6 {
            return socket.set_multicast_loop_v6(wish.loopback);
        }
        socket.set_multicast_loop_v4(wish.loopback)?;
        socket.set_multicast_ttl_v4(wish.hops.into())
    });
    done.map_err(|error| OpenPortError::Group {
        group: wish.join.unwrap_or(Ipv4Addr::UNSPECIFIED.into()),
        interface: wish.interface.clone(),
        errno: errno(&error),
    })
}

/// One measure for each requested option that this port lacks.
fn refusals(options: &PortOptions) -> Vec<Measure> {
    let asked = [
        (
            "receive_buffer",
            options.receive_buffer.map(|it| format!("{it} bytes")),
        ),
        (
            "send_buffer",
            options.send_buffer.map(|it| format!("{it} bytes")),
        ),
        ("interface", options.interface.clone()),
        (
            "multicast_interface",
            options
                .multicast
                .as_ref()
                .and_then(|it| it.interface.clone()),
        ),
        (
            "share_address",
            options.share_address.then(|| "shared".to_owned()),
        ),
        ("busy_poll", options.busy_poll.map(|it| format!("{it:?}"))),
        (
            "type_of_service",
            options.type_of_service.map(|it| format!("{it:#04x}")),
        ),
        ("priority", options.priority.map(|it| it.to_string())),
        (
            "fragmentation",
            (options.fragmentation != Fragmentation::SystemDefault)
                .then(|| format!("{:?}", options.fragmentation)),
        ),
        ("receive_stamps", stamping(options.receive_stamps)),
        ("transmit_stamps", stamping(options.transmit_stamps)),
    ];
    asked
        .into_iter()
        .filter_map(|(name, requested)| {
            let note = Note::new("only on Linux does a port request this", "measure on Linux");
            let granted = "as the system is set up";
            Some(Measure::noted(name, requested?, granted, false, Some(note)))
        })
        .collect()
}

fn stamping(wish: Stamping) -> Option<String> {
    match wish {
        Stamping::Off => None,
        Stamping::Software => Some("software".to_owned()),
        Stamping::Hardware => Some("hardware".to_owned()),
    }
}

fn broadcast(socket: &UdpSocket) -> Measure {
    let outcome = socket.set_broadcast(true);
    Measure {
        name: "broadcast",
        requested: "allowed".to_owned(),
        granted: if outcome.is_ok() {
            "allowed"
        } else {
            "forbidden"
        }
        .to_owned(),
        ok: outcome.is_ok(),
        reason: outcome.err().map(|error| error.to_string()),
        remedy: None,
    }
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(0)
}

fn socket_error(error: &io::Error) -> OpenPortError {
    OpenPortError::Socket {
        errno: errno(error),
    }
}

fn failed(error: &io::Error) -> ReceiveError {
    match error.kind() {
        // Windows reports so that an earlier datagram reached a closed port.
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => ReceiveError::Refused,
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => ReceiveError::Unreachable,
        ErrorKind::NetworkDown => ReceiveError::InterfaceDown,
        _ => ReceiveError::Other {
            errno: errno(error),
        },
    }
}

fn refused(error: &io::Error, length: usize) -> SendError {
    match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => SendError::Refused,
        ErrorKind::WouldBlock => SendError::BufferFull,
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => SendError::Unreachable,
        ErrorKind::NetworkDown => SendError::InterfaceDown,
        ErrorKind::PermissionDenied => SendError::Forbidden,
        _ if length > MAX_DATAGRAM - 28 => SendError::TooLong,
        _ => SendError::Other {
            errno: errno(error),
        },
    }
}
