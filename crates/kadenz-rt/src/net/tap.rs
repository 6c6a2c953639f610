//! Network interfaces whose other end is this process: it reads the frames that a host sends, and the host receives
//! the frames that it writes.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd as _;
use std::time::Duration;

use crate::os::linux::tap::{self, InterfaceEditor, PollSet};

/// The properties of an interface to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapPlan {
    /// Its name in its network namespace, at most 15 bytes.
    pub name: String,
    /// Its Ethernet address.
    pub hardware_address: [u8; 6],
    /// Its Internet address; its network is that of the first 24 bits.
    pub address: Ipv4Addr,
    /// The neighbours that it knows without ARP requests (static ARP entries).
    pub neighbours: Vec<(Ipv4Addr, [u8; 6])>,
}

/// A tap in use. The interface goes when this is dropped, also with a killed process.
#[derive(Debug)]
pub struct Tap(File);

/// Why a host has no interface.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} the interface `{name}`: {source}{}", remedy(.source))]
pub struct TapError {
    what: &'static str,
    name: String,
    source: io::Error,
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; run as root (sudo), or with CAP_NET_ADMIN",
        io::ErrorKind::NotFound => "; load the driver of taps: sudo modprobe tun",
        _ => "",
    }
}

impl Tap {
    /// Makes an interface in the calling thread's network namespace and brings it and the loopback up. IPv6 is
    /// switched off there: forty hosts that look for each other flood the network.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or where the kernel has no taps.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    pub fn create(plan: &TapPlan) -> Result<Self, TapError> {
        let failed = |what| {
            let name = plan.name.clone();
            move |source| TapError { what, name, source }
        };
        // The file is absent where the kernel is built without IPv6, which is as good.
        for which in ["all", "default"] {
            let path = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
            let _ = std::fs::write(path, "1");
        }
        let tap = tap::open(&plan.name).map_err(failed("make"))?;
        let changer = InterfaceEditor::open().map_err(failed("set up"))?;
        configure(&changer, plan).map_err(failed("set up"))?;
        Ok(Self(tap))
    }

    /// The next frame that the host has sent, without check sequence; `None` when there is none now.
    /// What does not fit into `frame` is cut.
    ///
    /// # Errors
    /// When the interface is gone.
    ///
    /// # Real-time safety
    /// It makes one system call, and neither allocates nor locks.
    #[inline]
    pub fn receive(&self, frame: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.0).read(frame) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lets the host receive a frame.
    ///
    /// # Errors
    /// When the interface is down, or the kernel has no memory for it.
    ///
    /// # Real-time safety
    /// It makes one system call, and neither allocates nor locks.
    #[inline]
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        (&self.0).write(frame).map(|_| ())
    }
}

/// Frames that may wait to be read: more than a host sends in a second at 10 kHz, since the reader may not run for
/// that long on a shared machine. The kernel's default of 500 would lose frames silently.
const QUEUE_FRAMES: u16 = 16_384;

fn configure(changer: &InterfaceEditor, plan: &TapPlan) -> io::Result<()> {
    let name = &plan.name;
    let [a, b, c, _] = plan.address.octets();
    changer.set_hardware_address(name, plan.hardware_address)?;
    changer.set_address(name, plan.address)?;
    changer.set_mask(name, Ipv4Addr::new(255, 255, 255, 0))?;
    changer.set_broadcast(name, Ipv4Addr::new(a, b, c, 255))?;
    changer.set_queue_length(name, QUEUE_FRAMES)?;
    changer.bring_up(name)?;
    changer.bring_up("lo")?;
    for (address, hardware) in &plan.neighbours {
        changer.add_neighbour(name, *address, *hardware)?;
    }
    Ok(())
}

/// Waits for frames of several taps.
#[derive(Debug)]
pub struct TapWatch<'a> {
    watched: PollSet,
    taps: &'a [Tap],
}

impl<'a> TapWatch<'a> {
    /// Watches these taps, in their order.
    #[must_use]
    pub fn new(taps: &'a [Tap]) -> Self {
        Self {
            watched: PollSet::new(taps.iter().map(|tap| tap.0.as_raw_fd())),
            taps,
        }
    }

    /// Waits until a tap has a frame, for at most the given span; returns false when none has. A signal ends the
    /// wait.
    ///
    /// # Errors
    /// When the kernel has no memory for it.
    ///
    /// # Real-time safety
    /// It makes one system call, which blocks, and neither allocates nor locks.
    #[inline]
    pub fn wait(&mut self, longest: Duration) -> io::Result<bool> {
        let longest_ns = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
        Ok(self.watched.wait(longest_ns)? > 0)
    }

    /// The taps that had a frame when the wait ended, with their places.
    pub fn readable(&self) -> impl Iterator<Item = (usize, &'a Tap)> {
        let taps = self.taps.iter().enumerate();
        taps.filter(|(place, _)| self.watched.is_readable(*place))
    }
}
