//! Making and deleting network interfaces, rtnetlink(7), and listing the addresses of all interfaces.

use std::ffi::CStr;
use std::io;
use std::mem::size_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType};

/// Attributes of if_link.h and veth.h that libc does not name.
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
/// `struct ifinfomsg`: family, padding, type; index, flags, change.
const INTERFACE: [u8; 16] = [0; 16];
/// The index in it.
const NUMBER: std::ops::Range<usize> = 4..8;

/// Makes a `veth` pair: frames sent into one interface come out of the other.
pub(crate) fn create_veth(name: &str, peer: &str) -> io::Result<()> {
    let mut message = INTERFACE.to_vec();
    attribute(&mut message, libc::IFLA_IFNAME, &zero_ended(name)?);
    let mut other = INTERFACE.to_vec();
    attribute(&mut other, libc::IFLA_IFNAME, &zero_ended(peer)?);
    let mut data = Vec::new();
    attribute(&mut data, VETH_INFO_PEER, &other);
    let mut info = Vec::new();
    attribute(&mut info, IFLA_INFO_KIND, b"veth");
    attribute(&mut info, IFLA_INFO_DATA, &data);
    attribute(&mut message, libc::IFLA_LINKINFO, &info);
    let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    request(libc::RTM_NEWLINK, flags, &message)
}

/// Deletes the interface of that number, and its peer with it.
pub(crate) fn delete(number: u32) -> io::Result<()> {
    request(libc::RTM_DELLINK, 0, &numbered(number))
}

/// Gives an interface an alias: a text that the kernel keeps with it, for users and programs.
pub(crate) fn set_alias(number: u32, alias: &str) -> io::Result<()> {
    let mut message = numbered(number);
    attribute(&mut message, libc::IFLA_IFALIAS, alias.as_bytes());
    request(libc::RTM_SETLINK, 0, &message)
}

/// `struct ifinfomsg` of the interface of that number.
fn numbered(number: u32) -> Vec<u8> {
    let mut message = INTERFACE.to_vec();
    message[NUMBER].copy_from_slice(&number.to_ne_bytes());
    message
}

/// An interface that has an alias.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AliasedInterface {
    /// The kernel's number of it, which is unique in this network namespace.
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) alias: String,
}

/// The interfaces of the calling thread's network namespace that have an alias.
pub(crate) fn aliases() -> io::Result<Vec<AliasedInterface>> {
    let socket = open()?;
    send(&socket, libc::RTM_GETLINK, libc::NLM_F_DUMP, &INTERFACE)?;
    let mut found = Vec::new();
    let mut bytes = vec![0; 64 << 10];
    loop {
        let got = receive(&socket, &mut bytes)?;
        if got == 0 || !take_links(&bytes[..got], &mut found)? {
            return Ok(found);
        }
    }
}

