//! Publishing, subscribing, and the ways to receive.
//!
//! ```
//! use std::time::Duration;
//! use kadenz_msg::bus::Bus;
//!
//! let bus = Bus::open("memq://")?;
//! let mut feedback = bus.aggregator("FEEDBACK")?;
//! bus.publish_bytes("FEEDBACK", b"12345678")?;
//! assert!(feedback.next_message(Duration::from_secs(5))?.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A bus starts no thread. A thread that waits for a message receives for all; a program that computes for
//! long and must not lose messages meanwhile starts a thread by [`Bus::on_message`] or
//! [`Bus::receive_in_background`].

mod aggregator;
mod delivery;
mod leader_followers;
mod listener;
#[cfg(all(test, loom))]
mod loom;
mod mailbox;
mod publisher;
mod routes;
mod subscription;
mod subscription_core;
mod threads;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use kadenz_rt::tuning::{Measure, Tuning};

pub use aggregator::{Aggregator, Raw};
pub use delivery::{Delivery, Hops, Incoming, RecvError};
pub use listener::{BusListener, ListenerEvent};
pub use mailbox::{Counters, WhenFull};
pub(crate) use publisher::{PublishedType, PublishedTypes, publish};
pub use publisher::{Publisher, SendError};
pub use subscription::{
    Contract, CounterWatcher, Latest, MessageView, Subscription, SubscriptionOptions,
};

use crate::channel::{Channel, ChannelError, Pattern, PatternError};
use crate::loss::SenderTally;
use crate::message::Message;
use crate::provider::{self, Guarantees, InletCounters, Outlet, Provider, ProviderError};
use crate::sync::{Arc, Lock};
use leader_followers::LeaderFollowers;
use routes::RouteId;
use subscription_core::SubscriptionCore;
pub(crate) use threads::TunedThread;
pub use threads::{Background, Callback};

/// The number of channels for which [`Bus::publish`] keeps an outlet each, so that a receiver knows which of
/// them lost a message; all others share one.
const OWN_OUTLETS: usize = 64;

/// One bus: a handle that may be cloned and used by any thread.
///
/// # Real-time safety
/// A loop publishes by a [`Publisher`] and receives by a [`Subscription`] or an [`Aggregator`], which are made before
/// it. Of the bus itself, only [`Bus::publish`] and [`Bus::publish_bytes`] are for a loop, as stated there; the other
/// functions may allocate, lock and make system calls.
#[derive(Debug, Clone)]
pub struct Bus {
    shared: Arc<BusContext>,
}

/// The state that all handles of a bus share.
#[derive(Debug)]
struct BusContext {
    url: String,
    provider: std::sync::Arc<dyn Provider>,
    leader_followers: Lock<Option<Arc<LeaderFollowers>>>,
    outlets: Lock<Outlets>,
    routes: AtomicU64,
    /// The bus on which services receive, once there are any.
    beside: Lock<Option<Bus>>,
    published: PublishedTypes,
}

#[derive(Debug, Default)]
struct Outlets {
    own: BTreeMap<Channel, Box<dyn Outlet>>,
    shared: Option<Box<dyn Outlet>>,
}

/// The reason for which a subscription failed.
#[derive(Debug, thiserror::Error)]
pub enum SubscribeError {
    /// The pattern is invalid.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The provider cannot receive.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// No thread could be started.
    #[error("no thread could be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// The reason for which there is no publisher.
#[derive(Debug, thiserror::Error)]
pub enum AdvertiseError {
    /// The channel is invalid.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The provider cannot send.
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

impl Bus {
    /// Opens the bus that a URL names; the scheme chooses the [`provider`].
    ///
    /// # Errors
    /// If the URL names no provider or an unknown parameter, or the provider cannot begin.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    pub fn open(url: &str) -> Result<Self, ProviderError> {
        let provider = provider::open(url)?;
        Ok(Self::over(url, provider))
    }

    /// Opens the bus that the environment names in `LCM_DEFAULT_URL`, as LCM's programs do; without
    /// it `udpm://239.255.76.67:7667?ttl=0`.
    ///
    /// # Errors
    /// As [`Bus::open`].
    pub fn open_default() -> Result<Self, ProviderError> {
        Self::open(&provider::default_url())
    }

