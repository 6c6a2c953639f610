//! From one log to another: a part of it, in another format, or with other payloads.

use super::play::PlayOptions;
use super::{Damage, Dictionary, Entry, Limits, LogError, LogReader, LogWriter};
use crate::channel::ChannelFilter;

/// The decision about a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It is in the new log.
    Keep,
    /// It is outside the request.
    Skip,
    /// It was requested and cannot be converted, with the reason.
    LeaveOut(String),
    /// It is the end of the request.
    End,
}

/// The counts of a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub struct Copied {
    /// Messages in the new log, or rows in all tables.
    pub messages: u64,
    /// Messages that the new format cannot hold, or that could not be converted.
    pub left_out: u64,
    /// The first reason for one of those.
    pub reason: Option<String>,
    /// Damaged places of the old log.
    pub damaged_places: u64,
    /// Bytes skipped at damaged places.
    pub skipped_bytes: u64,
    /// Whether the copy reached the end.
    pub complete: bool,
}

impl Copied {
    /// Returns the parts of the old log that could not be read.
    #[must_use]
    pub fn damage(&self) -> Damage {
        Damage {
            places: self.damaged_places,
            skipped_bytes: self.skipped_bytes,
        }
    }

    fn leave_out(&mut self, reason: String) {
        self.left_out += 1;
        self.reason.get_or_insert(reason);
    }
}

/// The reason for which a log was not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// One of the logs cannot be read or written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The new log is whole, and lacks messages.
    #[error("the disk is full: messages in the new log: {messages}, given up: {given_up}")]
    GaveUp {
        /// How many messages are in the new log.
        messages: u64,
        /// How many had to make room for its index.
        given_up: u64,
    },
}

/// Copies the messages that `judge` keeps, and may change. `goes_on` is called before each message; if it returns
/// `false`, the copy ends early. The new log is finished in any case.
///
/// ```
/// use kadenz_msg::log::copy::{Decision, copy};
/// use kadenz_msg::log::{self, Entry, Format, Limits, LogWriter as _};
/// # let folder = tempfile::tempdir()?;
/// # let (old, new) = (folder.path().join("old.lcmlog"), folder.path().join("new.mcap"));
/// # let mut writer = log::create(&old, Format::EventLog)?;
/// # for name in ["ARM", "CAMERA"] {
/// #     writer.write(&Entry { channel: log::LoggedChannel::lcm(name).into(), ..Entry::default() })?;
/// # }
/// # writer.finish()?;
///
/// let (mut reader, writer) = (log::open(&old)?, log::create(&new, Format::Mcap)?);
/// let mut judge = |entry: &mut Entry| match entry.channel.name.as_str() {
///     "CAMERA" => Decision::Skip,
///     _ => Decision::Keep,
/// };
/// let copied = copy(reader.as_mut(), writer, Limits::default(), &mut |_| true, &mut judge)?;
/// assert_eq!((copied.messages, copied.complete), (1, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`CopyError`] if a log cannot be read or written, more comes out of the old one than the limits allow, or the disk
/// is full.
pub fn copy(
    reader: &mut dyn LogReader,
    mut writer: Box<dyn LogWriter>,
    limits: Limits,
    goes_on: &mut dyn FnMut(&dyn LogReader) -> bool,
    judge: &mut dyn FnMut(&mut Entry) -> Decision,
) -> Result<Copied, CopyError> {
    let mut copied = Copied::default();
    let length = reader.outline().bytes;
    let check = |written: u64| limits.check(written, length);
    let result = copy_all(reader, writer.as_mut(), &check, goes_on, judge, &mut copied);
    let given_up = writer.finish()?;
    copied.complete = result?;
    if given_up > 0 {
        let messages = copied.messages - given_up;
        return Err(CopyError::GaveUp { messages, given_up });
    }
    let damage = reader.damage();
    Ok(Copied {
        damaged_places: damage.places,
        skipped_bytes: damage.skipped_bytes,
        ..copied
    })
}

/// Returns whether the copy reached the end.
fn copy_all(
    reader: &mut dyn LogReader,
    writer: &mut dyn LogWriter,
    check: &dyn Fn(u64) -> Result<(), LogError>,
    goes_on: &mut dyn FnMut(&dyn LogReader) -> bool,
    judge: &mut dyn FnMut(&mut Entry) -> Decision,
    copied: &mut Copied,
) -> Result<bool, LogError> {
    let mut entry = Entry::default();
    while goes_on(&*reader) {
        if !reader.read(&mut entry)? {
            return Ok(true);
        }
        let decision = judge(&mut entry);
        check(writer.length() + longest(&entry))?;
        match decision {
            Decision::Keep => match writer.write(&entry) {
                Ok(()) => copied.messages += 1,
                Err(error @ (LogError::Unfit { .. } | LogError::Undecodable(_))) => {
                    copied.leave_out(error.to_string());
                }
                Err(error) => return Err(error),
            },
            Decision::Skip => {}
            Decision::LeaveOut(reason) => copied.leave_out(reason),
            Decision::End => return Ok(true),
        }
    }
    Ok(false)
}

/// The most bytes of a message in any format, uncompressed.
fn longest(entry: &Entry) -> u64 {
    const HEAD: usize = 32;
    (HEAD + entry.channel.name.len() + entry.payload.len()) as u64
}

