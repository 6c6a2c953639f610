//! What the kernel's error numbers mean to a port.

use crate::net::port::{ReceiveError, SendError};

/// Whether an error tells of a datagram that was sent before, rather than of this port.
pub(super) fn is_of_a_datagram(errno: i32) -> bool {
    matches!(
        errno,
        libc::ECONNREFUSED
            | libc::EHOSTUNREACH
            | libc::ENETUNREACH
            | libc::EHOSTDOWN
            | libc::ENOPROTOOPT
            | libc::EPROTO
            | libc::EOPNOTSUPP
            | libc::EMSGSIZE
            | libc::ENONET
            | libc::EACCES
    )
}

pub(super) fn receive_error(errno: i32) -> ReceiveError {
    match errno {
        libc::ECONNREFUSED => ReceiveError::Refused,
        libc::EHOSTUNREACH | libc::ENETUNREACH | libc::EHOSTDOWN | libc::ENONET => {
            ReceiveError::Unreachable
        }
        libc::ENETDOWN | libc::ENODEV | libc::ENXIO => ReceiveError::InterfaceDown,
        _ => ReceiveError::Other { errno },
    }
}

pub(super) fn send_error(errno: i32) -> SendError {
    match errno {
        libc::ECONNREFUSED => SendError::Refused,
        libc::ENOBUFS | libc::ENOMEM => SendError::QueueFull,
        libc::EAGAIN => SendError::BufferFull,
        libc::EMSGSIZE => SendError::TooLong,
        libc::EHOSTUNREACH | libc::ENETUNREACH | libc::EHOSTDOWN | libc::ENONET => {
            SendError::Unreachable
        }
        libc::EPERM | libc::EACCES => SendError::Forbidden,
        libc::ENETDOWN | libc::ENODEV | libc::ENXIO => SendError::InterfaceDown,
        _ => SendError::Other { errno },
    }
}