    /// A bus over a provider that is there already.
    #[must_use]
    pub fn over(url: &str, provider: std::sync::Arc<dyn Provider>) -> Self {
        let shared = BusContext {
            url: url.to_owned(),
            provider,
            leader_followers: Lock::new(None),
            outlets: Lock::new(Outlets::default()),
            routes: AtomicU64::new(0),
            beside: Lock::new(None),
            published: PublishedTypes::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Returns the URL by which the bus was opened.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.shared.url
    }

    /// Returns the guarantees of its provider.
    #[must_use]
    pub fn guarantees(&self) -> Guarantees {
        self.shared.provider.guarantees()
    }

    /// Returns the settings that the provider requested of the system and those granted; above all, a receive
    /// buffer shorter than requested.
    #[must_use]
    pub fn measures(&self) -> Vec<Measure> {
        self.shared.provider.measures()
    }

    /// Returns a publisher of messages of one type to one channel, for a loop.
    ///
    /// # Errors
    /// If the channel is invalid, or the provider cannot send.
    ///
    /// # Real-time safety
    /// Not real-time safe itself.
    pub fn publisher<M: Message>(&self, channel: &str) -> Result<Publisher<M>, AdvertiseError> {
        let channel = Channel::new(channel)?;
        let publisher = Publisher::new(channel, self.shared.provider.outlet()?);
        self.shared.published.add::<M>();
        Ok(publisher)
    }

    /// Returns a bus with the same messages, received apart from this one: by an inlet of its own, which all
    /// clones share. A thread that waits on it never receives for those that wait on this bus, so that a
    /// loop's messages do not wait for a thread of lower priority; the system delivers each message twice for
    /// it. Services with threads of their own use it.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    #[must_use]
    pub fn beside(&self) -> Self {
        self.shared.beside.with(|beside| {
            let new = || Self::over(&self.shared.url, self.shared.provider.clone());
            beside.get_or_insert_with(new).clone()
        })
    }

    /// Returns the known types that this bus publishes.
    pub(crate) fn published(&self) -> &PublishedTypes {
        &self.shared.published
    }

    /// Returns an outlet to any channel, apart from those of [`Bus::publish`].
    pub(crate) fn outlet(&self) -> Result<Box<dyn Outlet>, ProviderError> {
        self.shared.provider.outlet()
    }

    /// Publishes a message.
    ///
    /// # Errors
    /// If the channel is invalid, the message cannot be encoded, or the provider does not take it.
    ///
    /// # Real-time safety
    /// The first message to a channel opens an outlet for it; later ones are real-time safe as
    /// [`Publisher::publish`], except for a priority-inheriting lock among the threads that publish on this
    /// bus by this function.
    pub fn publish<M: Message>(&self, channel: &str, message: &M) -> Result<(), SendError> {
        self.with_outlet(channel, |outlet, channel| {
            publisher::publish(outlet, channel, message)
        })
    }

    /// Publishes bytes that are encoded already. As [`Bus::publish`].
    ///
    /// # Errors
    /// As [`Bus::publish`].
    pub fn publish_bytes(&self, channel: &str, payload: &[u8]) -> Result<(), SendError> {
        self.with_outlet(channel, |outlet, channel| {
            Ok(outlet.publish(channel, payload)?)
        })
    }

    fn with_outlet(
        &self,
        channel: &str,
        body: impl FnOnce(&mut dyn Outlet, &Channel) -> Result<(), SendError>,
    ) -> Result<(), SendError> {
        let channel = Channel::new(channel)?;
        let provider = &self.shared.provider;
        self.shared.outlets.with(|outlets| {
            let outlet = outlets.of(channel, &**provider);
            let outlet = outlet.map_err(|error| SendError::NoOutlet(error.to_string()))?;
            body(outlet, &channel)
        })
    }

    /// Subscribes to the messages of one type on a channel, or on all channels whose whole name a
    /// regular expression matches.
    ///
    /// # Errors
    /// If the pattern is invalid, or the provider cannot receive.
    pub fn subscribe<M: Message + Default>(
        &self,
        pattern: &str,
    ) -> Result<Subscription<M>, SubscribeError> {
        self.subscribe_with(pattern, &SubscriptionOptions::default())
    }

    /// As [`Bus::subscribe`], with the caller's queue and contract.
    ///
    /// # Errors
    /// As [`Bus::subscribe`].
    pub fn subscribe_with<M: Message + Default>(
        &self,
        pattern: &str,
        options: &SubscriptionOptions,
    ) -> Result<Subscription<M>, SubscribeError> {
        Ok(Subscription::new(self.core(pattern, options)?))
    }

    /// Receives from many channels as bytes.
    ///
    /// # Errors
    /// As [`Bus::subscribe`].
    pub fn aggregator(&self, pattern: &str) -> Result<Aggregator, SubscribeError> {
        self.aggregator_with(pattern, &SubscriptionOptions::default())
    }

    /// As [`Bus::aggregator`], with the caller's queue and contract.
    ///
    /// # Errors
    /// As [`Bus::subscribe`].
    pub fn aggregator_with(
        &self,
        pattern: &str,
        options: &SubscriptionOptions,
    ) -> Result<Aggregator, SubscribeError> {
        Ok(Aggregator::new(self.core(pattern, options)?))
    }

    /// Calls a function for each message, on a thread of its own with the given tuning.
    ///
    /// # Errors
    /// As [`Bus::subscribe`], and if no thread can be started.
    pub fn on_message<M, F>(
        &self,
        pattern: &str,
        options: &SubscriptionOptions,
        tuning: Tuning,
        body: F,
    ) -> Result<Callback, SubscribeError>
    where
        M: Message + Default + Send + 'static,
        F: FnMut(Result<(&M, &Delivery), RecvError>) + Send + 'static,
    {
        let subscription = self.subscribe_with(pattern, options)?;
        Ok(Callback::start(subscription, tuning, body)?)
    }

    /// Receives on a thread of its own with the given tuning, for as long as the result lives: for programs
    /// that compute for long, so that messages wait in their queues and not in the kernel's. A message then
    /// costs a second wake-up.
    ///
    /// # Errors
    /// If the provider cannot receive, or no thread can be started.
    pub fn receive_in_background(&self, tuning: Tuning) -> Result<Background, SubscribeError> {
        Ok(Background::start(self.leader_followers()?, tuning)?)
    }

    /// Returns the messages that were lost, doubled or overtaken on the way here, by sender, from the
    /// senders' own numbers; by channel if a sender has used one channel only. Exact for each sender whose
    /// messages all reach this program, wanted or not, as over `udpm://`; of unmodified LCM programs too.
    /// Interrupts the thread that receives at the moment; not for a loop.
    #[must_use]
    pub fn losses(&self) -> Vec<SenderTally> {
        let receiving = self.receiving();
        receiving.map(|it| it.losses()).unwrap_or_default()
    }

    /// Returns the number of messages that were lost on the way here, of all senders, also of those that
    /// [`losses`](Self::losses) has forgotten. Interrupts as that.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.receiving().map_or(0, |it| it.lost())
    }

