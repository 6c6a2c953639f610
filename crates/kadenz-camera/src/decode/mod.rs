//! From encoded pictures to samples.

use crate::picture::Picture;
use crate::source::Unit;

/// Why a unit became no picture. The next key may mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot decode {what}: {cause}")]
pub struct DecodeError {
    /// Which format.
    pub what: &'static str,
    /// What the decoder says.
    pub cause: String,
}

/// What decodes one stream.
pub trait Decoder: Send {
    /// Takes the unit in, and calls `each` for every picture that comes out, with the `token` of the unit it was in.
    /// Streams with B-frames come out later than they went in, and in another order.
    ///
    /// # Errors
    /// [`DecodeError`]; the decoder can go on with the next key.
    fn decode(
        &mut self,
        token: u64,
        unit: &Unit<'_>,
        each: &mut dyn FnMut(u64, &Picture<'_>),
    ) -> Result<(), DecodeError>;

    /// Its name, for people and runs: `openh264`.
    fn name(&self) -> &'static str;
}
