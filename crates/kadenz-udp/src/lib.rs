//! The protocol by which a robot's controller and its devices measure their network over UDP.
//!
//! The crate takes bytes and times and returns bytes and times. It opens no socket, reads no clock, allocates
//! nothing and needs no standard library, so that the program on a computer and the firmware of a device run the
//! same code. `docs/udp-protocol.md` shows every byte of the protocol, for implementations of the device's side in
//! another language.
//!
//! - [`wire`]: the datagram, read from hostile bytes and written into a caller's buffer.
//! - [`device`]: the device's side, whose answer is never longer than the question.
//! - [`controller`]: the probes sent, the answers received, the devices that sent them, and their order.
//! - [`record`]: measurements on their way to a logging server.
//! - [`clock_fit`]: the offset of a device's clock from the controller's, with a bound on the error.
//!
//! Where memory is needed, the caller gives it ([`memory::Memory`]): an array in firmware, a vector on a
//! computer.
//!
//! # Real-time safety
//! Everything here is bounded, waits for nothing, allocates nothing and makes no system call.
//!
//! ```
//! use kadenz_udp::device::{Answer, Echo, Policy};
//! use kadenz_udp::wire::{Kind, Packet, Probe, RunId, Sequence, Stamp};
//!
//! let probe = Probe { run: RunId(7), sequence: Sequence(0), stamp: Stamp(1_000), stamps: true, token: None };
//! let mut bytes = [0_u8; 200];
//! let sent = probe.write(&mut bytes)?;
//!
//! let mut device = Echo::new(Policy::default());
//! let Answer::Reply(length) = device.on_datagram(5_000, &mut bytes[..sent]) else { panic!("unanswered") };
//! device.stamp_departure(6_000, &mut bytes[..length]);
//!
//! let reply = Packet::parse(&bytes[..length])?;
//! assert_eq!((reply.kind(), reply.stamp()), (Kind::Reply, Stamp(1_000)));
//! assert_eq!(reply.device_stamps().map(|it| it.held_ns()), Some(1_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(test), no_std)]

pub mod clock_fit;
pub mod controller;
pub mod device;
pub mod record;
pub mod wire;

pub mod memory {
    //! Memory that a caller gives.

    /// A fixed number of slots: an array, a boxed slice, a vector, or a mutable slice.
    ///
    /// A structure over it uses as many slots as it has at construction and never requests more.
    ///
    /// ```
    /// use kadenz_udp::controller::{Tracker, TrackWord};
    /// use kadenz_udp::wire::Sequence;
    ///
    /// let mut small = Tracker::over([TrackWord::default(); 4], 10_000_000);
    /// let mut large = Tracker::over(vec![TrackWord::default(); 1024], 10_000_000);
    /// assert_eq!((small.window(), large.window()), (256, 65_536));
    /// small.expect(Sequence(0));
    /// large.expect(Sequence(0));
    /// ```
    pub trait Memory<T>: AsRef<[T]> + AsMut<[T]> {}

    impl<T, M: AsRef<[T]> + AsMut<[T]> + ?Sized> Memory<T> for M {}
}
