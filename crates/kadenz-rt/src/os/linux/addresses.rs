//! The addresses of this host's interfaces, `getifaddrs(3)`.

use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One address of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InterfaceAddress {
    pub(crate) interface: String,
    pub(crate) address: IpAddr,
    pub(crate) broadcast: Option<Ipv4Addr>,
    pub(crate) up: bool,
    pub(crate) loopback: bool,
}

/// All addresses, IPv4 and IPv6; empty when the system does not tell.
pub(crate) fn list() -> Vec<InterfaceAddress> {
    let mut first = std::ptr::null_mut();
    // SAFETY: the pointer is there to be written.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut next = first;
    while !next.is_null() {
        // SAFETY: the list is as the C library made it, and is freed after the loop alone.
        let entry = unsafe { &*next };
        found.extend(read(entry));
        next = entry.ifa_next;
    }
    // SAFETY: this is the list that the call above gave, and nothing of it is kept.
    unsafe { libc::freeifaddrs(first) };
    found
}

fn read(entry: &libc::ifaddrs) -> Option<InterfaceAddress> {
    let is = |flag: libc::c_int| entry.ifa_flags & flag.cast_unsigned() != 0;
    let broadcast = is(libc::IFF_BROADCAST).then(|| address(entry.ifa_ifu));
    // SAFETY: the C library gives each entry a name that ends with a zero.
    let name = unsafe { CStr::from_ptr(entry.ifa_name) };
    Some(InterfaceAddress {
        interface: name.to_string_lossy().into_owned(),
        address: address(entry.ifa_addr)?,
        broadcast: broadcast.flatten().and_then(|it| match it {
            IpAddr::V4(it) => Some(it),
            IpAddr::V6(_) => None,
        }),
        up: is(libc::IFF_UP),
        loopback: is(libc::IFF_LOOPBACK),
    })
}

/// The IP address behind a pointer of the list; `None` for none and for other families.
fn address(pointer: *const libc::sockaddr) -> Option<IpAddr> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: an address of the list begins with its family.
    let family = unsafe { (*pointer).sa_family };
    match libc::c_int::from(family) {
        libc::AF_INET => {
            // SAFETY: an address of this family is a `sockaddr_in`; the list may align it less.
            let v4 = unsafe { pointer.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes()).into())
        }
        libc::AF_INET6 => {
            // SAFETY: an address of this family is a `sockaddr_in6`; the list may align it less.
            let v6 = unsafe { pointer.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

/// The number of an interface in the network of this thread; `None` where there is none of that name.
pub(crate) fn number_of(interface: &str) -> Option<u32> {
    let name = std::ffi::CString::new(interface).ok()?;
    // SAFETY: the name ends with a zero and outlives the call.
    let number = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (number > 0).then_some(number)
}

/// The names of all interfaces in the network of this thread; empty when the system does not tell.
pub(crate) fn names() -> Vec<String> {
    // SAFETY: the call takes nothing.
    let first = unsafe { libc::if_nameindex() };
    if first.is_null() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for place in 0.. {
        // SAFETY: the list ends with an entry of number 0, which ends the loop.
        let entry = unsafe { &*first.add(place) };
        if entry.if_index == 0 || entry.if_name.is_null() {
            break;
        }
        // SAFETY: the C library gives each entry a name that ends with a zero.
        let name = unsafe { CStr::from_ptr(entry.if_name) };
        found.push(name.to_string_lossy().into_owned());
    }
    // SAFETY: this is the list that the call above gave, and nothing of it is kept.
    unsafe { libc::if_freenameindex(first) };
    found
}
