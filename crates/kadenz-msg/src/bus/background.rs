use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use kadenz_rt::clock;
use kadenz_rt::tuning::{self, Measure, Tuning};

use super::leader_followers::LeaderFollowers;
use crate::provider::{Received, Wait};
use crate::sync::Arc;

/// How often the thread looks whether it is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A thread that receives for a bus, so that messages wait in the subscriptions' queues. Dropping it
/// ends the thread.
#[derive(Debug)]
pub struct Background {
    stop: std::sync::Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    measures: Vec<Measure>,
}

impl Background {
    pub(super) fn start(
        leader_followers: Arc<LeaderFollowers>,
        tuning: Tuning,
    ) -> std::io::Result<Self> {
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let until = std::sync::Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("kadenz-receive".to_owned())
            .spawn(move || {
                let applied = tuning::apply(&tuning);
                let _ = tell.send(applied.measures.clone());
                while !until.load(Ordering::Relaxed) {
                    receive_for_a_while(&leader_followers);
                }
                leader_followers.leave();
            })?;
        Ok(Self {
            stop,
            thread: Some(thread),
            measures: told.recv().unwrap_or_default(),
        })
    }

    /// What the thread asked of the machine and what it got.
    #[must_use]
    pub fn measures(&self) -> &[Measure] {
        &self.measures
    }
}

fn receive_for_a_while(leader_followers: &LeaderFollowers) {
    let until = clock::now() + POLL_INTERVAL;
    let Some(mut lead) = leader_followers.lead_or_follow() else {
        std::thread::park_timeout(POLL_INTERVAL);
        return;
    };
    while clock::now() < until && !lead.must_end() {
        match lead.receive(Wait::Until(until), None) {
            Ok(Received::Ended) | Err(_) => {
                // Here nothing can be done but wait. Who waits for a message gets the lead, and hears
                // of it there.
                drop(lead);
                leader_followers.leave();
                std::thread::sleep(POLL_INTERVAL);
                return;
            }
            Ok(_) => {}
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}
