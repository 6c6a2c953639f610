//! A node: this program's registrations at the master, and the peers that the master names.
//!
//! One thread answers the master's and other nodes' calls. Another one queries the master for topics that
//! match patterns, and publishers for their addresses. So no caller waits for another program's answer, nor
//! any of the user's threads except when it subscribes or first publishes.

mod master;
mod publishers;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use kadenz_rt::clock;
use kadenz_rt::net::watch::{Waker, Watch};

use super::callers::Callers;
use super::http::{self, CALL_TIMEOUT};
use super::xmlrpc::{Call, XmlRpcValue};
use crate::channel::Pattern;
use crate::provider::Wait;
use crate::provider::stream::socket::ListeningSocket;
use crate::sync::Lock;
use master::Unlisted;
pub(super) use publishers::TopicPublisher;

/// The interval at which a node queries the master for new topics and for its own registration, and silent
/// publishers for their addresses.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// The time in which a node that ends unregisters at the master, or not at all.
const GOODBYE: Duration = Duration::from_secs(1);

/// A node of ROS, which runs until it is dropped.
pub(super) struct RosNode {
    shared: Arc<RosNodeContext>,
    /// Of the thread that calls others, and of the one that answers.
    wakers: [Waker; 2],
    threads: Vec<JoinHandle<()>>,
}

/// The state that a node and its thread share.
struct RosNodeContext {
    master: String,
    caller: Arc<str>,
    host: IpAddr,
    uri: String,
    state: Lock<RosNodeState>,
    ends: AtomicBool,
}

/// The subscriptions, publications and services of a node, and the publishers that the master has named.
#[derive(Default)]
struct RosNodeState {
    /// The port that published topics are sent from.
    port: Option<u16>,
    wanted: Vec<Pattern>,
    /// The topics that are subscribed to, with their publishers' URIs.
    subscribed: BTreeMap<String, BTreeSet<String>>,
    /// The addresses of publishers, by topic and URI.
    addresses: BTreeMap<(String, String), (u64, String)>,
    next_id: u64,
    /// The topics that are published, with their types.
    published: BTreeMap<String, String>,
    /// The offered services, with their addresses.
    services: BTreeMap<String, String>,
    /// The master has forgotten all that.
    is_forgotten: bool,
    /// Publishers that the master has forgotten; the one with the oldest query first.
    unlisted: VecDeque<Unlisted>,
    /// Wakes the inlet that waits for changes of the addresses.
    listener: Option<Waker>,
}

impl fmt::Debug for RosNode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Node");
        shown.field("uri", &self.shared.uri).finish_non_exhaustive()
    }
}

impl RosNode {
    /// Begins; fails where there is no master.
    pub(super) fn start(master: &str, host: Option<IpAddr>, caller: &str) -> io::Result<Self> {
        let host = match host {
            Some(host) => host,
            None => http::own_address(master)?,
        };
        let arguments = vec![XmlRpcValue::text(caller)];
        call(master, "getPid", arguments, CALL_TIMEOUT, &|| true)?;
        let listener = http::socket_address(host, 0).listen()?;
        let uri = format!(
            "http://{}/",
            SocketAddr::new(host, listener.port().unwrap_or(0))
        );
        let shared = Arc::new(RosNodeContext {
            master: master.to_owned(),
            caller: caller.into(),
            host,
            uri,
            state: Lock::new(RosNodeState::default()),
            ends: AtomicBool::new(false),
        });
        let (client_watch, server_watch) = (Watch::new()?, Watch::new()?);
        let wakers = [client_watch.waker(), server_watch.waker()];
        let mut node = Self {
            shared: Arc::clone(&shared),
            wakers,
            threads: Vec::new(),
        };
        let (context, answers) = (Arc::clone(&shared), shared);
        let client_waker = node.wakers[0].clone();
        let thread = |name: &str| thread::Builder::new().name(name.to_owned());
        let client = thread("kadenz-ros-ask").spawn(move || run_client(&context, client_watch))?;
        node.threads.push(client);
        let server = thread("kadenz-ros");
        let server =
            server.spawn(move || run_server(&answers, server_watch, listener, &client_waker))?;
        node.threads.push(server);
        Ok(node)
    }

    pub(super) fn caller(&self) -> Arc<str> {
        Arc::clone(&self.shared.caller)
    }

