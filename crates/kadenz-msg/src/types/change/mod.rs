//! The compatibility of two versions of a type.
//!
//! LCM has no versions: only a program with the same fingerprint decodes a message. A change of the parts of
//! a fingerprint (names, types, order and dimensions of members, of nested types too) breaks both directions;
//! a change of other parts (comments, constants, names of types) does not, but may mislead.

mod compare;

use std::fmt;

use super::TypeName;
use crate::message::Fingerprint;

pub use compare::{changes, changes_of};

/// The change of a type.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeChange {
    /// The full name of the type.
    pub name: TypeName,
    /// Its fingerprint before, if it existed.
    pub old: Option<Fingerprint>,
    /// Its fingerprint now, if it exists.
    pub new: Option<Fingerprint>,
    /// The changes of the type itself, member by member.
    pub changes: Vec<Change>,
    /// The types within it whose own changes change its fingerprint.
    pub through: Vec<TypeName>,
}

impl TypeChange {
    /// Returns whether programs with the old and programs with the new description no longer understand each
    /// other's messages of this type.
    #[must_use]
    pub fn breaks(&self) -> bool {
        self.old != self.new
    }
}

/// A change within a type, or of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The type is new.
    TypeAdded,
    /// The type was removed.
    TypeRemoved,
    /// A struct has become an enum, or an enum a struct.
    KindChanged,
    /// A member is new.
    MemberAdded {
        /// The name of the member.
        name: String,
        /// The type of the member, as text.
        of: String,
    },
    /// A member was removed.
    MemberRemoved {
        /// The name of the member.
        name: String,
        /// The type of the member, as text.
        of: String,
    },
    /// A member of the same type stands at the same place under another name.
    MemberRenamed {
        /// The name of the member before.
        from: String,
        /// The name of the member now.
        to: String,
    },
    /// A member is of another type.
    MemberRetyped {
        /// The name of the member.
        name: String,
        /// The type of the member before, as text.
        from: String,
        /// The type of the member now, as text.
        to: String,
        /// Whether the fingerprint changes: it does not if only the name of the member's type differs.
        breaks: bool,
    },
    /// A member has other dimensions.
    DimensionsChanged {
        /// The name of the member.
        name: String,
        /// The type of the member before, as text.
        from: String,
        /// The type of the member now, as text.
        to: String,
        /// Whether only the notation of a number differs: 3 and 0x3 have different fingerprints.
        same_size: bool,
    },
    /// The members that are in both stand in another order.
    MembersReordered {
        /// The names of these members in their order before.
        from: Vec<String>,
        /// The names of these members in their order now.
        to: Vec<String>,
    },
    /// A constant has another value; if it is an array's length, the array's change is listed as well.
    ConstantChanged {
        /// The name of the constant.
        name: String,
        /// The value of the constant before, as text.
        from: String,
        /// The value of the constant now, as text.
        to: String,
    },
    /// A constant is new.
    ConstantAdded {
        /// The name of the constant.
        name: String,
    },
    /// A constant was removed.
    ConstantRemoved {
        /// The name of the constant.
        name: String,
    },
    /// A value of an enum is new.
    ValueAdded {
        /// The name of the enum's value.
        name: String,
        /// The number that is sent.
        number: i32,
    },
    /// A value of an enum was removed.
    ValueRemoved {
        /// The name of the enum's value.
        name: String,
        /// The number that was sent.
        number: i32,
    },
    /// A value of an enum is sent as another number.
    ValueChanged {
        /// The name of the enum's value.
        name: String,
        /// The number that was sent.
        from: i32,
        /// The number that is sent.
        to: i32,
    },
    /// A comment changed.
    DocumentationChanged {
        /// The name of the item; empty for the type itself.
        of: String,
    },
}

impl Change {
    /// Returns whether it changes the fingerprint, so that old and new programs do not decode each other's
    /// messages.
    #[must_use]
    pub fn breaks(&self) -> bool {
        match self {
            Self::KindChanged
            | Self::MemberAdded { .. }
            | Self::MemberRemoved { .. }
            | Self::MemberRenamed { .. }
            | Self::DimensionsChanged { .. }
            | Self::MembersReordered { .. } => true,
            Self::MemberRetyped { breaks, .. } => *breaks,
            _ => false,
        }
    }

