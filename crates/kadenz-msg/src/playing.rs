//! Playing onto a bus: the messages of a log are published, and other programs learn their types.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use kadenz_msg::log::play::{PlayOptions, Player, VirtualTime, play};
//! use kadenz_msg::playing::LogPublisher;
//! use kadenz_msg::service::types_on_wire::TypeAnnouncer;
//! use kadenz_msg::{log, provider};
//! # use kadenz_msg::log::{Entry, LogWriter as _};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("drive.lcmlog");
//! # let mut writer = log::create(&path, log::Format::EventLog)?;
//! # let channel = std::sync::Arc::new(log::LoggedChannel::lcm("POSE"));
//! # for _ in 0..3 {
//! #     writer.write(&Entry { channel: channel.clone(), ..Entry::default() })?;
//! # }
//! # writer.finish()?;
//!
//! let robot = provider::open("memq://")?;
//! let announcer = TypeAnnouncer::start("memq://", &robot)?;
//! let mut publisher = LogPublisher::new(robot.outlet()?, announcer, |error| eprintln!("{error}"));
//! let mut player = Player::new(log::open(&path)?, PlayOptions::default())?;
//! let mut time = VirtualTime::default();
//! play(&mut player, &mut time, &mut || false, &mut |played| {
//!     publisher.publish(played.entry);
//! })?;
//! assert_eq!(publisher.finish(&AtomicBool::new(false)).messages, 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::atomic::AtomicBool;

use crate::channel::Channel;
use crate::log::{Entry, Info, LoggedChannel};
use crate::provider::Outlet;
use crate::service::types_on_wire::{NotAnnouncedError, TypeAnnouncer};

/// The counts of published messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishedMessages {
    /// Messages that the bus accepted.
    pub messages: u64,
    /// Messages that it did not accept.
    pub refused: u64,
    /// The first reason for one of those.
    pub reason: Option<String>,
}

/// Publishes the messages of a log, counts them, and announces their types where the log describes these.
pub struct LogPublisher<'n> {
    outlet: Box<dyn Outlet>,
    announcer: Option<TypeAnnouncer>,
    notify: Box<dyn FnMut(&NotAnnouncedError) + 'n>,
    published: PublishedMessages,
}

impl<'n> LogPublisher<'n> {
    /// Publishes by an outlet; without an announcer, types are not announced. `notify` gets a type that other programs
    /// do not learn.
    pub fn new(
        outlet: Box<dyn Outlet>,
        announcer: Option<TypeAnnouncer>,
        notify: impl FnMut(&NotAnnouncedError) + 'n,
    ) -> Self {
        Self {
            outlet,
            announcer,
            notify: Box::new(notify),
            published: PublishedMessages::default(),
        }
    }

    /// Announces the types of all channels that the log describes at its beginning: a program that asks before the
    /// first message gets an answer, too.
    pub fn announce(&mut self, outline: &Info) {
        for known in &outline.channels {
            self.announce_type(&known.channel);
        }
    }

    /// Publishes a message. Before the first one of a type, announces the type, so that a program that asks for it at
    /// once gets an answer. Returns whether the bus accepted the message; what it refuses is counted.
    pub fn publish(&mut self, entry: &Entry) -> bool {
        self.announce_type(&entry.channel);
        let channel = Channel::new(&entry.channel.name).map_err(|error| error.to_string());
        let result = channel.and_then(|channel| {
            let published = self.outlet.publish(&channel, &entry.payload);
            published.map_err(|error| error.to_string())
        });
        let is_accepted = result.is_ok();
        match result {
            Ok(()) => {
                self.published.messages += 1;
                if let Some(announcer) = &mut self.announcer {
                    announcer.published();
                }
            }
            Err(reason) => {
                self.published.refused += 1;
                self.published.reason.get_or_insert(reason);
            }
        }
        is_accepted
    }

    /// Returns the counts until now.
    #[must_use]
    pub fn published(&self) -> &PublishedMessages {
        &self.published
    }

    /// Ends; receivers may still ask for types [for a moment](TypeAnnouncer::finish).
    pub fn finish(self, stop: &AtomicBool) -> PublishedMessages {
        if let Some(announcer) = self.announcer {
            announcer.finish(stop);
        }
        self.published
    }

    fn announce_type(&mut self, channel: &LoggedChannel) {
        if let (Some(announcer), Some(schema)) = (&mut self.announcer, &channel.schema)
            && let Err(error) = announcer.add_schema(schema)
        {
            (self.notify)(&error);
        }
    }
}

#[cfg(test)]
mod tests;
