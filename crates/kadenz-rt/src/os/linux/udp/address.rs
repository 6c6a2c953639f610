//! Addresses as the kernel takes and gives them.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use libc::{sockaddr_in, sockaddr_in6, sockaddr_storage, socklen_t};

/// Room for any address.
pub(crate) fn empty() -> sockaddr_storage {
    // SAFETY: the structure is made of numbers; all zeroes mean an address of no family.
    unsafe { std::mem::zeroed() }
}

/// Writes an address; how many bytes of the room it takes.
pub(crate) fn write(address: &SocketAddr, room: &mut sockaddr_storage) -> socklen_t {
    let place = std::ptr::from_mut(room);
    let length = match address {
        SocketAddr::V4(v4) => {
            let it = sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(v4.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            // SAFETY: the room is long enough for any address, and aligned for it.
            unsafe { place.cast::<sockaddr_in>().write(it) };
            size_of::<sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            let it = sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: v6.ip().octets(),
                },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: as above.
            unsafe { place.cast::<sockaddr_in6>().write(it) };
            size_of::<sockaddr_in6>()
        }
    };
    length as socklen_t
}

/// Reads an address; `None` for a family other than IPv4 and IPv6.
pub(crate) fn read(room: &sockaddr_storage) -> Option<SocketAddr> {
    let place = std::ptr::from_ref(room);
    match libc::c_int::from(room.ss_family) {
        libc::AF_INET => {
            // SAFETY: the room is long enough for any address, aligned for it, and made of numbers.
            let it = unsafe { place.cast::<sockaddr_in>().read() };
            let ip = Ipv4Addr::from(it.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddr::from((ip, u16::from_be(it.sin_port))))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let it = unsafe { place.cast::<sockaddr_in6>().read() };
            let ip = Ipv6Addr::from(it.sin6_addr.s6_addr);
            let port = u16::from_be(it.sin6_port);
            let address = SocketAddrV6::new(ip, port, it.sin6_flowinfo, it.sin6_scope_id);
            Some(SocketAddr::V6(address))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back() {
        for text in [
            "127.0.0.1:6176",
            "255.255.255.255:1",
            "[::1]:65535",
            "[fe80::1%3]:7",
        ] {
            let address: SocketAddr = text.parse().unwrap();
            let mut room = empty();
            let length = write(&address, &mut room) as usize;
            assert!(length <= size_of::<sockaddr_storage>());
            assert_eq!(read(&room), Some(address));
        }
        assert_eq!(read(&empty()), None);
    }
}
