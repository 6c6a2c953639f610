//! Notices of events on a segment: devices lost and back, states, links, emergencies.
//!
//! Assumption: one or more ordinary threads publish; any number subscribe. Guarantee: each subscriber gets
//! every notice in order, or the number of notices that it lost because it did not fetch them; no
//! subscriber delays another. Not for a real-time path: it locks and allocates.
//!
//! ```
//! use kadenz_ethercat::control::notice::{Event, Notices};
//! use kadenz_rt::clock::MonotonicTime;
//!
//! let notices = Notices::new();
//! let mut subscription = notices.subscribe(16);
//! notices.publish(MonotonicTime::from_ns(5), None, Event::WireLost);
//! let notice = subscription.try_next().expect("one was published");
//! assert_eq!((notice.number, notice.event), (1, Event::WireLost));
//! assert_eq!(subscription.lost(), 0);
//! ```

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use kadenz_rt::clock::MonotonicTime;
use serde::{Deserialize, Serialize};

use super::lock;

mod event;
mod incident;

pub use event::{Event, NoticeDevice};
pub use incident::{Incident, Incidents};

/// Notices that are kept for late subscribers.
const RECENT: usize = 256;
/// The most notices that one subscription keeps.
pub const MAX_KEPT: usize = 65_536;

/// A notice of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notice {
    /// Its number, from 1: a gap shows a lost notice.
    pub number: u64,
    /// The time at which the supervisor saw it, by the segment's port, ns.
    pub at_ns: u64,
    /// The SubDevice that it concerns; none where it concerns all.
    pub device: Option<NoticeDevice>,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = MonotonicTime::from_ns(self.at_ns);
        match &self.device {
            Some(device) => write!(f, "{at} {device}: {}", self.event),
            None => write!(f, "{at} segment: {}", self.event),
        }
    }
}

/// The notices of a segment, for publishers and subscribers.
#[derive(Debug, Default)]
pub struct Notices {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    published: u64,
    recent: VecDeque<Notice>,
    subscribers: Vec<Weak<Queue>>,
}

#[derive(Debug)]
struct Queue {
    most: usize,
    kept: Mutex<NoticeQueue>,
    more: Condvar,
}

#[derive(Debug, Default)]
struct NoticeQueue {
    notices: VecDeque<Notice>,
    lost: u64,
}

impl Notices {
    /// No notices, no subscribers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends a notice to all subscribers. Where a subscription is full, its oldest notice is lost, and
    /// counted.
    pub fn publish(&self, at: MonotonicTime, device: Option<NoticeDevice>, event: Event) {
        let mut inner = lock(&self.inner);
        inner.published += 1;
        let notice = Notice {
            number: inner.published,
            at_ns: at.as_ns(),
            device,
            event,
        };
        inner.subscribers.retain(|it| match it.upgrade() {
            Some(queue) => {
                queue.put(notice.clone());
                true
            }
            None => false,
        });
        if inner.recent.len() == RECENT {
            inner.recent.pop_front();
        }
        inner.recent.push_back(notice);
    }

    /// Subscribes to all notices from now on, of which at most `kept` are kept until they are fetched: at
    /// least 1, at most [`MAX_KEPT`].
    #[must_use]
    pub fn subscribe(&self, kept: usize) -> Subscription {
        let queue = Arc::new(Queue {
            most: kept.clamp(1, MAX_KEPT),
            kept: Mutex::default(),
            more: Condvar::new(),
        });
        lock(&self.inner).subscribers.push(Arc::downgrade(&queue));
        Subscription { queue }
    }

    /// The number of notices published.
    #[must_use]
    pub fn published(&self) -> u64 {
        lock(&self.inner).published
    }

    /// The last notices, at most 256, oldest first.
    #[must_use]
    pub fn recent(&self) -> Vec<Notice> {
        lock(&self.inner).recent.iter().cloned().collect()
    }
}

impl Queue {
    fn put(&self, notice: Notice) {
        let mut kept = lock(&self.kept);
        if kept.notices.len() == self.most {
            kept.notices.pop_front();
            kept.lost += 1;
        }
        kept.notices.push_back(notice);
        self.more.notify_one();
    }
}

/// A subscriber's notices. Dropping it ends the subscription.
#[derive(Debug)]
pub struct Subscription {
    queue: Arc<Queue>,
}

impl Subscription {
    /// The next notice, if there is one.
    pub fn try_next(&mut self) -> Option<Notice> {
        lock(&self.queue.kept).notices.pop_front()
    }

    /// Returns the next notice; waits for it, at most `span`.
    pub fn next_within(&mut self, span: Duration) -> Option<Notice> {
        let end = Instant::now() + span;
        let mut kept = lock(&self.queue.kept);
        loop {
            if let Some(notice) = kept.notices.pop_front() {
                return Some(notice);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let waited = self.queue.more.wait_timeout(kept, left);
            kept = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The number of notices lost because the subscriber did not fetch them in time.
    #[must_use]
    pub fn lost(&self) -> u64 {
        lock(&self.queue.kept).lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(notices: &Notices, times: u64) {
        for at in 0..times {
            notices.publish(MonotonicTime::from_ns(at), None, Event::WireBack);
        }
    }

    #[test]
    fn every_subscriber_gets_all_and_one_that_sleeps_loses_its_own_oldest_alone() {
        let notices = Notices::new();
        let (mut awake, mut asleep) = (notices.subscribe(100), notices.subscribe(3));
        publish(&notices, 10);
        let numbers = |it: &mut Subscription| -> Vec<u64> {
            std::iter::from_fn(|| it.try_next().map(|it| it.number)).collect()
        };
        assert_eq!(numbers(&mut awake), (1..=10).collect::<Vec<_>>());
        assert_eq!(awake.lost(), 0);
        assert_eq!(numbers(&mut asleep), [8, 9, 10]);
        assert_eq!(asleep.lost(), 7);
    }

    #[test]
    fn a_gone_subscriber_gets_nothing_and_a_late_one_sees_the_last_notices() {
        let notices = Notices::new();
        drop(notices.subscribe(1));
        publish(&notices, 300);
        assert!(lock(&notices.inner).subscribers.is_empty());
        assert_eq!(notices.published(), 300);
        let recent = notices.recent();
        assert_eq!((recent.len(), recent[0].number), (256, 45));
        assert!(notices.subscribe(1).try_next().is_none());
    }

    #[test]
    fn a_waiting_subscriber_is_woken() {
        let notices = Notices::new();
        let mut subscription = notices.subscribe(1);
        assert!(subscription.next_within(Duration::from_millis(1)).is_none());
        std::thread::scope(|scope| {
            scope.spawn(|| publish(&notices, 1));
            let notice = subscription.next_within(Duration::from_secs(10));
            assert_eq!(notice.unwrap().number, 1);
        });
    }

    #[test]
    fn a_notice_is_a_line_of_json_and_back() {
        let notice = Notice {
            number: 7,
            at_ns: 1_500_000_000,
            device: Some(NoticeDevice {
                device: 3,
                name: "knee".to_owned(),
                station: 0x1004,
            }),
            event: Event::State {
                from: 8,
                to: 0x14,
                code: 0x001B,
            },
        };
        let line = serde_json::to_string(&notice).unwrap();
        assert!(line.contains(r#""event":"state""#), "{line}");
        assert_eq!(serde_json::from_str::<Notice>(&line).unwrap(), notice);
        assert_eq!(
            notice.to_string(),
            "1.500000000 s SubDevice 3 (knee, 0x1004): OP -> SAFEOP with an error: 0x001B, sync manager watchdog"
        );
    }
}
