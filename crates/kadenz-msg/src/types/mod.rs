//! The `.lcm` language: its text, its types, fingerprints, and messages known only at run time.
//!
//! A [`Types`] holds the types that some `.lcm` files describe. It computes each type's fingerprint as
//! `lcm-gen` does, prints a type with all that it refers to as a text of its own, and decodes and encodes
//! messages as [`Value`]s. [`change`] compares two versions of a type.
//!
//! ```
//! use kadenz_msg::types::{Types, Value};
//!
//! let types = Types::from_text("
//!     package robot;
//!     // Where the robot is.
//!     struct pose_t {
//!         double position[3];   // m
//!         int32_t n;
//!         float ranges[n];
//!     }")?;
//! assert_eq!(types.fingerprint("robot.pose_t").unwrap().to_string(), "0xc415bed6a56269ad");
//!
//! let json = serde_json::json!({"position": [1.0, 2.0, 3.5], "n": 2, "ranges": [0.5, "NaN"]});
//! let value = types.value_from_json("robot.pose_t", &json)?;
//! let bytes = types.encode(&value)?;
//! let again = types.decode(&bytes)?;
//! assert_eq!(again.get("position[2]")?, Value::Double(3.5));
//! assert_eq!(again.to_json(), json);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Real-time safety
//! None of this is for a real-time path: it allocates. The code that `kadenz msg gen` writes is for one, as
//! [`Message`](crate::message::Message) documents.

pub mod change;
mod check;
mod fingerprint;
mod lexer;
mod library;
mod model;
mod parser;
mod problem;
mod value;

pub use fingerprint::StructHash;
pub use library::Types;
pub use model::{
    Constant, ConstantValue, Definition, Dimension, Enum, EnumValue, Member, MemberType,
    PrimitiveType, Struct, TypeName,
};
pub use problem::{Position, Problem, TypesError};
pub use value::{
    Array, Elements, EnumNumber, JsonError, MAX_VALUE_DEPTH, Path, PathError, Record, Step, Value,
    ValueError,
};

#[cfg(test)]
mod tests;
