//! What a SubDevice is: its controller, what its SII says, its objects.
//!
//! A [`Description`] is what a vendor's file says of a device, or a device of the virtual segment of itself; its SII
//! image and its object dictionary are made from it.

mod device;
mod hardware;
mod object;

pub use device::{Clock, Coe, Description, Pdo, PdoEntry};
pub use hardware::{Hardware, PortKind};
pub use object::{Entry, Object};
