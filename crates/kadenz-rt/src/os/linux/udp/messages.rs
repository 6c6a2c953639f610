//! Many datagrams by one call: `recvmmsg` and `sendmmsg`.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use libc::iovec;
use libc::mmsghdr;
use libc::sockaddr_in;
use libc::sockaddr_in6;
use libc::sockaddr_storage;
use libc::socklen_t;

use super::super::errno;
use super::notes::{self, ControlMessages, TransmitKeyMessage};
use super::socket::Socket;

/// Room for the control messages that the kernel adds to a datagram: stamps (64 bytes), drops (24) and an error
/// with its origin (64) on a 64-bit system.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct ControlBuffer([u8; 256]);

/// The queue of a socket to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queue {
    Datagrams,
    /// The reports about datagrams that were sent.
    Errors,
}

/// Whether a call waits where the queue is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockingMode {
    /// Not at all.
    None,
    /// As long as [`Socket::wait_at_most`] allows, and then for only one datagram: waiting for a second would delay
    /// the first.
    ForOne,
}

/// The structures that the calls need for a number of datagrams, made once.
pub(crate) struct Messages {
    headers: Box<[mmsghdr]>,
    vectors: Box<[iovec]>,
    names: Box<[sockaddr_storage]>,
    notes: Box<[ControlBuffer]>,
    keys: Box<[TransmitKeyMessage]>,
    /// Headers that the last call may have written to; all of them before the first call.
    used: usize,
}

// SAFETY: the pointers in it lead to its own boxes, which stay where they are when it moves, or are set again before
// each call to memory that is borrowed for it.
unsafe impl Send for Messages {}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Messages({})", self.headers.len())
    }
}

impl Messages {
    /// For that many datagrams, with room for control messages.
    pub(crate) fn for_receiving(slots: usize) -> Self {
        Self::new(slots, slots, 0)
    }

    /// For that many datagrams.
    pub(crate) fn for_sending(slots: usize) -> Self {
        Self::new(slots, 0, slots)
    }

    fn new(slots: usize, note_rooms: usize, keys: usize) -> Self {
        // SAFETY: the structure is made of numbers and pointers, for which zero is a value.
        let header: mmsghdr = unsafe { std::mem::zeroed() };
        let vector = iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: 0,
        };
        Self {
            headers: vec![header; slots].into(),
            vectors: vec![vector; slots].into(),
            names: vec![empty(); slots].into(),
            notes: vec![ControlBuffer([0; 256]); note_rooms].into(),
            keys: vec![TransmitKeyMessage::of(0); keys].into(),
            used: slots,
        }
    }

    /// Takes the datagrams that are there, or the next one that comes: datagram `n` into the bytes from `n *
    /// slot_bytes`. The structure was made [for receiving](Self::for_receiving); `payload` holds all slots.
    pub(crate) fn receive(
        &mut self,
        socket: &Socket,
        queue: Queue,
        blocking: BlockingMode,
        payload: &mut [u8],
        slot_bytes: usize,
    ) -> Result<usize, i32> {
        let (slots, waiting) = match blocking {
            BlockingMode::None => (self.headers.len(), libc::MSG_DONTWAIT),
            BlockingMode::ForOne => (self.headers.len().min(1), 0),
        };
        self.lay_out(payload, slot_bytes, slots);
        // With MSG_TRUNC the call returns how long a datagram was, even where its slot is shorter.
        let flags = match queue {
            Queue::Datagrams => libc::MSG_TRUNC,
            Queue::Errors => libc::MSG_ERRQUEUE,
        } | waiting;
        let count = slots as libc::c_uint;
        // SAFETY: at least as many headers are live; each leads to a name, a vector and a room for notes of its
        // own, and the vector to a slot of the payload, all live and of the lengths they state.
        let taken = unsafe {
            libc::recvmmsg(
                socket.number(),
                self.headers.as_mut_ptr(),
                count,
                flags as _,
                std::ptr::null_mut(),
            )
        };
        let count = usize::try_from(taken).map_err(|_| errno());
        // Beside the headers that it has filled, the kernel may have written to one more.
        self.used = self.headers.len().min(count.unwrap_or(0) + 1);
        count
    }

    /// Points the first headers to their slots of the payload. The other fields of a header are as the kernel needs
    /// them, except where the last call wrote to them.
    fn lay_out(&mut self, payload: &mut [u8], slot_bytes: usize, slots: usize) {
        let all = self.headers.len();
        assert!(
            payload.len() >= all * slot_bytes && self.notes.len() == all,
            "the payload must hold every slot"
        );
        let payload = payload.as_mut_ptr();
        for (at, vector) in self.vectors[..slots].iter_mut().enumerate() {
            // SAFETY: the payload has as many slots, as the assertion has checked.
            vector.iov_base = unsafe { payload.add(at * slot_bytes) }.cast();
            vector.iov_len = slot_bytes;
        }
        let used = std::mem::take(&mut self.used);
        let (names, vectors) = (self.names.as_mut_ptr(), self.vectors.as_mut_ptr());
        let rooms = self.notes.as_mut_ptr();
        for (at, header) in self.headers[..used].iter_mut().enumerate() {
            let header = &mut header.msg_hdr;
            // SAFETY: each of the arrays has as many entries as there are headers.
            unsafe {
                header.msg_name = names.add(at).cast();
                header.msg_iov = vectors.add(at);
                header.msg_control = rooms.add(at).cast();
            }
            header.msg_namelen = size_of::<sockaddr_storage>() as libc::socklen_t;
            header.msg_iovlen = 1;
            header.msg_controllen = size_of::<ControlBuffer>() as _;
            header.msg_flags = 0;
        }
    }

    /// The whole length of the datagram `at` of the last [`Messages::receive`].
    pub(crate) fn length(&self, at: usize) -> usize {
        self.headers[at].msg_len as usize
    }

    /// The sender of the datagram; of a message of the error queue, the destination.
    pub(crate) fn address(&self, at: usize) -> Option<SocketAddr> {
        read(&self.names[at])
    }

    /// The control messages of the datagram.
    pub(crate) fn notes(&self, at: usize) -> ControlMessages {
        if self.notes.is_empty() {
            return ControlMessages::default();
        }
        // SAFETY: the header is as the last call left it, or all zeroes before any; its control
        // buffer is one of the buffers for notes, which live as long as it does.
        unsafe { notes::read(&self.headers[at].msg_hdr) }
    }

    /// Prepares datagrams for sending: `describe` gives the length and the destination of each, whose
    /// bytes begin at `n * slot_bytes`, and the key that its transmit stamp is to carry, if any. Made
    /// [for sending](Self::for_sending).
    pub(crate) fn prepare<'a>(
        &'a mut self,
        count: usize,
        payload: &'a [u8],
        slot_bytes: usize,
        describe: impl Fn(usize) -> (usize, SocketAddr, Option<u32>),
    ) -> Prepared<'a> {
        let (names, vectors) = (self.names.as_mut_ptr(), self.vectors.as_mut_ptr());
        let notes = self.keys.as_mut_ptr();
        assert!(count <= self.keys.len(), "made for sending as many");
        for (at, header) in self.headers[..count].iter_mut().enumerate() {
            let (length, to, key) = describe(at);
            let bytes = &payload[at * slot_bytes..][..length];
            let header = &mut header.msg_hdr;
            // SAFETY: each of the arrays has as many entries as there are headers, and at least `count`.
            unsafe {
                if let Some(key) = key {
                    *notes.add(at) = TransmitKeyMessage::of(key);
                    (*notes.add(at)).attach(header);
                }
                header.msg_namelen = write(&to, &mut *names.add(at));
                *vectors.add(at) = iovec {
                    iov_base: bytes.as_ptr().cast_mut().cast(),
                    iov_len: length,
                };
                header.msg_name = names.add(at).cast();
                header.msg_iov = vectors.add(at);
            }
            header.msg_iovlen = 1;
        }
        Prepared {
            headers: &mut self.headers[..count],
            _payload: payload,
        }
    }
}

