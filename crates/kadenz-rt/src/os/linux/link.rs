//! Making and deleting network interfaces: rtnetlink(7).

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// Attributes of if_link.h and veth.h that libc does not name.
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
/// `struct ifinfomsg`: family, padding, type; index, flags, change.
const INTERFACE: [u8; 16] = [0; 16];

/// Makes a cable: what is sent into one interface comes out of the other.
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

/// Deletes an interface, and its peer with it.
pub(crate) fn delete(name: &str) -> io::Result<()> {
    let mut message = INTERFACE.to_vec();
    attribute(&mut message, libc::IFLA_IFNAME, &zero_ended(name)?);
    request(libc::RTM_DELLINK, 0, &message)
}

fn zero_ended(name: &str) -> io::Result<Vec<u8>> {
    let fits = !name.is_empty() && name.len() < libc::IFNAMSIZ && !name.contains(['\0', '/']);
    if !fits {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    Ok([name.as_bytes(), &[0]].concat())
}

/// Length and type, the value, and zeros up to four bytes.
fn attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = (4 + value.len()) as u16;
    to.extend(length.to_ne_bytes());
    to.extend(kind.to_ne_bytes());
    to.extend(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

fn request(kind: u16, flags: i32, body: &[u8]) -> io::Result<()> {
    let socket = open()?;
    let header = libc::nlmsghdr {
        nlmsg_len: (size_of::<libc::nlmsghdr>() + body.len()) as u32,
        nlmsg_type: kind,
        nlmsg_flags: (libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags) as u16,
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
    // SAFETY: the message is live and as long as told; the socket is open.
    let sent = unsafe {
        libc::send(
            socket.as_raw_fd(),
            message.as_ptr().cast(),
            message.len(),
            0,
        )
    };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    answer(&socket)
}

/// The kernel's answer: an error number behind the header, zero for done.
fn answer(socket: &OwnedFd) -> io::Result<()> {
    let mut bytes = [0_u8; 4096];
    // SAFETY: the buffer is live and as long as told.
    let got = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            bytes.as_mut_ptr().cast(),
            bytes.len(),
            0,
        )
    };
    let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
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
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes numbers only.
    let number = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above has just opened this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