/// Collects the links of one piece of a list, and returns whether more pieces follow.
fn take_links(mut bytes: &[u8], found: &mut Vec<AliasedInterface>) -> io::Result<bool> {
    let head = size_of::<libc::nlmsghdr>();
    while let Some((length, kind)) = head_of(bytes) {
        let Some(message) = bytes.get(head..length) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        match i32::from(kind) {
            libc::NLMSG_DONE => return Ok(false),
            libc::NLMSG_ERROR => return Err(error_of(message)?),
            _ => found.extend(aliased(message)),
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(true)
}

/// Returns a message's length, its header included, and its kind.
fn head_of(bytes: &[u8]) -> Option<(usize, u16)> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (kind, _) = rest.split_first_chunk()?;
    let length = u32::from_ne_bytes(*length) as usize;
    (length >= size_of::<libc::nlmsghdr>()).then_some((length, u16::from_ne_bytes(*kind)))
}

/// An error message begins with the negative error number.
fn error_of(message: &[u8]) -> io::Result<io::Error> {
    let (number, _) = message
        .split_first_chunk()
        .ok_or(io::ErrorKind::InvalidData)?;
    let number = i32::from_ne_bytes(*number);
    Ok(io::Error::from_raw_os_error(number.saturating_neg()))
}

/// A link that has both name and alias among its attributes.
fn aliased(message: &[u8]) -> Option<AliasedInterface> {
    let (number, _) = message.get(NUMBER.start..)?.split_first_chunk()?;
    let number = u32::from_ne_bytes(*number);
    let (mut name, mut alias) = (None, None);
    let mut bytes = message.get(INTERFACE.len()..)?;
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let length = usize::from(u16::from_ne_bytes(*length));
        let (Some((kind, _)), Some(value)) = (rest.split_first_chunk(), bytes.get(4..length))
        else {
            break;
        };
        let text = || {
            String::from_utf8_lossy(value)
                .trim_end_matches('\0')
                .to_owned()
        };
        match u16::from_ne_bytes(*kind) {
            libc::IFLA_IFNAME => name = Some(text()),
            libc::IFLA_IFALIAS => alias = Some(text()),
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(AliasedInterface {
        number,
        name: name?,
        alias: alias?,
    })
}

fn zero_ended(name: &str) -> io::Result<Vec<u8>> {
    let fits = !name.is_empty() && name.len() < libc::IFNAMSIZ && !name.contains(['\0', '/']);
    if !fits {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    Ok([name.as_bytes(), &[0]].concat())
}

/// Appends an attribute: length and type, the value, and zeros up to four bytes.
fn attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = (4 + value.len()) as u16;
    to.extend(length.to_ne_bytes());
    to.extend(kind.to_ne_bytes());
    to.extend(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

fn request(kind: u16, flags: i32, body: &[u8]) -> io::Result<()> {
    let socket = open()?;
    send(&socket, kind, libc::NLM_F_ACK | flags, body)?;
    answer(&socket)
}

fn send(socket: &OwnedFd, kind: u16, flags: i32, body: &[u8]) -> io::Result<()> {
    let header = libc::nlmsghdr {
        nlmsg_len: (size_of::<libc::nlmsghdr>() + body.len()) as u32,
        nlmsg_type: kind,
        nlmsg_flags: (libc::NLM_F_REQUEST | flags) as u16,
        nlmsg_seq: 1,
        nlmsg_pid: 0,
    };
    let mut message = Vec::with_capacity(header.nlmsg_len as usize);
    message.extend(header.nlmsg_len.to_ne_bytes());
    message.extend(header.nlmsg_type.to_ne_bytes());
    message.extend(header.nlmsg_flags.to_ne_bytes());
    message.extend(header.nlmsg_seq.to_ne_bytes());
    message.extend(header.nlmsg_pid.to_ne_bytes());
    message.extend(body);
    rustix::net::send(socket, &message, SendFlags::empty())?;
    Ok(())
}

/// Receives one datagram and returns its length.
fn receive(socket: &OwnedFd, bytes: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::net::recv(socket, bytes, RecvFlags::empty())?.1)
}

/// Reads the kernel's answer: an error number behind the header, zero for success.
fn answer(socket: &OwnedFd) -> io::Result<()> {
    let mut bytes = [0_u8; 4096];
    let got = receive(socket, &mut bytes)?;
    let at = size_of::<libc::nlmsghdr>();
    let number = bytes[..got]
        .get(at..at + 4)
        .ok_or(io::ErrorKind::InvalidData)?;
    match i32::from_ne_bytes([number[0], number[1], number[2], number[3]]) {
        0 => Ok(()),
        negative => Err(io::Error::from_raw_os_error(-negative)),
    }
}

fn open() -> io::Result<OwnedFd> {
    // Without a protocol it is one of NETLINK_ROUTE.
    Ok(super::socket(AddressFamily::NETLINK, SocketType::RAW)?)
}

// The addresses of this host's interfaces, `getifaddrs(3)`.

/// One address of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InterfaceAddress {
    pub(crate) interface: String,
    pub(crate) address: IpAddr,
    pub(crate) broadcast: Option<Ipv4Addr>,
    pub(crate) up: bool,
    pub(crate) loopback: bool,
}

/// All addresses, IPv4 and IPv6; empty when the system does not list them.
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

/// The number of an interface in the network namespace of this thread; `None` where no interface has that name.
pub(crate) fn number_of(interface: &str) -> Option<u32> {
    let name = std::ffi::CString::new(interface).ok()?;
    // SAFETY: the name ends with a zero and outlives the call.
    let number = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (number > 0).then_some(number)
}

/// The names of all interfaces in the network namespace of this thread; empty when the system does not list them.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let length = (size_of::<libc::nlmsghdr>() + body.len()) as u32;
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn link(number: u32, name: &str, alias: Option<&str>) -> Vec<u8> {
        let mut body = numbered(number);
        attribute(&mut body, 99, &[1, 2, 3]);
        attribute(&mut body, libc::IFLA_IFNAME, &zero_ended(name).unwrap());
        if let Some(alias) = alias {
            attribute(&mut body, libc::IFLA_IFALIAS, &zero_ended(alias).unwrap());
        }
        message(libc::RTM_NEWLINK, &body)
    }

    #[test]
    fn links_with_an_alias_are_found_in_a_list_of_pieces() {
        let mut found = Vec::new();
        let piece = [link(1, "lo", None), link(2, "a", Some("mine"))].concat();
        assert!(take_links(&piece, &mut found).unwrap(), "more follows");
        let last = [link(300, "b", Some("x")), message(3, &[0; 4])].concat();
        assert!(
            !take_links(&last, &mut found).unwrap(),
            "the list has ended"
        );
        let wanted = [(2, "a", "mine"), (300, "b", "x")];
        let wanted = wanted.map(|(number, name, alias)| AliasedInterface {
            number,
            name: name.to_owned(),
            alias: alias.to_owned(),
        });
        assert_eq!(found, wanted);
    }

    #[test]
    fn damaged_lists_and_errors_are_errors_or_nothing() {
        let mut found = Vec::new();
        let error = message(2, &(-libc::EPERM).to_ne_bytes());
        let refusal = take_links(&error, &mut found).unwrap_err();
        assert_eq!(refusal.raw_os_error(), Some(libc::EPERM));
        let whole = link(2, "a", Some("mine"));
        for end in 0..whole.len() {
            let _ = take_links(&whole[..end], &mut found);
        }
        assert!(found.is_empty(), "a message that is cut is not read");
    }
}
