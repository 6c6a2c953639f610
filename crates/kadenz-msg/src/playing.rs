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
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::message::Message as _;
    use crate::provider;
    use crate::service::messages::Heartbeat;

    fn entry(channel: LoggedChannel) -> Entry {
        Entry {
            channel: Arc::new(channel),
            payload: Heartbeat::default().encode().unwrap(),
            ..Entry::default()
        }
    }

    fn finished(publisher: LogPublisher<'_>) -> PublishedMessages {
        publisher.finish(&AtomicBool::new(false))
    }

    #[test]
    fn messages_that_the_bus_refuses_are_counted_with_the_first_reason() {
        let bus = provider::open("memq://").unwrap();
        assert!(TypeAnnouncer::start("memq://", &bus).unwrap().is_none());
        let mut publisher = LogPublisher::new(bus.outlet().unwrap(), None, |it| panic!("{it}"));
        for name in ["BEAT", &"x".repeat(999), ""] {
            let is_accepted = publisher.publish(&entry(LoggedChannel::lcm(name)));
            assert_eq!(is_accepted, name == "BEAT");
        }
        let counts = finished(publisher);
        assert_eq!((counts.messages, counts.refused), (1, 2));
        let long = Channel::new(&"x".repeat(999)).unwrap_err().to_string();
        assert_eq!(counts.reason, Some(long));
    }

    #[cfg(feature = "shm")]
    #[test]
    fn other_programs_learn_the_types_that_the_log_describes() {
        use std::time::Duration;

        use crate::bus::Bus;
        use crate::service::types_on_wire::{MAX_TEXT, TypeFinder};

        let url = format!("shm://playing-{}", std::process::id());
        let bus = provider::open(&url).unwrap();
        let announcer = TypeAnnouncer::start(&url, &bus).unwrap();
        assert!(announcer.is_some());
        let mut told = Vec::new();
        let notify = |error: &NotAnnouncedError| told.push(error.to_string());
        let mut publisher = LogPublisher::new(bus.outlet().unwrap(), announcer, notify);
        let beat = LoggedChannel::lcm_of_type("BEAT", Heartbeat::NAME, Heartbeat::DESCRIPTION);
        let invalid = LoggedChannel::lcm_of_type("BAD", "a.bad_t", "no type");
        let missing = LoggedChannel::lcm_of_type("ODD", "a.odd_t", Heartbeat::DESCRIPTION);
        let members = (0..=MAX_TEXT / 1000).map(|n| format!("int8_t member_{n:01000}; "));
        let long = format!("struct long_t {{ {} }}", members.collect::<String>());
        let long = LoggedChannel::lcm_of_type("LONG", "long_t", &long);
        for channel in [beat, invalid, missing, long] {
            publisher.publish(&entry(channel.clone()));
            publisher.publish(&entry(channel));
        }
        let listener = Bus::open(&url).unwrap();
        let mut finder = TypeFinder::new(&listener).unwrap();
        let found = finder.find(Heartbeat::FINGERPRINT, Duration::from_secs(10));
        assert_eq!(found.unwrap().unwrap().name, Heartbeat::NAME);
        assert_eq!(finished(publisher).messages, 8);
        // Each type once, although each was published twice, and none of an invalid text.
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("a.odd_t"), "{told:?}");
        assert!(told[1].contains("long_t"), "{told:?}");
    }
}
