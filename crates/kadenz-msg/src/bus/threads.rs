//! Threads that work for a bus until they are dropped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

use kadenz_rt::clock;
use kadenz_rt::tuning::{self, Measure, Tuning};

use super::delivery::{Delivery, RecvError};
use super::leader_followers::LeaderFollowers;
use super::subscription::{CounterWatcher, Subscription};
use crate::message::Message;
use crate::provider::{Received, Wait};
use crate::sync::Arc;

/// The interval at which a thread checks whether it must end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A thread that is tuned as far as the machine allows. Dropping it requests the thread's end, unparks it,
/// and waits for its end.
#[derive(Debug)]
pub(crate) struct TunedThread {
    stop: std::sync::Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    measures: Vec<Measure>,
}

impl TunedThread {
    /// Starts the thread, and waits until it is tuned. `body` must end soon after its argument requests the
    /// end.
    pub(crate) fn start(
        name: &str,
        tuning: Tuning,
        body: impl FnOnce(&AtomicBool) + Send + 'static,
    ) -> std::io::Result<Self> {
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let until = std::sync::Arc::clone(&stop);
        let (sender, receiver) = sync_channel(1);
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || {
            let applied = tuning::apply(&tuning);
            let _ = sender.send(applied.measures.clone());
            body(&until);
        })?;
        Ok(Self {
            stop,
            thread: Some(thread),
            measures: receiver.recv().unwrap_or_default(),
        })
    }

    /// Requests the thread's end, without a wait for it.
    fn request_stop(&self) {
        self.stop.store(true, Ordering::Release);
    }
}

impl Drop for TunedThread {
    fn drop(&mut self) {
        self.request_stop();
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic has printed its own message.
            let _ = thread.join();
        }
    }
}

/// A thread that receives for a bus, so that messages wait in the subscriptions' queues. Dropping it
/// ends the thread.
#[derive(Debug)]
pub struct Background {
    thread: TunedThread,
    leader_followers: Arc<LeaderFollowers>,
}

impl Background {
    pub(super) fn start(
        leader_followers: Arc<LeaderFollowers>,
        tuning: Tuning,
    ) -> std::io::Result<Self> {
        let receiving = Arc::clone(&leader_followers);
        let thread = TunedThread::start("kadenz-receive", tuning, move |stop| {
            while !stop.load(Ordering::Acquire) {
                receive_for_a_while(&receiving, stop);
            }
            receiving.leave();
        })?;
        Ok(Self {
            thread,
            leader_followers,
        })
    }

    /// Returns the settings that the thread requested of the machine and those granted.
    #[must_use]
    pub fn measures(&self) -> &[Measure] {
        &self.thread.measures
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.thread.request_stop();
        // Its wait in the inlet ends now, and not at its next look.
        self.leader_followers.wake();
    }
}

fn receive_for_a_while(leader_followers: &LeaderFollowers, stop: &AtomicBool) {
    let until = clock::now() + POLL_INTERVAL;
    let Some(mut lead) = leader_followers.lead_or_follow() else {
        std::thread::park_timeout(POLL_INTERVAL);
        return;
    };
    while clock::now() < until && !lead.must_end() && !stop.load(Ordering::Acquire) {
        match lead.receive(Wait::Until(until), None) {
            Ok(Received::Ended) | Err(_) => {
                // This thread can only wait. A thread that waits for a message gets the lead, and receives
                // the error there.
                drop(lead);
                leader_followers.leave();
                std::thread::sleep(POLL_INTERVAL);
                return;
            }
            Ok(_) => {}
        }
    }
}

/// A thread that hands each message of a subscription to a function. Dropping it ends the thread and the
/// subscription, after the present message.
#[derive(Debug)]
pub struct Callback {
    thread: TunedThread,
    watcher: CounterWatcher,
}

impl Callback {
    /// Starts the thread, tuned as far as the machine allows.
    pub(super) fn start<M, F>(
        subscription: Subscription<M>,
        tuning: Tuning,
        body: F,
    ) -> std::io::Result<Self>
    where
        M: Message + Default + Send + 'static,
        F: FnMut(Result<(&M, &Delivery), RecvError>) + Send + 'static,
    {
        let watcher = subscription.watcher();
        let thread = TunedThread::start("kadenz-callback", tuning, move |stop| {
            receive(subscription, stop, body);
        })?;
        Ok(Self { thread, watcher })
    }

    /// Returns the settings that the thread requested of the machine and those granted.
    #[must_use]
    pub fn measures(&self) -> &[Measure] {
        &self.thread.measures
    }

    /// A way to read the subscription's counters.
    #[must_use]
    pub fn watcher(&self) -> CounterWatcher {
        self.watcher.clone()
    }
}

fn receive<M, F>(mut subscription: Subscription<M>, stop: &AtomicBool, mut body: F)
where
    M: Message + Default,
    F: FnMut(Result<(&M, &Delivery), RecvError>),
{
    let mut message = M::default();
    while !stop.load(Ordering::Acquire) {
        match subscription.recv_into(&mut message, POLL_INTERVAL) {
            Ok(None) => {}
            Ok(Some(delivery)) => body(Ok((&message, &delivery))),
            Err(error) => {
                let ended = error == RecvError::Ended;
                let provider = matches!(error, RecvError::Provider(_));
                body(Err(error));
                if ended {
                    return;
                }
                if provider {
                    // A broken connection does not recover within microseconds.
                    std::thread::sleep(POLL_INTERVAL);
                }
            }
        }
    }
}
