//! A program's named values, which others read and set while it runs.
//!
//! ```
//! use std::time::Duration;
//! use kadenz_msg::bus::Bus;
//! use kadenz_msg::service::parameters::{ParameterClient, Parameters, Value};
//! use kadenz_rt::tuning::Tuning;
//!
//! let bus = Bus::open("memq://")?;
//! let mut parameters = Parameters::new();
//! let gain = parameters.number("gain", 0.5, 0.0..=1.0, "of the position controller, 1/s")?;
//! let enabled = parameters.truth("enabled", false, "whether the drives have power")?;
//! let mut served = parameters.serve(&bus, "arm", Tuning::default())?;
//!
//! let mut others = ParameterClient::new(&bus, "arm")?;
//! let timeout = Duration::from_secs(5);
//! others.set("gain", &Value::Number(0.75), timeout)?;
//! let refused = others.set("gain", &Value::Number(2.0), timeout).unwrap_err();
//! assert!(refused.to_string().contains("0 to 1"));
//!
//! // In the program's loop:
//! if served.changed() {
//!     assert_eq!((gain.get(), enabled.get()), (0.75, false));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Truths, integers and numbers are read without a lock, texts under a priority-inheriting one. Each is
//! whole, but two that belong together may be read in between of two sets. Nothing is kept beyond the
//! program: what it starts with is its own.

mod book;
mod client;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod handles;
mod value;

pub use book::{ParameterError, Parameters, Served};
pub use client::{ParameterClient, ParameterInfo};
pub use handles::{BoolParameter, IntegerParameter, NumberParameter, TextParameter};
pub use value::{Kind, Value};

/// What precedes the program's name in the service's.
const SERVICE: &str = "KADENZ/PARAMETERS/";

/// How many parameters a program may have.
pub const MAX_PARAMETERS: usize = 1000;

/// The longest name, in bytes.
pub const MAX_NAME: usize = 63;

/// The longest text, in bytes.
pub const MAX_TEXT: usize = 1000;

/// The longest description, in bytes.
pub const MAX_DESCRIPTION: usize = 300;

/// How many parameters one answer tells at most: some 100 KiB.
const PAGE: usize = 64;
