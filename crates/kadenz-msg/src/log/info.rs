//! The summary of a log.

use std::collections::HashMap;
use std::sync::Arc;

use kadenz_rt::clock::WallTime;

use super::limits::MAX_CHANNELS;
use super::{ByAddress, Entry, Format, LogError, LogReader, LoggedChannel, remember};

/// The summary of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// The format of the log file.
    pub format: Format,
    /// How long the file is, in bytes.
    pub bytes: u64,
    /// How many messages it holds.
    pub messages: u64,
    /// The times of the first and the last message.
    pub span: Option<(WallTime, WallTime)>,
    /// Its channels, sorted by name.
    pub channels: Vec<ChannelInfo>,
    /// The number of messages of channels beyond those listed: of a log's messages the first 16,384 channels
    /// are counted apart.
    pub other_messages: u64,
    /// The parts that could not be read.
    pub damage: Damage,
    /// Whether its writer finished the file; `None` if the format does not record it.
    pub complete: Option<bool>,
    /// The writer's name, if the format records it.
    pub library: String,
    /// Compressed chunks, if the format has them: the compression, and the number of chunks.
    pub chunks: Vec<(String, u64)>,
}

/// The counts of one channel in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelInfo {
    /// The channel as the log describes it.
    pub channel: LoggedChannel,
    /// Number of messages on this channel.
    pub messages: u64,
    /// The times of its first and last message; `None` if the index does not state them. Where chunks overlap in
    /// time, an index may miss a message at either end.
    pub span: Option<(WallTime, WallTime)>,
    /// How many bytes of payload; `None` where only the index was read.
    pub payload_bytes: Option<u64>,
    /// The fingerprints of LCM messages that were seen, sorted, at most sixteen.
    pub fingerprints: Vec<u64>,
}

impl ChannelInfo {
    /// Its name and its type's, by which channels are sorted.
    fn key(&self) -> (&str, &str) {
        let schema = self.channel.schema.as_deref();
        (&self.channel.name, schema.map_or("", |it| &it.name))
    }
}

/// The parts of a log that could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Damage {
    /// Number of damaged places.
    pub places: u64,
    /// How many bytes were passed over.
    pub skipped_bytes: u64,
}

impl Damage {
    /// Returns whether there is no damage.
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
const MAX_FINGERPRINTS: usize = 16;

impl Info {
    pub(crate) fn new(format: Format, bytes: u64) -> Self {
        Self {
            format,
            bytes,
            messages: 0,
            span: None,
            channels: Vec::new(),
            other_messages: 0,
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
    channels: Vec<ChannelInfo>,
    /// The index of a channel's counts, by its name and its type's.
    by_name: HashMap<(String, String), usize>,
    /// The same by the address of its description.
    by_address: HashMap<ByAddress<LoggedChannel>, Option<usize>>,
    span: Option<(WallTime, WallTime)>,
    messages: u64,
    other_messages: u64,
}

impl Survey {
    /// Adds one message to the counts.
    pub fn add(&mut self, entry: &Entry) {
        self.messages += 1;
        let span = (entry.log_time, entry.log_time);
        extend(&mut self.span, span);
        let place = self.place(&entry.channel);
        let Some(channel) = place.and_then(|it| self.channels.get_mut(it)) else {
            self.other_messages += 1;
            return;
        };
        channel.messages += 1;
        extend(&mut channel.span, span);
        let bytes = channel.payload_bytes.get_or_insert(0);
        *bytes += entry.payload.len() as u64;
        let Some(fingerprint) = entry.fingerprint() else {
            return;
        };
        if let Err(at) = channel.fingerprints.binary_search(&fingerprint.0)
            && channel.fingerprints.len() < MAX_FINGERPRINTS
        {
            channel.fingerprints.insert(at, fingerprint.0);
        }
    }

    /// Returns the index of a channel's counts; `None` if there are too many channels.
    fn place(&mut self, channel: &Arc<LoggedChannel>) -> Option<usize> {
        let address = ByAddress::new(channel);
        if let Some(known) = self.by_address.get(&address) {
            return *known;
        }
        let schema = channel.schema.as_ref().map(|schema| schema.name.clone());
        let key = (channel.name.clone(), schema.unwrap_or_default());
        let known = self.by_name.get(&key).copied();
        let place = known.or_else(|| self.new_channel(key, channel));
        remember(&mut self.by_address, address, place)
    }

    fn new_channel(&mut self, key: (String, String), channel: &LoggedChannel) -> Option<usize> {
        let place = self.channels.len();
        if place >= MAX_CHANNELS {
            return None;
        }
        self.by_name.insert(key, place);
        self.channels.push(ChannelInfo {
            channel: channel.clone(),
            messages: 0,
            span: None,
            payload_bytes: None,
            fingerprints: Vec::new(),
        });
        Some(place)
    }

    /// Returns how many messages were counted.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Puts the counts into the summary of a log.
    fn into_info(self, mut info: Info) -> Info {
        info.messages = self.messages;
        info.span = self.span;
        info.other_messages = self.other_messages;
        info.channels = self.channels;
        info.channels
            .sort_by(|one, other| one.key().cmp(&other.key()));
        info
    }
}

/// Extends a span by another.
pub(crate) fn extend<T: Ord + Copy>(span: &mut Option<(T, T)>, more: (T, T)) {
    let (first, last) = span.unwrap_or(more);
    *span = Some((first.min(more.0), last.max(more.1)));
}

/// Reads a log to its end and returns its summary. Takes as long as reading takes.
///
/// # Errors
/// If the log cannot be read.
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
