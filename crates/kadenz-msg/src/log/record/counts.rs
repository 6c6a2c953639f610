//! Counters of each channel's messages; without a lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::channel::Channel;

/// Counters of one channel.
#[derive(Debug, Default)]
pub(super) struct CounterSlot {
    name: OnceLock<Channel>,
    pub(super) offered: AtomicU32,
    pub(super) queue_full: AtomicU64,
    pub(super) disk_full: AtomicU64,
    pub(super) written: AtomicU64,
}

/// The counters of one channel's messages.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub struct ChannelCounts {
    /// The channel that is counted.
    pub channel: Channel,
    /// How many are in the files; while recording, also those that wait for the next flush.
    pub written: u64,
    /// How many were dropped because the queue was full: the disk was too slow.
    #[cfg_attr(feature = "schema", serde(rename = "dropped_queue_full"))]
    pub queue_full: u64,
    /// How many were dropped because the disk was full, or refused for another reason; at the end also
    /// those that had to make room for the index.
    #[cfg_attr(feature = "schema", serde(rename = "dropped_disk_full"))]
    pub disk_full: u64,
}

/// The counters of the messages of channels beyond those that are counted one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub struct FurtherCounts {
    /// Number of messages that came on these channels.
    pub offered: u64,
    /// How many are in a file, as far as it is known.
    pub written: u64,
    /// How many were dropped because the queue was full.
    #[cfg_attr(feature = "schema", serde(rename = "dropped_queue_full"))]
    pub queue_full: u64,
    /// How many were dropped because the disk was full, or refused for another reason.
    #[cfg_attr(feature = "schema", serde(rename = "dropped_disk_full"))]
    pub disk_full: u64,
}

/// A table of fixed size: one thread adds channels, all may read.
#[derive(Debug)]
pub(super) struct AtomicChannelCounts {
    /// The last one is for all channels without a place.
    slots: Box<[CounterSlot]>,
    /// Messages of channels whose names are invalid.
    pub(super) unnamed: AtomicU64,
}

impl AtomicChannelCounts {
    /// Returns counters for that many channels.
    pub(super) fn new(channels: usize) -> Self {
        let slots = (0..channels.max(1) + 1).map(|_| CounterSlot::default());
        let slots = slots.collect();
        let unnamed = AtomicU64::new(0);
        Self { slots, unnamed }
    }

    /// Returns how many channels have a place of their own, which is the place of all others too.
    pub(super) fn further(&self) -> usize {
        self.slots.len() - 1
    }

    /// Returns the possible places of a channel, the likeliest first.
    fn places(&self, channel: &str) -> impl Iterator<Item = usize> {
        let count = self.further();
        let begin = hash(channel) as usize % count;
        (begin..count).chain(0..begin)
    }

    /// Returns the place of a channel, and gives it one if it has none; `None` if all are taken. Only one
    /// thread may call it.
    ///
    /// # Real-time safety
    /// It allocates nothing and does not wait.
    pub(super) fn place(&self, channel: &Channel) -> Option<usize> {
        for place in self.places(channel.as_str()) {
            let name = self.slots[place].name.get_or_init(|| *channel);
            if name == channel {
                return Some(place);
            }
        }
        None
    }

    /// Returns the counters of a channel with a place, or of those without. For any thread.
    pub(super) fn counters(&self, channel: &str) -> Option<&CounterSlot> {
        let mut slots = self.places(channel).map(|place| &self.slots[place]);
        let own = slots.find_map(|slot| match slot.name.get() {
            Some(name) => (name.as_str() == channel).then_some(Some(slot)),
            None => Some(None),
        });
        own.flatten().or(self.slots.last())
    }

    /// Returns the counts of the channels without a place.
    pub(super) fn further_counts(&self) -> FurtherCounts {
        self.slots
            .last()
            .map_or_else(FurtherCounts::default, |slot| FurtherCounts {
                offered: slot.offered.load(Ordering::Relaxed).into(),
                written: slot.written.load(Ordering::Relaxed),
                queue_full: slot.queue_full.load(Ordering::Relaxed),
                disk_full: slot.disk_full.load(Ordering::Relaxed),
            })
    }

    pub(super) fn slot(&self, place: usize) -> Option<&CounterSlot> {
        self.slots.get(place)
    }

    pub(super) fn name(&self, place: usize) -> Option<&Channel> {
        self.slots.get(place)?.name.get()
    }

    /// All channels, sorted by name.
    pub(super) fn counts(&self) -> Vec<ChannelCounts> {
        let known = self.slots.iter().filter_map(|slot| {
            Some(ChannelCounts {
                channel: *slot.name.get()?,
                written: slot.written.load(Ordering::Relaxed),
                queue_full: slot.queue_full.load(Ordering::Relaxed),
                disk_full: slot.disk_full.load(Ordering::Relaxed),
            })
        });
        let mut counts: Vec<ChannelCounts> = known.collect();
        counts.sort_by_key(|it| it.channel);
        counts
    }
}

/// FNV-1a, 64 bits.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_channel_has_its_place_until_all_are_taken() {
        let counts = AtomicChannelCounts::new(8);
        let channel = |n: usize| Channel::new(&format!("C{n}")).unwrap();
        let mut places: Vec<usize> = (0..8).map(|n| counts.place(&channel(n)).unwrap()).collect();
        assert_eq!(counts.place(&channel(3)), Some(places[3]));
        assert_eq!(counts.place(&channel(8)), None);
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 8);
        assert_eq!(counts.counts()[7].channel, channel(7));
        let counted = |name: &str| std::ptr::from_ref(counts.counters(name).unwrap());
        assert_eq!(
            counted("C3"),
            std::ptr::from_ref(counts.slot(counts.place(&channel(3)).unwrap()).unwrap())
        );
        assert_eq!(
            counted("C8"),
            std::ptr::from_ref(counts.slot(counts.further()).unwrap())
        );
    }
}