/// Decides about a message where a part of the log is wanted; `judge` decides within that part.
pub fn within(
    part: &PlayOptions,
    entry: &mut Entry,
    judge: impl FnOnce(&mut Entry) -> Decision,
) -> Decision {
    if part.until.is_some_and(|until| entry.log_time >= until) {
        Decision::End
    } else if part.channels.wants(&entry.channel.name) {
        judge(entry)
    } else {
        Decision::Skip
    }
}

/// Begin of the names of Kadenz's own channels, for example of questions about types.
pub const OWN_CHANNELS: &str = "KADENZ/";

/// Converts LCM messages to JSON while they are copied.
#[derive(Default)]
pub struct ToJson {
    dictionary: Dictionary,
    own_are_wanted: bool,
    /// Messages of Kadenz's own channels ([`OWN_CHANNELS`]) that have no JSON, and were not asked for by name.
    pub skipped: u64,
}

impl ToJson {
    /// Returns a converter by these types, for the channels of a filter.
    #[must_use]
    pub fn new(dictionary: Dictionary, channels: &ChannelFilter) -> Self {
        Self {
            dictionary,
            own_are_wanted: channels.is_named(),
            skipped: 0,
        }
    }

    /// Converts a message; one that is JSON already stays as it is.
    pub fn convert(&mut self, entry: &mut Entry) -> Decision {
        match self.dictionary.to_json(entry) {
            Ok(()) => Decision::Keep,
            Err(_) if entry.channel.encoding == "json" => Decision::Keep,
            Err(_) if !self.own_are_wanted && entry.channel.name.starts_with(OWN_CHANNELS) => {
                self.skipped += 1;
                Decision::Skip
            }
            Err(error) => Decision::LeaveOut(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kadenz_rt::clock::WallTime;

    use super::*;
    use crate::channel::Pattern;
    use crate::log::{self, Format, LoggedChannel};

    /// A message whose time is so many microseconds, the unit of event logs.
    fn entry(channel: &str, us: i64) -> Entry {
        Entry {
            channel: Arc::new(LoggedChannel::lcm(channel)),
            log_time: WallTime::from_unix_ns(us * 1000),
            payload: vec![0; 8],
            ..Entry::default()
        }
    }

    /// Copies a log of ten messages; `goes_on` gets the number of messages read.
    fn copied(
        goes_on: impl Fn(u32) -> bool,
        mut judge: impl FnMut(&mut Entry) -> Decision,
    ) -> (Copied, usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut writer = log::create(&path("old.lcmlog"), Format::EventLog).unwrap();
        for n in 0..10 {
            writer.write(&entry("ARM", n)).unwrap();
        }
        writer.finish().unwrap();
        let mut reader = log::open(&path("old.lcmlog")).unwrap();
        let writer = log::create(&path("new.mcap"), Format::Mcap).unwrap();
        let mut read = 0;
        let mut goes_on = |_: &dyn LogReader| {
            read += 1;
            goes_on(read)
        };
        let limits = Limits::default();
        let copied = copy(reader.as_mut(), writer, limits, &mut goes_on, &mut judge).unwrap();
        let (mut new, mut count) = (log::open(&path("new.mcap")).unwrap(), 0);
        while new.read(&mut Entry::default()).unwrap() {
            count += 1;
        }
        (copied, count)
    }

    #[test]
    fn a_part_is_copied_to_its_end_and_what_cannot_be_converted_is_counted() {
        let part = PlayOptions {
            until: Some(WallTime::from_unix_ns(6000)),
            ..PlayOptions::default()
        };
        let judge = |entry: &mut Entry| {
            let n = entry.log_time.as_unix_ns() / 1000;
            within(&part, entry, |_| match n {
                0 | 1 => Decision::LeaveOut(format!("number {n}")),
                _ => Decision::Keep,
            })
        };
        let (copied, count) = copied(|_| true, judge);
        assert_eq!((copied.messages, count, copied.complete), (4, 4, true));
        assert_eq!(copied.left_out, 2);
        assert_eq!(copied.reason.as_deref(), Some("number 0"));
        assert!(copied.damage().is_none());
    }

    #[test]
    fn a_copy_that_is_ended_early_is_a_whole_log() {
        let (copied, count) = copied(|read| read <= 3, |_| Decision::Keep);
        assert_eq!((copied.messages, count, copied.complete), (3, 3, false));
    }

    #[test]
    fn own_channels_without_json_are_passed_over_unless_they_are_named() {
        let patterns = vec![Pattern::new("KADENZ/.*").unwrap()];
        let named = ChannelFilter {
            patterns,
            inverted: false,
        };
        for (channels, skipped) in [(ChannelFilter::default(), 1), (named, 0)] {
            let mut to_json = ToJson::new(Dictionary::default(), &channels);
            let decision = to_json.convert(&mut entry("KADENZ/TYPES/ASK", 0));
            assert_eq!(
                (decision == Decision::Skip, to_json.skipped),
                (skipped == 1, skipped)
            );
        }
        let mut to_json = ToJson::default();
        let decision = to_json.convert(&mut entry("ARM", 0));
        assert!(matches!(decision, Decision::LeaveOut(_)));
    }
}
