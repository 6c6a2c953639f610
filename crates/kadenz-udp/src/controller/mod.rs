//! The controller's side: the probes sent, the answers received, the devices that sent them, and their order.
//!
//! A sender remembers the probes that it sent in [`Outstanding`], and its devices in a [`DeviceTable`]. Each device
//! has a [`Tracker`]. The sender checks an answer in this order: is it a datagram with our token, is it from one of
//! our devices, does it answer a probe that was sent, and what does the device's tracker say of it?
//!
//! ```
//! use std::net::SocketAddr;
//!
//! use kadenz_udp::controller::{
//!     Arrival, Order, Outstanding, OutstandingSlot, DeviceTable, DeviceTableSlot, Sending, Timing, TrackWord, Tracker,
//! };
//! use kadenz_udp::device::{Answer, Echo, Policy};
//! use kadenz_udp::wire::{self, Kind, Packet, Probe, RunId, Sequence, Stamp};
//!
//! // Before the start: the devices are known, and all memory is taken.
//! let run = RunId(0x0bad_cafe);
//! let knee: SocketAddr = "10.10.1.2:6176".parse()?;
//! let mut table = DeviceTable::over(vec![DeviceTableSlot::default(); 80]);
//! table.add(knee.into())?;
//! let mut trackers = vec![Tracker::over(vec![TrackWord::default(); 1024], 10_000_000); table.len()];
//! let mut outstanding = Outstanding::over(vec![OutstandingSlot::default(); 4096], run);
//! let mut probe = [0; 200];
//! Probe { run, sequence: Sequence(0), stamp: Stamp(0), stamps: true, token: None }.write(&mut probe)?;
//!
//! // On each beat: stamp it, remember it, send it.
//! let (sequence, intended_ns, now_ns) = (Sequence(0), 10_000_000, 10_004_000);
//! wire::patch(&mut probe, sequence, Stamp(now_ns), None)?;
//! outstanding.sent(sequence, Sending { intended_ns, stamp: Stamp(now_ns) });
//! for tracker in &mut trackers {
//!     tracker.expect(sequence)?;
//! }
//!
//! // The network, and a device.
//! let mut datagram = probe;
//! let mut device = Echo::new(Policy::default());
//! let Answer::Reply(length) = device.on_datagram(5_000, &mut datagram) else { panic!("silent") };
//! device.stamp_departure(6_000, &mut datagram[..length]);
//!
//! // Whenever something comes in.
//! let (from, received_ns) = (knee, 10_198_000);
//! let packet = Packet::open(&datagram[..length], None)?;
//! if let (Kind::Reply, Some(device)) = (packet.kind(), table.count_datagram(&from.into())) {
//!     let sending = outstanding.verify(&packet)?;
//!     let round_trip_ns = received_ns - sending.stamp.0;
//!     let arrival = trackers[device.index()].received(packet.sequence(), round_trip_ns);
//!     assert_eq!(arrival, Arrival::First { order: Order::InOrder, timing: Timing::InTime });
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod burst;
mod device_table;
mod outstanding;
mod tracker;

pub use burst::{Burst, BurstSlot, NoPlace, OrderSlot, Place, Places, ReplyOrder};
pub use device_table::{DeviceId, DeviceKey, DeviceTable, DeviceTableFull, DeviceTableSlot};
pub use outstanding::{InvalidReply, Outstanding, OutstandingSlot, Sending};
pub use tracker::{Arrival, Counts, Order, OutOfSequence, Timing, TrackWord, Tracker};