    /// Returns whether messages are still decoded, but mean something else to the other side.
    #[must_use]
    pub fn misleads(&self) -> bool {
        matches!(
            self,
            Self::ConstantChanged { .. } | Self::ValueRemoved { .. } | Self::ValueChanged { .. }
        )
    }

    /// Returns the kind of change, for scripts.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::TypeAdded => "type_added",
            Self::TypeRemoved => "type_removed",
            Self::KindChanged => "kind_changed",
            Self::MemberAdded { .. } => "member_added",
            Self::MemberRemoved { .. } => "member_removed",
            Self::MemberRenamed { .. } => "member_renamed",
            Self::MemberRetyped { .. } => "member_retyped",
            Self::DimensionsChanged { .. } => "dimensions_changed",
            Self::MembersReordered { .. } => "members_reordered",
            Self::ConstantChanged { .. } => "constant_changed",
            Self::ConstantAdded { .. } => "constant_added",
            Self::ConstantRemoved { .. } => "constant_removed",
            Self::ValueAdded { .. } => "value_added",
            Self::ValueRemoved { .. } => "value_removed",
            Self::ValueChanged { .. } => "value_changed",
            Self::DocumentationChanged { .. } => "documentation_changed",
        }
    }

    /// Returns the changed member, constant or value; the name before if that changed.
    #[must_use]
    pub fn member(&self) -> Option<&str> {
        match self {
            Self::TypeAdded
            | Self::TypeRemoved
            | Self::KindChanged
            | Self::MembersReordered { .. } => None,
            Self::MemberRenamed { from, .. } => Some(from),
            Self::DocumentationChanged { of } => {
                Some(of).filter(|it| !it.is_empty()).map(|it| &**it)
            }
            Self::MemberAdded { name, .. }
            | Self::MemberRemoved { name, .. }
            | Self::MemberRetyped { name, .. }
            | Self::DimensionsChanged { name, .. }
            | Self::ConstantChanged { name, .. }
            | Self::ConstantAdded { name }
            | Self::ConstantRemoved { name }
            | Self::ValueAdded { name, .. }
            | Self::ValueRemoved { name, .. }
            | Self::ValueChanged { name, .. } => Some(name),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TypeAdded => write!(out, "the type is new: programs without it cannot decode it"),
            Self::TypeRemoved => {
                write!(
                    out,
                    "the type is gone: existing subscribers receive nothing"
                )
            }
            Self::KindChanged => write!(out, "a struct and an enum are two things"),
            Self::MemberAdded { name, of } => write!(out, "member {name} ({of}) is new"),
            Self::MemberRemoved { name, of } => write!(out, "member {name} ({of}) is gone"),
            Self::MemberRenamed { from, to } => write!(out, "member {from} is now called {to}"),
            Self::MemberRetyped {
                name,
                from,
                to,
                breaks,
            } => {
                write!(out, "member {name} was {from} and is {to}")?;
                let renamed = ", the same under another name: messages stay as they were";
                out.write_str(if *breaks { "" } else { renamed })
            }
            Self::DimensionsChanged {
                name,
                from,
                to,
                same_size,
            } => {
                write!(out, "member {name} was {from} and is {to}")?;
                let text =
                    ": the same size, but the fingerprint is of the text; write it as before";
                out.write_str(if *same_size { text } else { "" })
            }
            Self::MembersReordered { from, to } => {
                write!(
                    out,
                    "the order was {} and is {}",
                    from.join(", "),
                    to.join(", ")
                )
            }
            Self::ConstantChanged { name, from, to } => write!(
                out,
                "constant {name} was {from} and is {to}: messages are decoded, but programs disagree on its meaning"
            ),
            Self::ConstantAdded { name } => write!(out, "constant {name} is new"),
            Self::ConstantRemoved { name } => write!(out, "constant {name} is gone"),
            Self::ValueAdded { name, number } => {
                write!(
                    out,
                    "value {name} = {number} is new: old programs do not know it"
                )
            }
            Self::ValueRemoved { name, number } => {
                write!(
                    out,
                    "value {name} = {number} is gone: old programs still send it"
                )
            }
            Self::ValueChanged { name, from, to } => write!(
                out,
                "value {name} was {from} and is {to}: messages are decoded, and mean something else"
            ),
            Self::DocumentationChanged { of } if of.is_empty() => {
                write!(out, "its comment changed")
            }
            Self::DocumentationChanged { of } => write!(out, "the comment of {of} changed"),
        }
    }
}
