//! A node: what the master knows of this program, and whom it is told of.
//!
//! A thread of its own answers the master's and other nodes' calls, asks the master for topics that
//! patterns match, and asks publishers where they are, so that no thread of a user's ever waits for
//! another program's answer but where it subscribes or first publishes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use kadenz_rt::clock;
use kadenz_rt::net::watch::{Interest, Waker, Watch};

use super::http::{self, call, place_of};
use super::xmlrpc::{Call, Value};
use crate::channel::Pattern;
use crate::provider::Wait;
use crate::sync::Lock;

/// The master is asked for new topics, and silent publishers for their place, after so long.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// A publisher of a topic: its node's URI, and where it sends from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) id: u64,
    pub(super) topic: String,
    pub(super) place: String,
}

pub(super) struct Node {
    shared: Arc<Shared>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
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
        call(master, "getPid", vec![Value::text(caller)])?;
        let listener = TcpListener::bind((host, 0))?;
        listener.set_nonblocking(true)?;
        let uri = format!("http://{host}:{}/", listener.local_addr()?.port());
        let shared = Arc::new(Shared {
            master: master.to_owned(),
            caller: caller.into(),
            host,
            uri,
            state: Lock::new(State::default()),
            ends: AtomicBool::new(false),
        });
        let watch = Watch::new()?;
        let waker = watch.waker();
        let serving = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("kadenz-ros".to_owned())
            .spawn(move || serve(&serving, watch, &listener))?;
        Ok(Self {
            shared,
            waker,
            thread: Some(thread),
        })
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
        self.waker.wake();
        Ok(())
    }

    /// The publishers of what is wanted.
    pub(super) fn sources(&self) -> Vec<Source> {
        self.shared.state.with(|state| {
            let places = state.places.iter();
            let sources = places.map(|((topic, _), (id, place))| Source {
                id: *id,
                topic: topic.clone(),
                place: place.clone(),
            });
            sources.collect()
        })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let Shared { state, uri, .. } = &*self.shared;
        let (published, subscribed) = state.with(|state| {
            let subscribed: Vec<String> = state.subscribed.keys().cloned().collect();
            (std::mem::take(&mut state.published), subscribed)
        });
        // A master that has gone has forgotten them.
        for topic in published {
            let _ = self.shared.ask("unregisterPublisher", &[&topic, uri]);
        }
        for topic in subscribed {
            let _ = self.shared.unsubscribe(&topic);
        }
        self.shared.ends.store(true, Ordering::Release);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn is_wanted(wanted: &[Pattern], topic: &str) -> bool {
    let channel = topic.strip_prefix('/').unwrap_or(topic);
    wanted.iter().any(|pattern| pattern.matches(channel))
}

impl Shared {
    /// Calls the master.
    fn ask(&self, method: &str, arguments: &[&str]) -> io::Result<Value> {
        let all = [&*self.caller].into_iter().chain(arguments.iter().copied());
        call(&self.master, method, all.map(Value::text).collect())
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
                self.update(topic, &publishers);
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
    fn update(&self, topic: &str, publishers: &Value) {
        let uris = publishers.as_list().unwrap_or_default().iter();
        let uris: BTreeSet<String> = uris.filter_map(Value::as_text).map(str::to_owned).collect();
        self.state.with(|state| {
            let Some(known) = state.subscribed.get_mut(topic) else {
                return;
            };
            state
                .places
                .retain(|(of, uri), _| of != topic || uris.contains(uri));
            *known = uris;
        });
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
        let answer = call(place_of(uri)?, "requestTopic", arguments).ok()?;
        let [_, host, port] = answer.as_list()? else {
            return None;
        };
        Some(format!("{}:{}", host.as_text()?, port.as_int()?))
    }

    /// What this node answers.
    fn answer(&self, call: &Call) -> Value {
        let value = match (call.method.as_str(), call.arguments.as_slice()) {
            ("publisherUpdate", [_, Value::Text(topic), publishers]) => {
                self.update(topic, publishers);
                Value::Int(0)
            }
            ("requestTopic", [_, Value::Text(topic), ..]) => match self.sends(topic) {
                Some(port) => Value::List(vec![
                    Value::text("TCPROS"),
                    Value::Text(self.host.to_string()),
                    Value::Int(port.into()),
                ]),
                None => {
                    let reason = Value::text("this node does not publish that topic");
                    return Value::List(vec![Value::Int(0), reason, Value::Int(0)]);
                }
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

/// The node's thread.
fn serve(shared: &Shared, mut watch: Watch, listener: &TcpListener) {
    watch.add(listener, Interest::Read);
    while !shared.ends.load(Ordering::Acquire) {
        // Patience for the next round also where waiting fails at once.
        if watch.wait(Wait::Until(clock::now() + ASK_AGAIN)).is_err() {
            thread::sleep(ASK_AGAIN);
        }
        while let Ok((stream, _)) = listener.accept() {
            // A peer that goes away in the middle is nobody's loss but its own.
            let _ = http::serve(stream, |call| shared.answer(call));
        }
        if !shared.ends.load(Ordering::Acquire) {
            shared.tend();
        }
    }
}
