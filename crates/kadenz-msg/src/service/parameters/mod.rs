//! A program's named values, which other programs read and set while it runs.
//!
//! ```
//! use std::time::Duration;
//! use kadenz_msg::bus::Bus;
//! use kadenz_msg::service::parameters::{ParameterClient, Parameters, Setting};
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
//! others.set("gain", &Setting::Number(0.75), timeout)?;
//! let refused = others.set("gain", &Setting::Number(2.0), timeout).unwrap_err();
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
//! whole, but a program may read two related ones between two sets. Values are not stored beyond the
//! program's end: each program sets its own initial values.

mod client;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod handles;
mod registry;

use std::fmt;

use crate::service::messages::ParameterValue;
pub use client::{ParameterClient, ParameterInfo};
pub use handles::{BoolParameter, IntegerParameter, NumberParameter, TextParameter};
pub use registry::{ParameterError, Parameters, Served};

/// The prefix of the service's name, before the program's.
const SERVICE: &str = "KADENZ/PARAMETERS/";

/// How many parameters a program may have.
pub const MAX_PARAMETERS: usize = 1000;

/// The longest name, in bytes.
pub const MAX_NAME: usize = 63;

/// The longest text, in bytes.
pub const MAX_TEXT: usize = 1000;

/// The longest description, in bytes.
pub const MAX_DESCRIPTION: usize = 300;

/// The maximum number of parameters in one answer: some 100 KiB.
const PAGE: usize = 64;

/// A parameter's value.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    serde(untagged),
    schemars(rename = "ParameterValue")
)]
pub enum Setting {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number in double precision.
    Number(f64),
    /// A text of at most 1000 bytes of UTF-8.
    Text(String),
}

/// The type of a parameter's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterType {
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Integer,
    /// A number in double precision.
    Number,
    /// A text of at most 1000 bytes of UTF-8.
    Text,
}

impl fmt::Display for ParameterType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Bool => "true or false",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Text => "a text",
        })
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(it) => it.fmt(formatter),
            Self::Integer(it) => it.fmt(formatter),
            Self::Number(it) => it.fmt(formatter),
            Self::Text(it) => it.fmt(formatter),
        }
    }
}

impl Setting {
    /// Returns the type that this value has.
    #[must_use]
    pub fn kind(&self) -> ParameterType {
        match self {
            Self::Bool(_) => ParameterType::Bool,
            Self::Integer(_) => ParameterType::Integer,
            Self::Number(_) => ParameterType::Number,
            Self::Text(_) => ParameterType::Text,
        }
    }

    /// Parses a user's text as a value of a kind; `None` if it is not one.
    ///
    /// ```
    /// use kadenz_msg::service::parameters::{ParameterType, Setting};
    ///
    /// assert_eq!(Setting::parse("0.5", ParameterType::Number), Some(Setting::Number(0.5)));
    /// assert_eq!(Setting::parse("0.5", ParameterType::Integer), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str, kind: ParameterType) -> Option<Self> {
        Some(match kind {
            ParameterType::Bool => Self::Bool(text.parse().ok()?),
            ParameterType::Integer => Self::Integer(text.parse().ok()?),
            ParameterType::Number => Self::Number(text.parse().ok()?),
            ParameterType::Text => Self::Text(text.to_owned()),
        })
    }

    /// Converts an integer to a number, if a number is required and represents it exactly.
    fn as_kind(&self, kind: ParameterType) -> Option<Self> {
        match (self, kind) {
            (Self::Integer(it), ParameterType::Number)
                if it.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS =>
            {
                Some(Self::Number(*it as f64))
            }
            _ if self.kind() == kind => Some(self.clone()),
            _ => None,
        }
    }

    fn to_wire(&self) -> ParameterValue {
        let nothing = ParameterValue::default();
        match self {
            Self::Bool(it) => ParameterValue {
                kind: ParameterValue::TRUTH,
                truth: *it,
                ..nothing
            },
            Self::Integer(it) => ParameterValue {
                kind: ParameterValue::INTEGER,
                integer: *it,
                ..nothing
            },
            Self::Number(it) => ParameterValue {
                kind: ParameterValue::NUMBER,
                number: *it,
                ..nothing
            },
            Self::Text(it) => ParameterValue {
                kind: ParameterValue::TEXT,
                text: it.clone(),
                ..nothing
            },
        }
    }

    /// `None` if the wire states that there is none, or an unknown kind.
    fn from_wire(wire: &ParameterValue) -> Option<Self> {
        Some(match wire.kind {
            ParameterValue::TRUTH => Self::Bool(wire.truth),
            ParameterValue::INTEGER => Self::Integer(wire.integer),
            ParameterValue::NUMBER => Self::Number(wire.number),
            ParameterValue::TEXT => Self::Text(wire.text.clone()),
            _ => return None,
        })
    }
}
