//! The model of a `.lcm` file, without positions in the text.

use std::fmt;
use std::sync::Arc;

use crate::codec::Primitive as _;

/// The name of a type, with its package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeName {
    /// The package, `a.b`; empty if there is none.
    pub package: String,
    /// The name within it.
    pub short: String,
}

impl TypeName {
    /// Returns a name from its text: the part before the last point is the package.
    #[must_use]
    pub(crate) fn new(full: &str) -> Self {
        let (package, short) = full.rsplit_once('.').unwrap_or(("", full));
        Self {
            package: package.to_owned(),
            short: short.to_owned(),
        }
    }

    /// Returns a name as written within a package, which is its own unless the text names another.
    #[must_use]
    pub fn within(package: &str, written: &str) -> Self {
        if written.contains('.') {
            return Self::new(written);
        }
        Self {
            package: package.to_owned(),
            short: written.to_owned(),
        }
    }
}

impl fmt::Display for TypeName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.package.is_empty() {
            return formatter.write_str(&self.short);
        }
        write!(formatter, "{}.{}", self.package, self.short)
    }
}

/// The types that the language brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PrimitiveType {
    /// `int8_t`
    Int8,
    /// `int16_t`
    Int16,
    /// `int32_t`
    Int32,
    /// `int64_t`
    Int64,
    /// `byte`: 0 to 255
    Byte,
    /// `float`: 32 bits
    Float,
    /// `double`: 64 bits
    Double,
    /// `string`
    String,
    /// `boolean`
    Boolean,
}

impl PrimitiveType {
    /// The nine primitive types of LCM.
    pub const ALL: [Self; 9] = [
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Byte,
        Self::Float,
        Self::Double,
        Self::String,
        Self::Boolean,
    ];

    /// Returns the type by its name in the language.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Its name in the language.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Int8 => i8::NAME,
            Self::Int16 => i16::NAME,
            Self::Int32 => i32::NAME,
            Self::Int64 => i64::NAME,
            Self::Byte => u8::NAME,
            Self::Float => f32::NAME,
            Self::Double => f64::NAME,
            Self::String => "string",
            Self::Boolean => bool::NAME,
        }
    }

    /// Returns whether a member of it may state the length of an array.
    #[must_use]
    pub fn states_lengths(self) -> bool {
        matches!(self, Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64)
    }

    /// Returns whether there are constants of it.
    #[must_use]
    pub(crate) fn has_constants(self) -> bool {
        self.states_lengths() || matches!(self, Self::Float | Self::Double)
    }

    /// Returns the minimum number of encoded bytes: a string is its length and a NUL.
    #[must_use]
    pub fn least_bytes(self) -> usize {
        match self {
            Self::Int8 | Self::Byte | Self::Boolean => 1,
            Self::Int16 => 2,
            Self::Int32 | Self::Float => 4,
            Self::Int64 | Self::Double => 8,
            Self::String => 5,
        }
    }
}

impl fmt::Display for PrimitiveType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The type of a member, or of each element of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberType {
    /// A primitive type of the language.
    Primitive(PrimitiveType),
    /// A struct or an enum.
    Named(TypeName),
}

impl fmt::Display for MemberType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Primitive(primitive) => primitive.fmt(formatter),
            Self::Named(name) => name.fmt(formatter),
        }
    }
}

/// The length of an array in one of its directions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dimension {
    /// The same number of elements in every message.
    Fixed {
        /// The number as written, because the fingerprint distinguishes `3` from `0x3`; a constant's name has
        /// been replaced by its text.
        text: String,
        /// The number: 1 or more.
        size: usize,
    },
    /// The value of an earlier member of the same message.
    Variable {
        /// The member's name.
        member: String,
    },
}

impl Dimension {
    /// Returns the text between the brackets.
    #[must_use]
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Fixed { text, .. } => text,
            Self::Variable { member } => member,
        }
    }

    /// Returns the length, if it is fixed.
    #[must_use]
    pub(crate) fn fixed(&self) -> Option<usize> {
        match self {
            Self::Fixed { size, .. } => Some(*size),
            Self::Variable { .. } => None,
        }
    }

    /// Returns the number of elements of an array of these dimensions, if all are fixed.
    #[must_use]
    pub fn count(all: &[Self]) -> Option<usize> {
        let mut sizes = all.iter().map(Self::fixed);
        sizes.try_fold(1_usize, |count, size| Some(count.saturating_mul(size?)))
    }

    /// Returns the member that states it, if one does.
    #[must_use]
    pub fn stated_by(&self) -> Option<&str> {
        match self {
            Self::Fixed { .. } => None,
            Self::Variable { member } => Some(member),
        }
    }
}

