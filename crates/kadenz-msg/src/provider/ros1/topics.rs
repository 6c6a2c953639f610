//! The topics that this node publishes, and the last message of each if they are latched.

use std::collections::BTreeMap;

use super::super::stream::note::NOTE;

#[derive(Debug)]
pub(in crate::provider) struct Topics {
    is_latched: bool,
    /// By channel.
    all: BTreeMap<String, Option<Last>>,
}

/// The last message of a topic.
#[derive(Debug)]
struct Last {
    payload: Vec<u8>,
    note: [u8; NOTE],
}

impl Topics {
    pub(in crate::provider) fn new(is_latched: bool) -> Self {
        Self {
            is_latched,
            all: BTreeMap::new(),
        }
    }

    pub(in crate::provider) fn is_latched(&self) -> bool {
        self.is_latched
    }

    pub(in crate::provider) fn add(&mut self, channel: &str) {
        if !self.all.contains_key(channel) {
            self.all.insert(channel.to_owned(), None);
        }
    }

    /// Returns whether there is a topic of that name, in ROS's form.
    pub(in crate::provider) fn has(&self, topic: &str) -> bool {
        let channel = topic.strip_prefix('/');
        channel.is_some_and(|channel| self.all.contains_key(channel))
    }

    /// Keeps a latched topic's message instead of the one before. Allocates if it is longer than all before
    /// it.
    pub(in crate::provider) fn keep(&mut self, channel: &str, payload: &[u8], note: &[u8; NOTE]) {
        if !self.is_latched {
            return;
        }
        let Some(last) = self.all.get_mut(channel) else {
            return;
        };
        let last = last.get_or_insert_with(|| Last {
            payload: Vec::new(),
            note: *note,
        });
        last.payload.clear();
        last.payload.extend_from_slice(payload);
        last.note = *note;
    }

    /// The last message of a latched topic, and its note.
    pub(in crate::provider) fn last(&self, channel: &str) -> Option<(&[u8], &[u8; NOTE])> {
        let last = self.all.get(channel)?.as_ref()?;
        Some((&last.payload, &last.note))
    }
}
