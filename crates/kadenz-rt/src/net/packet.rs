//! A port of raw Ethernet frames on an interface, for protocols that are no Internet protocol.

use std::io;
use std::time::Duration;

use crate::clock::WallTime;
use crate::os::linux::addresses;
use crate::os::linux::packet::Socket;
use crate::os::linux::tap::Watched;

/// What a port receives, and how much of it may wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketPlan {
    /// The interface's name.
    pub interface: String,
    /// The Ethernet type; frames of others are not seen.
    pub ethertype: u16,
    /// Frames that may wait to be read; the kernel drops more, and counts them.
    pub frames: usize,
}

/// Sends and receives whole Ethernet frames, from the header on and without check sequence.
///
/// Received frames lie in memory that is shared with the kernel: looking for one is no system call.
/// Frames that this host sends on the interface are not received.
///
/// Real-time safety: after it was opened nothing here allocates or locks; what makes a system call says so.
#[derive(Debug)]
pub struct PacketPort {
    socket: Socket,
    watched: Watched,
    dropped: u64,
}

/// A frame that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Bytes of it that are in the caller's buffer.
    pub length: usize,
    /// When the kernel took it from the interface.
    pub at: WallTime,
}

/// Why there is no port.
#[derive(Debug, thiserror::Error)]
pub enum PacketError {
    /// No interface of that name.
    #[error("there is no network interface `{interface}`; those of this host: {known}")]
    NoInterface {
        /// The name.
        interface: String,
        /// Those that there are.
        known: String,
    },
    /// The host's loopback: nothing is plugged into it, and it gives every frame back to whoever sent it.
    #[error(
        "`{interface}` is this host's loopback, which gives frames back to whoever sends them; take another \
         of {known}, or make a cable: sudo ip link add veth0 type veth peer name veth1"
    )]
    Loopback {
        /// The name.
        interface: String,
        /// Those that there are.
        known: String,
    },
    /// The kernel refused.
    #[error("cannot open a port of raw frames on `{interface}`: {source}{}", remedy(.source))]
    Refused {
        /// The name.
        interface: String,
        /// Why.
        source: io::Error,
    },
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; run as root (sudo), or give the program the right: sudo setcap cap_net_raw+ep PROGRAM"
        }
        _ => "",
    }
}

impl PacketPort {
    /// Opens a port on an interface of the calling thread's network. Allocates.
    ///
    /// # Errors
    /// [`PacketError`]: no such interface, the loopback, or no right (`CAP_NET_RAW`).
    pub fn open(plan: &PacketPlan) -> Result<Self, PacketError> {
        let interface = plan.interface.clone();
        let Some(number) = addresses::number_of(&interface) else {
            let known = known_interfaces(&interface);
            return Err(PacketError::NoInterface { interface, known });
        };
        let refused = |source| PacketError::Refused {
            interface: interface.clone(),
            source,
        };
        let socket = Socket::open(number, plan.ethertype, plan.frames).map_err(refused)?;
        if socket.is_loopback().map_err(refused)? {
            let known = known_interfaces(&interface);
            return Err(PacketError::Loopback { interface, known });
        }
        let watched = Watched::new([socket.number()].into_iter());
        Ok(Self {
            socket,
            watched,
            dropped: 0,
        })
    }

    /// Hands a frame to the interface. One system call that does not wait.
    ///
    /// # Errors
    /// When the interface is down or gone, or its queue is full ([`io::ErrorKind::WouldBlock`]): the
    /// frame is not sent then.
    #[inline]
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        self.socket.send(frame)
    }

    /// The next frame, copied into `frame`; `None` when there is none now. What does not fit is cut. No
    /// system call.
    #[inline]
    pub fn receive(&mut self, frame: &mut [u8]) -> Option<Received> {
        let (length, stamp_ns) = self.socket.ring.take(frame)?;
        let at = WallTime::from_unix_ns(stamp_ns.cast_signed());
        Some(Received { length, at })
    }

    /// Whether there is a frame. No system call.
    #[inline]
    #[must_use]
    pub fn has_frame(&self) -> bool {
        self.socket.ring.is_ready()
    }

    /// Waits until there is a frame, or so long; whether there may be one: an interface that is down or gone
    /// ends each wait at once. A signal ends the wait. One system call.
    ///
    /// # Errors
    /// When the kernel has no memory for it.
    pub fn wait(&mut self, longest: Duration) -> io::Result<bool> {
        let longest_ns = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
        Ok(self.watched.wait(longest_ns)? > 0)
    }

    /// From now on [`wait`](Self::wait) ends when another port has a frame, too. Allocates.
    pub fn watch_too(&mut self, other: &Self) {
        let both = [self.socket.number(), other.socket.number()];
        self.watched = Watched::new(both.into_iter());
    }

    /// Frames that found no room since the port was opened. One system call.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn dropped(&mut self) -> io::Result<u64> {
        self.dropped += u64::from(self.socket.take_dropped()?);
        Ok(self.dropped)
    }
}

/// All but the one that cannot be had.
fn known_interfaces(but: &str) -> String {
    let mut names: Vec<String> = addresses::names();
    names.retain(|it| it != but);
    names.sort();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
