//! The controller's side: what was sent, what came back of it, from whom, and in which order.

mod burst;
mod device_key;
mod outstanding;
mod reply_order;
mod roster;
mod tracker;

pub use burst::{Burst, BurstSlot, NoPlace, Place};
pub use device_key::DeviceKey;
pub use outstanding::{Outstanding, OutstandingSlot, Sending, Untrue};
pub use reply_order::{OrderSlot, Places, ReplyOrder};
pub use roster::{DeviceId, Roster, RosterFull, RosterSlot};
pub use tracker::{Arrival, Counts, Order, OutOfTurn, Timing, TrackWord, Tracker};
