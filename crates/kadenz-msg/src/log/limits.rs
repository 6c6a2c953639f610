//! How much memory a log may take of whoever reads it, and how much may come out of it.
//!
//! A few kilobytes of a compressed chunk may claim, and hold, gigabytes. Whatever a file says is
//! therefore held against what is left of the file, and against the limits here; what exceeds the
//! limit of one message or chunk is damage, and what exceeds the limit of the whole log is an error.

use super::LogError;

/// The longest message, in bytes: a log that claims a longer one is damaged there, and no longer one
/// is written.
pub const MAX_MESSAGE_BYTES: usize = 88 << 20;

/// What is said of a longer one.
pub(crate) const TOO_LONG: &str = "it is longer than 88 MiB";

/// The longest chunk or other record that is read at once, in bytes, packed and unpacked.
pub const MAX_CHUNK_BYTES: u64 = 96 << 20;

/// How much the descriptions of a log's channels and types may take, in bytes.
pub(crate) const MAX_DESCRIPTION_BYTES: usize = 32 << 20;

/// The most channels that are told apart where a log may have any number of them.
pub(crate) const MAX_CHANNELS: usize = 1 << 14;

/// How much may come out of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many times the log's own length.
    pub expansion: u64,
}

impl Limits {
    /// So many bytes may come out of any log, however short.
    pub const FREE_BYTES: u64 = 16 << 20;

    /// How many bytes may come out of a log of a length.
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
    /// [`LogError::Expands`] where these are more.
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

/// What may still be spent on descriptions.
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
    /// Takes so many bytes; `None` where they are not there.
    pub(crate) fn spend(&mut self, bytes: usize) -> Option<()> {
        self.left = self.left.checked_sub(bytes)?;
        Some(())
    }
}

/// How much memory text takes that was bytes: what is not UTF-8 becomes a sign of three bytes.
pub(crate) fn text_bytes(bytes: &[u8]) -> usize {
    3 * bytes.len()
}
