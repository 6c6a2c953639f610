//! Units of objects.

use std::fmt;

/// A unit, as a device's dictionary tells it: a power of ten, a numerator and a denominator (ETG.1004, whose
/// numbers are those of CiA 303-2).
///
/// ```
/// use kadenz_ethercat::wire::coe::Unit;
///
/// assert_eq!(Unit(0xFDB4_4700).to_string(), "mrev/min");
/// assert_eq!(Unit(0xFE01_0300).to_string(), "cm/s");
/// assert_eq!(Unit(0x0777_0000).to_string(), "unit 0x07770000", "what is not known");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Unit(pub u32);

impl Unit {
    /// The bit of an entry's value information that asks for its unit, and says that it was sent
    /// (ETG.1000.6, get entry description).
    pub const IN_VALUES: u8 = 0x08;
}

/// Symbols of the numbers that devices of robots use.
const SYMBOLS: [(u8, &str); 21] = [
    (0x01, "m"),
    (0x02, "kg"),
    (0x03, "s"),
    (0x04, "A"),
    (0x05, "K"),
    (0x10, "rad"),
    (0x20, "Hz"),
    (0x21, "N"),
    (0x22, "Pa"),
    (0x23, "J"),
    (0x24, "W"),
    (0x25, "C"),
    (0x26, "V"),
    (0x27, "F"),
    (0x28, "ohm"),
    (0x2D, "degC"),
    (0x41, "deg"),
    (0x47, "min"),
    (0x48, "h"),
    (0xB4, "rev"),
    (0xB5, "inc"),
];

const PREFIXES: [(i8, &str); 9] = [
    (-9, "n"),
    (-6, "u"),
    (-3, "m"),
    (-2, "c"),
    (-1, "d"),
    (0, ""),
    (3, "k"),
    (6, "M"),
    (9, "G"),
];

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [_, denominator, numerator, prefix] = self.0.to_le_bytes();
        let prefix = PREFIXES.iter().find(|it| it.0 == prefix as i8);
        let (Some((_, prefix)), Some(above)) = (prefix, symbol(numerator)) else {
            return write!(f, "unit 0x{:08X}", self.0);
        };
        match (denominator, symbol(denominator)) {
            (0, _) => write!(f, "{prefix}{above}"),
            (_, Some(below)) => write!(f, "{prefix}{above}/{below}"),
            (_, None) => write!(f, "unit 0x{:08X}", self.0),
        }
    }
}

fn symbol(number: u8) -> Option<&'static str> {
    let found = SYMBOLS.iter().find(|it| it.0 == number);
    found.map(|(_, symbol)| *symbol)
}
