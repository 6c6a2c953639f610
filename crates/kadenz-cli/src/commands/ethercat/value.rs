//! Values of objects: as text for the user, and as bytes.

use std::str::FromStr;

use kadenz::ethercat::wire::coe::DataType;
use serde_json::Value;

use super::number;

/// Type of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueType {
    Bool,
    /// Of 1 to 8 bytes.
    Unsigned(u8),
    /// Of 1 to 8 bytes.
    Signed(u8),
    Float32,
    Float64,
    Text,
    Bytes,
}

/// Names for shell completion.
pub(super) const TYPES: [&str; 13] = [
    "bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "text", "bytes",
];

/// Names for people.
const NAMES: &str =
    "bool, u8 to u64, i8 to i64 (also of 24, 40, 48 and 56 bits), f32, f64, text, bytes";

impl FromStr for ValueType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || format!("there is no type `{text}`; there are {NAMES}");
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

impl std::fmt::Display for ValueType {
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

impl ValueType {
    /// By the object dictionary's number (ETG.1000.6, table 64); `None` for records and a vendor's own.
    pub(super) fn of(data_type: DataType) -> Option<Self> {
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

    /// Number of its bytes; `None` for types of variable length.
    pub(super) const fn bytes(self) -> Option<u16> {
        match self {
            Self::Bool => Some(1),
            Self::Unsigned(bytes) | Self::Signed(bytes) => Some(bytes as u16),
            Self::Float32 => Some(4),
            Self::Float64 => Some(8),
            Self::Text | Self::Bytes => None,
        }
    }

    /// Converts a user's text to bytes.
    pub(super) fn encode(self, text: &str) -> Result<Vec<u8>, String> {
        let refused = |why: &str| format!("`{text}` is not a valid {self}: {why}");
        match self {
            Self::Bool => match text {
                "0" | "false" => Ok(vec![0]),
                "1" | "true" => Ok(vec![1]),
                _ => Err(refused("write true or false")),
            },
            Self::Unsigned(bytes) | Self::Signed(bytes) => {
                let value = integer(text)
                    .ok_or_else(|| refused("write digits, or 0x and hexadecimal ones"))?;
                let (low, high) = self.range();
                if !(low..=high).contains(&value) {
                    return Err(refused(&format!("it goes from {low} to {high}")));
                }
                Ok(value.to_le_bytes()[..usize::from(bytes)].to_vec())
            }
            Self::Float32 => {
                let value: f32 = text
                    .parse()
                    .map_err(|_| refused("write a number such as 1.5"))?;
                Ok(value.to_le_bytes().to_vec())
            }
            Self::Float64 => {
                let value: f64 = text
                    .parse()
                    .map_err(|_| refused("write a number such as 1.5"))?;
                Ok(value.to_le_bytes().to_vec())
            }
            Self::Text => Ok(text.as_bytes().to_vec()),
            Self::Bytes => {
                bytes(text).ok_or_else(|| refused("write pairs of hexadecimal digits: 0a ff"))
            }
        }
    }

    /// The same for an entry of this many bits: a negative number that fits has no bits above them.
    #[cfg(any(test, target_os = "linux"))]
    pub(super) fn encode_for(self, text: &str, bits: u8) -> Result<Vec<u8>, String> {
        let mut bytes = self.encode(text)?;
        let is_one = bytes.len() == usize::from(bits).div_ceil(8) && (1..64).contains(&bits);
        if let Self::Signed(_) = self
            && is_one
        {
            let value = self.integer(&bytes);
            let half = 1_i128 << (bits - 1);
            if !(-half..half).contains(&value) {
                let high = half - 1;
                return Err(format!(
                    "`{text}` does not fit into {bits} bits: it goes from {} to {high}",
                    -half
                ));
            }
            if let (Some(last), used @ 1..) = (bytes.last_mut(), bits % 8) {
                *last &= (1 << used) - 1;
            }
        }
        Ok(bytes)
    }

    /// The value of an entry's bits: of a negative number the bits above them are set again.
    #[cfg(any(test, target_os = "linux"))]
    pub(super) fn widened(self, mut bytes: Vec<u8>, bits: u8) -> Vec<u8> {
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

    /// The value for people: `592 (0x0250)`.
    pub(super) fn shown(self, bytes: &[u8]) -> String {
        match (self, bytes.len()) {
            (Self::Text, _) => format!("\"{}\"", text(bytes)),
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

    /// The value for programs; bytes that do not fit the type become a text of hexadecimal digits.
    pub(super) fn json(self, bytes: &[u8]) -> Value {
        match (self, bytes) {
            (Self::Text, _) => text(bytes).into(),
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

fn integer(text: &str) -> Option<i128> {
    number::signed(&text.replace('_', ""))
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let text = text.strip_prefix("0x").unwrap_or(text);
    let digits: Option<Vec<u8>> = text
        .chars()
        .filter(|it| !matches!(it, ' ' | ':' | '_'))
        .map(|it| it.to_digit(16).and_then(|it| u8::try_from(it).ok()))
        .collect();
    let digits = digits.filter(|it| it.len().is_multiple_of(2))?;
    Some(
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect(),
    )
}

/// A device's text, with substitutes for its non-printable characters.
pub(super) fn text(bytes: &[u8]) -> String {
    kadenz::ethercat::wire::sii::Text(bytes).to_string()
}

/// `10000001 00000000`: each byte from its highest bit down.
pub(super) fn binary(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    digits.join(" ")
}

/// `02 00 ff`.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(" ")
}

/// Rows of 16 bytes, each behind its address, which counts units of this many bytes from `first` on.
pub(super) fn hex_rows(bytes: &[u8], first: usize, unit: usize) -> String {
    let rows = (first..).step_by(16 / unit).zip(bytes.chunks(16));
    let rows = rows.map(|(address, row)| {
        let printable = |byte: &u8| match byte.is_ascii_graphic() || *byte == b' ' {
            true => char::from(*byte),
            false => '.',
        };
        let text: String = row.iter().map(printable).collect();
        format!("0x{address:04X}  {:<47}  {text}", hex(row))
    });
    rows.collect::<Vec<_>>().join("\n")
}

/// The bits of an entry within process data, shifted to begin at a byte.
pub(super) fn bits_at(image: &[u8], start: usize, bits: usize) -> Vec<u8> {
    let mut value = vec![0; bits.div_ceil(8)];
    for bit in 0..bits {
        let from = start + bit;
        let set = image
            .get(from / 8)
            .is_some_and(|it| it >> (from % 8) & 1 != 0);
        value[bit / 8] |= u8::from(set) << (bit % 8);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> ValueType {
        name.parse().unwrap()
    }

    #[test]
    fn what_is_typed_comes_back_as_it_was() {
        for (name, typed, shown) in [
            ("u16", "0x0250", "592 (0x0250)"),
            ("u8", "255", "255 (0xFF)"),
            ("i8", "-1", "-1"),
            ("i24", "-8388608", "-8388608"),
            (
                "u64",
                "18446744073709551615",
                "18446744073709551615 (0xFFFFFFFFFFFFFFFF)",
            ),
            ("i64", "-9223372036854775808", "-9223372036854775808"),
            ("f32", "1.5", "1.5"),
            ("f64", "-0.25", "-0.25"),
            ("bool", "true", "true"),
            ("text", "left knee", "\"left knee\""),
            ("bytes", "0aff", "0a ff"),
        ] {
            let bytes = of(name).encode(typed).unwrap();
            assert_eq!(of(name).shown(&bytes), shown, "{name}");
            assert_eq!(of(name).to_string(), name);
        }
    }

    #[test]
    fn whatever_has_a_number_of_bits_is_a_type_that_holds_them() {
        for number in 0..=0xFF {
            let Some(bits) = DataType(number).bits() else {
                continue;
            };
            let holds = ValueType::of(DataType(number)).and_then(ValueType::bytes);
            assert_eq!(holds, Some(bits.div_ceil(8)), "0x{number:02X}");
        }
        let of = |of: DataType| ValueType::of(of).map(|it| it.to_string());
        assert_eq!(of(DataType::BITARR32), Some("u32".to_owned()));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_would() {
        for (name, typed, word) in [
            ("u8", "256", "0 to 255"),
            ("i8", "-129", "-128 to 127"),
            ("u32", "fast", "digits"),
            ("u32", "-1", "0 to"),
            ("bool", "2", "true"),
            ("f32", "x", "1.5"),
            ("bytes", "0af", "pairs"),
            ("bytes", "zz", "pairs"),
        ] {
            let error = of(name).encode(typed).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
        for name in ["u7", "u0", "u72", "x8", "", "u", "uä8", "ü16"] {
            let error = name.parse::<ValueType>().unwrap_err();
            assert!(error.contains("f64"), "{error}");
        }
    }

    #[test]
    fn bytes_of_another_length_are_shown_as_they_are() {
        assert_eq!(of("f32").shown(&[1, 2]), "01 02");
        assert_eq!(of("u16").shown(&[]), "");
        assert_eq!(
            of("i32").json(&[0xFF; 9]),
            Value::from("ff ff ff ff ff ff ff ff ff")
        );
        assert_eq!(
            of("i32").shown(&[0xFF, 0xFF]),
            "-1",
            "fewer bytes than the type has are an integer, too"
        );
    }

    #[test]
    fn a_signed_number_of_some_bits_goes_there_and_back() {
        for (name, bits, typed, raw) in [
            ("i8", 4, "-1", vec![0x0F]),
            ("i8", 4, "-8", vec![0x08]),
            ("i8", 4, "7", vec![0x07]),
            ("i8", 8, "-128", vec![0x80]),
            ("i16", 12, "-2", vec![0xFE, 0x0F]),
            ("u8", 4, "15", vec![0x0F]),
            ("i64", 64, "-1", vec![0xFF; 8]),
        ] {
            let bytes = of(name).encode_for(typed, bits).unwrap();
            assert_eq!(bytes, raw, "{name} {typed}");
            let back = of(name).integer(&of(name).widened(bytes, bits));
            assert_eq!(back.to_string(), typed, "{name}");
        }
        for typed in ["8", "-9"] {
            let refused = of("i8").encode_for(typed, 4).unwrap_err();
            assert!(refused.contains("from -8 to 7"), "{refused}");
        }
    }

    #[test]
    fn bytes_are_shown_in_rows_and_bits() {
        let bytes: Vec<u8> = (0x41..0x52).collect();
        let rows = hex_rows(&bytes, 0x0130, 1);
        let mut lines = rows.lines();
        let first = "0x0130  41 42 43 44 45 46 47 48 49 4a 4b 4c 4d 4e 4f 50  ABCDEFGHIJKLMNOP";
        assert_eq!(lines.next(), Some(first));
        assert!(lines.next().unwrap().starts_with("0x0140  51 "), "{rows}");
        assert!(hex_rows(&bytes, 0, 2).contains("\n0x0008  51"), "words");
        assert_eq!(binary(&[0x81, 2]), "10000001 00000010");
    }

    #[test]
    fn bits_are_found_wherever_they_lie() {
        assert_eq!(bits_at(&[0b1010_0000, 0b0000_0001], 5, 4), [0b1101]);
        assert_eq!(bits_at(&[0x34, 0x12], 0, 16), [0x34, 0x12]);
        assert_eq!(bits_at(&[0xFF], 4, 8), [0x0F], "what is not there is 0");
    }
}
