//! The publishers of the topics to which this node has subscribed, and the addresses from which they send.

use std::collections::BTreeSet;

use super::super::http::{CALL_TIMEOUT, address_of};
use super::super::xmlrpc::XmlRpcValue;
use super::{RosNodeContext, call};

/// The maximum number of connected publishers of one topic, and of all topics together: more than any robot
/// has. A program that reaches a node could name any number.
pub(super) const MAX_PUBLISHERS: usize = 256;
pub(super) const MAX_ALL_PUBLISHERS: usize = 1024;

/// A publisher of a topic: its number within this node, the topic, and its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct TopicPublisher {
    pub(in super::super) id: u64,
    pub(in super::super) topic: String,
    pub(in super::super) address: String,
}

impl RosNodeContext {
    /// Sets the publishers of a topic to these, and no others.
    ///
    /// # Errors
    /// If they are more than a node connects to; then those that were known before stay, and as many of the
    /// others as there is room for are taken.
    pub(super) fn update(&self, topic: &str, publishers: &XmlRpcValue) -> Result<(), String> {
        let uris = publishers.as_list().unwrap_or_default().iter();
        let uris: Vec<&str> = uris.filter_map(XmlRpcValue::as_text).collect();
        let named: BTreeSet<&str> = uris.iter().copied().collect();
        self.state.with(|state| {
            let unlisted = state.unlisted(topic, &named);
            let uris = uris.iter().copied();
            let uris = uris.chain(unlisted.iter().map(String::as_str));
            let others = state.subscribed.iter().filter(|(of, _)| *of != topic);
            let others: usize = others.map(|(_, uris)| uris.len()).sum();
            let most = MAX_PUBLISHERS.min(MAX_ALL_PUBLISHERS.saturating_sub(others));
            let Some(known) = state.subscribed.get_mut(topic) else {
                return Ok(());
            };
            let (uris, is_all) = chosen(known, uris, most);
            state
                .addresses
                .retain(|(of, uri), _| of != topic || uris.contains(uri));
            *known = uris;
            match is_all {
                true => Ok(()),
                false => Err(format!(
                    "{topic} has more publishers than this node connects to ({MAX_PUBLISHERS} of a topic, \
                     {MAX_ALL_PUBLISHERS} of all); {most} of them are taken"
                )),
            }
        })
    }

    /// Returns the addresses of the wanted publishers; each address once, whatever named it.
    pub(super) fn sources(&self) -> Vec<TopicPublisher> {
        self.state.with(|state| {
            let mut seen = BTreeSet::new();
            let addresses = state.addresses.iter();
            let addresses =
                addresses.filter(|((topic, _), (_, address))| seen.insert((topic, address)));
            let sources = addresses.map(|((topic, _), (id, address))| TopicPublisher {
                id: *id,
                topic: topic.clone(),
                address: address.clone(),
            });
            sources.collect()
        })
    }

    /// Returns the publishers that were not queried yet.
    pub(super) fn without_address(&self) -> Vec<(String, String)> {
        self.state.with(|state| {
            let subscribed = state.subscribed.iter();
            let all = subscribed
                .flat_map(|(topic, uris)| uris.iter().map(move |uri| (topic.clone(), uri.clone())));
            all.filter(|pair| !state.addresses.contains_key(pair))
                .collect()
        })
    }

    /// Returns the address from which a publisher sends a topic.
    pub(super) fn request_address(&self, topic: &str, uri: &str) -> Option<String> {
        let tcpros = XmlRpcValue::List(vec![XmlRpcValue::List(vec![XmlRpcValue::text("TCPROS")])]);
        let arguments = vec![
            XmlRpcValue::text(&self.caller),
            XmlRpcValue::text(topic),
            tcpros,
        ];
        let (address, lives) = (address_of(uri)?, || self.lives());
        let answer = call(address, "requestTopic", arguments, CALL_TIMEOUT, &lives).ok()?;
        let [_, host, port] = answer.as_list()? else {
            return None;
        };
        Some(format!("{}:{}", host.as_text()?, port.as_int()?))
    }
}

/// Chooses at most the maximum of the named publishers, first those that are known already; returns whether
/// that is all of them. Two URIs of one server are the same publisher.
pub(super) fn chosen<'v>(
    known: &BTreeSet<String>,
    named: impl Iterator<Item = &'v str>,
    most: usize,
) -> (BTreeSet<String>, bool) {
    let mut servers = BTreeSet::new();
    let (old, new): (Vec<&str>, Vec<&str>) = named
        .filter(|uri| address_of(uri).is_some())
        .partition(|uri| known.contains(*uri));
    let mut uris = old.into_iter().chain(new);
    let mut chosen = BTreeSet::new();
    let is_all = uris.all(|uri| {
        let is_new = address_of(uri).is_some_and(|address| servers.insert(address));
        if is_new && chosen.len() == most {
            return false;
        }
        if is_new {
            chosen.insert(uri.to_owned());
        }
        true
    });
    (chosen, is_all)
}
