//! Values of objects and registers: as text for people and programs, and as bytes.

pub mod number;

use std::str::FromStr;

use serde_json::Value;

use crate::wire::coe::DataType;
use crate::wire::copy_bits;
use crate::wire::sii::Text;

const A_NUMBER: &str = "write a number such as 1.5";

/// The type of an entry of a CoE object, of process data or of a register.
///
/// ```
/// use kadenz_ethercat::value::EntryType;
/// use kadenz_ethercat::wire::coe::DataType;
///
/// let position: EntryType = "i32".parse()?;
/// assert_eq!(EntryType::of(DataType::INTEGER32), Some(position));
/// let bytes = position.encode("-2")?;
/// assert_eq!(bytes, [0xFE, 0xFF, 0xFF, 0xFF]);
/// assert_eq!((position.shown(&bytes), position.json(&bytes)), ("-2".to_owned(), (-2).into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryType {
    /// One byte: 0 or not.
    Bool,
    /// An integer without a sign, of 1 to 8 bytes.
    Unsigned(u8),
    /// An integer with a sign, of 1 to 8 bytes.
    Signed(u8),
    /// A float of 4 bytes.
    Float32,
    /// A float of 8 bytes.
    Float64,
    /// Text of any length.
    Text,
    /// Bytes of any length.
    Bytes,
}

/// The text is not a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no type `{0}`; there are bool, u8 to u64, i8 to i64 (also of 24, 40, 48 and 56 bits), f32, f64, \
     text, bytes"
)]
pub struct ParseEntryTypeError(String);

/// The reason for which a text is not a value of a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseValueError {
    /// It is of another form.
    #[error("`{text}` is not a valid {of}: {hint}")]
    Form {
        /// The text as it was given.
        text: String,
        /// The type that it should be a value of.
        of: EntryType,
        /// What the text should be.
        hint: &'static str,
    },
    /// The type has no such number.
    #[error("`{text}` is not a valid {of}: it goes from {low} to {high}")]
    Range {
        /// The text as it was given.
        text: String,
        /// The type that it should be a value of.
        of: EntryType,
        /// Its lowest number.
        low: i128,
        /// Its highest number.
        high: i128,
    },
    /// The bits of the entry hold no such number.
    #[error("`{text}` does not fit into {bits} bits: it goes from {low} to {high}")]
    Bits {
        /// The text as it was given.
        text: String,
        /// How many bits the entry has.
        bits: u8,
        /// The lowest number of so many bits.
        low: i128,
        /// The highest number of so many bits.
        high: i128,
    },
}

impl FromStr for EntryType {
    type Err = ParseEntryTypeError;

    /// Reads `bool`, `u8` to `u64`, `i8` to `i64` (of whole bytes), `f32`, `f64`, `text` or `bytes`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || ParseEntryTypeError(text.to_owned());
        Ok(match text {
            "bool" => Self::Bool,
            "f32" => Self::Float32,
            "f64" => Self::Float64,
            "text" => Self::Text,
            "bytes" => Self::Bytes,
            other => {
                let bits = other.get(1..).and_then(|it| it.parse::<u8>().ok());
                let bits = bits.filter(|it| *it > 0 && it.is_multiple_of(8) && *it <= 64);
                let bytes = bits.ok_or_else(refused)? / 8;
                match &other[..1] {
                    "u" => Self::Unsigned(bytes),
                    "i" => Self::Signed(bytes),
                    _ => return Err(refused()),
                }
            }
        })
    }
}

impl std::fmt::Display for EntryType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool => f.pad("bool"),
            Self::Unsigned(bytes) => f.pad(&format!("u{}", u32::from(*bytes) * 8)),
            Self::Signed(bytes) => f.pad(&format!("i{}", u32::from(*bytes) * 8)),
            Self::Float32 => f.pad("f32"),
            Self::Float64 => f.pad("f64"),
            Self::Text => f.pad("text"),
            Self::Bytes => f.pad("bytes"),
        }
    }
}

impl EntryType {
    /// The types of common widths, for lists and completion.
    pub const COMMON: [Self; 13] = [
        Self::Bool,
        Self::Unsigned(1),
        Self::Unsigned(2),
        Self::Unsigned(4),
        Self::Unsigned(8),
        Self::Signed(1),
        Self::Signed(2),
        Self::Signed(4),
        Self::Signed(8),
        Self::Float32,
        Self::Float64,
        Self::Text,
        Self::Bytes,
    ];

