//! Recording: messages go through a bounded ring to a thread that writes the log.
//!
//! A recording thread never waits for a disk: a message that does not fit the ring is dropped and counted for
//! its channel. If the disk is full, the file stays whole, dropped messages are counted, and writing goes on
//! when there is room.

mod counts;
mod files;
mod log_clock;
#[cfg(all(test, loom))]
mod loom;
mod ring;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use kadenz_rt::clock::{ClockPair, MonotonicTime, WallTime};

use counts::AtomicChannelCounts;
pub use counts::{ChannelCounts, FurtherCounts};
use files::Files;
pub(crate) use files::make_file;
pub use files::{MakeFile, Naming, Split, next_free};
use log_clock::LogClock;
use ring::{Consumer, MessageHeader, Producer};
use writing::Writing;

use super::compression::Compression;
use super::{Format, LogError, LoggedChannel};
use crate::arrival::Arrival;
use crate::channel::Channel;
use crate::message::Fingerprint;
use crate::sync::lock;

/// Returns the description of a channel when the first message with a fingerprint arrives: its type's name
/// and text. The writing thread calls it.
pub type Describe = Box<dyn FnMut(&Channel, Option<Fingerprint>) -> LoggedChannel + Send>;

/// The options of a recorder.
#[derive(Debug, Clone)]
pub struct RecordOptions {
    /// The format of the files: [`Format::EventLog`] or MCAP.
    pub format: Format,
    /// The compression of MCAP's chunks.
    pub compression: Compression,
    /// How many bytes of messages may wait for the disk.
    pub queue_bytes: usize,
    /// The number of channels that are counted one by one; messages of further ones are recorded and counted
    /// together.
    pub most_channels: usize,
    /// The maximum time until a taken message is in the file, as the kernel sees it.
    pub flush_interval: Duration,
    /// The limits at which the next file begins.
    pub split: Split,
    /// The names of the files.
    pub naming: Naming,
    /// Whether files that are there may be overwritten.
    pub overwrite: bool,
    /// Whether to continue an existing first file, if it is an event log.
    pub append: bool,
    /// How much of the disk must stay free; below, nothing is written until there is more.
    pub keep_free_bytes: u64,
    /// Named facts for the file, such as the host's.
    pub facts: Vec<(String, Vec<(String, String)>)>,
}

impl Default for RecordOptions {
    /// MCAP with LZ4, a queue of 64 MiB, 4096 channels, flushed every second, one file.
    fn default() -> Self {
        Self {
            format: Format::Mcap,
            compression: Compression::default(),
            queue_bytes: 64 << 20,
            most_channels: 4096,
            flush_interval: Duration::from_secs(1),
            split: Split::default(),
            naming: Naming::Numbered,
            overwrite: false,
            append: false,
            keep_free_bytes: 0,
            facts: Vec::new(),
        }
    }
}

/// Returns facts about this machine, for later readers of the log ([`RecordOptions::facts`]).
#[must_use]
pub fn host_facts() -> Vec<(String, Vec<(String, String)>)> {
    let facts = kadenz_rt::host::facts();
    let values = [
        ("os", Some(facts.os)),
        ("os_release", facts.os_release),
        ("kernel", facts.kernel),
        ("preemption", facts.preemption),
        ("cpu", facts.cpu),
        ("cpus", Some(facts.cpus.to_string())),
        ("clock_source", facts.clock_source),
        ("virtualisation", facts.virtualisation),
    ];
    let values = values.into_iter();
    let pairs = values.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    vec![("kadenz.host".to_owned(), pairs.collect())]
}

/// Records messages of one thread.
///
/// ```
/// use kadenz_msg::channel::Channel;
/// use kadenz_msg::log::LoggedChannel;
/// use kadenz_msg::log::record::{RecordOptions, Recorder};
/// use kadenz_rt::clock::WallTime;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("drive.mcap");
/// let describe = Box::new(|channel: &Channel, _| LoggedChannel::lcm(channel.as_str()));
/// let mut recorder = Recorder::start(&path, &RecordOptions::default(), describe)?;
/// recorder.record(&Channel::new("POSE")?, b"12345678", WallTime::now(), None);
/// let recorded = recorder.finish();
/// assert_eq!((recorded.written(), recorded.dropped()), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Recorder {
    producer: Producer,
    shared: Arc<RecorderContext>,
    writing: Option<JoinHandle<()>>,
    clock: LogClock,
}

