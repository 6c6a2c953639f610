//! Messages whose type is known only at run time.

mod decode;
mod encode;
mod from_json;
mod numbers;
mod path;
mod start;
mod to_json;

use std::sync::Arc;

pub use decode::MAX_VALUE_DEPTH;
pub use from_json::JsonError;
pub use path::{Path, PathError, Step};

use super::model::{Enum, Struct, TypeName};
use crate::codec::{DecodeError, EncodeError};
use crate::message::Fingerprint;

/// A value of any type of the `.lcm` language.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `int8_t`
    Int8(i8),
    /// `int16_t`
    Int16(i16),
    /// `int32_t`
    Int32(i32),
    /// `int64_t`
    Int64(i64),
    /// `byte`
    Byte(u8),
    /// `float`
    Float(f32),
    /// `double`
    Double(f64),
    /// `boolean`
    Boolean(bool),
    /// `string`
    String(String),
    /// A value of an enum.
    Enum(EnumNumber),
    /// The members of a struct.
    Struct(Record),
    /// An array of any of these.
    Array(Array),
}

/// A value of an enum; it need not have a name.
#[derive(Debug, Clone, PartialEq)]
pub struct EnumNumber {
    /// The description of the enum.
    pub of: Arc<Enum>,
    /// The number that is sent.
    pub number: i32,
}

/// A struct's members.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub(super) of: Arc<Struct>,
    pub(super) members: Vec<Value>,
}

impl Record {
    /// Returns the description of its struct.
    #[must_use]
    pub fn of(&self) -> &Arc<Struct> {
        &self.of
    }

    /// The value of the member of this name, if there is one.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Value> {
        self.members.get(self.of.index(name)?)
    }

    /// Returns a member, to change. [`Types::encode`] refuses a value that no longer fits its type.
    ///
    /// [`Types::encode`]: super::Types::encode
    pub fn member_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.members.get_mut(self.of.index(name)?)
    }

    /// All members with their names, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        let names = self.of.members.iter().map(|it| it.name.as_str());
        names.zip(&self.members)
    }
}

/// An array of any dimensions: its elements in the order in which they are sent, the last index
/// running fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// The length in each direction.
    pub shape: Vec<usize>,
    /// Its elements: as many as the product of the shape.
    pub elements: Elements,
}

/// The elements of an array.
#[derive(Debug, Clone, PartialEq)]
pub enum Elements {
    /// `int8_t`
    Int8(Vec<i8>),
    /// `int16_t`
    Int16(Vec<i16>),
    /// `int32_t`
    Int32(Vec<i32>),
    /// `int64_t`
    Int64(Vec<i64>),
    /// `byte`
    Byte(Vec<u8>),
    /// `float`
    Float(Vec<f32>),
    /// `double`
    Double(Vec<f64>),
    /// `boolean`
    Boolean(Vec<bool>),
    /// `string`
    String(Vec<String>),
    /// Values of an enum.
    Enum(Arc<Enum>, Vec<i32>),
    /// Structs of one type.
    Struct(Arc<Struct>, Vec<Record>),
}

/// Runs the same code for any kind of elements.
macro_rules! each_kind {
    ($elements:expr, $values:ident => $do:expr) => {
        match $elements {
            Elements::Int8($values) => $do,
            Elements::Int16($values) => $do,
            Elements::Int32($values) => $do,
            Elements::Int64($values) => $do,
            Elements::Byte($values) => $do,
            Elements::Float($values) => $do,
            Elements::Double($values) => $do,
            Elements::Boolean($values) => $do,
            Elements::String($values) => $do,
            Elements::Enum(_, $values) => $do,
            Elements::Struct(_, $values) => $do,
        }
    };
}

impl Elements {
    /// Returns how many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        each_kind!(self, values => values.len())
    }

    /// Returns whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns some of them, as elements of their own.
    #[must_use]
    pub(super) fn part(&self, range: std::ops::Range<usize>) -> Option<Self> {
        Some(match self {
            Self::Int8(it) => Self::Int8(it.get(range)?.to_vec()),
            Self::Int16(it) => Self::Int16(it.get(range)?.to_vec()),
            Self::Int32(it) => Self::Int32(it.get(range)?.to_vec()),
            Self::Int64(it) => Self::Int64(it.get(range)?.to_vec()),
            Self::Byte(it) => Self::Byte(it.get(range)?.to_vec()),
            Self::Float(it) => Self::Float(it.get(range)?.to_vec()),
            Self::Double(it) => Self::Double(it.get(range)?.to_vec()),
            Self::Boolean(it) => Self::Boolean(it.get(range)?.to_vec()),
            Self::String(it) => Self::String(it.get(range)?.to_vec()),
            Self::Enum(of, it) => Self::Enum(Arc::clone(of), it.get(range)?.to_vec()),
            Self::Struct(of, it) => Self::Struct(Arc::clone(of), it.get(range)?.to_vec()),
        })
    }

    /// Returns a copy of the element at `index`, from 0; `None` beyond the end.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Value> {
        Some(match self {
            Self::Int8(it) => Value::Int8(*it.get(index)?),
            Self::Int16(it) => Value::Int16(*it.get(index)?),
            Self::Int32(it) => Value::Int32(*it.get(index)?),
            Self::Int64(it) => Value::Int64(*it.get(index)?),
            Self::Byte(it) => Value::Byte(*it.get(index)?),
            Self::Float(it) => Value::Float(*it.get(index)?),
            Self::Double(it) => Value::Double(*it.get(index)?),
            Self::Boolean(it) => Value::Boolean(*it.get(index)?),
            Self::String(it) => Value::String(it.get(index)?.clone()),
            Self::Enum(of, it) => Value::Enum(EnumNumber {
                of: Arc::clone(of),
                number: *it.get(index)?,
            }),
            Self::Struct(_, it) => Value::Struct(it.get(index)?.clone()),
        })
    }

    /// Returns one element as a number, if it is one; a boolean is 0 or 1.
    #[must_use]
    pub fn number(&self, index: usize) -> Option<f64> {
        match self {
            Self::String(_) | Self::Struct(..) => None,
            numbers => numbers.get(index)?.number(),
        }
    }
}

