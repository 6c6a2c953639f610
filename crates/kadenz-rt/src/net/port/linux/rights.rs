//! Requested settings, the settings in force, and the reason for and remedy of a difference.

use crate::os::linux::udp::socket::Socket;
use crate::tuning::Measure;

/// One of a socket's two buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SocketBuffer {
    Receive,
    Send,
}

impl SocketBuffer {
    const fn name(self) -> &'static str {
        match self {
            Self::Receive => "receive_buffer",
            Self::Send => "send_buffer",
        }
    }

    /// The option, the option that may exceed the limit, and the limit's name.
    const fn options(self) -> (i32, i32, &'static str) {
        match self {
            Self::Receive => (libc::SO_RCVBUF, libc::SO_RCVBUFFORCE, "net.core.rmem_max"),
            Self::Send => (libc::SO_SNDBUF, libc::SO_SNDBUFFORCE, "net.core.wmem_max"),
        }
    }

    /// The size in force, in bytes as requested: the kernel keeps twice as many (socket(7)).
    pub(super) fn bytes(self, socket: &Socket) -> Option<usize> {
        let twice = socket.get(libc::SOL_SOCKET, self.options().0).ok()?;
        Some(usize::try_from(twice).ok()? / 2)
    }
}

/// Requests a buffer, beyond the system's limit where this process may.
pub(super) fn size(socket: &Socket, buffer: SocketBuffer, wanted: usize) -> Measure {
    let (within, beyond, limit) = buffer.options();
    // The kernel doubles the number, so the most is half of the largest number.
    let value = i32::try_from(wanted).unwrap_or(i32::MAX).min(i32::MAX / 2);
    let outcome = socket
        .set(libc::SOL_SOCKET, beyond, value)
        .or_else(|_| socket.set(libc::SOL_SOCKET, within, value));
    let bytes = buffer.bytes(socket).unwrap_or(0);
    let ok = bytes >= wanted;
    Measure {
        name: buffer.name(),
        requested: format!("{wanted} bytes"),
        granted: format!("{bytes} bytes"),
        ok,
        reason: (!ok).then(|| match outcome {
            Ok(()) => format!("without CAP_NET_ADMIN a socket gets {limit} at most"),
            Err(errno) => text(errno),
        }),
        remedy: (!ok).then(|| {
            format!(
                "sudo sysctl -w {limit}={wanted}; for good: echo {limit}={wanted} | sudo tee -a \
                 /etc/sysctl.d/90-kadenz-net.conf"
            )
        }),
    }
}

/// The measure for polling the card instead of waiting for its interrupt.
pub(super) fn busy_poll(wanted_us: i32, in_force_us: i32, refused: Option<i32>) -> Measure {
    let ok = refused.is_none() && in_force_us >= wanted_us;
    Measure {
        name: "busy_poll",
        requested: format!("{wanted_us} us"),
        granted: format!("{in_force_us} us"),
        ok,
        reason: Some(match refused {
            Some(libc::EPERM) => {
                "polling longer than net.core.busy_read needs CAP_NET_ADMIN".into()
            }
            Some(libc::ENOPROTOOPT) => {
                "this kernel was built without CONFIG_NET_RX_BUSY_POLL".into()
            }
            Some(errno) => text(errno),
            None => "a wait polls only where net.core.busy_poll is set too; a loop that spins on \
                     Wait::Poll polls in any case"
                .into(),
        }),
        remedy: refused.map(|_| {
            format!(
                "sudo sysctl -w net.core.busy_read={wanted_us} net.core.busy_poll={wanted_us}, or \
                 run with CAP_NET_ADMIN"
            )
        }),
    }
}

/// The measure for a setting that is either granted or refused.
pub(super) fn choice(name: &'static str, requested: String, outcome: Result<(), i32>) -> Measure {
    let refused = outcome.err();
    Measure {
        name,
        granted: if refused.is_none() {
            requested.clone()
        } else {
            "as the system is set up".to_owned()
        },
        requested,
        ok: refused.is_none(),
        reason: refused.map(text),
        remedy: refused.map(|errno| {
            if errno == libc::EPERM {
                "run as root, or with CAP_NET_ADMIN: sudo setcap cap_net_admin+ep PROGRAM"
                    .to_owned()
            } else {
                "measure without it, or with a newer kernel".to_owned()
            }
        }),
    }
}

/// The system's text for an error number.
pub(super) fn text(errno: i32) -> String {
    std::io::Error::from_raw_os_error(errno).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::linux::udp::socket::Family;

    #[test]
    fn the_remedies_of_both_buffers_can_be_made_permanent_in_one_file() {
        let socket = Socket::open(Family::V4).unwrap();
        for buffer in [SocketBuffer::Receive, SocketBuffer::Send] {
            let remedy = size(&socket, buffer, usize::MAX).remedy.unwrap();
            assert!(remedy.contains("| sudo tee -a /etc/sysctl.d/"), "{remedy}");
        }
    }
}