/// The state that recorder, writer and watchers share.
#[derive(Debug)]
struct RecorderContext {
    counts: AtomicChannelCounts,
    stop: AtomicBool,
    bytes: AtomicU64,
    given_up: AtomicU64,
    set_back: AtomicU64,
    set_back_ns: AtomicU64,
    files: Mutex<Vec<PathBuf>>,
    deleted_files: AtomicU64,
    trouble: Mutex<Option<String>>,
}

/// The counts of a recording until now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The counts of each channel.
    pub channels: Vec<ChannelCounts>,
    /// The channels beyond those, together.
    pub further: FurtherCounts,
    /// Messages that were dropped because their channel's name is invalid.
    pub unnamed: u64,
    /// Messages that were counted as dropped by the disk although they were taken at first: at the end they
    /// could not be written to the file or were given up for its index.
    pub given_up: u64,
    /// How many bytes of payload were written to the files.
    pub bytes: u64,
    /// How often the wall clock was set back, and by how much in all.
    pub set_back: SetBack,
    /// The files that are there, in the order of their start, by the names that rotation gave them.
    pub files: Vec<PathBuf>,
    /// How many files of this recording rotation deleted. Their messages are counted as written.
    pub deleted_files: u64,
    /// The last error of the disk, while it refuses.
    pub trouble: Option<String>,
}

/// The steps back of the wall clock. The log's times go on without them: spans between messages stay right,
/// and later times are ahead of the wall clock by that much, until the clock is set right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SetBack {
    /// How often it was set back.
    pub times: u64,
    /// By how many nanoseconds in all.
    pub ns: u64,
}

impl Recorded {
    /// Returns how many messages were written to the files.
    #[must_use]
    pub fn written(&self) -> u64 {
        let written: u64 = self.channels.iter().map(|it| it.written).sum();
        written + self.further.written
    }

    /// Returns how many messages are in none.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        let lost = |it: &ChannelCounts| it.queue_full + it.disk_full;
        let lost: u64 = self.channels.iter().map(lost).sum();
        lost + self.further.queue_full + self.further.disk_full + self.unnamed
    }
}

/// Watches a recorder from another thread.
#[derive(Debug, Clone)]
pub struct Watch(Arc<RecorderContext>);

impl Watch {
    /// Returns the last error of the disk, while it refuses.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        lock(&self.0.trouble).clone()
    }

    /// Returns how often the wall clock was set back, and by how much.
    #[must_use]
    pub fn set_back(&self) -> SetBack {
        SetBack {
            times: self.0.set_back.load(Ordering::Relaxed),
            ns: self.0.set_back_ns.load(Ordering::Relaxed),
        }
    }

    /// Returns whether there are more channels than are counted one by one.
    pub(crate) fn has_further_channels(&self) -> bool {
        self.0.counts.further_counts().offered > 0
    }

    /// Returns the counts until now.
    #[must_use]
    pub fn recorded(&self) -> Recorded {
        let shared = &self.0;
        Recorded {
            channels: shared.counts.counts(),
            further: shared.counts.further_counts(),
            unnamed: shared.counts.unnamed.load(Ordering::Relaxed),
            given_up: shared.given_up.load(Ordering::Relaxed),
            bytes: shared.bytes.load(Ordering::Relaxed),
            set_back: self.set_back(),
            files: lock(&shared.files).clone(),
            deleted_files: shared.deleted_files.load(Ordering::Relaxed),
            trouble: lock(&shared.trouble).clone(),
        }
    }
}

/// The memory of a recorder that has made no file yet.
pub(crate) struct RecorderQueue {
    producer: Producer,
    consumer: Consumer,
    shared: Arc<RecorderContext>,
}

impl RecorderQueue {
    /// Takes all memory of the queue.
    pub(crate) fn new(options: &RecordOptions) -> Self {
        let (producer, consumer) = ring::ring(options.queue_bytes);
        let shared = Arc::new(RecorderContext {
            counts: AtomicChannelCounts::new(options.most_channels),
            stop: AtomicBool::new(false),
            bytes: AtomicU64::new(0),
            given_up: AtomicU64::new(0),
            set_back: AtomicU64::new(0),
            set_back_ns: AtomicU64::new(0),
            files: Mutex::default(),
            deleted_files: AtomicU64::new(0),
            trouble: Mutex::default(),
        });
        Self {
            producer,
            consumer,
            shared,
        }
    }

    /// As [`Recorder::start_on`], with the options of the queue.
    pub(crate) fn start(
        self,
        make: MakeFile,
        path: &Path,
        options: &RecordOptions,
        describe: Describe,
    ) -> Result<Recorder, LogError> {
        let (files, shared) = (Files::new(path, make), Arc::clone(&self.shared));
        let writing = Writing::begin(options, self.consumer, shared, describe, files)?;
        let thread = std::thread::Builder::new().name("log".to_owned());
        let writing = thread.spawn(move || writing.run())?;
        Ok(Recorder {
            producer: self.producer,
            shared: self.shared,
            writing: Some(writing),
            clock: LogClock::default(),
        })
    }
}

