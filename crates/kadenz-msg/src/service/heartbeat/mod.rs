//! Which programs live, are late, dead, or started again.
//!
//! ```
//! use std::time::Duration;
//! use kadenz_msg::bus::Bus;
//! use kadenz_msg::service::heartbeat::{Event, WatchOptions};
//!
//! let bus = Bus::open("memq://")?;
//! let mut nodes = bus.watch_nodes(&WatchOptions::default())?;
//! let mut heart = bus.heart("arm", Duration::from_millis(100))?;
//! heart.beat()?; // from the program's loop
//! let happened = nodes.next_event(Duration::from_secs(5))?.expect("it beats");
//! assert_eq!((happened.name.as_str(), happened.event), ("arm", Event::Appeared));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! All beats go to the channel `KADENZ/HEARTBEAT`.

mod nodes;
mod publisher;
mod watch;

pub use nodes::{NodeEvent, Nodes};
pub use publisher::{BeatingHeart, HeartbeatError, HeartbeatPublisher};
pub use watch::{Event, Life, Node, Watch, WatchOptions};

/// Where all beats go.
pub const CHANNEL: &str = "KADENZ/HEARTBEAT";
