//! What is in a log.

use std::collections::BTreeMap;

use kadenz_rt::clock::WallTime;

use super::{Entry, Format, LogError, LogReader, LoggedChannel};

/// What is in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// Its format.
    pub format: Format,
    /// How long the file is, in bytes.
    pub bytes: u64,
    /// How many messages it holds.
    pub messages: u64,
    /// The times of the first and the last message.
    pub span: Option<(WallTime, WallTime)>,
    /// Its channels, sorted by name.
    pub channels: Vec<ChannelInfo>,
    /// What of it could not be read.
    pub damage: Damage,
    /// Whether its writer came to its end; `None` where the format does not tell.
    pub complete: Option<bool>,
    /// What the writer called itself, where the format tells.
    pub library: String,
    /// Compressed pieces, where the format has them: by what, and how many.
    pub chunks: Vec<(String, u64)>,
}

/// What a log holds of one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelInfo {
    /// The channel.
    pub channel: LoggedChannel,
    /// How many messages.
    pub messages: u64,
    /// How many bytes of payload; `None` where only the index was read.
    pub payload_bytes: Option<u64>,
    /// The fingerprints of LCM messages that were seen, sorted, at most sixteen.
    pub fingerprints: Vec<u64>,
}

/// What of a log could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Damage {
    /// How many places.
    pub places: u64,
    /// How many bytes were passed over.
    pub skipped_bytes: u64,
}

impl Damage {
    /// Whether there is none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn add(&mut self, skipped_bytes: u64) {
        self.places += 1;
        self.skipped_bytes += skipped_bytes;
    }
}

/// The most fingerprints that are noted for a channel.
const MOST_FINGERPRINTS: usize = 16;

impl Info {
    pub(crate) fn new(format: Format, bytes: u64) -> Self {
        Self {
            format,
            bytes,
            messages: 0,
            span: None,
            channels: Vec::new(),
            damage: Damage::default(),
            complete: None,
            library: String::new(),
            chunks: Vec::new(),
        }
    }
}

/// Counts what a reader gives until its end.
///
/// ```
/// use kadenz_msg::log::{Entry, Survey};
///
/// let mut survey = Survey::default();
/// survey.add(&Entry::default());
/// assert_eq!(survey.messages(), 1);
/// ```
#[derive(Debug, Default)]
pub struct Survey {
    channels: BTreeMap<(String, String), ChannelInfo>,
    span: Option<(WallTime, WallTime)>,
    messages: u64,
}

impl Survey {
    /// Counts one message.
    pub fn add(&mut self, entry: &Entry) {
        self.messages += 1;
        let (first, last) = self.span.unwrap_or((entry.log_time, entry.log_time));
        self.span = Some((first.min(entry.log_time), last.max(entry.log_time)));
        let channel = self.channel(&entry.channel);
        channel.messages += 1;
        let bytes = channel.payload_bytes.get_or_insert(0);
        *bytes += entry.payload.len() as u64;
        let Some(fingerprint) = entry.fingerprint() else {
            return;
        };
        if let Err(at) = channel.fingerprints.binary_search(&fingerprint.0)
            && channel.fingerprints.len() < MOST_FINGERPRINTS
        {
            channel.fingerprints.insert(at, fingerprint.0);
        }
    }

    fn channel(&mut self, channel: &LoggedChannel) -> &mut ChannelInfo {
        let schema = channel.schema.as_ref().map(|schema| schema.name.clone());
        let key = (channel.name.clone(), schema.unwrap_or_default());
        self.channels.entry(key).or_insert_with(|| ChannelInfo {
            channel: channel.clone(),
            messages: 0,
            payload_bytes: None,
            fingerprints: Vec::new(),
        })
    }

    /// How many messages were counted.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Puts what was counted into what is known of a log.
    #[must_use]
    pub fn into_info(self, mut info: Info) -> Info {
        info.messages = self.messages;
        info.span = self.span;
        info.channels = self.channels.into_values().collect();
        info
    }
}

/// Reads a log to its end and says what is in it. Takes as long as reading takes.
///
/// # Errors
/// Where it cannot be read.
pub fn survey<R: LogReader + ?Sized>(reader: &mut R) -> Result<Info, LogError> {
    let mut survey = Survey::default();
    let mut entry = Entry::default();
    while reader.read(&mut entry)? {
        survey.add(&entry);
    }
    let mut info = survey.into_info(reader.outline());
    info.damage = reader.damage();
    Ok(info)
}
