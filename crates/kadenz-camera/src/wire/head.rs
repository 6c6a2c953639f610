//! First line and header fields of RTSP (RFC 2326), HTTP/1.1 (RFC 9112) and the parts of a multipart body.

/// The longest head, in bytes.
const MAX_HEAD: usize = 16 << 10;

/// A head is longer than 16 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a head of more than {MAX_HEAD} bytes")]
pub struct HeadTooLong;

/// A first line and the fields below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    first_line: String,
    fields: Vec<(String, String)>,
}

impl Head {
    /// Reads a head up to its empty line, and returns its length in bytes; `None` until it is complete. Lines may end
    /// with a line feed alone; lines that are not fields are left out.
    ///
    /// # Errors
    /// [`HeadTooLong`].
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, HeadTooLong> {
        let mut lines = Vec::new();
        let mut at = 0;
        while let Some(length) = bytes[at..].iter().position(|byte| *byte == b'\n') {
            let line = bytes[at..at + length].trim_ascii();
            at += length + 1;
            if at > MAX_HEAD {
                return Err(HeadTooLong);
            }
            if line.is_empty() {
                return Ok(Some((Self::of_lines(&lines), at)));
            }
            lines.push(line);
        }
        if bytes.len() >= MAX_HEAD {
            return Err(HeadTooLong);
        }
        Ok(None)
    }

    fn of_lines(lines: &[&[u8]]) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
        let field = |line: &&[u8]| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((text(&line[..colon]), text(&line[colon + 1..])))
        };
        Self {
            first_line: lines.first().map(|line| text(line)).unwrap_or_default(),
            fields: lines.iter().skip(1).filter_map(field).collect(),
        }
    }

    /// The first line, without spaces around it.
    #[must_use]
    pub(crate) fn first_line(&self) -> &str {
        &self.first_line
    }

    /// The status code of an answer of a protocol: 200 of `RTSP/1.0 200 OK` for `RTSP/`. `None` where the first line
    /// does not hold one.
    #[must_use]
    pub(crate) fn status(&self, protocol: &str) -> Option<u16> {
        let mut words = self.first_line.split_ascii_whitespace();
        words.next()?.strip_prefix(protocol)?;
        words.next()?.parse().ok()
    }

    /// The first field of that name, whatever its case.
    #[must_use]
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields(name).next()
    }

    /// All fields of that name.
    pub fn fields(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = move |field: &&(String, String)| field.0.eq_ignore_ascii_case(name);
        self.fields
            .iter()
            .filter(named)
            .map(|(_, value)| value.as_str())
    }

    /// The value of `Content-Length`; `None` without one, or where it is not a number.
    #[must_use]
    pub(crate) fn content_length(&self) -> Option<usize> {
        self.field("Content-Length")?.parse().ok()
    }
}

/// The parameters behind a value, `; name=value; name="value"`, names in any case and quotes taken off.
pub(crate) fn parameter<'a>(value: &'a str, name: &str) -> Option<&'a str> {
    value.split(';').find_map(|part| {
        let (found, value) = part.split_once('=')?;
        found
            .trim()
            .eq_ignore_ascii_case(name)
            .then(|| value.trim().trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use super::*;

    #[test]
    fn a_head_is_read_once_it_is_whole() {
        let bytes = b"RTSP/1.0 200 OK\r\nCseq : 3 \nno field\r\nX: a:b\r\n\r\nbody";
        for length in 0..bytes.len() - 4 {
            assert_eq!(Head::parse(&bytes[..length]), Ok(None), "{length}");
        }
        let (head, length) = Head::parse(bytes).unwrap().unwrap();
        assert_eq!(&bytes[length..], b"body");
        assert_eq!(head.status("RTSP/"), Some(200));
        assert_eq!(head.status("HTTP/"), None);
        assert_eq!(
            (head.field("CSEQ"), head.field("x")),
            (Some("3"), Some("a:b"))
        );
    }

    #[test]
    fn a_head_without_end_is_refused() {
        assert_eq!(Head::parse(&[b'a'; MAX_HEAD]), Err(HeadTooLong));
        assert_eq!(Head::parse(&b"a\n".repeat(MAX_HEAD)), Err(HeadTooLong));
    }

    #[test]
    fn parameters_are_found_by_name() {
        let value = "multipart/x-mixed-replace; Boundary=\"--my one\";x= 7";
        assert_eq!(parameter(value, "boundary"), Some("--my one"));
        assert_eq!(parameter(value, "x"), Some("7"));
        assert_eq!(parameter(value, "y"), None);
    }
}
