//! The MainDevice: what asks a segment's SubDevices, configures them and exchanges process data with
//! them once a cycle.

pub mod exchange;
pub mod link;
pub mod sii;
pub mod states;
