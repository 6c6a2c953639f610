//! A socket and its options.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use libc::hwtstamp_config;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketType};

use super::super::clock::span_of_ns;
use super::super::{errno, number, socket};
use super::messages;
use super::notes::TransmitKeyMessage;

/// A UDP socket whose calls wait only on request.
#[derive(Debug)]
pub(crate) struct Socket(OwnedFd);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Family {
    pub(crate) fn of(address: SocketAddr) -> Self {
        if address.is_ipv4() {
            Self::V4
        } else {
            Self::V6
        }
    }
}

impl Socket {
    /// Opens a socket that is bound to nothing.
    pub(crate) fn open(family: Family) -> Result<Self, i32> {
        let family = match family {
            Family::V4 => AddressFamily::INET,
            Family::V6 => AddressFamily::INET6,
        };
        number(socket(family, SocketType::DGRAM)).map(Self)
    }

    pub(crate) fn try_clone(&self) -> Result<Self, i32> {
        let copy = self.0.try_clone();
        copy.map(Self)
            .map_err(|error| error.raw_os_error().unwrap_or(libc::EMFILE))
    }

    pub(super) fn number(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    pub(crate) fn bind(&self, to: SocketAddr) -> Result<(), i32> {
        number(rustix::net::bind(&self.0, &to))
    }

    pub(crate) fn connect(&self, to: SocketAddr) -> Result<(), i32> {
        number(rustix::net::connect(&self.0, &to))
    }

    pub(crate) fn local_address(&self) -> Result<SocketAddr, i32> {
        number(rustix::net::getsockname(&self.0).and_then(SocketAddr::try_from))
    }

    /// Sets an option that is a number.
    pub(crate) fn set(&self, level: i32, name: i32, value: i32) -> Result<(), i32> {
        self.set_bytes(level, name, &value.to_ne_bytes())
    }

    /// Sets an option of any form.
    pub(crate) fn set_bytes(&self, level: i32, name: i32, value: &[u8]) -> Result<(), i32> {
        let length = value.len() as libc::socklen_t;
        // SAFETY: the value is live and of that length; the kernel copies it.
        done(unsafe { libc::setsockopt(self.number(), level, name, value.as_ptr().cast(), length) })
    }

    /// Limits how long waiting calls wait, to the next tick but one. With any such limit a signal ends them, too,
    /// whatever its handler requested (signal(7)).
    pub(crate) fn wait_at_most(&self, span: Duration) -> Result<(), i32> {
        number(set_socket_timeout(&self.0, Timeout::Recv, Some(span)))
    }

    /// Reads an option that is a number.
    pub(crate) fn get(&self, level: i32, name: i32) -> Result<i32, i32> {
        let [value] = self.get_words(level, name)?;
        Ok(value.cast_signed())
    }

    /// Datagrams that the kernel dropped at this socket, modulo 2^32.
    pub(crate) fn dropped(&self) -> Result<u32, i32> {
        // SK_MEMINFO_DROPS is the last of the nine numbers of sock_diag.h.
        let words: [u32; 9] = self.get_words(libc::SOL_SOCKET, libc::SO_MEMINFO)?;
        Ok(words[8])
    }

    fn get_words<const N: usize>(&self, level: i32, name: i32) -> Result<[u32; N], i32> {
        let mut words = [0_u32; N];
        let mut length = size_of_val(&words) as libc::socklen_t;
        let place = words.as_mut_ptr().cast();
        // SAFETY: the words are live, and `length` says how many bytes they are.
        done(unsafe { libc::getsockopt(self.number(), level, name, place, &raw mut length) })?;
        if length as usize == size_of_val(&words) {
            Ok(words)
        } else {
            Err(libc::EINVAL)
        }
    }

    /// Sends one datagram, whose bytes lie in two places, to the address, or without an address to the connected
    /// peer. Its transmit stamp carries the key, if there is one.
    pub(crate) fn send(
        &self,
        parts: [&[u8]; 2],
        to: Option<SocketAddr>,
        key: Option<u32>,
    ) -> Result<(), i32> {
        let mut room = messages::empty();
        let mut vectors = parts.map(|part| libc::iovec {
            iov_base: part.as_ptr().cast_mut().cast(),
            iov_len: part.len(),
        });
        // SAFETY: the structure is made of numbers and pointers, for which zero is a value.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = vectors.as_mut_ptr();
        message.msg_iovlen = if parts[1].is_empty() { 1 } else { 2 };
        if let Some(to) = to {
            message.msg_namelen = messages::write(&to, &mut room);
            message.msg_name = (&raw mut room).cast();
        }
        let mut note = key.map(TransmitKeyMessage::of);
        if let Some(note) = &mut note {
            note.attach(&mut message);
        }
        // SAFETY: the message points to bytes, an address and a note that are live and of the lengths it states, or
        // to nothing; the kernel only reads them.
        let sent = unsafe { libc::sendmsg(self.number(), &raw const message, libc::MSG_DONTWAIT) };
        if sent < 0 { Err(errno()) } else { Ok(()) }
    }
}

pub(super) fn done(outcome: libc::c_int) -> Result<(), i32> {
    if outcome == 0 { Ok(()) } else { Err(errno()) }
}

// Enabling the stamps of a network card, and restoring its setting. Layouts: `net_tstamp.h` and `sockios.h` of the
// kernel's user interface; kernel documentation `timestamping.rst`.

/// `struct ifreq` with a pointer in its union, never shorter than the kernel's.
#[repr(C)]
struct HwtstampRequest {
    name: [u8; 16],
    data: *mut hwtstamp_config,
    rest: [usize; 3],
}

/// A card that stamps every frame, which it did not before; dropping this restores its setting.
#[derive(Debug)]
pub(crate) struct HwtstampGuard {
    socket: Socket,
    name: [u8; 16],
    before: Option<hwtstamp_config>,
}

impl HwtstampGuard {
    /// Requests stamps of all frames, either way, from the card of an interface. The error is the kernel's.
    pub(crate) fn begin(interface: &str) -> Result<Self, i32> {
        let mut name = [0; 16];
        let place = name[..15].get_mut(..interface.len()).ok_or(libc::ENODEV)?;
        place.copy_from_slice(interface.as_bytes());
        let mut stamping = Self {
            socket: Socket::open(Family::V4)?,
            name,
            before: None,
        };
        let mut before = config(libc::HWTSTAMP_TX_OFF, libc::HWTSTAMP_FILTER_NONE);
        stamping.ask(libc::SIOCGHWTSTAMP, &mut before)?;
        let mut wanted = config(libc::HWTSTAMP_TX_ON, libc::HWTSTAMP_FILTER_ALL);
        if (before.tx_type, before.rx_filter) == (wanted.tx_type, wanted.rx_filter) {
            return Ok(stamping);
        }
        stamping.ask(libc::SIOCSHWTSTAMP, &mut wanted)?;
        // From here on there is a setting to restore.
        stamping.before = Some(before);
        // The driver answers with the granted setting, which may be less.
        if wanted.rx_filter == libc::HWTSTAMP_FILTER_ALL.cast_signed() {
            Ok(stamping)
        } else {
            Err(libc::ERANGE)
        }
    }

