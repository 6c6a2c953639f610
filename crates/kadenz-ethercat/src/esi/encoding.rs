//! The character encoding of a file: XML names it in its first line, and many vendors' files are older than UTF-8.

/// How many bytes of the beginning may hold the declaration.
const DECLARATION: usize = 1024;

/// Why a file's bytes are not text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    /// The file names an encoding that Kadenz does not read.
    #[error(
        "its encoding is \"{0}\"; save it as UTF-8, ISO-8859-1, windows-1252 or UTF-16, and say so in its \
         first line"
    )]
    Unknown(String),
    /// The bytes are not valid in the encoding that the file names.
    #[error(
        "line {line}: these bytes are not {encoding}; name the file's true encoding in its first line, as \
         <?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>, or save it as UTF-8"
    )]
    Letter {
        /// The line of the file, from 1.
        line: u32,
        /// The encoding that the file names.
        encoding: &'static str,
    },
}

/// How bytes become letters.
#[derive(Debug, Clone, Copy)]
enum Encoding {
    Utf8,
    /// One byte a character: windows-1252. It also decodes ISO-8859-1, which has control characters where
    /// windows-1252 has letters; browsers do the same.
    Latin,
    Utf16(fn([u8; 2]) -> u16),
}

/// Returns the text of a file, decoded by its byte order mark or by the encoding that its declaration names: UTF-8,
/// ISO-8859-1, windows-1252 or UTF-16. Allocates up to three bytes for each byte of the file.
///
/// ```
/// let german = b"<?xml version='1.0' encoding='ISO-8859-1'?><Name>Drehgeber f\xFCr Gelenke</Name>";
/// let text = kadenz_ethercat::esi::decode(german.to_vec())?;
/// assert!(text.ends_with("<Name>Drehgeber für Gelenke</Name>"));
/// # Ok::<(), kadenz_ethercat::esi::EncodingError>(())
/// ```
///
/// # Errors
/// [`EncodingError`].
pub fn decode(bytes: Vec<u8>) -> Result<String, EncodingError> {
    match encoding(&bytes)? {
        Encoding::Utf8 => String::from_utf8(bytes).map_err(|error| {
            let whole = error.utf8_error().valid_up_to();
            let before = error.as_bytes()[..whole].iter();
            letter(before.filter(|it| **it == b'\n').count(), "UTF-8")
        }),
        Encoding::Latin => Ok(bytes.into_iter().map(latin).collect()),
        Encoding::Utf16(unit) => utf16(&bytes, unit),
    }
}

fn letter(lines_before: usize, encoding: &'static str) -> EncodingError {
    let line = u32::try_from(lines_before + 1).unwrap_or(u32::MAX);
    EncodingError::Letter { line, encoding }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, EncodingError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|it| unit(*it));
    let mut text = String::with_capacity(bytes.len() / 2);
    for letter in char::decode_utf16(units) {
        let Ok(letter) = letter else {
            return Err(self::letter(text.matches('\n').count(), "UTF-16"));
        };
        text.push(letter);
    }
    match rest {
        [] => Ok(text),
        _ => Err(letter(text.matches('\n').count(), "UTF-16")),
    }
}

/// The encoding by the first bytes (XML 1.0, appendix F), or else by the declaration.
fn encoding(bytes: &[u8]) -> Result<Encoding, EncodingError> {
    match bytes {
        [0xFF, 0xFE, 0, 0, ..] | [0, 0, 0xFE, 0xFF, ..] => Err(unknown(b"UTF-32")),
        [0xFF, 0xFE, ..] | [b'<', 0, ..] => Ok(Encoding::Utf16(u16::from_le_bytes)),
        [0xFE, 0xFF, ..] | [0, b'<', ..] => Ok(Encoding::Utf16(u16::from_be_bytes)),
        [0xEF, 0xBB, 0xBF, ..] => Ok(Encoding::Utf8),
        _ => match declared(bytes) {
            Some(name) => named(name),
            None => Ok(Encoding::Utf8),
        },
    }
}

fn unknown(name: &[u8]) -> EncodingError {
    let name = name.escape_ascii().to_string();
    EncodingError::Unknown(name.chars().take(40).collect())
}

