//! Limits of the memory that a log may take of its reader, and of the bytes that may come out of it.
//!
//! A few kilobytes of a compressed chunk may claim, and hold, gigabytes. Each length in a file is therefore
//! compared to the rest of the file, and to the limits here; a length above the limit of one message or chunk
//! is damage, and one above the limit of the whole log is an error.

use super::LogError;

/// The maximum length of a message, in bytes: a log that claims a longer one is damaged there, and no longer
/// one is written.
pub(crate) const MAX_MESSAGE_BYTES: usize = 88 << 20;

/// The error text of a longer one.
pub(crate) const TOO_LONG: &str = "it is longer than 88 MiB";

/// The longest chunk or other record that is read at once, in bytes, packed and unpacked.
pub(crate) const MAX_CHUNK_BYTES: u64 = 96 << 20;

/// How much the descriptions of a log's channels and types may take, in bytes.
pub(crate) const MAX_DESCRIPTION_BYTES: usize = 32 << 20;

/// The maximum number of channels that are counted apart, for logs with any number of channels.
pub(crate) const MAX_CHANNELS: usize = 1 << 14;

/// The limit of the bytes that come out of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum ratio of these bytes to the log's own length.
    pub expansion: u64,
}

impl Limits {
    /// The number of bytes that may come out of any log, however short.
    pub const FREE_BYTES: u64 = 16 << 20;

    /// Returns the number of bytes that may come out of a log of a length.
    ///
    /// ```
    /// use kadenz_msg::log::Limits;
    ///
    /// assert_eq!(Limits::default().allowed_bytes(1 << 30), 100 << 30);
    /// assert_eq!(Limits::default().allowed_bytes(5), Limits::FREE_BYTES);
    /// ```
    #[must_use]
    pub fn allowed_bytes(self, length: u64) -> u64 {
        length.saturating_mul(self.expansion).max(Self::FREE_BYTES)
    }

    /// Refuses more bytes than may come out of a log of a length.
    ///
    /// # Errors
    /// [`LogError::Expands`] if these are more.
    pub fn check(self, bytes: u64, length: u64) -> Result<(), LogError> {
        let allowed = self.allowed_bytes(length);
        if bytes <= allowed {
            return Ok(());
        }
        Err(LogError::Expands { allowed, length })
    }
}

impl Default for Limits {
    /// A hundred times: logs of telemetry are packed to a third or a tenth, and a chunk of zeros by
    /// LZ4 to a 255th.
    fn default() -> Self {
        Self { expansion: 100 }
    }
}

/// The rest of the budget for descriptions.
#[derive(Debug)]
pub(crate) struct DescriptionBudget {
    left: usize,
}

impl Default for DescriptionBudget {
    fn default() -> Self {
        Self {
            left: MAX_DESCRIPTION_BYTES,
        }
    }
}

impl DescriptionBudget {
    /// Takes that many bytes; `None` if fewer are left.
    pub(crate) fn spend(&mut self, bytes: usize) -> Option<()> {
        self.left = self.left.checked_sub(bytes)?;
        Some(())
    }
}

/// Returns how much memory text takes that was bytes: what is not UTF-8 becomes a sign of three bytes.
pub(crate) fn text_bytes(bytes: &[u8]) -> usize {
    3 * bytes.len()
}
