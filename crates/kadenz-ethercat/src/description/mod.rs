//! The description of a SubDevice: its controller, its SII's contents, its objects.
//!
//! A [`Description`] comes from a vendor's file or from a device of the virtual segment. The device's SII image and
//! object dictionary are made from it.

mod device;
mod hardware;
mod object;

pub use device::{Clock, Coe, Description, Pdo, PdoEntry};
pub use hardware::{Hardware, PortKind};
pub use object::{Entry, Object};
