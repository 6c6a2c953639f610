//! Decodes the transfer coding `chunked` (RFC 9112, section 7.1).

/// The longest line of a chunk's size, in bytes.
const MAX_LINE: usize = 1024;

/// The bytes are not a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a body that is not chunked as its head says")]
pub struct NotChunked;

/// Decodes chunks, in pieces of any length.
#[derive(Debug, Clone, Default)]
pub struct Chunked {
    left: usize,
    /// Within the line of a size: the size so far and the length of the line.
    size: usize,
    line: usize,
    is_extension: bool,
    has_digit: bool,
    has_ended: bool,
}

impl Chunked {
    /// Whether the last chunk came.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns the next bytes of the body, and how many bytes were used up for them; both are empty at the end of
    /// `bytes`.
    ///
    /// # Errors
    /// [`NotChunked`].
    pub fn body<'a>(&mut self, bytes: &'a [u8]) -> Result<(&'a [u8], usize), NotChunked> {
        let mut at = 0;
        while self.left == 0 && at < bytes.len() && !self.has_ended {
            self.size_byte(bytes[at])?;
            at += 1;
        }
        let body = &bytes[at..];
        let body = &body[..body.len().min(self.left)];
        self.left -= body.len();
        Ok((body, at + body.len()))
    }

    fn size_byte(&mut self, byte: u8) -> Result<(), NotChunked> {
        self.line += 1;
        let digit = char::from(byte).to_digit(16);
        match (byte, digit) {
            _ if self.line > MAX_LINE => return Err(NotChunked),
            // The empty line behind a chunk, and the end of a size.
            (b'\n', _) => {
                self.left = self.size;
                self.has_ended = self.has_digit && self.size == 0;
                (self.size, self.line, self.is_extension, self.has_digit) = (0, 0, false, false);
            }
            (b'\r' | b' ', _) => {}
            (b';', _) => self.is_extension = true,
            _ if self.is_extension => {}
            (_, Some(digit)) => {
                let size = self.size.checked_mul(16).ok_or(NotChunked)?;
                self.size = size | digit as usize;
                self.has_digit = true;
            }
            _ => return Err(NotChunked),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use proptest::prelude::*;

    use super::*;

    fn all(bytes: &[u8], pieces: &[usize]) -> Result<Vec<u8>, NotChunked> {
        let (mut chunked, mut out, mut rest) = (Chunked::default(), Vec::new(), bytes);
        for piece in pieces.iter().copied().chain([usize::MAX]) {
            let mut now;
            (now, rest) = rest.split_at(piece.min(rest.len()));
            while !now.is_empty() && !chunked.has_ended() {
                let (body, used) = chunked.body(now)?;
                out.extend_from_slice(body);
                now = &now[used..];
            }
        }
        Ok(out)
    }

    proptest! {
        #[test]
        fn chunks_are_put_together_however_they_are_split(pieces in prop::collection::vec(0_usize..9, 0..20)) {
            let bytes = b"3\r\nabc\r\n0A;x=\"y\"\r\n0123456789\r\n1\n\n\r\n0\r\n\r\n";
            prop_assert_eq!(all(bytes, &pieces).unwrap(), b"abc0123456789\n");
        }

        #[test]
        fn any_bytes_are_chunks_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = all(&bytes, &[]);
        }
    }

    #[test]
    fn what_is_not_a_chunk_is_an_error() {
        for bytes in [
            &b"x"[..],
            b"ffffffffffffffffff\r\n",
            &b" ".repeat(MAX_LINE + 1),
        ] {
            assert_eq!(all(bytes, &[]), Err(NotChunked));
        }
    }
}