/// The encoding that the declaration names.
fn declared(bytes: &[u8]) -> Option<&[u8]> {
    let first = &bytes[..bytes.len().min(DECLARATION)];
    let first = first.strip_prefix(b"<?xml")?;
    let end = first.windows(2).position(|it| it == b"?>")?;
    let first = &first[..end];
    let word = b"encoding";
    let at = first.windows(word.len()).position(|it| it == word)?;
    let behind = first[at + word.len()..].trim_ascii_start();
    let (quote, behind) = behind
        .strip_prefix(b"=")?
        .trim_ascii_start()
        .split_first()?;
    let end = behind.iter().position(|it| it == quote)?;
    matches!(quote, b'"' | b'\'').then(|| &behind[..end])
}

/// The encoding of a name; case and dashes do not count.
fn named(name: &[u8]) -> Result<Encoding, EncodingError> {
    let plain = name.iter().filter(|it| it.is_ascii_alphanumeric());
    let plain: Vec<u8> = plain.map(u8::to_ascii_lowercase).collect();
    match &plain[..] {
        // A declaration in single bytes contradicts UTF-16: the file was saved as UTF-8 since.
        b"utf8" | b"usascii" | b"ascii" | b"utf16" | b"utf16le" | b"utf16be" => Ok(Encoding::Utf8),
        b"iso88591" | b"latin1" | b"l1" | b"windows1252" | b"cp1252" => Ok(Encoding::Latin),
        _ => Err(unknown(name)),
    }
}

/// The character of a byte in windows-1252; bytes that it does not define are those of ISO-8859-1.
fn latin(byte: u8) -> char {
    const FROM_0X80: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž',
        '\u{8F}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}',
        'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9F => FROM_0X80[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(encoding: &str, letters: &[u8]) -> Result<String, EncodingError> {
        let head = format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?>\n");
        let text = decode([head.as_bytes(), letters].concat())?;
        Ok(text.split_once('\n').unwrap().1.to_owned())
    }

    #[test]
    fn letters_are_what_the_declaration_says() {
        for name in ["ISO-8859-1", "iso8859-1", "ISO_8859-1", "windows-1252"] {
            assert_eq!(said(name, b"f\xFCr 25 \xB0C \x80").unwrap(), "für 25 °C €");
        }
        assert_eq!(said("UTF-8", "für €".as_bytes()).unwrap(), "für €");
        assert_eq!(said("utf-16", "für €".as_bytes()).unwrap(), "für €");
        let error = said("Shift_JIS", b"").unwrap_err();
        assert!(error.to_string().contains("\"Shift_JIS\""), "{error}");
        let error = said("UTF-8", b"a\nf\xFCr").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("line 3: these bytes are not UTF-8"),
            "{error}"
        );
        assert_eq!(decode(b"<a>\xFC</a>".to_vec()), Err(letter(0, "UTF-8")));
    }

    #[test]
    fn a_mark_of_the_byte_order_has_the_word() {
        let text = "<?xml version=\"1.0\" encoding=\"UTF-16\"?><a>ü 𝄞</a>";
        for mark in ["\u{FEFF}", ""] {
            let units: Vec<u16> = format!("{mark}{text}").encode_utf16().collect();
            let little = units.iter().flat_map(|it| it.to_le_bytes()).collect();
            let big = units.iter().flat_map(|it| it.to_be_bytes()).collect();
            for bytes in [little, big] {
                let read = decode(bytes).unwrap();
                assert_eq!(read.trim_start_matches('\u{FEFF}'), text);
            }
        }
        let odd = decode(b"\xFF\xFE<\0a\0\n\0>".to_vec());
        assert_eq!(odd, Err(letter(1, "UTF-16")));
        let half = decode(b"\xFE\xFF\xD8\x00".to_vec());
        assert_eq!(half, Err(letter(0, "UTF-16")));
        assert!(decode(b"\xFF\xFE\0\0<\0\0\0".to_vec()).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_an_error_or_a_text(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let latin = said("latin1", &bytes).unwrap();
            prop_assert_eq!(latin.chars().count(), bytes.len());
            let is_text = std::str::from_utf8(&bytes).is_ok();
            prop_assert_eq!(said("UTF-8", &bytes).is_ok(), is_text);
            let _ = decode(bytes);
        }
    }
}
