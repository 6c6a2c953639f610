//! Logs whose messages lie in chunks: the order of time over chunks that overlap, in bounded memory.

use std::sync::Arc;

use kadenz_rt::clock::WallTime;

use super::{Damage, Entry, LogError, LoggedChannel};

/// Where a chunk lies, and the times of its first and last message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) first: i64,
    pub(crate) last: i64,
}

/// A message within a chunk that is in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lying {
    pub(crate) log_time: i64,
    pub(crate) publish_time: i64,
    pub(crate) sequence: u32,
    /// What the format calls its channel; [`Chunked::channel`] knows it.
    pub(crate) channel: u32,
    pub(crate) from: usize,
    pub(crate) length: usize,
}

/// A chunk in memory.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) messages: Vec<Lying>,
    next: usize,
}

impl Loaded {
    fn head(&self) -> Option<&Lying> {
        self.messages.get(self.next)
    }
}

/// A format with chunks.
pub(crate) trait Chunked: Send {
    /// Brings a chunk into memory. `false` where it is damaged; what was found before stays.
    fn load(&mut self, place: &Place, into: &mut Loaded) -> Result<bool, LogError>;

    /// A channel by the number that its messages carry.
    fn channel(&self, number: u32) -> Option<Arc<LoggedChannel>>;
}

/// Gives the messages of chunks in the order of their times.
///
/// Where more chunks overlap than are held at once, the order is that of the chunks: memory is bounded
/// before order is kept.
#[derive(Debug)]
pub(crate) struct Shelf {
    places: Vec<Place>,
    next_place: usize,
    open: Vec<Loaded>,
    spare: Vec<Loaded>,
    from: i64,
    /// What was damaged before any chunk was read.
    beforehand: Damage,
    pub(crate) damage: Damage,
}

/// The most chunks in memory, and the most bytes of them, one chunk more aside.
const MOST_OPEN: usize = 64;
const MOST_OPEN_BYTES: usize = 256 << 20;

impl Shelf {
    /// Over chunks in any order. Those already passed over are damage.
    pub(crate) fn new(mut places: Vec<Place>, damage: Damage) -> Self {
        places.sort_by_key(|place| (place.first, place.offset));
        Self {
            places,
            next_place: 0,
            open: Vec::new(),
            spare: Vec::new(),
            from: i64::MIN,
            beforehand: damage,
            damage,
        }
    }

    pub(crate) fn places(&self) -> &[Place] {
        &self.places
    }

    /// Gives messages from that time on.
    pub(crate) fn seek(&mut self, time: WallTime) {
        self.from = time.as_unix_ns();
        self.next_place = 0;
        self.damage = self.beforehand;
        self.spare.append(&mut self.open);
    }

    /// How many bytes of chunks have been read.
    pub(crate) fn read_bytes(&self) -> u64 {
        let places = self.places[..self.next_place].iter();
        places.map(|place| place.length).sum()
    }

    /// Fills the entry with the next message.
    pub(crate) fn read(
        &mut self,
        source: &mut dyn Chunked,
        entry: &mut Entry,
    ) -> Result<bool, LogError> {
        loop {
            self.open_what_is_due(source)?;
            let Some(at) = self.first() else {
                return Ok(false);
            };
            let loaded = &mut self.open[at];
            let Some(&message) = loaded.head() else {
                return Ok(false);
            };
            loaded.next += 1;
            let bytes = loaded
                .bytes
                .get(message.from..message.from + message.length);
            let known = source.channel(message.channel);
            let told = match (bytes, known) {
                (Some(bytes), Some(channel)) => {
                    fill(entry, channel, &message, bytes);
                    true
                }
                _ => false,
            };
            if !told {
                self.damage.add(message.length as u64);
            }
            if self.open[at].head().is_none() {
                let done = self.open.swap_remove(at);
                self.spare.push(done);
            }
            if told {
                return Ok(true);
            }
        }
    }

    /// The chunk with the earliest message; of equal times the one opened first.
    fn first(&self) -> Option<usize> {
        let heads = self.open.iter().enumerate();
        heads
            .filter_map(|(at, loaded)| Some((loaded.head()?.log_time, at)))
            .min()
            .map(|(_, at)| at)
    }

    fn open_what_is_due(&mut self, source: &mut dyn Chunked) -> Result<(), LogError> {
        while let Some(place) = self.places.get(self.next_place).copied() {
            let head = self.first().and_then(|at| self.open[at].head());
            if head.is_some_and(|head| head.log_time < place.first || self.is_full()) {
                return Ok(());
            }
            self.next_place += 1;
            if place.last < self.from {
                continue;
            }
            let mut loaded = self.spare.pop().unwrap_or_default();
            loaded.messages.clear();
            loaded.next = 0;
            if !source.load(&place, &mut loaded)? {
                self.damage.add(place.length);
            }
            loaded.messages.retain(|it| it.log_time >= self.from);
            loaded.messages.sort_by_key(|it| it.log_time);
            if loaded.messages.is_empty() {
                self.spare.push(loaded);
            } else {
                self.open.push(loaded);
            }
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        let bytes: usize = self.open.iter().map(|it| it.bytes.len()).sum();
        self.open.len() >= MOST_OPEN || bytes >= MOST_OPEN_BYTES
    }
}

fn fill(entry: &mut Entry, channel: Arc<LoggedChannel>, message: &Lying, bytes: &[u8]) {
    entry.channel = channel;
    entry.log_time = WallTime::from_unix_ns(message.log_time);
    entry.publish_time = WallTime::from_unix_ns(message.publish_time);
    entry.sequence = message.sequence;
    entry.payload.clear();
    entry.payload.extend_from_slice(bytes);
}
