//! Registers this node at the master, and again after the master has restarted, which forgets all
//! registrations.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use super::super::http::is_refusal;
use super::super::xmlrpc::XmlRpcValue;
use super::{RosNodeContext, RosNodeState, call};

/// The timeout of the query whether the master still knows this node.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(1);

/// The number of failed queries in a row after which a publisher that the master has forgotten is given up.
const MAX_SILENT: u8 = 3;
/// The maximum number of queries in a row.
const MAX_ASKED: usize = 8;

/// A publisher that an earlier master named, and this one does not: it may still send, because nodes of ROS
/// do not register again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unlisted {
    topic: String,
    uri: String,
    silent: u8,
}

impl RosNodeState {
    /// Returns whether the master has nothing to remember.
    fn is_nothing_registered(&self) -> bool {
        self.published.is_empty() && self.subscribed.is_empty() && self.services.is_empty()
    }

    /// Notes that the master has forgotten this node, and every publisher that it named.
    pub(super) fn forget(&mut self) {
        self.is_forgotten = true;
        for (topic, uris) in &self.subscribed {
            for uri in uris {
                let mut before = self.unlisted.iter();
                if !before.any(|it| it.topic == *topic && it.uri == *uri) {
                    self.unlisted.push_back(Unlisted {
                        topic: topic.clone(),
                        uri: uri.clone(),
                        silent: 0,
                    });
                }
            }
        }
    }

    /// Returns the URIs of those publishers of a topic that the master does not name, now that it names
    /// these.
    pub(super) fn unlisted(&mut self, topic: &str, named: &BTreeSet<&str>) -> Vec<String> {
        let unlisted = &mut self.unlisted;
        unlisted.retain(|it| it.topic != topic || !named.contains(it.uri.as_str()));
        let of_topic = unlisted.iter().filter(|it| it.topic == topic);
        of_topic.map(|it| it.uri.clone()).collect()
    }

    /// Notes whether an unlisted publisher has answered.
    pub(super) fn note(&mut self, asked: &Unlisted, answers: bool) {
        let Some(at) = self.unlisted.iter().position(|it| it == asked) else {
            return;
        };
        self.unlisted.remove(at);
        let silent = if answers { 0 } else { asked.silent + 1 };
        if silent < MAX_SILENT {
            let asked = asked.clone();
            self.unlisted.push_back(Unlisted { silent, ..asked });
            return;
        }
        if let Some(uris) = self.subscribed.get_mut(&asked.topic) {
            uris.remove(&asked.uri);
        }
        self.addresses
            .remove(&(asked.topic.clone(), asked.uri.clone()));
    }
}

impl RosNodeContext {
    /// Registers a topic at the master, once.
    pub(super) fn advertise(&self, topic: &str, kind: &str) -> io::Result<()> {
        let is_known = |state: &mut RosNodeState| state.published.contains_key(topic);
        if self.state.with(is_known) {
            return Ok(());
        }
        self.check_master()?;
        self.call_master("registerPublisher", &[topic, kind, &self.uri])?;
        self.state.with(|state| {
            let (topic, kind) = (topic.to_owned(), kind.to_owned());
            state.published.insert(topic, kind);
        });
        Ok(())
    }

    /// Registers a service at the master, with its address.
    pub(super) fn offer(&self, service: &str, address: &str) -> io::Result<()> {
        self.check_master()?;
        self.call_master("registerService", &[service, address, &self.uri])?;
        self.state.with(|state| {
            let (service, address) = (service.to_owned(), address.to_owned());
            state.services.insert(service, address);
        });
        Ok(())
    }

