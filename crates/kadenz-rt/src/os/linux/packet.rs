//! Sockets of raw Ethernet frames, with a ring of received frames that the kernel fills and the process
//! reads without a system call: packet(7), and the kernel's packet_mmap.rst.

use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, socket_with};

use super::memory::Mapped;

/// A socket that receives the frames of one interface and one Ethernet type.
#[derive(Debug)]
pub(crate) struct PacketSocket {
    // The ring is unmapped before the descriptor is closed.
    pub(crate) ring: Ring,
    descriptor: OwnedFd,
}

impl PacketSocket {
    /// Opens a socket for an interface by its number. `frames` is how many may wait to be read.
    pub(crate) fn open(interface: u32, ethertype: u16, frames: usize) -> io::Result<Self> {
        // Protocol 0 receives nothing until the socket is bound.
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let descriptor = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
        set(
            &descriptor,
            libc::PACKET_VERSION,
            &(libc::tpacket_versions::TPACKET_V2 as i32),
        )?;
        let ring = Ring::map(&descriptor, frames)?;
        // An older kernel lacks both options: it sends through its queue, and a bound type receives no own frames
        // anyway.
        let _ = set(&descriptor, libc::PACKET_IGNORE_OUTGOING, &1_i32);
        let _ = set(&descriptor, libc::PACKET_QDISC_BYPASS, &1_i32);
        bind(&descriptor, interface, ethertype)?;
        Ok(Self { ring, descriptor })
    }

