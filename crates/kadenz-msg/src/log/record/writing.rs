//! The thread that writes what was recorded.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime, WallTime};

use super::files::{Files, Opened};
use super::ring::{Consumer, MessageHeader};
use super::{Describe, Naming, RecordOptions, RecorderContext, lock};
use crate::channel::{Channel, MAX_CHANNEL};
use crate::log::{Entry, LCM_ENCODING, LogError, LoggedChannel};
use crate::message::Fingerprint;

/// How often a disk that refused is tried again.
const AGAIN: Duration = Duration::from_millis(100);

/// How long an empty queue is left alone.
const IDLE: Duration = Duration::from_millis(2);

/// The most pairs of channel and type; messages of further ones are written without a description.
const MAX_DESCRIBED: usize = 1 << 14;

/// The most messages between two looks at the clock.
const BATCH: usize = 64;

pub(super) struct Writing {
    options: RecordOptions,
    consumer: Consumer,
    shared: Arc<RecorderContext>,
    describe: Describe,
    files: Files,
    open: Option<Opened>,
    opened_at: MonotonicTime,
    channels: HashMap<(Channel, Option<Fingerprint>), Arc<LoggedChannel>>,
    /// Channels without a description so far: the writer requests it again, once a flush.
    undescribed: HashSet<(Channel, Option<Fingerprint>)>,
    entry: Entry,
    flush_at: MonotonicTime,
    /// The time until which nothing is tried, after a refusal.
    refused_until: Option<MonotonicTime>,
    look_at: MonotonicTime,
}

impl Writing {
    /// Makes the first file.
    pub(super) fn begin(
        options: &RecordOptions,
        consumer: Consumer,
        shared: Arc<RecorderContext>,
        describe: Describe,
        files: Files,
    ) -> Result<Self, LogError> {
        let now = clock::now();
        let mut writing = Self {
            options: options.clone(),
            consumer,
            shared,
            describe,
            files,
            open: None,
            opened_at: now,
            channels: HashMap::new(),
            undescribed: HashSet::new(),
            entry: Entry::default(),
            flush_at: now + options.flush_interval,
            refused_until: None,
            look_at: now,
        };
        writing.open_next()?;
        Ok(writing)
    }

    fn open_next(&mut self) -> Result<(), LogError> {
        let opened = self.files.next(&self.options)?;
        self.list(&opened);
        self.open = Some(opened);
        self.opened_at = clock::now();
        Ok(())
    }

