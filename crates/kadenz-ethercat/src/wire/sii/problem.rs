//! Reasons against writing an image into a memory.

use super::{CHECKED, FIRST_CATEGORY, FIXED, SiiError, category, checksum, word};

/// Bytes of a KiBit.
const KIBIT: usize = 128;
/// The shortest image: the fixed part and the end mark.
const MIN: usize = FIXED + 2;

/// Why a SubDevice with such an image would not start, or a MainDevice would not understand it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SiiProblem {
    /// The bytes are not a whole number of words.
    #[error("{0} bytes are not whole words")]
    Odd(usize),
    /// The image is cut short.
    #[error("{0} bytes are too few: the fixed part and an end mark behind it take {MIN}")]
    Short(usize),
    /// The image is longer than the memory by its own size field.
    #[error("it has {bytes} bytes, and by its own word 0x3E the memory has {size}")]
    Long {
        /// Bytes of the image.
        bytes: usize,
        /// Bytes of the memory.
        size: usize,
    },
    /// The checksum over the first words is wrong: the controller would load nothing at power-on.
    #[error(
        "its checksum is 0x{has:02X}, and 0x{wanted:02X} would be right (low byte of word 0x07)"
    )]
    Checksum {
        /// The checksum in the image.
        has: u8,
        /// The checksum of the image's first words.
        wanted: u8,
    },
    /// A category reaches over the image's end.
    #[error(transparent)]
    Category(SiiError),
    /// The end mark behind the last category is missing.
    #[error("at word 0x{word:04X}, behind its last category, there is no end mark 0xFFFF")]
    NoEnd {
        /// The word at which the end mark should stand.
        word: usize,
    },
}

/// Returns the reasons against writing these bytes into a memory from word 0 on; none for a valid image. Allocates.
///
/// ```
/// use kadenz_ethercat::wire::sii::{SiiProblem, Fixed, ImageWriter, problems};
///
/// let mut bytes = [0; 256];
/// let fixed = Fixed { size: 1, version: 1, ..Fixed::default() };
/// ImageWriter::new(&mut bytes, &fixed)?.finish()?;
/// assert!(problems(&bytes).is_empty());
/// bytes[8] ^= 1;
/// assert!(matches!(problems(&bytes)[..], [SiiProblem::Checksum { .. }]));
/// # Ok::<(), kadenz_ethercat::wire::sii::SiiError>(())
/// ```
#[must_use]
pub fn problems(bytes: &[u8]) -> Vec<SiiProblem> {
    if bytes.len() < MIN {
        return vec![SiiProblem::Short(bytes.len())];
    }
    let mut problems = Vec::new();
    if !bytes.len().is_multiple_of(2) {
        problems.push(SiiProblem::Odd(bytes.len()));
    }
    let size = (usize::from(word_at(bytes, word::SIZE.into()).unwrap_or(0)) + 1) * KIBIT;
    if bytes.len() > size {
        let bytes = bytes.len();
        problems.push(SiiProblem::Long { bytes, size });
    }
    let mut first = [0; CHECKED];
    first.copy_from_slice(&bytes[..CHECKED]);
    let (has, wanted) = (bytes[CHECKED], checksum(&first));
    if has != wanted {
        problems.push(SiiProblem::Checksum { has, wanted });
    }
    problems.extend(of_categories(bytes));
    problems
}

fn word_at(bytes: &[u8], word: usize) -> Option<u16> {
    let pair = bytes.get(2 * word..2 * word + 2)?;
    Some(u16::from_le_bytes([pair[0], pair[1]]))
}

/// Checks that the categories follow each other up to the end mark.
fn of_categories(bytes: &[u8]) -> Option<SiiProblem> {
    let mut word = usize::from(FIRST_CATEGORY);
    loop {
        match (word_at(bytes, word), word_at(bytes, word + 1)) {
            (Some(category::END), _) => return None,
            (Some(number), Some(length)) => {
                let next = word + 2 + usize::from(length);
                if 2 * next > bytes.len() {
                    // No device's memory has larger word addresses.
                    let word = u16::try_from(word).unwrap_or(u16::MAX);
                    return Some(SiiProblem::Category(SiiError::Overrun { number, word }));
                }
                word = next;
            }
            _ => return Some(SiiProblem::NoEnd { word }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn golden(name: &str) -> Vec<u8> {
        let root = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../conformance/ethercat/sii/"
        );
        std::fs::read(format!("{root}{name}")).unwrap()
    }

    #[test]
    fn nothing_speaks_against_what_real_devices_hold() {
        for name in ["akd", "clipx", "ek1100", "el2004", "el2262", "el2828"] {
            assert_eq!(problems(&golden(&format!("{name}.bin"))), [], "{name}");
        }
        let damaged = problems(&golden("akd-null-strings.bin"));
        assert!(matches!(
            damaged[..],
            [SiiProblem::Category(SiiError::Overrun { number: 256, .. })]
        ));
    }

    #[test]
    fn whatever_is_wrong_is_found() {
        let good = golden("ek1100.bin");
        assert_eq!(problems(&good[..129]), [SiiProblem::Short(129)]);
        assert_eq!(problems(&good[..2047]), [SiiProblem::Odd(2047)]);
        let long = [&good[..], &[0xFF, 0xFF]].concat();
        let (bytes, size) = (2050, 2048);
        assert_eq!(problems(&long), [SiiProblem::Long { bytes, size }]);
        let mut spoiled = good.clone();
        spoiled[14] ^= 0x10;
        let (has, wanted) = (good[14] ^ 0x10, good[14]);
        assert_eq!(problems(&spoiled), [SiiProblem::Checksum { has, wanted }]);
        // The first category ends where the image does.
        let length = 2 * usize::from(word_at(&good, 0x41).unwrap());
        let cut = &good[..128 + 4 + length];
        let word = cut.len() / 2;
        assert_eq!(problems(cut), [SiiProblem::NoEnd { word }]);
    }

    proptest! {
        #[test]
        fn hostile_bytes_are_doubted_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..700)) {
            prop_assert!(!problems(&bytes).is_empty());
        }
    }
}
