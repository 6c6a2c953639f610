//! A port of raw Ethernet frames on an interface, for protocols outside the Internet protocols.

use std::io;
use std::time::Duration;

use crate::clock::{self, WallTime};
use crate::os::linux::link;
use crate::os::linux::packet::{self, PacketSocket};
use crate::os::linux::tap::PollSet;

/// What a port receives, and how many frames may wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketPlan {
    /// The interface's name.
    pub interface: String,
    /// The Ethernet type; the port does not receive frames of other types.
    pub ethertype: u16,
    /// Frames that may wait to be read; the kernel drops more, and counts them.
    pub frames: usize,
}

/// Sends and receives whole Ethernet frames, from the header on and without check sequence.
///
/// Received frames lie in memory that is shared with the kernel: checking for a frame takes no system call.
/// Frames that this host sends on the interface are not received.
///
/// # Real-time safety
/// [`PacketPort::open`] and [`PacketPort::watch_too`] allocate. The other methods neither allocate nor lock; those that
/// make a system call say so, and only [`PacketPort::wait`] waits.
#[derive(Debug)]
pub struct PacketPort {
    socket: PacketSocket,
    watched: PollSet,
    /// Whether an interface was down at its last event: it may be gone by now.
    was_down: bool,
    dropped: u64,
}

/// A frame that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Bytes of the frame in the caller's buffer.
    pub length: usize,
    /// When the kernel took the frame from the interface.
    pub at: WallTime,
}

/// Why there is no port.
#[derive(Debug, thiserror::Error)]
pub enum PacketError {
    /// No interface of that name.
    #[error(
        "there is no network interface `{interface}`; those of this host: {}",
        list(known)
    )]
    NoInterface {
        /// The requested name.
        interface: String,
        /// The interfaces of this host.
        known: Vec<String>,
    },
    /// The host's loopback: nothing is plugged into it, and it returns every frame to its sender.
    #[error(
        "`{interface}` is this host's loopback, which gives every frame back to its sender; {}make a cable: sudo ip \
         link add veth0 type veth peer name veth1",
        another(known)
    )]
    Loopback {
        /// The name of the requested interface.
        interface: String,
        /// The other interfaces of this host.
        known: Vec<String>,
    },
    /// The kernel refused to open the port.
    #[error("cannot open a port of raw frames on `{interface}`: {source}{}", remedy(.source))]
    Refused {
        /// The name of the requested interface.
        interface: String,
        /// The error that the system returned.
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
        let Some(number) = link::number_of(&interface) else {
            let known = known_interfaces(&interface);
            return Err(PacketError::NoInterface { interface, known });
        };
        let refused = |source| PacketError::Refused {
            interface: interface.clone(),
            source,
        };
        let socket = PacketSocket::open(number, plan.ethertype, plan.frames).map_err(refused)?;
        if socket.is_loopback().map_err(refused)? {
            let known = known_interfaces(&interface);
            return Err(PacketError::Loopback { interface, known });
        }
        let watched = PollSet::new([socket.number()].into_iter());
        Ok(Self {
            socket,
            watched,
            was_down: false,
            dropped: 0,
        })
    }

    /// Hands a frame to the interface. One system call that does not wait; a second where the interface was
    /// down.
    ///
    /// # Errors
    /// When the interface is down or gone, or its queue is full ([`io::ErrorKind::WouldBlock`]): the
    /// frame is not sent then.
    #[inline]
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        match self.socket.send(frame) {
            // The kernel reports once that the interface was down, even if it is up by now.
            Err(error) if error.kind() == io::ErrorKind::NetworkDown => self.socket.send(frame),
            sent => sent,
        }
    }

    /// Copies the next frame into `frame`; returns `None` when there is none now. What does not fit is cut. No
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

    /// Waits until there is a frame, for at most `longest`, and returns whether there is one. From an interface
    /// that is down no frame comes until it is up again. A signal ends the wait. One system call, some more while
    /// an interface is down.
    ///
    /// # Errors
    /// When the interface is gone for good (`ENODEV`: deleted, or moved to another network), or the kernel has
    /// no memory for it.
    pub fn wait(&mut self, longest: Duration) -> io::Result<bool> {
        let end = clock::now() + longest;
        let mut left = longest;
        loop {
            // An interface first goes down, which the kernel reports, and is then gone, which the kernel does not
            // report.
            if self.was_down && self.watched.numbers().all(packet::is_unbound) {
                return Err(packet::gone());
            }
            let left_ns = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
            if self.watched.wait(left_ns)? == 0 {
                return Ok(false);
            }
            if self.watched.has_data() {
                self.was_down = false;
                return Ok(true);
            }
            self.watched.failed().for_each(packet::forget_error);
            self.was_down = true;
            left = end.remaining(clock::now());
        }
    }

    /// Makes [`wait`](Self::wait) end also when another port has a frame; from now on, one of the two interfaces
    /// may be gone. Allocates.
    pub fn watch_too(&mut self, other: &Self) {
        let both = [self.socket.number(), other.socket.number()];
        self.watched = PollSet::new(both.into_iter());
    }

    /// Frames that found no room since the port was opened. One system call.
    ///
    /// # Errors
    /// When the kernel does not report it.
    pub fn dropped(&mut self) -> io::Result<u64> {
        self.dropped += u64::from(self.socket.take_dropped()?);
        Ok(self.dropped)
    }
}

/// The advice to take another interface, where there is one.
fn another(known: &[String]) -> String {
    match known {
        [] => String::new(),
        _ => format!("take another of {}, or ", known.join(", ")),
    }
}

/// The names of the interfaces for an error's text.
fn list(known: &[String]) -> String {
    match known {
        [] => "none".to_owned(),
        _ => known.join(", "),
    }
}

/// The names of all interfaces except for the unusable one.
fn known_interfaces(but: &str) -> Vec<String> {
    let mut names: Vec<String> = link::names();
    names.retain(|it| it != but);
    names.sort();
    names
}
