//! Motion: where axes are to be, and how they are brought there.
//!
//! - [`pid`]: a regulator.
//! - [`trajectory`]: ways in time.

pub mod pid;
pub mod trajectory;
