//! The trait of every message type, and raw bytes as a message.

pub use crate::codec::Fingerprint;
use crate::codec::{
    ArrayElement, DecodeError, DecodeResult, EncodeError, EncodeResult, Lengths, Reader, Stated,
    Writer,
};

/// A type of message: it has a fingerprint, and is encoded behind it.
///
/// `kadenz msg gen --lang rust` writes implementations of it.
///
/// # Real-time safety
/// Encoding allocates nothing; [`Message::decode_from`] allocates only if a string or a variable array is
/// longer than in the overwritten value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a message",
    note = "derive it with `#[derive(kadenz::Message)]`, or write it from its .lcm file with `kadenz msg gen`",
    note = "a member of a message is i8, i16, i32, i64, u8, f32, f64, bool, String, another message, or an array of them"
)]
pub trait Message: Sized {
    /// The full name of the type, as `package.type`.
    const NAME: &'static str;

    /// The fingerprint of its description.
    const FINGERPRINT: Fingerprint;

    /// The text of its description and of all types that it refers to, as `.lcm`; may be empty if it is not
    /// known.
    const DESCRIPTION: &'static str;

    /// Returns the number of bytes of the encoded members, without the fingerprint.
    fn body_length(&self) -> usize;

    /// Writes the members, without the fingerprint.
    ///
    /// # Errors
    /// If the buffer is too short, or a variable array has another length than its member states.
    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError>;

    /// Reads the members, without the fingerprint, into the existing value, whose memory is reused.
    ///
    /// # Errors
    /// If the bytes end too early or hold an invalid value. The value then holds a mixture of old and new
    /// members.
    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError>;

    /// Returns how many bytes the whole message takes.
    fn encoded_length(&self) -> usize {
        8 + self.body_length()
    }

    /// Encodes the message into the front of a buffer and returns the number of used bytes.
    ///
    /// # Errors
    /// As [`Message::encode_body`].
    fn encode_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        let mut writer = Writer::new(buffer);
        writer.u64(Self::FINGERPRINT.0)?;
        self.encode_body(&mut writer)?;
        Ok(writer.written())
    }

    /// Encodes the message into new memory. Allocates.
    ///
    /// # Errors
    /// As [`Message::encode_body`].
    fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = vec![0; self.encoded_length()];
        let used = self.encode_into(&mut bytes)?;
        bytes.truncate(used);
        Ok(bytes)
    }

    /// Decodes a whole message into the existing value, whose memory is reused.
    ///
    /// # Errors
    /// If the fingerprint is another one, the bytes end too early, or some are left.
    fn decode_from(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let mut reader = Reader::new(bytes);
        reader.fingerprint(Self::FINGERPRINT, Self::NAME)?;
        self.decode_body(&mut reader)?;
        reader.end()
    }

    /// Decodes a whole message. Allocates for its strings and arrays.
    ///
    /// # Errors
    /// As [`Message::decode_from`].
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError>
    where
        Self: Default,
    {
        let mut message = Self::default();
        message.decode_from(bytes)?;
        Ok(message)
    }
}

impl<M: Message + Default> ArrayElement for M {
    fn start() -> Self {
        Self::default()
    }

    fn length_of(all: &[Self]) -> usize {
        all.iter().map(Self::body_length).sum()
    }

    fn put_all(all: &[Self], to: &mut Writer<'_>, _: Stated<'_>) -> EncodeResult {
        all.iter().try_for_each(|it| it.encode_body(to))
    }

    fn get_all(all: &mut [Self], from: &mut Reader<'_>, _: Lengths<'_>) -> DecodeResult {
        all.iter_mut().try_for_each(|it| it.decode_body(from))
    }
}
