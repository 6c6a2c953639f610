//! Turning on the stamps of a network card, and putting its setting back. Layouts: `net_tstamp.h` and
//! `sockios.h` of the kernel's user interface; kernel documentation `timestamping.rst`.

use libc::hwtstamp_config;

use super::socket::{Family, Socket, done};

/// `struct ifreq` with a pointer in its union, never shorter than the kernel's.
#[repr(C)]
struct Request {
    name: [u8; 16],
    data: *mut hwtstamp_config,
    rest: [usize; 3],
}

/// A card that stamps every frame, as it did not before; dropping this puts its setting back.
#[derive(Debug)]
pub(crate) struct Stamping {
    socket: Socket,
    name: [u8; 16],
    before: Option<hwtstamp_config>,
}

impl Stamping {
    /// Asks the card of an interface to stamp all frames, either way. The error is the kernel's.
    pub(crate) fn begin(interface: &str) -> Result<Self, i32> {
        let mut name = [0; 16];
        let place = name[..15].get_mut(..interface.len()).ok_or(libc::ENODEV)?;
        place.copy_from_slice(interface.as_bytes());
        let mut stamping = Self {
            socket: Socket::open(Family::V4)?,
            name,
            before: None,
        };
        let mut before = config(libc::HWTSTAMP_TX_OFF, libc::HWTSTAMP_FILTER_NONE);
        stamping.ask(libc::SIOCGHWTSTAMP, &mut before)?;
        let mut wanted = config(libc::HWTSTAMP_TX_ON, libc::HWTSTAMP_FILTER_ALL);
        if (before.tx_type, before.rx_filter) == (wanted.tx_type, wanted.rx_filter) {
            return Ok(stamping);
        }
        stamping.ask(libc::SIOCSHWTSTAMP, &mut wanted)?;
        // From here on there is something to put back.
        stamping.before = Some(before);
        // The driver answers with what it does, which may be less.
        if wanted.rx_filter == libc::HWTSTAMP_FILTER_ALL.cast_signed() {
            Ok(stamping)
        } else {
            Err(libc::ERANGE)
        }
    }

    fn ask(&self, command: libc::c_ulong, config: &mut hwtstamp_config) -> Result<(), i32> {
        let mut request = Request {
            name: self.name,
            data: std::ptr::from_mut(config),
            rest: [0; 3],
        };
        // SAFETY: the request is laid out like `struct ifreq`, its name ends with a zero, and its
        // pointer leads to a live structure of the command's type.
        done(unsafe { libc::ioctl(self.socket.number(), command as _, &raw mut request) })
    }
}

impl Drop for Stamping {
    fn drop(&mut self) {
        if let Some(mut before) = self.before.take() {
            // A card that was removed meanwhile has nothing to be put back.
            let _ = self.ask(libc::SIOCSHWTSTAMP, &mut before);
        }
    }
}

fn config(transmit: libc::c_uint, receive: libc::c_uint) -> hwtstamp_config {
    hwtstamp_config {
        flags: 0,
        tx_type: transmit.cast_signed(),
        rx_filter: receive.cast_signed(),
    }
}