/// Datagrams that are ready to be sent. It borrows the memory that it points to.
pub(crate) struct Prepared<'a> {
    headers: &'a mut [mmsghdr],
    _payload: &'a [u8],
}

impl Prepared<'_> {
    /// Sends from the datagram `at` on, without waiting, until one is refused, and returns how many were sent. An
    /// error belongs to the datagram `at`.
    pub(crate) fn send(&mut self, socket: &Socket, at: usize) -> Result<usize, i32> {
        let rest = &mut self.headers[at..];
        let count = rest.len() as libc::c_uint;
        let flags = libc::MSG_DONTWAIT as _;
        // SAFETY: as many headers are live; each leads to an address and to bytes that are borrowed as
        // long as this is, and that the kernel only reads.
        let sent = unsafe { libc::sendmmsg(socket.number(), rest.as_mut_ptr(), count, flags) };
        usize::try_from(sent).map_err(|_| errno())
    }
}

// Addresses in the kernel's form.

/// Room for any address.
pub(crate) fn empty() -> sockaddr_storage {
    // SAFETY: the structure is made of numbers; all zeroes mean an address of no family.
    unsafe { std::mem::zeroed() }
}

/// Writes an address, and returns how many bytes of the room it takes.
pub(crate) fn write(address: &SocketAddr, room: &mut sockaddr_storage) -> socklen_t {
    let place = std::ptr::from_mut(room);
    let length = match address {
        SocketAddr::V4(v4) => {
            let it = sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(v4.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            // SAFETY: the room is long enough for any address, and aligned for it.
            unsafe { place.cast::<sockaddr_in>().write(it) };
            size_of::<sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            let it = sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: v6.ip().octets(),
                },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: as above.
            unsafe { place.cast::<sockaddr_in6>().write(it) };
            size_of::<sockaddr_in6>()
        }
    };
    length as socklen_t
}

/// Reads an address; `None` for a family other than IPv4 and IPv6.
pub(crate) fn read(room: &sockaddr_storage) -> Option<SocketAddr> {
    let place = std::ptr::from_ref(room);
    match libc::c_int::from(room.ss_family) {
        libc::AF_INET => {
            // SAFETY: the room is long enough for any address, aligned for it, and made of numbers.
            let it = unsafe { place.cast::<sockaddr_in>().read() };
            let ip = Ipv4Addr::from(it.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddr::from((ip, u16::from_be(it.sin_port))))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let it = unsafe { place.cast::<sockaddr_in6>().read() };
            let ip = Ipv6Addr::from(it.sin6_addr.s6_addr);
            let port = u16::from_be(it.sin6_port);
            let address = SocketAddrV6::new(ip, port, it.sin6_flowinfo, it.sin6_scope_id);
            Some(SocketAddr::V6(address))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back() {
        for text in [
            "127.0.0.1:6176",
            "255.255.255.255:1",
            "[::1]:65535",
            "[fe80::1%3]:7",
        ] {
            let address: SocketAddr = text.parse().unwrap();
            let mut room = empty();
            let length = write(&address, &mut room) as usize;
            assert!(length <= size_of::<sockaddr_storage>());
            assert_eq!(read(&room), Some(address));
        }
        assert_eq!(read(&empty()), None);
    }
}
