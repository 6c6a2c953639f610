//! Where other processes of this user reach a running loop: a socket that answers one line of JSON with
//! another.
//!
//! A [`Desk`] is served by ordinary threads, one a client and at most [`MOST_CLIENTS`] of them. Four clients
//! more are heard for what is about the axes, two questions each that have to come within a second; the last
//! of them for a stop alone. Whoever comes then waits until one of these has gone, so that nobody's watching
//! keeps anybody from stopping. An ordinary client that asked nothing for a minute goes when somebody was
//! refused for want of its seat (who listens to notices stays); who has to go hears a [`Reply::Bye`], and connects again. None
//! of the threads touches the loop but by what it shares anyway: its [`Health`](super::health::Health), its
//! [`Timing`](super::timing::Timing), the steward's [`Roster`](super::steward::Roster) and the
//! [`Postbox`](crate::main_device::postbox::Postbox). Lines are bounded, so is how long a client may take
//! to read its answer, and whoever sends what is no question gets an answer that says so.
//!
//! The socket is `ethercat-NAME.sock` in the user's own folder (`$XDG_RUNTIME_DIR/kadenz`,
//! `/run/kadenz` for root, else `/tmp/kadenz-UID`, which only that user may enter). Beside it lies a lock:
//! a second loop of the same name is refused, and what a killed one left behind is replaced.
//!
//! ```text
//! {"ask":"state","device":3}
//! {"ok":{"device":{"device":3,"name":"KZ-IMU","station":4100, ...}}}
//! {"ask":"sdo_read","device":3,"index":4120,"sub":1}
//! {"ok":{"bytes":[90,68,65,75]}}
//! {"ask":"output","device":1,"index":28672,"sub":1,"value":[1]}
//! {"ok":{"set":{"cycle":41235}}}
//! {"ask":"register_read","device":3,"address":304,"length":2}
//! {"ok":{"bytes":[8,0]}}
//! ```
//!
//! What the loop read and wrote last is better read from its board than asked for: `layout` tells in which
//! shared memory that is and what lies where, and reading it costs the loop nothing ([`board`]).
//!
//! [`board`]: crate::control::board

mod axes;
mod client;
mod exchange;
mod inside;
mod lines;
mod objects;
mod place;
mod question;
mod seats;
mod server;
mod shown;
#[cfg(test)]
mod tests;

pub use client::{Client, ClientError, Heard, Hearing};
pub use exchange::LoopExchange;
pub use place::{MEMORY, PlaceError, memory_name, running};
pub use question::{Answer, Layout, Question, Reply};
pub use seats::MOST_CLIENTS;
pub use server::{Counter, Desk, DeskError};
pub use shown::{Board, Shown};
