//! A node: what the master knows about this program, and whom it names to it.
//!
//! One thread answers the master's and other nodes' calls. Another one asks the master for topics that
//! patterns match, and publishers where they are. So no caller waits for another program's answer, nor
//! any thread of a user's but where it subscribes or first publishes.

use std::collections::{BTreeMap, BTreeSet};
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
use super::http::{self, PATIENCE, place_of};
use super::xmlrpc::{Call, Value};
use crate::channel::Pattern;
use crate::provider::Wait;
use crate::provider::stream::socket::Door;
use crate::sync::Lock;

/// The master is asked for new topics, and silent publishers for their place, after so long.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// A node that ends tells the master so within that span, or not at all.
const GOODBYE: Duration = Duration::from_secs(1);

/// Publishers of one topic that are connected to, and those of all topics together: more than any robot has. Whoever
/// reaches a node may name it as many as it likes.
const MAX_PUBLISHERS: usize = 256;
const MAX_ALL_PUBLISHERS: usize = 1024;

/// A publisher of a topic: its node's URI, and where it sends from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) id: u64,
    pub(super) topic: String,
    pub(super) place: String,
}

pub(super) struct Node {
    shared: Arc<Shared>,
    /// Of the thread that asks, and the one that answers.
    wakers: [Waker; 2],
    threads: Vec<JoinHandle<()>>,
}

/// What a node is, to itself and its thread.
struct Shared {
    master: String,
    caller: Arc<str>,
    host: IpAddr,
    uri: String,
    state: Lock<State>,
    ends: AtomicBool,
}

#[derive(Default)]
struct State {
    /// The port that published topics are sent from.
    port: Option<u16>,
    wanted: Vec<Pattern>,
    /// The topics that are subscribed to, with their publishers' URIs.
    subscribed: BTreeMap<String, BTreeSet<String>>,
    /// Where publishers send from, by topic and URI.
    places: BTreeMap<(String, String), (u64, String)>,
    next_id: u64,
    published: BTreeSet<String>,
    /// Who waits for changes of the places.
    listener: Option<Waker>,
}

impl fmt::Debug for Node {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Node");
        shown.field("uri", &self.shared.uri).finish_non_exhaustive()
    }
}

impl Node {
    /// Begins; fails where there is no master.
    pub(super) fn start(master: &str, host: Option<IpAddr>, caller: &str) -> io::Result<Self> {
        let host = match host {
            Some(host) => host,
            None => http::own_address(master)?,
        };
        let arguments = vec![Value::text(caller)];
        call(master, "getPid", arguments, PATIENCE, &|| true)?;
        let door = http::place(host, 0).listen()?;
        let uri = format!(
            "http://{}/",
            SocketAddr::new(host, door.port().unwrap_or(0))
        );
        let shared = Arc::new(Shared {
            master: master.to_owned(),
            caller: caller.into(),
            host,
            uri,
            state: Lock::new(State::default()),
            ends: AtomicBool::new(false),
        });
        let (asking, answering) = (Watch::new()?, Watch::new()?);
        let wakers = [asking.waker(), answering.waker()];
        let mut node = Self {
            shared: Arc::clone(&shared),
            wakers,
            threads: Vec::new(),
        };
        let (asks, answers) = (Arc::clone(&shared), shared);
        let tender = node.wakers[0].clone();
        let thread = |name: &str| thread::Builder::new().name(name.to_owned());
        let asker = thread("kadenz-ros-ask").spawn(move || ask(&asks, asking))?;
        node.threads.push(asker);
        let answerer = thread("kadenz-ros");
        let answerer = answerer.spawn(move || answer(&answers, answering, door, &tender))?;
        node.threads.push(answerer);
        Ok(node)
    }

    pub(super) fn caller(&self) -> Arc<str> {
        Arc::clone(&self.shared.caller)
    }

    pub(super) fn host(&self) -> IpAddr {
        self.shared.host
    }

    /// Tells the port that topics are sent from.
    pub(super) fn publish_from(&self, port: u16) {
        self.shared.state.with(|state| state.port = Some(port));
    }

    /// Tells the master of a topic, once.
    pub(super) fn advertise(&self, topic: &str, kind: &str) -> io::Result<()> {
        self.shared
            .ask("registerPublisher", &[topic, kind, &self.shared.uri])?;
        self.shared
            .state
            .with(|state| state.published.insert(topic.to_owned()));
        Ok(())
    }

