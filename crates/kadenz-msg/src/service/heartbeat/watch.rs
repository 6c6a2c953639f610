//! The state of nodes, from their beats and the absence of beats; sans-IO.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use crate::channel::MAX_CHANNEL;
use crate::service::cut;
use crate::service::messages::Heartbeat;

/// The allowed intervals of a heartbeat; a stated interval outside is taken as the nearest of these.
pub(super) const INTERVALS: RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(3600);

/// The longest state that is kept, in bytes.
const MAX_STATE: usize = 200;

/// The limits by which a node counts as late or dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeartbeatOptions {
    /// The maximum number of known nodes; a dead one makes room for a new one.
    pub most_nodes: usize,
    /// The number of its intervals without a beat after which a node is late.
    pub late_after: u32,
    /// The number of its intervals without a beat after which a node is dead.
    pub dead_after: u32,
}

impl Default for HeartbeatOptions {
    fn default() -> Self {
        Self {
            most_nodes: 1000,
            late_after: 2,
            dead_after: 5,
        }
    }
}

/// Whether a node lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// The node beats.
    Alive,
    /// Its beat is overdue.
    Late,
    /// The node has been silent for so long that it counts as dead.
    Dead,
}

/// The change of a node's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Its first beat arrived.
    Appeared,
    /// Its beat is overdue.
    Late,
    /// The node counts as dead.
    Died,
    /// The node beats again, as a known instance: it or the network had paused, or of two programs of one
    /// name one has ended.
    Recovered,
    /// Another instance of it beats: it was started again.
    Restarted,
    /// Two instances beat by turns: two programs have one name.
    Doubled,
}

/// A program that beats, or did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The name that the program gave its heartbeat.
    pub name: String,
    /// The state that it publishes.
    pub state: String,
    /// The number of its present instance, another one after a restart.
    pub instance: i64,
    /// When that started, microseconds since 1970 by its own clock.
    pub started_us: i64,
    /// The interval that it states.
    pub interval: Duration,
    /// Whether the node beats in time.
    pub life: Liveness,
    /// The time of its last beat.
    pub last_received: MonotonicTime,
    /// The number of its last beat.
    pub number: i64,
    /// Beats of this instance that never arrived.
    pub missed: u64,
    /// How often the node was started again.
    pub restarts: u64,
    /// Whether two programs have its name.
    pub doubled: bool,
    former: Option<i64>,
}

/// Determines which nodes live, from their beats and the time. Sans-IO; allocates only for nodes that it has
/// not seen before, and for longer states.
///
/// ```
/// use std::time::Duration;
/// use kadenz_msg::service::heartbeat::{Event, Liveness, HeartbeatWatch, HeartbeatOptions};
/// use kadenz_msg::service::messages::Heartbeat;
/// use kadenz_rt::clock::MonotonicTime;
///
/// let at = |ms: u64| MonotonicTime::from_ns(ms * 1_000_000);
/// let mut watch = HeartbeatWatch::new(HeartbeatOptions::default());
/// let beat = Heartbeat { name: "arm".to_owned(), interval_us: 100_000, ..Heartbeat::default() };
/// assert_eq!(watch.add(&beat, at(0)), Some(Event::Appeared));
///
/// let mut events = Vec::new();
/// watch.look(at(600), |node, event| events.push((node.name.clone(), event)));
/// assert_eq!(events, [("arm".to_owned(), Event::Died)]);
/// ```
#[derive(Debug)]
pub struct HeartbeatWatch {
    options: HeartbeatOptions,
    nodes: BTreeMap<String, Node>,
    untracked_beats: u64,
}

impl HeartbeatWatch {
    /// Returns a watch that knows no node yet.
    #[must_use]
    pub fn new(options: HeartbeatOptions) -> Self {
        Self {
            options,
            nodes: BTreeMap::new(),
            untracked_beats: 0,
        }
    }

    /// Takes a beat, and returns the event that it causes.
    pub fn add(&mut self, beat: &Heartbeat, at: MonotonicTime) -> Option<Event> {
        if let Some(node) = self.nodes.get_mut(cut(&beat.name, MAX_CHANNEL)) {
            return node.add(beat, at);
        }
        if self.nodes.len() >= self.options.most_nodes && !self.make_room() {
            self.untracked_beats += 1;
            return None;
        }
        let node = Node::of(beat, at);
        self.nodes.insert(node.name.clone(), node);
        Some(Event::Appeared)
    }

