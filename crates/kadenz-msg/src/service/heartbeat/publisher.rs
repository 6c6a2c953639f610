use std::sync::atomic::Ordering;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime, WallTime};
use kadenz_rt::tuning::Tuning;

use super::CHANNEL;
use crate::arrival::random_number;
use crate::bus::{AdvertiseError, Bus, Publisher, SendError, TunedThread};
use crate::channel::MAX_CHANNEL;
use crate::service::cut;
use crate::service::messages::Heartbeat;

/// The longest text that a beat carries, in bytes.
const MAX_STATE: usize = 100;

/// Announces to others that this program lives.
#[derive(Debug)]
pub struct HeartbeatPublisher {
    publisher: Publisher<Heartbeat>,
    next: Heartbeat,
    interval: Duration,
    due: MonotonicTime,
}

/// The reason for which no heartbeat can be published.
#[derive(Debug, thiserror::Error)]
pub enum HeartbeatError {
    /// The name cannot be shown.
    #[error("the node's name {name:?} must have 1 to {MAX_CHANNEL} bytes, none of them NUL")]
    Name {
        /// The requested name of the node.
        name: String,
    },
    /// The beats would be too frequent or too rare.
    #[error("the interval of heartbeats is a millisecond to an hour, not {interval:?}")]
    Interval {
        /// The interval that the caller gave.
        interval: Duration,
    },
    /// Nothing can be sent.
    #[error(transparent)]
    Advertise(#[from] AdvertiseError),
}

impl Bus {
    /// Returns the publisher of a program's heartbeat. The program's own loop publishes the beats, or a thread
    /// ([`HeartbeatPublisher::on_thread`]).
    ///
    /// # Errors
    /// If the name cannot be shown, the interval is not between a millisecond and an hour, or the provider
    /// cannot send.
    ///
    /// # Real-time safety
    /// Not real-time safe itself.
    pub fn heartbeat(
        &self,
        name: &str,
        interval: Duration,
    ) -> Result<HeartbeatPublisher, HeartbeatError> {
        if name.is_empty() || name.len() > MAX_CHANNEL || name.contains('\0') {
            let name = name.to_owned();
            return Err(HeartbeatError::Name { name });
        }
        if !super::watch::INTERVALS.contains(&interval) {
            return Err(HeartbeatError::Interval { interval });
        }
        Ok(HeartbeatPublisher {
            publisher: self.publisher(CHANNEL)?,
            next: Heartbeat {
                instance: random_number().cast_signed(),
                number: 0,
                started_us: WallTime::now().as_unix_ns() / 1000,
                interval_us: i64::try_from(interval.as_micros()).unwrap_or(i64::MAX),
                name: name.to_owned(),
                state: String::with_capacity(MAX_STATE),
            },
            interval,
            due: MonotonicTime::from_ns(0),
        })
    }
}

impl HeartbeatPublisher {
    /// Publishes one beat.
    ///
    /// # Errors
    /// If the provider does not take it. Later beats may succeed.
    ///
    /// # Real-time safety
    /// Real-time safe as [`Publisher::publish`]: allocates nothing, takes no lock.
    pub fn beat(&mut self) -> Result<(), SendError> {
        let sent = self.publisher.publish(&self.next);
        // A beat that was not sent counts as lost nevertheless.
        self.next.number += 1;
        sent
    }

    /// Beats if the interval since the last beat is over, for loops that are faster. Returns whether it did.
    ///
    /// # Errors
    /// As [`HeartbeatPublisher::beat`].
    ///
    /// # Real-time safety
    /// Real-time safe as [`HeartbeatPublisher::beat`].
    pub fn beat_if_due(&mut self, now: MonotonicTime) -> Result<bool, SendError> {
        if now < self.due {
            return Ok(false);
        }
        // The next beat follows the last due time; after a pause, the present time.
        let next = self.due + self.interval;
        self.due = if next > now {
            next
        } else {
            now + self.interval
        };
        self.beat()?;
        Ok(true)
    }

    /// Sets the state in the next beats; cut after 100 bytes and at a NUL.
    ///
    /// # Real-time safety
    /// It allocates nothing.
    pub fn set_state(&mut self, state: &str) {
        let end = state.find('\0').unwrap_or(state.len());
        self.next.state.clear();
        self.next.state.push_str(cut(&state[..end], MAX_STATE));
    }

    /// Beats on a thread of its own from now on. That shows that the process lives, and nothing of the
    /// program's loop: only beats of the loop itself show a loop that hangs. Waits until the thread is tuned.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn on_thread(mut self, tuning: Tuning) -> std::io::Result<HeartbeatThread> {
        let thread = TunedThread::start("kadenz-heart", tuning, move |stop| {
            while !stop.load(Ordering::Acquire) {
                // The watchers miss a beat that was not sent; there is no other place to report it.
                let _ = self.beat_if_due(clock::now());
                std::thread::park_timeout(self.due.remaining(clock::now()));
            }
        });
        Ok(HeartbeatThread { _thread: thread? })
    }
}

/// A heartbeat published by a thread of its own. Dropping it ends the beats.
#[derive(Debug)]
pub struct HeartbeatThread {
    _thread: TunedThread,
}