    /// Returns the counters of messages before their delivery.
    #[must_use]
    pub fn inlet_counters(&self) -> InletCounters {
        let Some(receiving) = self.receiving() else {
            return InletCounters::default();
        };
        let mut counters = receiving.counters();
        counters.malformed += receiving.misnamed.get();
        counters
    }

    /// Who receives, if anyone has subscribed.
    fn receiving(&self) -> Option<Arc<LeaderFollowers>> {
        self.shared.leader_followers.with(|it| it.clone())
    }

    fn core(
        &self,
        pattern: &str,
        options: &SubscriptionOptions,
    ) -> Result<SubscriptionCore, SubscribeError> {
        let pattern = Pattern::new(pattern)?;
        let id = RouteId(self.shared.routes.fetch_add(1, Ordering::Relaxed));
        Ok(SubscriptionCore::open(
            self.leader_followers()?,
            id,
            vec![pattern],
            options,
        )?)
    }

    fn leader_followers(&self) -> Result<Arc<LeaderFollowers>, ProviderError> {
        self.shared
            .leader_followers
            .with(|leader_followers| match leader_followers {
                Some(leader_followers) => Ok(Arc::clone(leader_followers)),
                None => {
                    let new = Arc::new(LeaderFollowers::new(self.shared.provider.inlet()?));
                    *leader_followers = Some(Arc::clone(&new));
                    Ok(new)
                }
            })
    }
}

impl Outlets {
    fn of(
        &mut self,
        channel: Channel,
        provider: &dyn Provider,
    ) -> Result<&mut dyn Outlet, ProviderError> {
        if self.own.contains_key(&channel) || self.own.len() < OWN_OUTLETS {
            return match self.own.entry(channel) {
                std::collections::btree_map::Entry::Occupied(it) => Ok(&mut **it.into_mut()),
                std::collections::btree_map::Entry::Vacant(it) => {
                    Ok(&mut **it.insert(provider.outlet()?))
                }
            };
        }
        let outlet = match self.shared.take() {
            Some(outlet) => outlet,
            None => provider.outlet()?,
        };
        Ok(&mut **self.shared.insert(outlet))
    }
}
