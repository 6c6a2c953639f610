//! The fieldbus of a robot: EtherCAT's wire, a MainDevice in real time, and a virtual segment.
//!
//! - [`control`]: what the loop shares with everybody else, Yoon's ECCI.
//! - [`description`]: what a SubDevice is.
//! - [`esi`]: what vendors' XML files say of their SubDevices.
//! - [`main_device`]: what asks, configures and drives the SubDevices.
//! - [`motion`]: trajectories, axes of CiA 402, and what stops them.
//! - [`port`]: what frames cross: a network interface, or the segment in this process.
//! - [`running_loop`]: its threads, and the socket by which other processes reach it.
//! - [`sim`]: a virtual segment of SubDevices, for tests without any.
//! - [`wire`]: every byte of EtherCAT that the rest speaks; sans-IO, safe against hostile bytes.
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
pub mod wire;
