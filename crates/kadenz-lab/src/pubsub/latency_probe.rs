//! The message of latency measurements.

use kadenz_msg::codec::{DecodeError, EncodeError, Reader, Writer};
use kadenz_msg::message::{Fingerprint, Message};

/// Size of an encoded probe without padding, in bytes.
pub const MIN: usize = 8 + 5 * 8 + 4;

/// A message that carries its own times. Times are of `CLOCK_MONOTONIC`, which all processes of one host share, so that
/// a subscriber there can compute the latency of the message.
///
/// The padding holds one byte again and again, and a receiver checks its beginning and its end: this detects a message
/// put together from two.
///
/// # Real-time safety
/// Neither encoding nor decoding allocates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyProbe {
    /// Which measurement it belongs to.
    pub run: i64,
    /// Its number, counted from 0; negative for messages that only show that the connection works, or warm it up.
    pub sequence: i64,
    /// The time of its beat, in nanoseconds.
    pub intended_ns: i64,
    /// When it was published.
    pub sent_ns: i64,
    /// How long the call that published the previous message took; negative if there was none.
    pub before_ns: i64,
    /// Number of bytes that fill the message up to its length.
    pub padding: i32,
    /// Whether the received padding differs from what was sent. Not on the wire.
    pub damaged: bool,
}

/// Bytes of padding that are written at once. More would cost short messages the time to fill it.
const CHUNK: usize = 256;
/// The same for messages of many chunks.
const LONG_CHUNK: usize = 16 << 10;

impl LatencyProbe {
    /// Padding of a message of that many bytes; `None` below [`MIN`] and above 2 GiB.
    #[must_use]
    pub(crate) fn padding_of(message_bytes: usize) -> Option<i32> {
        i32::try_from(message_bytes.checked_sub(MIN)?).ok()
    }

    fn fill(&self) -> u8 {
        (self.sequence & 0xff) as u8
    }
}

impl Message for LatencyProbe {
    const NAME: &'static str = "kadenz.latency_probe_t";
    // From lcm-gen 1.5.3.
    const FINGERPRINT: Fingerprint = Fingerprint(0xbd30_f24f_6a0e_a620);
    const DESCRIPTION: &'static str = "\
package kadenz;

struct latency_probe_t {
    int64_t run;
    int64_t sequence;
    int64_t intended_ns;
    int64_t sent_ns;
    int64_t before_ns;
    int32_t length;
    byte    padding[length];
}
";

    fn body_length(&self) -> usize {
        MIN - 8 + usize::try_from(self.padding).unwrap_or(0)
    }

    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.value(self.run)?;
        writer.value(self.sequence)?;
        writer.value(self.intended_ns)?;
        writer.value(self.sent_ns)?;
        writer.value(self.before_ns)?;
        writer.value(self.padding)?;
        let padding = usize::try_from(self.padding).unwrap_or(0);
        match padding < 2 * LONG_CHUNK {
            true => pad(writer, padding, &[self.fill(); CHUNK]),
            false => pad(writer, padding, &[self.fill(); LONG_CHUNK]),
        }
    }

    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.run = reader.value("run")?;
        self.sequence = reader.value("sequence")?;
        self.intended_ns = reader.value("intended_ns")?;
        self.sent_ns = reader.value("sent_ns")?;
        self.before_ns = reader.value("before_ns")?;
        self.padding = reader.value("length")?;
        let length = Reader::length("padding", i64::from(self.padding))?;
        let padding = reader.view::<u8>("padding", length)?.as_bytes();
        let ends = [padding.first(), padding.last()];
        self.damaged = ends.into_iter().flatten().any(|it| *it != self.fill());
        Ok(())
    }
}

fn pad(writer: &mut Writer<'_>, mut left: usize, chunk: &[u8]) -> Result<(), EncodeError> {
    while left > 0 {
        let now = left.min(chunk.len());
        writer.bytes(&chunk[..now])?;
        left -= now;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
mod tests {
    use super::*;

    fn probe(message_bytes: usize) -> LatencyProbe {
        LatencyProbe {
            run: 7,
            sequence: 300,
            intended_ns: 1,
            sent_ns: 2,
            before_ns: -1,
            padding: LatencyProbe::padding_of(message_bytes).unwrap(),
            damaged: false,
        }
    }

    #[test]
    fn a_message_has_the_size_that_was_asked_for_and_comes_back_the_same() {
        for bytes in [MIN, MIN + 1, 200, 5000, 100_000] {
            let encoded = probe(bytes).encode().unwrap();
            assert_eq!(encoded.len(), bytes);
            assert_eq!(LatencyProbe::decode(&encoded).unwrap(), probe(bytes));
        }
        assert_eq!(LatencyProbe::padding_of(MIN - 1), None);
    }

    #[test]
    fn a_message_put_together_from_two_is_damaged() {
        let mut encoded = probe(200).encode().unwrap();
        encoded[199] ^= 1;
        assert!(LatencyProbe::decode(&encoded).unwrap().damaged);
        let length = MIN - 4;
        encoded[length..length + 4].copy_from_slice(&(-1_i32).to_be_bytes());
        assert!(LatencyProbe::decode(&encoded).is_err());
    }
}
