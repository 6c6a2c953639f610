//! The wire format of EtherCAT: frames, datagrams, registers, states. No other part of Kadenz defines it.
//!
//! All of it is sans-IO, works in the caller's memory, allocates nothing and treats what it reads as
//! hostile. Numbers are those of ETG.1000.4 (data link layer), ETG.1000.6 (application layer and SII)
//! and ETG.6010 (CiA 402); integers are little-endian throughout.

#[macro_use]
mod numbered;

pub mod cia402;
pub mod coe;
mod data_link;
mod datagram;
mod fmmu;
mod frame;
pub mod mailbox;
pub mod register;
pub mod sii;
mod state;
pub mod sync_manager;

pub use data_link::{DlControl, DlStatus, LoopControl, PortStatus};
pub(crate) use datagram::Addressing;
pub use datagram::{Command, Configured, DatagramAddress, Logical, Position};
pub use fmmu::Fmmu;
pub(crate) use frame::{DATAGRAM_OVERHEAD, RETURNED, mark_as_returned};
pub use frame::{
    Datagram, DatagramMut, Datagrams, DatagramsMut, ETHERNET_HEADER, ETHERTYPE, FrameError,
    FrameWriter, MAX_FRAME, MIN_FRAME, Mac, OverflowError, Slot,
};
pub use state::{AlControl, AlStatus, AlStatusCode, State};
pub use sync_manager::SyncManager;

// Bits at any bit offset, as process data and objects have them.

/// Copies bits, whole bytes where both sides are aligned, and keeps the other bits. Bits beyond either side are left
/// out; of whole bytes that do not fit, all.
///
/// # Real-time safety
/// Real-time safe.
#[inline]
pub fn copy_bits(from: &[u8], from_bit: usize, to: &mut [u8], to_bit: usize, bits: usize) {
    if [from_bit, to_bit, bits]
        .iter()
        .all(|it| it.is_multiple_of(8))
    {
        let (source, target) = (from_bit / 8, to_bit / 8);
        let source = from.get(source..source + bits / 8);
        let target = to.get_mut(target..target + bits / 8);
        if let (Some(source), Some(target)) = (source, target) {
            target.copy_from_slice(source);
        }
        return;
    }
    for at in 0..bits {
        let (source, target) = (from_bit.saturating_add(at), to_bit.saturating_add(at));
        let (Some(byte), Some(into)) = (from.get(source / 8), to.get_mut(target / 8)) else {
            return;
        };
        let mask = 1 << (target % 8);
        if byte >> (source % 8) & 1 == 0 {
            *into &= !mask;
        } else {
            *into |= mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_copied_where_they_belong_and_no_others() {
        let mut to = [0xFF, 0x00, 0xFF];
        copy_bits(&[0b1010_0101], 2, &mut to, 6, 5);
        assert_eq!(to, [0b0111_1111, 0b0000_0010, 0xFF]);
        copy_bits(&[1, 2], 0, &mut to, 8, 16);
        assert_eq!(to[1..], [1, 2]);
        copy_bits(&[1, 2], 0, &mut to, 16, 16);
        assert_eq!(to[1..], [1, 2], "whole bytes that do not fit are left out");
        copy_bits(&[0xFF], 4, &mut to, 20, 9);
        assert_eq!(to[2], 0xF2);
    }
}
