//! What a device calls itself.

use core::fmt;

use super::Malformed;

/// A device's name: up to 48 characters of printable ASCII, so that it can be shown in any terminal.
///
/// ```
/// use kadenz_udp::wire::Name;
///
/// assert_eq!(Name::new("left knee").map(|name| name.to_string()), Some("left knee".to_owned()));
/// assert_eq!(Name::new("\x1b[2J"), None, "a terminal would obey");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Name {
    bytes: [u8; Self::MAX_BYTES],
    length: u8,
}

impl Name {
    /// The longest name.
    pub const MAX_BYTES: usize = 48;

    /// No name.
    pub const EMPTY: Self = Self {
        bytes: [0; Self::MAX_BYTES],
        length: 0,
    };

    /// A name; `None` if it is longer than 48 bytes or holds more than printable ASCII.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        Self::from_bytes(text.as_bytes())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length.into()).unwrap_or_default()
    }

    fn from_bytes(text: &[u8]) -> Option<Self> {
        let printable = text.iter().all(|byte| (b' '..=b'~').contains(byte));
        let mut name = Self::EMPTY;
        let room = name.bytes.get_mut(..text.len()).filter(|_| printable)?;
        room.copy_from_slice(text);
        name.length = u8::try_from(text.len()).ok()?;
        Some(name)
    }

    /// Writes length and name, as far as it fits, and zeros: the body of [`Kind::Present`](super::Kind).
    pub(crate) fn write(&self, body: &mut [u8]) {
        body.fill(0);
        let Some((length, room)) = body.split_first_mut() else {
            return;
        };
        let text = self.as_bytes();
        let fits = text.len().min(room.len());
        for (to, from) in room.iter_mut().zip(text) {
            *to = *from;
        }
        *length = u8::try_from(fits).unwrap_or(u8::MAX);
    }

    /// Reads what [`write`](Self::write) wrote; a body without a byte holds no name.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Malformed> {
        let Some((length, room)) = body.split_first() else {
            return Ok(Self::EMPTY);
        };
        room.get(..usize::from(*length))
            .and_then(Self::from_bytes)
            .ok_or(Malformed::Name)
    }
}

impl Default for Name {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({:?})", self.as_str())
    }
}
