use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use kadenz_rt::tuning::{self, Measure, Tuning};

use super::delivery::{Delivery, RecvError};
use super::subscription::{CounterWatcher, Subscription};
use crate::message::Message;

/// How often the thread looks whether it is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A thread that hands each message of a subscription to a function. Dropping it ends the thread and
/// the subscription, after the message in hand.
#[derive(Debug)]
pub struct Callback {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    measures: Vec<Measure>,
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
        let stop = Arc::new(AtomicBool::new(false));
        let watcher = subscription.watcher();
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let until = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("kadenz-callback".to_owned())
            .spawn(move || {
                let applied = tuning::apply(&tuning);
                let _ = tell.send(applied.measures.clone());
                receive(subscription, &until, body);
            })?;
        Ok(Self {
            stop,
            thread: Some(thread),
            measures: told.recv().unwrap_or_default(),
            watcher,
        })
    }

    /// What the thread asked of the machine and what it got.
    #[must_use]
    pub fn measures(&self) -> &[Measure] {
        &self.measures
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
    while !stop.load(Ordering::Relaxed) {
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
                    // What is gone is not back within microseconds.
                    std::thread::sleep(POLL_INTERVAL);
                }
            }
        }
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A callback that panicked has said so on its own thread.
            let _ = thread.join();
        }
    }
}
