//! The fieldbus of a robot: EtherCAT's wire, a MainDevice in real time, and a virtual segment.
//!
//! - [`control`]: the cyclic loop and what it shares with other threads; the ECCI of \[Yoon2009\].
//! - [`description`]: descriptions of SubDevices.
//! - [`esi`]: vendors' XML files (ESI), which describe SubDevices.
//! - [`main_device`]: the MainDevice, which configures and drives the SubDevices.
//! - [`motion`]: trajectories, axes of CiA 402, and what stops them.
//! - [`port`]: what carries frames: a network interface, or a segment in this process.
//! - [`running_loop`]: the threads of a loop, and the socket by which other processes reach it.
//! - [`sim`]: a virtual segment of SubDevices, for tests without hardware.
//! - [`value`]: values of objects as text and as bytes.
//! - [`wire`]: the formats of EtherCAT on the wire; sans-IO, safe against hostile bytes.
#![forbid(unsafe_code)]

pub mod control;
pub mod description;
pub mod esi;
pub mod main_device;
pub mod motion;
pub mod port;
pub mod running_loop;
pub mod sim;
mod sync;
mod text_file;
pub mod value;
pub mod wire;