    /// Looks for nodes that are late or dead by now, and reports each that was not before.
    pub fn look(&mut self, now: MonotonicTime, mut report: impl FnMut(&Node, Event)) {
        for node in self.nodes.values_mut() {
            let life = node.life_at(now, &self.options);
            // A beat alone makes a node alive.
            if life == node.life || life == Liveness::Alive || node.life == Liveness::Dead {
                continue;
            }
            node.life = life;
            report(
                node,
                match life {
                    Liveness::Dead => Event::Died,
                    Liveness::Late | Liveness::Alive => Event::Late,
                },
            );
        }
    }

    /// Returns the time at which the next node will be late or dead, without further beats.
    #[must_use]
    pub fn next_look(&self) -> Option<MonotonicTime> {
        let nodes = self.nodes.values();
        nodes.filter_map(|it| it.next_look(&self.options)).min()
    }

    /// Returns all known nodes, by name.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// A node by its name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.get(name)
    }

    /// Returns the number of beats of nodes for which there was no room.
    #[must_use]
    pub fn untracked_beats(&self) -> u64 {
        self.untracked_beats
    }

    /// Forgets the node that has been dead for longest.
    fn make_room(&mut self) -> bool {
        let dead = self.nodes.values().filter(|it| it.life == Liveness::Dead);
        let Some(name) = dead
            .min_by_key(|it| it.last_received)
            .map(|it| it.name.clone())
        else {
            return false;
        };
        self.nodes.remove(&name).is_some()
    }
}

impl Node {
    fn of(beat: &Heartbeat, at: MonotonicTime) -> Self {
        Self {
            name: cut(&beat.name, MAX_CHANNEL).to_owned(),
            state: cut(&beat.state, MAX_STATE).to_owned(),
            instance: beat.instance,
            started_us: beat.started_us,
            interval: interval(beat),
            life: Liveness::Alive,
            last_received: at,
            number: beat.number,
            missed: 0,
            restarts: 0,
            doubled: false,
            former: None,
        }
    }

    fn add(&mut self, beat: &Heartbeat, at: MonotonicTime) -> Option<Event> {
        if Some(beat.instance) == self.former {
            if self.life == Liveness::Dead {
                self.begin_again(beat, at);
                return Some(Event::Recovered);
            }
            let was_reported = std::mem::replace(&mut self.doubled, true);
            return (!was_reported).then_some(Event::Doubled);
        }
        if beat.instance != self.instance {
            self.begin_again(beat, at);
            self.restarts += 1;
            return Some(Event::Restarted);
        }
        if beat.number <= self.number {
            // Doubled or overtaken by the network.
            return None;
        }
        let skipped = beat.number.saturating_sub(self.number).saturating_sub(1);
        self.missed = self.missed.saturating_add(skipped.unsigned_abs());
        self.take(beat, at);
        let before = std::mem::replace(&mut self.life, Liveness::Alive);
        (before != Liveness::Alive).then_some(Event::Recovered)
    }

    fn begin_again(&mut self, beat: &Heartbeat, at: MonotonicTime) {
        self.former = Some(self.instance);
        self.instance = beat.instance;
        self.started_us = beat.started_us;
        self.life = Liveness::Alive;
        self.missed = 0;
        self.doubled = false;
        self.take(beat, at);
    }

    fn take(&mut self, beat: &Heartbeat, at: MonotonicTime) {
        self.number = beat.number;
        self.interval = interval(beat);
        self.last_received = at;
        let state = cut(&beat.state, MAX_STATE);
        if self.state != state {
            self.state.clear();
            self.state.push_str(state);
        }
    }

    fn life_at(&self, now: MonotonicTime, options: &HeartbeatOptions) -> Liveness {
        if now > self.last_received + self.interval.saturating_mul(options.dead_after) {
            Liveness::Dead
        } else if now > self.last_received + self.interval.saturating_mul(options.late_after) {
            Liveness::Late
        } else {
            Liveness::Alive
        }
    }

    fn next_look(&self, options: &HeartbeatOptions) -> Option<MonotonicTime> {
        let beats = match self.life {
            Liveness::Alive => options.late_after.min(options.dead_after),
            Liveness::Late => options.dead_after,
            Liveness::Dead => return None,
        };
        let until = self.last_received + self.interval.saturating_mul(beats);
        Some(until + Duration::from_nanos(1))
    }
}

fn interval(beat: &Heartbeat) -> Duration {
    let stated = Duration::from_micros(u64::try_from(beat.interval_us).unwrap_or(0));
    stated.clamp(*INTERVALS.start(), *INTERVALS.end())
}

#[cfg(test)]
mod tests;
