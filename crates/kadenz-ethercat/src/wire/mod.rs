//! What stands on EtherCAT's wire, and nowhere else in Kadenz: frames, datagrams, registers, states.
//!
//! All of it is sans-IO, works in the caller's memory, allocates nothing and treats what it reads as
//! hostile. Numbers are those of ETG.1000.4 (data link layer), ETG.1000.6 (application layer and SII)
//! and ETG.6010 (CiA 402); integers are little-endian throughout.

mod address;
mod bits;
pub mod cia402;
pub mod coe;
mod command;
mod data_link;
mod fmmu;
mod frame;
pub mod mailbox;
pub mod register;
pub mod sii;
mod state;
pub mod sync_manager;

pub(crate) use bits::copy_bits;

pub use address::{Address, Configured, Logical, Position};
pub use command::{Addressing, Command};
pub use data_link::{DlControl, DlStatus, LoopControl, PortStatus};
pub use fmmu::Fmmu;
pub use frame::{
    DATAGRAM_OVERHEAD, Datagram, DatagramMut, Datagrams, DatagramsMut, ETHERNET_HEADER, ETHERTYPE,
    FrameError, FrameWriter, MAX_FRAME, MIN_FRAME, Mac, OverflowError, RETURNED, Slot,
    mark_as_returned,
};
pub use state::{AlControl, AlStatus, AlStatusCode, State};
pub use sync_manager::SyncManager;
