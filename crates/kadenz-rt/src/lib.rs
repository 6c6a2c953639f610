//! The floor of Kadenz: clocks, sleepers, the beat, tuning and host facts.

pub mod doctor;
pub mod host;