    pub(super) fn host(&self) -> IpAddr {
        self.shared.host
    }

    /// Sets the port from which topics are sent.
    pub(super) fn publish_from(&self, port: u16) {
        self.shared.state.with(|state| state.port = Some(port));
    }

    /// Registers a topic at the master, once.
    pub(super) fn advertise(&self, topic: &str, kind: &str) -> io::Result<()> {
        self.shared.advertise(topic, kind)
    }

    /// Registers a service at the master, once, with its address.
    pub(super) fn offer(&self, service: &str, address: &str) -> io::Result<()> {
        self.shared.offer(service, address)
    }

    /// Subscribes to the wanted channels. Plain names are subscribed to at once, patterns by the thread.
    pub(super) fn want(&self, wanted: &[Pattern], listener: Waker) -> io::Result<()> {
        let gone = self.shared.state.with(|state| {
            state.wanted = wanted.to_vec();
            state.listener = Some(listener);
            let topics = state.subscribed.keys();
            let gone = topics.filter(|topic| !is_wanted(wanted, topic));
            gone.cloned().collect::<Vec<_>>()
        });
        for topic in gone {
            self.shared.unsubscribe(&topic)?;
        }
        for name in wanted.iter().filter_map(Pattern::exactly) {
            self.shared.subscribe(&format!("/{name}"))?;
        }
        self.wakers[0].wake();
        Ok(())
    }

    /// The publishers of what is wanted.
    pub(super) fn sources(&self) -> Vec<TopicPublisher> {
        self.shared.sources()
    }
}