    /// Returns the type by the object dictionary's number (ETG.1000.6, table 64); `None` for records and a vendor's
    /// own.
    #[must_use]
    pub fn of(data_type: DataType) -> Option<Self> {
        Some(match data_type.0 {
            0x01 => Self::Bool,
            0x02 => Self::Signed(1),
            0x03 => Self::Signed(2),
            0x04 => Self::Signed(4),
            0x05 | 0x1E | 0x2D | 0x30..=0x37 => Self::Unsigned(1),
            0x06 | 0x1F | 0x2E | 0x38..=0x3F => Self::Unsigned(2),
            0x07 | 0x20 | 0x2F => Self::Unsigned(4),
            0x08 => Self::Float32,
            0x09 => Self::Text,
            0x0A => Self::Bytes,
            0x10 => Self::Signed(3),
            0x11 => Self::Float64,
            0x12 => Self::Signed(5),
            0x13 => Self::Signed(6),
            0x14 => Self::Signed(7),
            0x15 => Self::Signed(8),
            0x16 => Self::Unsigned(3),
            0x18 => Self::Unsigned(5),
            0x19 => Self::Unsigned(6),
            0x1A => Self::Unsigned(7),
            0x1B => Self::Unsigned(8),
            _ => return None,
        })
    }

    /// Returns the number of its bytes; `None` for types of variable length.
    #[must_use]
    pub const fn bytes(self) -> Option<u16> {
        match self {
            Self::Bool => Some(1),
            Self::Unsigned(bytes) | Self::Signed(bytes) => Some(bytes as u16),
            Self::Float32 => Some(4),
            Self::Float64 => Some(8),
            Self::Text | Self::Bytes => None,
        }
    }