/// The result of decoding or encoding.
pub(super) type ValueResult<T = ()> = Result<T, ValueError>;

/// The reason for which bytes and a value do not match.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// There is no such type.
    #[error("no description of {name}; give its .lcm file")]
    UnknownType {
        /// The name of the type.
        name: TypeName,
    },
    /// There is no type of the fingerprint.
    #[error(
        "no description has the fingerprint {found} that the message carries; give the .lcm files of its sender"
    )]
    UnknownFingerprint {
        /// The fingerprint that the message carries.
        found: Fingerprint,
    },
    /// The message is of another type.
    #[error(
        "the message carries the fingerprint {found}, but {name} has {expected}: its sender uses another type, or another version of it"
    )]
    OtherType {
        /// The fingerprint that the message carries.
        found: Fingerprint,
        /// The fingerprint of the expected type.
        expected: Fingerprint,
        /// The type that was expected.
        name: TypeName,
    },
    /// The bytes are not a message of this type.
    #[error("{path}: {cause}")]
    Decode {
        /// The path of the member, for example `pose.position[2]`.
        path: String,
        /// What is wrong at this member.
        cause: DecodeError,
    },
    /// Bytes are left after the last member.
    #[error("{left} bytes are left after the last member")]
    TooLong {
        /// Number of bytes after the last member.
        left: usize,
    },
    /// Structs hold structs more deeply than the maximum.
    #[error("{path} lies deeper than {most} structs")]
    TooDeep {
        /// The path of the member, for example `pose.position[2]`.
        path: String,
        /// The deepest nesting that is allowed, in structs.
        most: usize,
    },
    /// An array has more elements than the message could hold.
    #[error("{path} would have {count} elements, more than the message's {length} bytes can hold")]
    TooMany {
        /// The path of the member, for example `pose.position[2]`.
        path: String,
        /// Number of elements that the message states.
        count: usize,
        /// How long the message is.
        length: usize,
    },
    /// The structs and strings of a message need more memory than is taken.
    #[error(
        "{path}: the message's structs and strings would take more than {most} bytes of memory"
    )]
    TooMuchMemory {
        /// The path of the member, for example `pose.position[2]`.
        path: String,
        /// How much is taken.
        most: usize,
    },
    /// A default value would be too large.
    #[error("a value of {name} takes {bytes} bytes, more than a message may have")]
    TooLarge {
        /// The name of the type.
        name: TypeName,
        /// Size of the encoded value in bytes.
        bytes: usize,
    },
    /// A value that its member cannot hold.
    #[error("{path} is {expected}, not {found}")]
    WrongKind {
        /// The path of the member, for example `pose.position[2]`.
        path: String,
        /// The description of the member.
        expected: String,
        /// The kind of value that it holds.
        found: String,
    },
    /// An array of another length than stated.
    #[error(
        "{path} has {length} elements, but {stated_by} says {stated}: set it to the array's length"
    )]
    LengthMismatch {
        /// The path of the array.
        path: String,
        /// How many elements it has in that direction.
        length: usize,
        /// The member or the description.
        stated_by: String,
        /// The value of that member.
        stated: i64,
    },
    /// A value cannot be written.
    #[error("{path}: {cause}")]
    Encode {
        /// The path of the member, for example `pose.position[2]`.
        path: String,
        /// What is wrong at this member.
        cause: EncodeError,
    },
}

/// The path of a member of what a path leads to.
pub(super) fn join(path: &str, member: &str) -> String {
    match path.is_empty() {
        true => member.to_owned(),
        false => format!("{path}.{member}"),
    }
}

/// Returns the name of a member for users; an empty path is the message itself.
pub(super) fn named(path: &str) -> String {
    match path.is_empty() {
        true => "the message".to_owned(),
        false => path.to_owned(),
    }
}
