//! A socket and its options.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use super::super::errno;
use super::address;
use super::notes::KeyNote;

/// A UDP socket whose calls wait only where they are told to.
#[derive(Debug)]
pub(crate) struct Socket(OwnedFd);

/// Address families.
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
            Family::V4 => libc::AF_INET,
            Family::V6 => libc::AF_INET6,
        };
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        // SAFETY: the call takes numbers.
        let number = unsafe { libc::socket(family, kind, 0) };
        if number < 0 {
            return Err(errno());
        }
        // SAFETY: the call above has just opened this descriptor, and nothing else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(number) }))
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
        let mut room = address::empty();
        let length = address::write(&to, &mut room);
        // SAFETY: the room is live and holds an address of that length.
        done(unsafe { libc::bind(self.number(), (&raw const room).cast(), length) })
    }

    pub(crate) fn connect(&self, to: SocketAddr) -> Result<(), i32> {
        let mut room = address::empty();
        let length = address::write(&to, &mut room);
        // SAFETY: the room is live and holds an address of that length.
        done(unsafe { libc::connect(self.number(), (&raw const room).cast(), length) })
    }

    pub(crate) fn local_address(&self) -> Result<SocketAddr, i32> {
        let mut room = address::empty();
        let mut length = size_of_val(&room) as libc::socklen_t;
        let place = (&raw mut room).cast();
        // SAFETY: the room is live, and `length` says how long it is.
        done(unsafe { libc::getsockname(self.number(), place, &raw mut length) })?;
        address::read(&room).ok_or(libc::EAFNOSUPPORT)
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

    /// Lets calls that wait do so no longer than this, to the next tick but one. With any such limit a
    /// signal ends them, too, whatever its handler asked for (signal(7)).
    pub(crate) fn wait_at_most(&self, span: Duration) -> Result<(), i32> {
        let limit = libc::timeval {
            tv_sec: span.as_secs() as libc::time_t,
            tv_usec: span.subsec_micros() as libc::suseconds_t,
        };
        let (option, length) = (libc::SO_RCVTIMEO, size_of_val(&limit) as libc::socklen_t);
        let place = (&raw const limit).cast();
        // SAFETY: the limit is live and of that length; the kernel copies it.
        done(unsafe { libc::setsockopt(self.number(), libc::SOL_SOCKET, option, place, length) })
    }

    /// Reads an option that is a number.
    pub(crate) fn get(&self, level: i32, name: i32) -> Result<i32, i32> {
        let [value] = self.get_words(level, name)?;
        Ok(value.cast_signed())
    }

    /// Datagrams that the kernel threw away at this socket, modulo 2^32.
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

    /// Sends one datagram, whose bytes lie in two places, to where the socket is connected without an address; its transmit stamp is to
    /// carry the key, if there is one.
    pub(crate) fn send(
        &self,
        parts: [&[u8]; 2],
        to: Option<SocketAddr>,
        key: Option<u32>,
    ) -> Result<(), i32> {
        let mut room = address::empty();
        let mut vectors = parts.map(|part| libc::iovec {
            iov_base: part.as_ptr().cast_mut().cast(),
            iov_len: part.len(),
        });
        // SAFETY: the structure is made of numbers and pointers, for which zero is a value.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = vectors.as_mut_ptr();
        message.msg_iovlen = if parts[1].is_empty() { 1 } else { 2 };
        if let Some(to) = to {
            message.msg_namelen = address::write(&to, &mut room);
            message.msg_name = (&raw mut room).cast();
        }
        let mut note = key.map(KeyNote::of);
        if let Some(note) = &mut note {
            note.attach(&mut message);
        }
        // SAFETY: the message leads to bytes, an address and a note that are live and of the lengths it
        // states, or to nothing; the kernel only reads them.
        let sent = unsafe { libc::sendmsg(self.number(), &raw const message, libc::MSG_DONTWAIT) };
        if sent < 0 { Err(errno()) } else { Ok(()) }
    }
}

pub(super) fn done(outcome: libc::c_int) -> Result<(), i32> {
    if outcome == 0 { Ok(()) } else { Err(errno()) }
}