    /// Lists a file that was made; rotation has renamed or deleted earlier ones.
    fn list(&self, opened: &Opened) {
        let mut files = lock(&self.shared.files);
        match self.options.naming {
            Naming::Numbered => files.push(opened.path.clone()),
            Naming::Rotating(keep) if files.len() < keep.max(1) as usize => {
                let oldest = self.files.rotated(files.len());
                files.insert(0, oldest);
            }
            Naming::Rotating(_) => {
                self.shared.deleted_files.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Runs until the recorder ends and the queue is empty.
    pub(super) fn run(mut self) {
        loop {
            let ending = self.shared.stop.load(Ordering::Acquire);
            let now = clock::now();
            let taken = self.batch(now);
            self.flush_when_due(now);
            if taken == 0 {
                if ending {
                    break;
                }
                std::thread::park_timeout(IDLE);
            }
        }
        self.close();
    }

    fn batch(&mut self, now: MonotonicTime) -> usize {
        let mut taken = 0;
        while taken < BATCH {
            let Some(head) = self.consumer.pop(&mut self.entry.payload) else {
                break;
            };
            taken += 1;
            self.write(&head, now);
        }
        taken
    }

    fn write(&mut self, head: &MessageHeader, now: MonotonicTime) {
        self.fill(head);
        let written = self.refused_until.is_none_or(|until| now >= until) && self.try_write(now);
        let Some(slot) = self.shared.counts.slot(head.slot as usize) else {
            return;
        };
        if written {
            slot.written.fetch_add(1, Ordering::Relaxed);
            let bytes = self.entry.payload.len() as u64;
            self.shared.bytes.fetch_add(bytes, Ordering::Relaxed);
        } else {
            slot.disk_full.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn try_write(&mut self, now: MonotonicTime) -> bool {
        let result = self.write_or_explain(now);
        match &result {
            Ok(()) if self.refused_until.is_some() => {
                self.refused_until = None;
                *lock(&self.shared.trouble) = None;
            }
            Ok(()) => {}
            Err(error) => self.refuse(error, now),
        }
        result.is_ok()
    }

    fn refuse(&mut self, error: &LogError, now: MonotonicTime) {
        // A message that no log can hold does not affect the next one.
        if !matches!(error, LogError::Unfit { .. }) {
            self.refused_until = Some(now + AGAIN);
        }
        *lock(&self.shared.trouble) = Some(error.to_string());
    }

    fn write_or_explain(&mut self, now: MonotonicTime) -> Result<(), LogError> {
        self.check_disk_space(now)?;
        self.split_when_due(now)?;
        if self.open.is_none() {
            self.open_next()?;
        }
        match &mut self.open {
            Some(open) => open.writer.write(&self.entry),
            None => Ok(()),
        }
    }

    /// Compares the free room to the limit, ten times a second.
    fn check_disk_space(&mut self, now: MonotonicTime) -> Result<(), LogError> {
        let keep = self.options.keep_free_bytes;
        if keep == 0 || now < self.look_at {
            return Ok(());
        }
        self.look_at = now + AGAIN;
        let path = lock(&self.shared.files).last().cloned();
        let folder = path
            .as_deref()
            .and_then(|it| it.parent())
            .map(PathBuf::from);
        let folder = folder.filter(|it| !it.as_os_str().is_empty());
        let folder = folder.unwrap_or_else(|| PathBuf::from("."));
        let free = kadenz_rt::host::storage::free_bytes(&folder)?;
        if free >= keep {
            return Ok(());
        }
        self.look_at = now;
        // Without the present count: a text that changes would be reported again.
        let text = format!("fewer than {keep} bytes are free, and as many must stay so");
        let kind = std::io::ErrorKind::QuotaExceeded;
        Err(LogError::NoRoom(std::io::Error::new(kind, text)))
    }

    fn split_when_due(&mut self, now: MonotonicTime) -> Result<(), LogError> {
        let age = now.remaining(self.opened_at);
        let is_due = |it: &Opened| self.options.split.is_due(it.writer.length(), age);
        if self.open.as_ref().is_some_and(is_due) {
            self.close();
            self.open_next()?;
        }
        Ok(())
    }

    fn fill(&mut self, head: &MessageHeader) {
        let counts = &self.shared.counts;
        let name = if head.slot as usize == counts.further() {
            take_name(&mut self.entry.payload)
        } else {
            counts.name(head.slot as usize).copied()
        };
        let fingerprint = Fingerprint::of(&self.entry.payload);
        self.entry.channel = self.channel(name.unwrap_or_default(), fingerprint);
        self.entry.log_time = WallTime::from_unix_ns(head.log_time);
        self.entry.publish_time = WallTime::from_unix_ns(head.publish_time);
        self.entry.sequence = head.sequence;
    }

    fn channel(&mut self, name: Channel, fingerprint: Option<Fingerprint>) -> Arc<LoggedChannel> {
        // Only LCM's messages begin with a fingerprint.
        let other = self.channels.get(&(name, None));
        let has_none = other.is_some_and(|it| it.encoding != LCM_ENCODING);
        let key = (name, fingerprint.filter(|_| !has_none));
        let known = self.channels.get(&key);
        if let Some(known) = known.filter(|_| !self.undescribed.remove(&key)) {
            return Arc::clone(known);
        }
        if self.channels.len() >= MAX_DESCRIBED && !self.channels.contains_key(&key) {
            return Arc::new(LoggedChannel::lcm(name.as_str()));
        }
        let described = Arc::new((self.describe)(&name, fingerprint));
        let mut known = self.channels.values();
        let channel = known
            .find(|it| **it == described)
            .map_or(described, Arc::clone);
        let is_lcm = channel.encoding == LCM_ENCODING;
        let key = (name, fingerprint.filter(|_| is_lcm));
        self.channels.insert(key, Arc::clone(&channel));
        channel
    }

    fn flush_when_due(&mut self, now: MonotonicTime) {
        if now < self.flush_at {
            return;
        }
        self.flush_at = now + self.options.flush_interval;
        // A publisher may have described its type since.
        let undescribed = self.channels.iter().filter(|(_, it)| it.schema.is_none());
        self.undescribed.extend(undescribed.map(|(key, _)| *key));
        let refused = self.refused_until.is_some_and(|until| now < until);
        if let Some(open) = self.open.as_mut().filter(|_| !refused)
            && let Err(error) = open.writer.flush()
        {
            self.refuse(&error, now);
        }
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        let shared = Arc::clone(&self.shared);
        let finished = open.writer.finish_by_channel(&mut |channel, amount| {
            if let Some(slot) = shared.counts.counters(channel) {
                slot.written.fetch_sub(amount.messages, Ordering::Relaxed);
                slot.disk_full.fetch_add(amount.messages, Ordering::Relaxed);
            }
            shared.bytes.fetch_sub(amount.bytes, Ordering::Relaxed);
        });
        match finished {
            Ok(given_up) => {
                self.shared.given_up.fetch_add(given_up, Ordering::Relaxed);
            }
            Err(error) => {
                if let LogError::NoEnd { given_up, .. } = &error {
                    self.shared.given_up.fetch_add(*given_up, Ordering::Relaxed);
                }
                let text = format!("{}: {error}", open.path.display());
                *lock(&self.shared.trouble) = Some(text);
            }
        }
    }
}

/// Returns a channel's name in the form before the payload of a message whose channel has no place of its
/// own: a length, and the name.
pub(super) fn name_bytes(channel: &Channel) -> [[u8; 8]; NAME_WORDS] {
    let name = channel.as_str().as_bytes();
    let mut words = [[0; 8]; NAME_WORDS];
    let bytes = words.as_flattened_mut();
    bytes[0] = name.len() as u8;
    bytes[1..=name.len()].copy_from_slice(name);
    words
}

/// How many words of eight bytes such a name takes.
const NAME_WORDS: usize = (MAX_CHANNEL + 1).div_ceil(8);

/// Takes such a name off the front.
fn take_name(payload: &mut Vec<u8>) -> Option<Channel> {
    let length = usize::from(*payload.first()?);
    let name = std::str::from_utf8(payload.get(1..=length)?).ok()?;
    let channel = Channel::new(name).ok();
    payload.drain(..(NAME_WORDS * 8).min(payload.len()));
    channel
}