    fn ask(&self, command: libc::c_ulong, config: &mut hwtstamp_config) -> Result<(), i32> {
        let mut request = HwtstampRequest {
            name: self.name,
            data: std::ptr::from_mut(config),
            rest: [0; 3],
        };
        // SAFETY: the request is laid out like `struct ifreq`, its name ends with a zero, and its
        // pointer leads to a live structure of the command's type.
        done(unsafe { libc::ioctl(self.socket.number(), command as _, &raw mut request) })
    }
}

impl Drop for HwtstampGuard {
    fn drop(&mut self) {
        if let Some(mut before) = self.before.take() {
            // A card that was removed meanwhile has no setting to restore.
            let _ = self.ask(libc::SIOCSHWTSTAMP, &mut before);
        }
    }
}

fn config(transmit: libc::c_uint, receive: libc::c_uint) -> hwtstamp_config {
    hwtstamp_config {
        flags: 0,
        tx_type: transmit.cast_signed(),
        rx_filter: receive.cast_signed(),
    }
}

// Waiting for a socket, and ending that wait from another thread.

/// An event descriptor that a thread can wait for.
#[derive(Debug)]
pub(crate) struct Event(OwnedFd);

impl Event {
    pub(crate) fn create() -> Result<Self, i32> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        number(eventfd(0, flags)).map(Self)
    }

    /// The number of its descriptor.
    pub(crate) fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// Ends waits at once, until [`Event::clear`].
    pub(crate) fn signal(&self) {
        // The write fails only where the counter is full, and then the event ends waits already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Makes later waits wait again.
    pub(crate) fn clear(&self) {
        // The read fails only where there is nothing to clear.
        let _ = rustix::io::read(&self.0, &mut [0_u8; 8]);
    }
}

/// What ended a wait; all false when its time was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ready {
    /// The error queue holds a message, or the socket has an error.
    pub(crate) error: bool,
    pub(crate) event: bool,
}

/// Waits until the socket has something to read or an error, or the event was signalled, if there is one, for at
/// most a span. An error of `EINTR` means that a signal was handled.
pub(crate) fn wait(
    socket: &Socket,
    event: Option<&Event>,
    span_ns: Option<u64>,
) -> Result<Ready, i32> {
    let second = event.map_or(&socket.0, |event| &event.0);
    let mut both = [&socket.0, second].map(|fd| PollFd::new(fd, PollFlags::IN));
    // Without an event the wait leaves the second one as it is: with nothing found.
    let waited = if event.is_some() { 2 } else { 1 };
    number(poll(&mut both[..waited], span_ns.map(span_of_ns).as_ref()))?;
    Ok(Ready {
        error: both[0].revents().contains(PollFlags::ERR),
        event: !both[1].revents().is_empty(),
    })
}

/// Waits until the send buffer has room, for at most a span, and returns whether it has.
pub(crate) fn for_room(socket: &Socket, at_most: std::time::Duration) -> bool {
    let mut descriptor = [PollFd::new(&socket.0, PollFlags::OUT)];
    let span = Timespec::try_from(at_most).ok();
    poll(&mut descriptor, span.as_ref()).is_ok() && descriptor[0].revents().contains(PollFlags::OUT)
}
