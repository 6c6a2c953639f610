//! Small services on top of the bus: requests with answers, parameters, heartbeats, clock offsets, and types
//! on the wire.
//!
//! - [`request`]: a call with an answer and a timeout.
//! - [`parameters`]: a program's named values, read and set by others.
//! - [`heartbeat`]: which programs live, are late, dead, or started again.
//! - [`clock_offset`]: the offset of another host's clocks from this host's, with its bound.
//! - [`types_on_wire`]: the type that a fingerprint stands for, described by its publishers.
//! - [`messages`]: their messages, described in `lcm/kadenz.lcm`.
//!
//! All of it is messages on ordinary channels, whose names begin with `KADENZ/`; any LCM program may take
//! part. A service that answers requests has a thread of its own and receives apart from the program's loop
//! ([`Bus::beside`](crate::bus::Bus::beside)).

pub mod clock_offset;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
#[rustfmt::skip]
mod generated;
pub mod heartbeat;
pub mod parameters;
pub mod request;
pub mod types_on_wire;

use crate::channel::{Channel, Pattern};

/// The messages of Kadenz's own services, as in `lcm/kadenz.lcm`; `kadenz msg gen` writes them, and a test
/// compares them to its output.
pub mod messages {
    pub use super::generated::kadenz::{
        CameraFrame, ClockQuery, ClockStamps, Heartbeat, Parameter, ParameterAnswer,
        ParameterQuery, ParameterValue, Reply, ReplyView, Request, RequestView, TypeAnswer,
        TypeQuery,
    };
}

/// The front of a text, of so many bytes at most.
pub(crate) fn cut(text: &str, longest: usize) -> &str {
    let mut end = text.len().min(longest);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the pattern that matches one channel alone, whatever signs its name contains.
pub(crate) fn pattern_of(channel: &Channel) -> String {
    let name = channel.as_str();
    match Pattern::new(name) {
        Ok(pattern) if pattern.exactly() == Some(name) => name.to_owned(),
        _ => regex::escape(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_s_pattern_matches_it_alone() -> Result<(), Box<dyn std::error::Error>> {
        for name in ["ADD", "KADENZ/REPLY/0a", "a.b", "x*", "(", "arm-1"] {
            let pattern = Pattern::new(&pattern_of(&Channel::new(name)?))?;
            assert!(pattern.matches(name), "{name}");
            assert!(!pattern.matches("acb") && !pattern.matches("xx"), "{name}");
        }
        Ok(())
    }
}