    /// Subscribes to what is wanted. Plain names are subscribed to at once, patterns by the thread.
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
    pub(super) fn sources(&self) -> Vec<Source> {
        self.shared.sources()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let Shared { state, uri, .. } = &*self.shared;
        let (published, subscribed) = state.with(|state| {
            let subscribed: Vec<String> = state.subscribed.keys().cloned().collect();
            (std::mem::take(&mut state.published), subscribed)
        });
        self.shared.ends.store(true, Ordering::Release);
        self.wakers.iter().for_each(Waker::wake);
        let until = clock::now() + GOODBYE;
        let published = published.into_iter().map(|it| ("unregisterPublisher", it));
        let subscribed = subscribed
            .into_iter()
            .map(|it| ("unregisterSubscriber", it));
        for (method, topic) in published.chain(subscribed) {
            let left = until.remaining(clock::now());
            // A master that has gone has forgotten them.
            if left.is_zero()
                || self
                    .shared
                    .ask_within(left, method, &[&topic, uri])
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

impl Shared {
    /// Calls the master, until the node ends.
    fn ask(&self, method: &str, arguments: &[&str]) -> io::Result<Value> {
        let arguments = self.arguments(arguments);
        let lives = || self.lives();
        call(&self.master, method, arguments, PATIENCE, &lives)
    }

    /// Calls the master, also where the node ends.
    fn ask_within(&self, span: Duration, method: &str, arguments: &[&str]) -> io::Result<Value> {
        let arguments = self.arguments(arguments);
        call(&self.master, method, arguments, span, &|| true)
    }

    fn arguments(&self, arguments: &[&str]) -> Vec<Value> {
        let all = [&*self.caller].into_iter().chain(arguments.iter().copied());
        all.map(Value::text).collect()
    }

    fn lives(&self) -> bool {
        !self.ends.load(Ordering::Acquire)
    }

    fn subscribe(&self, topic: &str) -> io::Result<()> {
        if self
            .state
            .with(|state| state.subscribed.contains_key(topic))
        {
            return Ok(());
        }
        // Before the master is asked, as it tells of new publishers from then on.
        self.state
            .with(|state| state.subscribed.insert(topic.to_owned(), BTreeSet::new()));
        match self.ask("registerSubscriber", &[topic, "*", &self.uri]) {
            Ok(publishers) => {
                // A master that names too many is served as far as that goes.
                let _ = self.update(topic, &publishers);
                Ok(())
            }
            Err(error) => {
                self.state.with(|state| state.subscribed.remove(topic));
                Err(error)
            }
        }
    }

    fn unsubscribe(&self, topic: &str) -> io::Result<()> {
        self.state.with(|state| {
            state.subscribed.remove(topic);
            state.places.retain(|(of, _), _| of != topic);
        });
        self.ask("unregisterSubscriber", &[topic, &self.uri])
            .map(|_| ())
    }

    /// These, and no others, publish the topic.
    ///
    /// # Errors
    /// Where they are more than a node connects to; then those that were known before stay, and as many of the others
    /// as there is room for are taken.
    fn update(&self, topic: &str, publishers: &Value) -> Result<(), String> {
        let uris = publishers.as_list().unwrap_or_default().iter();
        let uris = uris.filter_map(Value::as_text);
        self.state.with(|state| {
            let others = state.subscribed.iter().filter(|(of, _)| *of != topic);
            let others: usize = others.map(|(_, uris)| uris.len()).sum();
            let most = MAX_PUBLISHERS.min(MAX_ALL_PUBLISHERS.saturating_sub(others));
            let Some(known) = state.subscribed.get_mut(topic) else {
                return Ok(());
            };
            let (uris, is_all) = chosen(known, uris, most);
            state
                .places
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

    /// Subscribes to topics that patterns match, and asks publishers for their places. What fails is
    /// tried again later.
    fn tend(&self) {
        let (wanted, has_pattern) = self.state.with(|state| {
            let mut wanted = state.wanted.iter();
            let has_pattern = wanted.any(|pattern| pattern.exactly().is_none());
            (state.wanted.clone(), has_pattern)
        });
        if has_pattern && let Ok(topics) = self.ask("getPublishedTopics", &[""]) {
            let topics = topics.as_list().unwrap_or_default().iter();
            let names = topics.filter_map(|topic| topic.as_list()?.first()?.as_text());
            for topic in names.filter(|topic| is_wanted(&wanted, topic)) {
                let _ = self.subscribe(topic);
            }
        }
        for (topic, uri) in self.without_place() {
            if !self.lives() {
                return;
            }
            if let Some(place) = self.place(&topic, &uri) {
                self.state.with(|state| {
                    state.next_id += 1;
                    let found = (state.next_id, place);
                    state.places.insert((topic, uri), found);
                });
            }
        }
        if let Some(listener) = self.state.with(|state| state.listener.clone()) {
            listener.wake();
        }
    }

    /// Where what is wanted is sent from; each place once, whoever named it.
    fn sources(&self) -> Vec<Source> {
        self.state.with(|state| {
            let mut seen = BTreeSet::new();
            let places = state.places.iter();
            let places = places.filter(|((topic, _), (_, place))| seen.insert((topic, place)));
            let sources = places.map(|((topic, _), (id, place))| Source {
                id: *id,
                topic: topic.clone(),
                place: place.clone(),
            });
            sources.collect()
        })
    }

    /// Publishers that were not asked yet.
    fn without_place(&self) -> Vec<(String, String)> {
        self.state.with(|state| {
            let subscribed = state.subscribed.iter();
            let all = subscribed
                .flat_map(|(topic, uris)| uris.iter().map(move |uri| (topic.clone(), uri.clone())));
            all.filter(|pair| !state.places.contains_key(pair))
                .collect()
        })
    }

    /// Where a publisher sends a topic from.
    fn place(&self, topic: &str, uri: &str) -> Option<String> {
        let tcpros = Value::List(vec![Value::List(vec![Value::text("TCPROS")])]);
        let arguments = vec![Value::text(&self.caller), Value::text(topic), tcpros];
        let (place, lives) = (place_of(uri)?, || self.lives());
        let answer = call(place, "requestTopic", arguments, PATIENCE, &lives).ok()?;
        let [_, host, port] = answer.as_list()? else {
            return None;
        };
        Some(format!("{}:{}", host.as_text()?, port.as_int()?))
    }

    /// What this node answers.
    fn answer(&self, call: &Call) -> Value {
        let value = match (call.method.as_str(), call.arguments.as_slice()) {
            ("publisherUpdate", [_, Value::Text(topic), publishers]) => {
                match self.update(topic, publishers) {
                    Ok(()) => Value::Int(0),
                    Err(reason) => return failed(reason),
                }
            }
            ("requestTopic", [_, Value::Text(topic), ..]) => match self.sends(topic) {
                Some(port) => Value::List(vec![
                    Value::text("TCPROS"),
                    Value::Text(self.host.to_string()),
                    Value::Int(port.into()),
                ]),
                None => return failed("this node does not publish that topic".to_owned()),
            },
            ("getPid", _) => Value::Int(std::process::id() as i32),
            ("getMasterUri", _) => Value::Text(format!("http://{}/", self.master)),
            ("getBusInfo" | "getBusStats" | "getSubscriptions" | "getPublications", _) => {
                Value::List(Vec::new())
            }
            _ => Value::Int(0),
        };
        Value::List(vec![Value::Int(1), Value::text(""), value])
    }

    fn sends(&self, topic: &str) -> Option<u16> {
        self.state.with(|state| {
            let published = state.published.contains(topic);
            state.port.filter(|_| published)
        })
    }
}

/// At most so many of the named publishers, first those that are known already; whether that is all of them. Two URIs
/// of one server are the same publisher.
fn chosen<'v>(
    known: &BTreeSet<String>,
    named: impl Iterator<Item = &'v str>,
    most: usize,
) -> (BTreeSet<String>, bool) {
    let mut servers = BTreeSet::new();
    let (old, new): (Vec<&str>, Vec<&str>) = named
        .filter(|uri| place_of(uri).is_some())
        .partition(|uri| known.contains(*uri));
    let mut uris = old.into_iter().chain(new);
    let mut chosen = BTreeSet::new();
    let is_all = uris.all(|uri| {
        let is_new = place_of(uri).is_some_and(|place| servers.insert(place));
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

/// The answer to what cannot be done.
fn failed(reason: String) -> Value {
    Value::List(vec![Value::Int(0), Value::Text(reason), Value::Int(0)])
}

/// Calls a method.
fn call(
    place: &str,
    method: &str,
    arguments: Vec<Value>,
    patience: Duration,
    wanted: &dyn Fn() -> bool,
) -> io::Result<Value> {
    let method = method.to_owned();
    http::call(place, &Call { method, arguments }, patience, wanted)
}

/// The thread that asks.
fn ask(shared: &Shared, mut watch: Watch) {
    while shared.lives() {
        // ReorderLimits for the next round also where waiting fails at once.
        if watch.wait(Wait::Until(clock::now() + ASK_AGAIN)).is_err() {
            thread::sleep(ASK_AGAIN);
        }
        if shared.lives() {
            shared.tend();
        }
    }
}

/// The thread that answers.
fn answer(shared: &Shared, mut watch: Watch, door: Door, asker: &Waker) {
    let mut callers = Callers::at(door);
    while shared.lives() {
        callers.watch(&mut watch);
        let wait = callers.deadline().map_or(Wait::Forever, Wait::Until);
        if watch.wait(wait).is_err() {
            thread::sleep(ASK_AGAIN);
        }
        callers.tend(&watch, |call| {
            let answer = shared.answer(call);
            if call.method == "publisherUpdate" {
                asker.wake();
            }
            answer
        });
    }
}

#[cfg(test)]
mod tests;
