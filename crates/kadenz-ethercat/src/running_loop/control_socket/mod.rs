//! The control socket of a running loop, by which other processes of this user reach it: it answers one line of JSON
//! with another.
//!
//! One thread of a [`ControlServer`] accepts clients and reads their first questions without waiting for any. It
//! answers `hello`, `axes`, `stop` and `reset` itself, so idle connections cannot delay a stop. It keeps up to 128 such
//! clients: when more come, it closes the one that was silent for longest, and it closes each that asks nothing for 5
//! s. Each other question gives the client a thread of its own, of which there are at most [`MAX_CLIENTS`]. Such a
//! client is closed after a minute without a question when another client was refused for want of a thread (a client
//! that listens to notices stays). A client that is closed gets a [`Reply::Closed`], and connects again. The threads
//! touch the loop only by what it shares anyway: its [`Health`](crate::control::health::Health), its
//! [`Timing`](crate::control::timing::Timing), the supervisor's
//! [`DeviceTable`](crate::control::supervisor::DeviceTable) and the
//! [`AcyclicQueue`](crate::main_device::acyclic::AcyclicQueue). Lines are bounded, and so is the time that a client may
//! take to read its answer. A line that is not a valid question gets an answer that says so.
//!
//! While the segment is brought up, before there is a loop, [`ControlServer::serve_bring_up`] answers in its place:
//! `axes` reports the bring-up, `stop` ends it.
//!
//! The socket is `ethercat-NAME.sock` in the user's own folder (`$XDG_RUNTIME_DIR/kadenz`, `/run/kadenz` for root, else
//! `/tmp/kadenz-UID`). The folder is made with mode 0700, and refused where others may write into it; the socket has
//! mode 0600, and peers of other users than this one and root are refused by the credentials that the kernel notes
//! (`SO_PEERCRED`). Beside the socket lies a lock file: a second loop of the same name is refused. A loop replaces the
//! socket that a killed loop of its name left behind, and removes those that killed loops without a name of their own
//! left.
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
//! The process image gives a program what the loop read and wrote last, at less cost than questions: `layout` tells
//! which shared memory holds it and what lies where, and reading it costs the loop nothing ([`process_image`]).
//!
//! [`process_image`]: crate::control::process_image

mod axes;
mod client;
mod client_slots;
mod exchange;
mod inside;
mod lines;
mod path;
mod pending;
mod published_image;
mod question;
mod requests;
mod server;
mod starting;
#[cfg(test)]
mod tests;

pub use client::{ClientError, ControlClient, NoticeStream, ReceivedNotice};
pub use client_slots::MAX_CLIENTS;
pub use exchange::{LoopExchange, LoopObjects};
pub use path::{MEMORY, SocketPathError, UNNAMED, memory_name, running};
pub use published_image::{ProcessImage, PublishedImage};
pub use question::{Answer, ProcessImageLayout, Question, Reply};
pub use requests::LastImage;
pub use server::{ControlServer, ControlServerError, ServerContext};
