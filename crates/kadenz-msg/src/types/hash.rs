//! The hash behind a fingerprint, member by member (`lcmgen.c`).

use crate::message::Fingerprint;

/// Computes the fingerprint of a struct, as a constant too: `#[derive(kadenz::Message)]` uses it. The
/// struct's own name is not hashed, so that a type may be renamed.
///
/// ```
/// use kadenz_msg::message::Fingerprint;
/// use kadenz_msg::types::{StructHash, Types};
///
/// const COMMAND: Fingerprint = StructHash::new()
///     .member("position", Some("double"), &[(false, "3")])
///     .fingerprint();
///
/// let types = Types::from_text("struct command_t { double position[3]; }")?;
/// assert_eq!(types.fingerprint("command_t"), Some(COMMAND));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct StructHash {
    members: i64,
    /// The sum of the fingerprints of the structs and enums that members are made of.
    parts: u64,
}

impl StructHash {
    /// The hash of a struct without members.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            members: 0x1234_5678,
            parts: 0,
        }
    }

    /// Adds a member: its name, the name of its type where the language brings it, and for each dimension
    /// whether a member states its length, and what stands between its brackets. Members come in their order.
    #[must_use]
    pub const fn member(
        self,
        name: &str,
        primitive: Option<&str>,
        dimensions: &[(bool, &str)],
    ) -> Self {
        let mut hash = text(self.members, name);
        if let Some(primitive) = primitive {
            hash = text(hash, primitive);
        }
        hash = length(hash, dimensions.len());
        let mut at = 0;
        while at < dimensions.len() {
            let (is_variable, between) = dimensions[at];
            hash = text(update(hash, is_variable as i8), between);
            at += 1;
        }
        Self {
            members: hash,
            ..self
        }
    }

    /// Adds the fingerprint of the struct or enum that a member is made of.
    #[must_use]
    pub const fn part(self, fingerprint: Fingerprint) -> Self {
        Self {
            parts: self.parts.wrapping_add(fingerprint.0),
            ..self
        }
    }

    /// The fingerprint of the struct.
    #[must_use]
    pub const fn fingerprint(self) -> Fingerprint {
        Fingerprint(self.base().wrapping_add(self.parts).rotate_left(1))
    }

    /// The hash of the members themselves.
    pub(super) const fn base(self) -> u64 {
        self.members.cast_unsigned()
    }
}

impl Default for StructHash {
    fn default() -> Self {
        Self::new()
    }
}

/// The hash of an enum: that of its short name, so that values may be added.
pub(super) const fn of_enum(short: &str) -> u64 {
    text(0x8765_4321, short).cast_unsigned()
}

const fn text(hash: i64, text: &str) -> i64 {
    let bytes = text.as_bytes();
    let mut hash = length(hash, bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        hash = update(hash, bytes[at].cast_signed());
        at += 1;
    }
    hash
}

/// A length goes through a `char`, and so wraps.
const fn length(hash: i64, length: usize) -> i64 {
    update(hash, length.to_le_bytes()[0].cast_signed())
}

const fn update(hash: i64, character: i8) -> i64 {
    ((hash << 8) ^ (hash >> 55)).wrapping_add(character as i64)
}