/// A member of a struct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The name as the `.lcm` file has it.
    pub name: String,
    /// The type of the member, or of each element of it.
    pub of: MemberType,
    /// The length in each direction; empty if it is not an array.
    pub dimensions: Vec<Dimension>,
    /// The comment at it, line by line.
    pub doc: String,
}

impl Member {
    /// Its type with its dimensions, as `double[3][n]`.
    #[must_use]
    pub(crate) fn type_text(&self) -> String {
        let mut text = self.of.to_string();
        for dimension in &self.dimensions {
            text.push('[');
            text.push_str(dimension.text());
            text.push(']');
        }
        text
    }

    /// Returns whether a member states its length in some direction.
    #[must_use]
    pub fn is_variable(&self) -> bool {
        self.dimensions.iter().any(|it| it.stated_by().is_some())
    }
}

/// A constant of a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Constant {
    /// The name as the `.lcm` file has it.
    pub name: String,
    /// An integer, `float` or `double`.
    pub of: PrimitiveType,
    /// The value, as a number.
    pub value: ConstantValue,
    /// The value as written.
    pub text: String,
    /// The comment at it, line by line.
    pub doc: String,
}

/// The value of a constant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ConstantValue {
    /// Of an integer type.
    Integer(i64),
    /// Of `float` or `double`.
    Real(f64),
}

/// A struct of a `.lcm` file, with its members and constants.
#[derive(Debug, Clone, PartialEq)]
pub struct Struct {
    /// The full name, with the package if there is one.
    pub name: TypeName,
    /// The comment before it, line by line.
    pub doc: String,
    /// Its constants, in their order.
    pub constants: Vec<Constant>,
    /// Its members, in their order.
    pub members: Vec<Member>,
}

impl Struct {
    /// Returns the index of a member.
    #[must_use]
    pub(crate) fn index(&self, member: &str) -> Option<usize> {
        self.members.iter().position(|it| it.name == member)
    }

    /// Returns whether a member states how long an array is.
    #[must_use]
    pub fn is_length(&self, member: &str) -> bool {
        self.members
            .iter()
            .flat_map(|it| &it.dimensions)
            .any(|it| it.stated_by() == Some(member))
    }
}

/// An enum, which LCM deprecates: 32 bits, and a fingerprint of its name alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enum {
    /// The full name, with the package if there is one.
    pub name: TypeName,
    /// The comment before it, line by line.
    pub doc: String,
    /// Its values, in their order.
    pub values: Vec<EnumValue>,
}

impl Enum {
    /// Its first value, with which a member begins.
    pub(crate) fn first(&self) -> i32 {
        self.values.first().map_or(0, |it| it.number)
    }

    /// The name of a value, if it has one.
    pub(crate) fn name_of(&self, number: i32) -> Option<&str> {
        let named = self.values.iter().find(|it| it.number == number);
        named.map(|it| it.name.as_str())
    }
}

/// A value of an enum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumValue {
    /// The name as the `.lcm` file has it.
    pub name: String,
    /// The number that is sent.
    pub number: i32,
    /// The comment at it, line by line.
    pub doc: String,
}

/// A struct or an enum.
#[derive(Debug, Clone, PartialEq)]
pub enum Definition {
    /// A `struct`: members, and constants.
    Struct(Arc<Struct>),
    /// An `enum`: names of numbers of 32 bits.
    Enum(Arc<Enum>),
}

impl Definition {
    /// The full name of the struct or enum, with the package if there is one.
    #[must_use]
    pub fn name(&self) -> &TypeName {
        match self {
            Self::Struct(it) => &it.name,
            Self::Enum(it) => &it.name,
        }
    }

    /// The structs and enums its members are made of, in their order, some perhaps several times.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &TypeName> {
        let members = match self {
            Self::Struct(it) => it.members.as_slice(),
            Self::Enum(_) => &[],
        };
        members.iter().filter_map(|member| match &member.of {
            MemberType::Named(name) => Some(name),
            MemberType::Primitive(_) => None,
        })
    }
}