impl Recorder {
    /// Makes the first file and starts the thread that writes. Takes all memory of the queue.
    ///
    /// # Errors
    /// If the file cannot be made, or exists already.
    pub fn start(
        path: &Path,
        options: &RecordOptions,
        describe: Describe,
    ) -> Result<Self, LogError> {
        Self::start_on(Box::new(make_file), path, options, describe)
    }

    /// As [`Recorder::start`], into files that `make` makes: in memory, or faulty ones for a test
    /// ([`FaultyFile`](super::FaultyFile)).
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn start_on(
        make: MakeFile,
        path: &Path,
        options: &RecordOptions,
        describe: Describe,
    ) -> Result<Self, LogError> {
        RecorderQueue::new(options).start(make, path, options, describe)
    }

    /// Records a message that was received at a time. Its number is its sender's, or else the count of the
    /// channel's messages, so that a gap in the log shows the dropped ones. Returns whether there was room.
    ///
    /// # Real-time safety
    /// It is wait-free, allocates nothing and makes no system call.
    pub fn record(
        &mut self,
        channel: &Channel,
        payload: &[u8],
        received: WallTime,
        more: Option<Published>,
    ) -> bool {
        let counts = &self.shared.counts;
        let own = counts.place(channel);
        let place = own.unwrap_or(counts.further());
        let Some(slot) = counts.slot(place) else {
            return false;
        };
        let counted = slot.offered.fetch_add(1, Ordering::Relaxed);
        let more = more.unwrap_or_default();
        let name = writing::name_bytes(channel);
        let begin: &[[u8; 8]] = if own.is_none() { &name } else { &[] };
        let length = begin.len() * 8 + payload.len();
        let head = MessageHeader {
            length: u32::try_from(length).unwrap_or(u32::MAX),
            slot: place as u32,
            // The common counter of all further channels gives no numbers.
            sequence: more.sequence.unwrap_or(own.map_or(0, |_| counted)),
            log_time: received.as_unix_ns(),
            publish_time: more.time.unwrap_or(received).as_unix_ns(),
        };
        let taken = self.producer.push(&head, begin, payload);
        if !taken {
            slot.queue_full.fetch_add(1, Ordering::Relaxed);
        }
        taken
    }

    /// Records a message from a provider; the log's time is the kernel's stamp if there is one, and never
    /// goes back if the wall clock is set back ([`SetBack`]).
    ///
    /// # Real-time safety
    /// As real-time safe as [`Recorder::record`].
    pub fn take(&mut self, arrival: &Arrival<'_>) -> bool {
        let Ok(channel) = Channel::new(arrival.channel) else {
            self.shared.counts.unnamed.fetch_add(1, Ordering::Relaxed);
            return false;
        };
        let stamp = arrival
            .info
            .stamps
            .kernel
            .unwrap_or(arrival.info.stamps.taken);
        let received = self.log_time(stamp, ClockPair::read(1));
        let more = Published {
            time: arrival.info.stamps.published,
            sequence: arrival.info.source.sequence.map(|it| it.number),
        };
        self.record(&channel, arrival.payload.bytes(), received, Some(more))
    }

    /// The log's time of a stamp; notes where the wall clock was set back.
    fn log_time(&mut self, stamp: MonotonicTime, reading: ClockPair) -> WallTime {
        let (time, back_ns) = self.clock.time_of(stamp, reading);
        if back_ns > 0 {
            self.shared.set_back.fetch_add(1, Ordering::Relaxed);
            self.shared
                .set_back_ns
                .fetch_add(back_ns, Ordering::Relaxed);
        }
        time
    }

    /// Returns a watch that reads the counts, from any thread.
    #[must_use]
    pub fn watch(&self) -> Watch {
        Watch(Arc::clone(&self.shared))
    }

    /// Writes the waiting messages, finishes the file, and returns the counts. Waits for the disk.
    #[must_use]
    pub fn finish(mut self) -> Recorded {
        self.end();
        self.watch().recorded()
    }

    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(writing) = self.writing.take() {
            writing.thread().unpark();
            let _ = writing.join();
        }
    }
}

/// The sender's data of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Published {
    /// When it was published.
    pub time: Option<WallTime>,
    /// The sender's number of the message, where the provider counts.
    pub sequence: Option<u32>,
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests;
