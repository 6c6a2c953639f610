//! The control messages that the kernel adds to a datagram. Layouts: `cmsg(3)`, `errqueue.h` and `net_tstamp.h` of
//! the kernel's user interface.

use libc::{cmsghdr, msghdr, sock_extended_err, timespec};

/// The control messages of one datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ControlMessages {
    /// The kernel's stamp on `CLOCK_REALTIME`.
    pub(crate) software_ns: Option<i64>,
    /// The card's stamp on its own clock.
    pub(crate) hardware_ns: Option<i64>,
    /// Datagrams dropped at the socket before this one, modulo 2^32; absent while there are none.
    pub(crate) dropped: Option<u32>,
    /// The reason why it stands in the error queue.
    pub(crate) report: Option<ErrorQueueReport>,
}

/// The reason why a message stands in a socket's error queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorQueueReport {
    /// A datagram left; the key counts the socket's datagrams.
    Left { key: u32 },
    /// The network refused a datagram.
    Error { errno: i32 },
    /// Another reason.
    Other,
}

/// `SCM_TS_OPT_ID` of Linux 6.13 and later (asm-generic/socket.h): the sender's own key of a datagram.
const OWN_KEY: libc::c_int = 81;

/// A control message of the sender: the key for the datagram's transmit stamp.
#[repr(C, align(8))]
#[derive(Debug, Clone, Copy)]
pub(super) struct TransmitKeyMessage {
    header: cmsghdr,
    key: u32,
    rest: u32,
}

impl TransmitKeyMessage {
    pub(super) fn of(key: u32) -> Self {
        // SAFETY: the structure is made of numbers; some C libraries have unnamed ones in it.
        let mut header: cmsghdr = unsafe { std::mem::zeroed() };
        // SAFETY: the macro only computes.
        header.cmsg_len = unsafe { libc::CMSG_LEN(size_of::<u32>() as libc::c_uint) } as _;
        header.cmsg_level = libc::SOL_SOCKET;
        header.cmsg_type = OWN_KEY;
        Self {
            header,
            key,
            rest: 0,
        }
    }

    /// Attaches the note to a message. The note must live as long as the message is used.
    pub(super) fn attach(&mut self, message: &mut msghdr) {
        message.msg_control = std::ptr::from_mut(self).cast();
        message.msg_controllen = size_of::<Self>() as _;
    }
}

/// Reads all notes of a message.
///
/// # Safety
/// `header` must be as a successful call left it, and its control buffer live.
pub(super) unsafe fn read(header: &msghdr) -> ControlMessages {
    let mut notes = ControlMessages::default();
    // SAFETY: the control buffer is live and its length is as the kernel set it.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !next.is_null() {
        // SAFETY: the macro gives messages that lie wholly in the buffer.
        unsafe {
            note(&mut notes, &*next);
            next = libc::CMSG_NXTHDR(header, next);
        }
    }
    notes
}

/// # Safety
/// `message` must lie in a live control buffer, followed by as much data as it says.
unsafe fn note(notes: &mut ControlMessages, message: &cmsghdr) {
    // SAFETY: the data lie behind the message, which the caller answers for; each is read only as
    // far as the message is long.
    unsafe {
        match (message.cmsg_level, message.cmsg_type) {
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) => {
                if let Some(stamps) = data::<[timespec; 3]>(message) {
                    notes.software_ns = ns(&stamps[0]);
                    notes.hardware_ns = ns(&stamps[2]);
                }
            }
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => notes.dropped = data::<u32>(message),
            (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
                notes.report = data::<sock_extended_err>(message).map(|it| report(&it));
            }
            _ => {}
        }
    }
}

/// # Safety
/// As [`note`]; `T` must be made of numbers.
unsafe fn data<T>(message: &cmsghdr) -> Option<T> {
    // SAFETY: the macro only computes.
    let needed = unsafe { libc::CMSG_LEN(size_of::<T>() as libc::c_uint) };
    #[allow(clippy::unnecessary_cast, reason = "narrower with other C libraries")]
    let length = message.cmsg_len as usize;
    if length < needed as usize {
        return None;
    }
    // SAFETY: as many bytes lie there; they need not be aligned for `T`.
    Some(unsafe { libc::CMSG_DATA(message).cast::<T>().read_unaligned() })
}

fn report(error: &sock_extended_err) -> ErrorQueueReport {
    /// `SCM_TSTAMP_SND`: handed to the driver, or sent by the card.
    const SENT: u32 = 0;
    match error.ee_origin {
        libc::SO_EE_ORIGIN_TIMESTAMPING if error.ee_info == SENT => {
            ErrorQueueReport::Left { key: error.ee_data }
        }
        libc::SO_EE_ORIGIN_LOCAL | libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6 => {
            ErrorQueueReport::Error {
                errno: error.ee_errno.cast_signed(),
            }
        }
        _ => ErrorQueueReport::Other,
    }
}

/// A stamp in nanoseconds; a zero means that there is none.
fn ns(time: &timespec) -> Option<i64> {
    #[allow(
        clippy::useless_conversion,
        reason = "both are narrower on 32-bit systems"
    )]
    let (seconds, rest) = (i64::from(time.tv_sec), i64::from(time.tv_nsec));
    let ns = seconds.checked_mul(1_000_000_000)?.checked_add(rest)?;
    (ns != 0).then_some(ns)
}
