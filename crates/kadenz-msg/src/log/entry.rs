//! What every log holds, whatever its format.

use std::sync::Arc;

use kadenz_rt::clock::WallTime;

/// How messages of a channel are laid out, in the words of some language.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Schema {
    /// The full name of the type, as `package.type`.
    pub name: String,
    /// The language of the text: `lcm`, `jsonschema`, `ros1msg`, `ros2msg`, `protobuf`, ...
    pub encoding: String,
    /// The text; binary for some languages.
    pub data: Vec<u8>,
}

/// A channel as a log describes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct LoggedChannel {
    /// Its name; ROS calls it topic. It may be longer than LCM allows.
    pub name: String,
    /// How payloads are encoded: `lcm`, `json`, `ros1`, `cdr`, ...
    pub encoding: String,
    /// The description of its type, where the log has one.
    pub schema: Option<Arc<Schema>>,
    /// What else the log says of it.
    pub metadata: Vec<(String, String)>,
}

impl LoggedChannel {
    /// A channel of LCM messages whose type is not known.
    #[must_use]
    pub fn lcm(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            encoding: LCM_ENCODING.to_owned(),
            ..Self::default()
        }
    }

    /// A channel of LCM messages of a type with that name and `.lcm` text.
    #[must_use]
    pub fn lcm_of_type(name: &str, type_name: &str, text: &str) -> Self {
        let schema = Schema {
            name: type_name.to_owned(),
            encoding: LCM_ENCODING.to_owned(),
            data: text.as_bytes().to_vec(),
        };
        Self {
            schema: Some(Arc::new(schema)),
            ..Self::lcm(name)
        }
    }
}

/// What MCAP files call LCM's encoding and its descriptions.
pub const LCM_ENCODING: &str = "lcm";

/// One message of a log. Readers fill the same one again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The channel it was published to.
    pub channel: Arc<LoggedChannel>,
    /// When it was written down or received.
    pub log_time: WallTime,
    /// When it was published; the log time where the format does not know.
    pub publish_time: WallTime,
    /// Its number, as the recorder counted; 0 where the format does not know.
    pub sequence: u32,
    /// Its bytes.
    pub payload: Vec<u8>,
}

impl Default for Entry {
    fn default() -> Self {
        Self {
            channel: Arc::default(),
            log_time: WallTime::from_unix_ns(0),
            publish_time: WallTime::from_unix_ns(0),
            sequence: 0,
            payload: Vec::new(),
        }
    }
}

impl Entry {
    /// The fingerprint of an LCM message: its first eight bytes.
    #[must_use]
    pub fn fingerprint(&self) -> Option<crate::message::Fingerprint> {
        let bytes = self.payload.first_chunk()?;
        let is_lcm = self.channel.encoding == LCM_ENCODING;
        is_lcm.then(|| crate::message::Fingerprint(u64::from_be_bytes(*bytes)))
    }
}