    pub(super) fn subscribe(&self, topic: &str) -> io::Result<()> {
        let is_known = |state: &mut RosNodeState| state.subscribed.contains_key(topic);
        if self.state.with(is_known) {
            return Ok(());
        }
        self.check_master()?;
        // Before the registration, because the master reports new publishers from then on.
        self.state
            .with(|state| state.subscribed.insert(topic.to_owned(), BTreeSet::new()));
        match self.call_master("registerSubscriber", &[topic, "*", &self.uri]) {
            Ok(publishers) => {
                // A list with too many publishers is used as far as the maximum.
                let _ = self.update(topic, &publishers);
                Ok(())
            }
            Err(error) => {
                self.state.with(|state| state.subscribed.remove(topic));
                Err(error)
            }
        }
    }

    pub(super) fn unsubscribe(&self, topic: &str) -> io::Result<()> {
        self.state.with(|state| {
            state.subscribed.remove(topic);
            state.addresses.retain(|(of, _), _| of != topic);
            state.unlisted.retain(|it| it.topic != topic);
        });
        self.call_master("unregisterSubscriber", &[topic, &self.uri])
            .map(|_| ())
    }

    /// Registers all again at a master that has forgotten this node; returns whether the master answers.
    pub(super) fn keep_registered(&self) -> bool {
        if self.notice_restart().is_err() {
            return false;
        }
        let is_forgotten = |state: &mut RosNodeState| std::mem::take(&mut state.is_forgotten);
        if self.state.with(is_forgotten) && self.register_again().is_err() {
            self.state.with(|state| state.is_forgotten = true);
            return false;
        }
        true
    }

    /// Queries the master before a new registration, because afterwards it would know the node, although it
    /// has forgotten earlier registrations. A slow master gets the registration nevertheless.
    fn check_master(&self) -> io::Result<()> {
        match self.notice_restart() {
            Err(error) if error.kind() != io::ErrorKind::TimedOut => Err(error),
            _ => Ok(()),
        }
    }

    /// Queries whether the master still knows this node.
    fn notice_restart(&self) -> io::Result<()> {
        if self.state.with(|state| state.is_nothing_registered()) {
            return Ok(());
        }
        let own_name = self.arguments(&[&self.caller]);
        let lives = || self.lives();
        match call(&self.master, "lookupNode", own_name, LOOKUP_TIMEOUT, &lives) {
            Err(error) if is_refusal(&error) => self.state.with(RosNodeState::forget),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        Ok(())
    }

    /// Repeats all registrations at the master.
    fn register_again(&self) -> io::Result<()> {
        let (published, services, subscribed) = self.state.with(|state| {
            let subscribed: Vec<String> = state.subscribed.keys().cloned().collect();
            (state.published.clone(), state.services.clone(), subscribed)
        });
        for (topic, kind) in &published {
            self.call_unless_refused("registerPublisher", &[topic, kind, &self.uri])?;
        }
        for (service, address) in &services {
            self.call_unless_refused("registerService", &[service, address, &self.uri])?;
        }
        for topic in &subscribed {
            let answer =
                self.call_unless_refused("registerSubscriber", &[topic, "*", &self.uri])?;
            if let Some(publishers) = answer {
                let _ = self.update(topic, &publishers);
            }
        }
        Ok(())
    }

    /// Calls the master; `None` if it refuses, which it would do again.
    fn call_unless_refused(
        &self,
        method: &str,
        arguments: &[&str],
    ) -> io::Result<Option<XmlRpcValue>> {
        match self.call_master(method, arguments) {
            Ok(value) => Ok(Some(value)),
            Err(error) if is_refusal(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Queries publishers that the master does not name whether they still send.
    pub(super) fn query_unlisted(&self) {
        let count = self.state.with(|state| state.unlisted.len());
        for _ in 0..count.min(MAX_ASKED) {
            let first = self.state.with(|state| state.unlisted.front().cloned());
            let Some(asked) = first.filter(|_| self.lives()) else {
                return;
            };
            let answers = self.request_address(&asked.topic, &asked.uri).is_some();
            if self.lives() {
                self.state.with(|state| state.note(&asked, answers));
            }
        }
    }
}
