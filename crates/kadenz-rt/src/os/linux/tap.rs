//! Taps, network interfaces whose other end is a descriptor, and the ioctls that set an interface's addresses:
//! netdevice(7), arp(7) and the kernel's tuntap.rst.

use std::fs::{File, OpenOptions};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::net::{AddressFamily, SocketType};

/// `TUNSETIFF`, `_IOW('T', 202, int)`: if_tun.h. Some architectures encode the direction otherwise.
#[cfg(not(any(
    target_arch = "mips",
    target_arch = "powerpc64",
    target_arch = "sparc64"
)))]
const TUNSETIFF: u32 = 0x4004_54ca;
#[cfg(any(
    target_arch = "mips",
    target_arch = "powerpc64",
    target_arch = "sparc64"
))]
const TUNSETIFF: u32 = 0x8004_54ca;
/// `ATF_COM | ATF_PERM`: a complete entry that stays (if_arp.h).
const PERMANENT: i32 = 0x02 | 0x04;

/// Makes a tap of that name in the calling thread's network namespace. The tap goes when its file is closed.
pub(crate) fn open(name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK);
    let file = options.open("/dev/net/tun")?;
    let mut request = request(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the descriptor is that of an open file, and the request, whose name ends with a zero,
    // is live and as large as the kernel's `struct ifreq`.
    match unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF as _, &raw mut request) } {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A request that names an interface; all other fields are zero.
fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: the structure holds numbers and a pointer that no request here uses; all zero is a
    // value of it.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    if name.len() > room {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// Changes the interfaces of the network namespace in which it was opened.
pub(crate) struct InterfaceEditor(OwnedFd);

impl InterfaceEditor {
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self(super::socket(AddressFamily::INET, SocketType::DGRAM)?))
    }

    pub(crate) fn set_hardware_address(&self, name: &str, address: [u8; 6]) -> io::Result<()> {
        let mut request = request(name)?;
        request.ifr_ifru.ifru_hwaddr = hardware(address);
        self.change(libc::SIOCSIFHWADDR as u32, request)
    }

    pub(crate) fn set_address(&self, name: &str, address: Ipv4Addr) -> io::Result<()> {
        let mut request = request(name)?;
        request.ifr_ifru.ifru_addr = internet(address);
        self.change(libc::SIOCSIFADDR as u32, request)
    }

    pub(crate) fn set_mask(&self, name: &str, mask: Ipv4Addr) -> io::Result<()> {
        let mut request = request(name)?;
        request.ifr_ifru.ifru_netmask = internet(mask);
        self.change(libc::SIOCSIFNETMASK as u32, request)
    }

    pub(crate) fn set_broadcast(&self, name: &str, address: Ipv4Addr) -> io::Result<()> {
        let mut request = request(name)?;
        request.ifr_ifru.ifru_broadaddr = internet(address);
        self.change(libc::SIOCSIFBRDADDR as u32, request)
    }

    pub(crate) fn set_queue_length(&self, name: &str, frames: u16) -> io::Result<()> {
        let mut request = request(name)?;
        // The kernel's `ifr_qlen` is the same number of the union.
        request.ifr_ifru.ifru_metric = frames.into();
        self.change(libc::SIOCSIFTXQLEN as u32, request)
    }

    pub(crate) fn bring_up(&self, name: &str) -> io::Result<()> {
        let mut request = request(name)?;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        self.change(libc::SIOCSIFFLAGS as u32, request)
    }

    pub(crate) fn take_down(&self, name: &str) -> io::Result<()> {
        let mut request = request(name)?;
        request.ifr_ifru.ifru_flags = 0;
        self.change(libc::SIOCSIFFLAGS as u32, request)
    }

    /// Adds a permanent ARP entry, so that the host sends no request for the address.
    pub(crate) fn add_neighbour(
        &self,
        name: &str,
        address: Ipv4Addr,
        hardware_address: [u8; 6],
    ) -> io::Result<()> {
        // SAFETY: the structure holds only numbers; all zero is a value of it.
        let mut entry: libc::arpreq = unsafe { std::mem::zeroed() };
        entry.arp_pa = internet(address);
        entry.arp_ha = hardware(hardware_address);
        entry.arp_flags = PERMANENT;
        entry.arp_dev = request(name)?.ifr_name;
        // SAFETY: the socket is open, and the entry, whose name ends with a zero, is live and as
        // large as the kernel's `struct arpreq`.
        let outcome =
            unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SIOCSARP as _, &raw mut entry) };
        if outcome == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    fn change(&self, what: u32, mut request: libc::ifreq) -> io::Result<()> {
        // SAFETY: the socket is open, and the request, whose name ends with a zero, is live and as
        // large as the kernel's `struct ifreq`; none of these requests follows a pointer in it.
        let outcome = unsafe { libc::ioctl(self.0.as_raw_fd(), what as _, &raw mut request) };
        if outcome == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

/// An IPv4 address as a generic socket address: the family, two bytes of port, then the address.
fn internet(address: Ipv4Addr) -> libc::sockaddr {
    let mut data = [0; 14];
    for (to, from) in data[2..].iter_mut().zip(address.octets()) {
        *to = from as libc::c_char;
    }
    libc::sockaddr {
        sa_family: libc::AF_INET as libc::sa_family_t,
        sa_data: data,
    }
}

/// An Ethernet address as a generic socket address.
fn hardware(address: [u8; 6]) -> libc::sockaddr {
    let mut data = [0; 14];
    for (to, from) in data.iter_mut().zip(address) {
        *to = from as libc::c_char;
    }
    libc::sockaddr {
        sa_family: libc::ARPHRD_ETHER,
        sa_data: data,
    }
}

/// Descriptors to wait for.
#[derive(Debug)]
pub(crate) struct PollSet(Vec<libc::pollfd>);

impl PollSet {
    pub(crate) fn new(descriptors: impl Iterator<Item = i32>) -> Self {
        let poll = descriptors.map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        });
        Self(poll.collect())
    }

    /// Waits until a descriptor can be read, for at most the given span; returns how many can. A signal ends the
    /// wait.
    pub(crate) fn wait(&mut self, longest_ns: u64) -> io::Result<usize> {
        let timeout = super::clock::timespec_of_ns(longest_ns);
        let count = self.0.len() as libc::nfds_t;
        // SAFETY: the array is live and has `count` entries, the time is live, and the mask may be null. A
        // descriptor that is not open is marked, not followed.
        let ready = unsafe {
            libc::ppoll(
                self.0.as_mut_ptr(),
                count,
                &raw const timeout,
                std::ptr::null(),
            )
        };
        if ready >= 0 {
            return Ok(ready.unsigned_abs() as usize);
        }
        self.0.iter_mut().for_each(|poll| poll.revents = 0);
        match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            error => Err(error),
        }
    }

    /// Whether a descriptor had data when the wait ended, and not only an error.
    pub(crate) fn has_data(&self) -> bool {
        self.0.iter().any(|it| it.revents & libc::POLLIN != 0)
    }

    /// The descriptors with an error when the wait ended.
    pub(crate) fn failed(&self) -> impl Iterator<Item = i32> {
        let failed = libc::POLLERR | libc::POLLHUP | libc::POLLNVAL;
        let all = self.0.iter();
        all.filter(move |it| it.revents & failed != 0)
            .map(|it| it.fd)
    }

    /// All descriptors, by their numbers.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = i32> {
        self.0.iter().map(|it| it.fd)
    }

    /// Whether the descriptor at this place could be read when the wait ended.
    pub(crate) fn is_readable(&self, place: usize) -> bool {
        self.0[place].revents != 0
    }
}