    /// Converts a user's text to bytes, the lowest first: a number in digits or behind `0x`, `true`, text, or pairs of
    /// hexadecimal digits.
    ///
    /// # Errors
    /// [`ParseValueError`] if the text is of another form, or the type has no such number.
    ///
    /// # Panics
    /// If an integer type has 0 bytes, or more than 15.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, ParseValueError> {
        let refused = |hint| ParseValueError::Form {
            text: text.to_owned(),
            of: self,
            hint,
        };
        match self {
            Self::Bool => match text {
                "0" | "false" => Ok(vec![0]),
                "1" | "true" => Ok(vec![1]),
                _ => Err(refused("write true or false")),
            },
            Self::Unsigned(bytes) | Self::Signed(bytes) => {
                let value = self.integer_of(text)?;
                Ok(value.to_le_bytes()[..usize::from(bytes)].to_vec())
            }
            Self::Float32 => {
                let value: f32 = text.parse().map_err(|_| refused(A_NUMBER))?;
                Ok(value.to_le_bytes().to_vec())
            }
            Self::Float64 => {
                let value: f64 = text.parse().map_err(|_| refused(A_NUMBER))?;
                Ok(value.to_le_bytes().to_vec())
            }
            Self::Text => Ok(text.as_bytes().to_vec()),
            Self::Bytes => {
                bytes(text).ok_or_else(|| refused("write pairs of hexadecimal digits: 0a ff"))
            }
        }
    }

    /// The integer that a text states, where the type has it.
    fn integer_of(self, text: &str) -> Result<i128, ParseValueError> {
        let value: i128 =
            number::signed(&text.replace('_', "")).ok_or_else(|| ParseValueError::Form {
                text: text.to_owned(),
                of: self,
                hint: "write digits, or 0x and hexadecimal ones",
            })?;
        let (low, high) = self.range();
        if !(low..=high).contains(&value) {
            return Err(ParseValueError::Range {
                text: text.to_owned(),
                of: self,
                low,
                high,
            });
        }
        Ok(value)
    }

    /// As [`encode`](Self::encode), for an entry of this many bits: a negative number that fits has no bits above them.
    ///
    /// # Errors
    /// As [`encode`](Self::encode), and if the type has a sign and the bits hold no such number. A number without a
    /// sign is checked against the type alone.
    pub fn encode_for(self, text: &str, bits: u8) -> Result<Vec<u8>, ParseValueError> {
        let mut bytes = self.encode(text)?;
        let is_one = bytes.len() == usize::from(bits).div_ceil(8) && (1..64).contains(&bits);
        if let Self::Signed(_) = self
            && is_one
        {
            let half = 1_i128 << (bits - 1);
            if !(-half..half).contains(&self.integer(&bytes)) {
                return Err(ParseValueError::Bits {
                    text: text.to_owned(),
                    bits,
                    low: -half,
                    high: half - 1,
                });
            }
            if let (Some(last), used @ 1..) = (bytes.last_mut(), bits % 8) {
                *last &= (1 << used) - 1;
            }
        }
        Ok(bytes)
    }

    /// Returns the value of an entry of this many bits: of a negative number the bits above them are set again.
    #[must_use]
    pub fn widened(self, mut bytes: Vec<u8>, bits: u8) -> Vec<u8> {
        if let (Self::Signed(_), Some(last), used @ 1..) = (self, bytes.last_mut(), bits % 8)
            && *last >> (used - 1) & 1 != 0
        {
            *last |= u8::MAX << used;
        }
        bytes
    }

    fn range(self) -> (i128, i128) {
        match self {
            Self::Unsigned(bytes) => (0, (1 << (8 * u32::from(bytes))) - 1),
            Self::Signed(bytes) => {
                let half = 1_i128 << (8 * u32::from(bytes) - 1);
                (-half, half - 1)
            }
            _ => (0, 0),
        }
    }

    /// The integer of all bytes, in little-endian order.
    fn integer(self, bytes: &[u8]) -> i128 {
        let mut wide = [0; 16];
        for (to, from) in wide.iter_mut().zip(bytes.iter().take(8)) {
            *to = *from;
        }
        let value = i128::from_le_bytes(wide);
        let width = 8 * bytes.len().clamp(1, 8) as u32;
        match self {
            Self::Signed(_) if value >= 1 << (width - 1) => value - (1 << width),
            _ => value,
        }
    }

    /// Returns the value for people: `592 (0x0250)`.
    #[must_use]
    pub fn shown(self, bytes: &[u8]) -> String {
        match (self, bytes.len()) {
            (Self::Text, _) => format!("\"{}\"", Text(bytes)),
            (Self::Bool, 1) => (bytes[0] != 0).to_string(),
            (Self::Unsigned(_), 1..=8) => {
                let digits = bytes.len() * 2;
                let value = self.integer(bytes);
                format!("{value} (0x{value:0digits$X})")
            }
            (Self::Signed(_), 1..=8) => self.integer(bytes).to_string(),
            (Self::Float32, 4) | (Self::Float64, 8) => self.json(bytes).to_string(),
            _ => hex(bytes),
        }
    }

    /// Returns the value for programs; bytes that do not fit the type become a text of hexadecimal digits.
    #[must_use]
    pub fn json(self, bytes: &[u8]) -> Value {
        match (self, bytes) {
            (Self::Text, _) => Text(bytes).to_string().into(),
            (Self::Bool, [byte]) => (*byte != 0).into(),
            (Self::Unsigned(_), [_, ..]) if bytes.len() <= 8 => u64::try_from(self.integer(bytes))
                .unwrap_or(u64::MAX)
                .into(),
            (Self::Signed(_), [_, ..]) if bytes.len() <= 8 => i64::try_from(self.integer(bytes))
                .unwrap_or(i64::MIN)
                .into(),
            (Self::Float32, [a, b, c, d]) => f64::from(f32::from_le_bytes([*a, *b, *c, *d])).into(),
            (Self::Float64, [a, b, c, d, e, f, g, h]) => {
                f64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]).into()
            }
            _ => hex(bytes).into(),
        }
    }
}

/// The bytes of pairs of hexadecimal digits.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let text = text.strip_prefix("0x").unwrap_or(text);
    bytes_of_digits(text.chars().filter(|it| !matches!(it, ' ' | ':' | '_')))
}

/// Bytes of pairs of hexadecimal digits; `None` where there is another letter, or half a pair.
pub(crate) fn bytes_of_digits(letters: impl Iterator<Item = char>) -> Option<Vec<u8>> {
    let digits = letters.map(|it| Some(it.to_digit(16)? as u8));
    let digits: Vec<u8> = digits.collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| high << 4 | low);
    rest.is_empty().then(|| bytes.collect())
}

/// Returns bytes as pairs of hexadecimal digits: `02 00 ff`.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(" ")
}

/// Returns the bits of an entry within process data, shifted to begin at a byte. Bits beyond the image are 0.
#[must_use]
pub fn bits_at(image: &[u8], start: usize, bits: usize) -> Vec<u8> {
    let mut value = vec![0; bits.div_ceil(8)];
    let there = (image.len() * 8).saturating_sub(start).min(bits);
    copy_bits(image, start, &mut value, 0, there);
    value
}

#[cfg(test)]
mod tests;
