//! Groups, and the interfaces on which they are joined: ip(7), ipv6(7), netdevice(7).

use std::net::IpAddr;

use super::super::errno;
use super::socket::Socket;

/// The name of an interface in the kernel's form: padded with at least one zero.
pub(crate) type Name = [u8; libc::IFNAMSIZ];

/// `None` where no interface can have that name.
pub(crate) fn name(interface: &str) -> Option<Name> {
    let mut name = [0; libc::IFNAMSIZ];
    let room = name[..libc::IFNAMSIZ - 1].get_mut(..interface.len())?;
    room.copy_from_slice(interface.as_bytes());
    (!interface.is_empty()).then_some(name)
}

/// `struct ifreq` with a number at the start of its union, which is 24 bytes at most.
#[repr(C)]
struct InterfaceRequest {
    name: Name,
    number: i32,
    rest: [u32; 5],
}

fn ask(socket: &Socket, name: Name, question: u64) -> Result<i32, i32> {
    let mut request = InterfaceRequest {
        name,
        number: 0,
        rest: [0; 5],
    };
    // SAFETY: the structure is as long as the kernel's, and live; both requests write a number.
    let outcome = unsafe { libc::ioctl(socket.number(), question as _, &raw mut request) };
    if outcome == 0 {
        Ok(request.number)
    } else {
        Err(errno())
    }
}

/// The number of an interface in the socket's network namespace.
pub(crate) fn number_of(socket: &Socket, name: Name) -> Result<i32, i32> {
    ask(socket, name, libc::SIOCGIFINDEX as _)
}

/// Whether an interface is up.
pub(crate) fn is_up(socket: &Socket, name: Name) -> bool {
    // The flags are the first 16 bits of the union, whatever the order of bytes.
    let flags = ask(socket, name, libc::SIOCGIFFLAGS as _);
    flags.is_ok_and(|it| {
        i32::from(i16::from_ne_bytes([
            it.to_ne_bytes()[0],
            it.to_ne_bytes()[1],
        ])) & libc::IFF_UP
            != 0
    })
}

/// Joins a group or leaves it, on the interface of that number; 0 lets the routes choose.
pub(crate) fn membership(
    socket: &Socket,
    group: IpAddr,
    interface: i32,
    joins: bool,
) -> Result<(), i32> {
    match group {
        IpAddr::V4(group) => {
            let name = if joins {
                libc::IP_ADD_MEMBERSHIP
            } else {
                libc::IP_DROP_MEMBERSHIP
            };
            let request = v4(group.octets(), interface);
            socket.set_bytes(libc::SOL_IP, name, &request)
        }
        IpAddr::V6(group) => {
            let name = if joins {
                libc::IPV6_ADD_MEMBERSHIP
            } else {
                libc::IPV6_DROP_MEMBERSHIP
            };
            // `struct ipv6_mreq`: the group, and the interface's number.
            let mut request = [0; 20];
            request[..16].copy_from_slice(&group.octets());
            request[16..].copy_from_slice(&interface.to_ne_bytes());
            socket.set_bytes(libc::SOL_IPV6, name, &request)
        }
    }
}

/// Sets the interface by which datagrams to groups leave, by its number.
pub(crate) fn send_by(socket: &Socket, is_v6: bool, interface: i32) -> Result<(), i32> {
    if is_v6 {
        socket.set(libc::SOL_IPV6, libc::IPV6_MULTICAST_IF, interface)
    } else {
        let request = v4([0; 4], interface);
        socket.set_bytes(libc::SOL_IP, libc::IP_MULTICAST_IF, &request)
    }
}

/// `struct ip_mreqn`: group, no address of an interface, and its number.
fn v4(group: [u8; 4], interface: i32) -> [u8; 12] {
    let mut request = [0; 12];
    request[..4].copy_from_slice(&group);
    request[8..].copy_from_slice(&interface.to_ne_bytes());
    request
}

/// The flags of an interface of this thread's network namespace; `None` where no interface has that name.
pub(crate) fn flags_of(interface: &str) -> Option<u32> {
    let socket = Socket::open(super::socket::Family::V4).ok()?;
    let flags = ask(&socket, name(interface)?, libc::SIOCGIFFLAGS as _).ok()?;
    let bytes = flags.to_ne_bytes();
    Some(u16::from_ne_bytes([bytes[0], bytes[1]]).into())
}