    pub(crate) fn number(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// Whether the interface is the host's loopback, by the hardware type that the kernel reports.
    pub(crate) fn is_loopback(&self) -> io::Result<bool> {
        Ok(address_of(self.number())?.sll_hatype == libc::ARPHRD_LOOPBACK)
    }

    /// Hands a frame to the interface.
    pub(crate) fn send(&self, frame: &[u8]) -> io::Result<()> {
        rustix::net::send(&self.descriptor, frame, SendFlags::DONTWAIT)?;
        Ok(())
    }

    /// Returns the number of frames that found the ring full since the last call.
    pub(crate) fn take_dropped(&self) -> io::Result<u32> {
        let mut counts = libc::tpacket_stats {
            tp_packets: 0,
            tp_drops: 0,
        };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the structure is live and as large as `length` says; the kernel writes numbers.
        let outcome = unsafe {
            libc::getsockopt(
                self.number(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut counts).cast(),
                &raw mut length,
            )
        };
        if outcome == 0 {
            Ok(counts.tp_drops)
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

/// An address of packet(7), which rustix has no type for: the frames of an interface, by its number.
fn address(interface: i32, ethertype: u16) -> libc::sockaddr_ll {
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: ethertype.to_be(),
        sll_ifindex: interface,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    }
}

/// The address that a socket is bound to, by its descriptor's number.
fn address_of(socket: i32) -> io::Result<libc::sockaddr_ll> {
    let mut address = address(0, 0);
    let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address is live and as large as `length` says; the kernel writes numbers.
    let outcome = unsafe { libc::getsockname(socket, (&raw mut address).cast(), &raw mut length) };
    if outcome == 0 {
        Ok(address)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Whether a socket has lost its interface for good. The kernel unbinds it then: the interface was deleted,
/// or went to another network.
pub(crate) fn is_unbound(socket: i32) -> bool {
    address_of(socket).is_ok_and(|it| it.sll_ifindex == -1)
}

/// The error of a socket whose interface is gone.
pub(crate) fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ENODEV)
}

/// Clears the error that a socket keeps about its interface until the process reads it: until then each wait ends
/// at once, and the next frame is not sent.
pub(crate) fn forget_error(socket: i32) {
    let mut error: i32 = 0;
    let mut length = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the number is live and as large as `length` says. Whether or not the kernel returns an error, none is
    // left afterwards.
    unsafe {
        libc::getsockopt(
            socket,
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            (&raw mut error).cast(),
            &raw mut length,
        )
    };
}

fn set<T>(descriptor: &OwnedFd, option: i32, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value is live and of the given size; the kernel only reads it.
    let outcome = unsafe {
        libc::setsockopt(
            descriptor.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            std::ptr::from_ref(value).cast(),
            length,
        )
    };
    if outcome == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn bind(descriptor: &OwnedFd, interface: u32, ethertype: u16) -> io::Result<()> {
    let address = address(i32::try_from(interface).unwrap_or(i32::MAX), ethertype);
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address is live and of the given size.
    let outcome =
        unsafe { libc::bind(descriptor.as_raw_fd(), (&raw const address).cast(), length) };
    if outcome == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

// Memory shared with the kernel: slots of one frame each, in a ring. A slot belongs to the kernel or to the
// process, as its first word says.

/// Bytes of a slot: the kernel's header and a frame of Ethernet's usual size.
const SLOT: usize = 2048;
/// Slots of a block, which the kernel allocates as one piece of memory.
const SLOTS_OF_BLOCK: usize = 32;

/// The ring of received frames.
#[derive(Debug)]
pub(crate) struct Ring {
    memory: Mapped,
    slots: usize,
    next: usize,
}

// SAFETY: the memory is mapped until the ring is dropped, by any thread, and only the owner of the ring reads it.
unsafe impl Send for Ring {}

impl Ring {
    /// Requests a ring of at least so many frames from the kernel and maps it. Its pages are in memory from then
    /// on: the kernel has allocated them.
    fn map(descriptor: &OwnedFd, frames: usize) -> io::Result<Self> {
        let blocks = frames.max(1).div_ceil(SLOTS_OF_BLOCK);
        let slots = blocks * SLOTS_OF_BLOCK;
        let number =
            |it: usize| u32::try_from(it).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL));
        let request = libc::tpacket_req {
            tp_block_size: number(SLOT * SLOTS_OF_BLOCK)?,
            tp_block_nr: number(blocks)?,
            tp_frame_size: number(SLOT)?,
            tp_frame_nr: number(slots)?,
        };
        set(descriptor, libc::PACKET_RX_RING, &request)?;
        // The kernel has just agreed to this size.
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let memory = Mapped::of(descriptor, slots * SLOT, 0, rights, libc::MAP_POPULATE)?;
        Ok(Self {
            memory,
            slots,
            next: 0,
        })
    }

    /// Whether there is a frame.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// The status word of the next slot, which says whether the slot is the kernel's or the process's.
    #[inline]
    fn status(&self) -> &AtomicU32 {
        let at = self.next * SLOT + offset_of!(libc::tpacket2_hdr, tp_status);
        // SAFETY: `next` is below `slots`, so the word is inside the mapping, which lives as long as the
        // ring; it is four bytes, aligned as the slot is, and is accessed by both sides as one.
        unsafe { AtomicU32::from_ptr(self.memory.start().add(at).cast().as_ptr()) }
    }

    /// Copies the next frame and gives its slot back to the kernel; returns `None` when there is none. What does
    /// not fit into `frame` is cut. Returns the length and the kernel's stamp of the wall clock in ns.
    #[inline]
    pub(crate) fn take(&mut self, frame: &mut [u8]) -> Option<(usize, u64)> {
        if !self.is_ready() {
            return None;
        }
        // SAFETY: `next` is below `slots`, so the slot is inside the mapping.
        let slot = unsafe { self.memory.start().add(self.next * SLOT) };
        // SAFETY: the kernel has given the slot to us, with its header filled in; it does not write there
        // until the status says otherwise.
        let header = unsafe { slot.cast::<libc::tpacket2_hdr>().read() };
        let start = usize::from(header.tp_mac);
        let there = (header.tp_snaplen as usize).min(SLOT.saturating_sub(start));
        let length = there.min(frame.len());
        debug_assert!(start >= size_of::<libc::tpacket2_hdr>());
        // SAFETY: `start + length` is inside the slot by the bounds above, the slot is ours, and `frame` is
        // memory of the caller's alone, at least `length` long.
        unsafe {
            std::ptr::copy_nonoverlapping(slot.add(start).as_ptr(), frame.as_mut_ptr(), length);
        }
        self.status()
            .store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.slots;
        let stamp = u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec);
        Some((length, stamp))
    }
}