impl Drop for RosNode {
    fn drop(&mut self) {
        let RosNodeContext { state, uri, .. } = &*self.shared;
        let (published, services, subscribed) = state.with(|state| {
            let published = std::mem::take(&mut state.published);
            let services = std::mem::take(&mut state.services);
            (published, services, std::mem::take(&mut state.subscribed))
        });
        self.shared.ends.store(true, Ordering::Release);
        self.wakers.iter().for_each(Waker::wake);
        let until = clock::now() + GOODBYE;
        let services = services.iter();
        let services = services.map(|(name, address)| ("unregisterService", [name, address]));
        let published = published
            .keys()
            .map(|it| ("unregisterPublisher", [it, uri]));
        let subscribed = subscribed
            .keys()
            .map(|it| ("unregisterSubscriber", [it, uri]));
        for (method, [name, address]) in services.chain(published).chain(subscribed) {
            let left = until.remaining(clock::now());
            // A master that has gone has forgotten them.
            if left.is_zero()
                || self
                    .shared
                    .call_master_within(left, method, &[name, address])
                    .is_err()
            {
                break;
            }
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn is_wanted(wanted: &[Pattern], topic: &str) -> bool {
    let channel = topic.strip_prefix('/').unwrap_or(topic);
    wanted.iter().any(|pattern| pattern.matches(channel))
}

impl RosNodeContext {
    /// Calls the master, until the node ends.
    fn call_master(&self, method: &str, arguments: &[&str]) -> io::Result<XmlRpcValue> {
        let arguments = self.arguments(arguments);
        let lives = || self.lives();
        call(&self.master, method, arguments, CALL_TIMEOUT, &lives)
    }

    /// Calls the master, also where the node ends.
    fn call_master_within(
        &self,
        span: Duration,
        method: &str,
        arguments: &[&str],
    ) -> io::Result<XmlRpcValue> {
        let arguments = self.arguments(arguments);
        call(&self.master, method, arguments, span, &|| true)
    }

    fn arguments(&self, arguments: &[&str]) -> Vec<XmlRpcValue> {
        let all = [&*self.caller].into_iter().chain(arguments.iter().copied());
        all.map(XmlRpcValue::text).collect()
    }

    fn lives(&self) -> bool {
        !self.ends.load(Ordering::Acquire)
    }

    /// Subscribes to topics that match patterns, and queries publishers for their addresses. If it is time
    /// to, ensures that the master knows this node. Failures are tried again later.
    fn process(&self, is_time: bool) {
        let mut answers = true;
        if is_time {
            answers = self.keep_registered();
            self.query_unlisted();
        }
        let (wanted, has_pattern) = self.state.with(|state| {
            let mut wanted = state.wanted.iter();
            let has_pattern = wanted.any(|pattern| pattern.exactly().is_none());
            (state.wanted.clone(), has_pattern)
        });
        if answers
            && has_pattern
            && let Ok(topics) = self.call_master("getPublishedTopics", &[""])
        {
            let topics = topics.as_list().unwrap_or_default().iter();
            let names = topics.filter_map(|topic| topic.as_list()?.first()?.as_text());
            for topic in names.filter(|topic| is_wanted(&wanted, topic)) {
                let _ = self.subscribe(topic);
            }
        }
        for (topic, uri) in self.without_address() {
            if !self.lives() {
                return;
            }
            if let Some(address) = self.request_address(&topic, &uri) {
                self.state.with(|state| {
                    state.next_id += 1;
                    let found = (state.next_id, address);
                    state.addresses.insert((topic, uri), found);
                });
            }
        }
        if let Some(listener) = self.state.with(|state| state.listener.clone()) {
            listener.wake();
        }
    }

    /// Returns this node's answer to a call.
    fn answer(&self, call: &Call) -> XmlRpcValue {
        let value = match (call.method.as_str(), call.arguments.as_slice()) {
            ("publisherUpdate", [_, XmlRpcValue::Text(topic), publishers]) => {
                match self.update(topic, publishers) {
                    Ok(()) => XmlRpcValue::Int(0),
                    Err(reason) => return failed(reason),
                }
            }
            ("requestTopic", [_, XmlRpcValue::Text(topic), ..]) => match self.sends(topic) {
                Some(port) => XmlRpcValue::List(vec![
                    XmlRpcValue::text("TCPROS"),
                    XmlRpcValue::Text(self.host.to_string()),
                    XmlRpcValue::Int(port.into()),
                ]),
                None => return failed("this node does not publish that topic".to_owned()),
            },
            ("getPid", _) => XmlRpcValue::Int(std::process::id() as i32),
            ("getMasterUri", _) => XmlRpcValue::Text(format!("http://{}/", self.master)),
            ("getBusInfo" | "getBusStats" | "getSubscriptions" | "getPublications", _) => {
                XmlRpcValue::List(Vec::new())
            }
            _ => XmlRpcValue::Int(0),
        };
        XmlRpcValue::List(vec![XmlRpcValue::Int(1), XmlRpcValue::text(""), value])
    }

    fn sends(&self, topic: &str) -> Option<u16> {
        self.state.with(|state| {
            let published = state.published.contains_key(topic);
            state.port.filter(|_| published)
        })
    }
}

/// The answer to what cannot be done.
fn failed(reason: String) -> XmlRpcValue {
    XmlRpcValue::List(vec![
        XmlRpcValue::Int(0),
        XmlRpcValue::Text(reason),
        XmlRpcValue::Int(0),
    ])
}

/// Calls a method.
fn call(
    address: &str,
    method: &str,
    arguments: Vec<XmlRpcValue>,
    timeout: Duration,
    wanted: &dyn Fn() -> bool,
) -> io::Result<XmlRpcValue> {
    let method = method.to_owned();
    http::call(address, &Call { method, arguments }, timeout, wanted)
}

/// The thread that calls the master and the publishers.
fn run_client(shared: &RosNodeContext, mut watch: Watch) {
    let mut next = clock::now() + RETRY_INTERVAL;
    while shared.lives() {
        // Waits for the next round also where waiting fails at once.
        if watch.wait(Wait::Until(next)).is_err() {
            thread::sleep(RETRY_INTERVAL);
        }
        if shared.lives() {
            let is_time = clock::now() >= next;
            shared.process(is_time);
            if is_time {
                next = clock::now() + RETRY_INTERVAL;
            }
        }
    }
}

/// The thread that answers calls.
fn run_server(
    shared: &RosNodeContext,
    mut watch: Watch,
    listener: ListeningSocket,
    client: &Waker,
) {
    let mut callers = Callers::at(listener);
    while shared.lives() {
        callers.watch(&mut watch);
        let wait = callers.deadline().map_or(Wait::Forever, Wait::Until);
        if watch.wait(wait).is_err() {
            thread::sleep(RETRY_INTERVAL);
        }
        callers.process(&watch, |call| {
            let answer = shared.answer(call);
            if call.method == "publisherUpdate" {
                client.wake();
            }
            answer
        });
    }
}

#[cfg(test)]
mod tests;
