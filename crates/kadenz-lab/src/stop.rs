//! The flag that ends a measurement early, with the data kept.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Asks every loop that holds a clone of it to end after its present cycle.
///
/// ```
/// let stop = kadenz_lab::stop::Stop::default();
/// assert!(!stop.requested());
/// stop.request();
/// assert!(stop.clone().requested());
/// ```
///
/// # Real-time safety
/// Reading and setting it is one atomic access.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the loops to end.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The flag itself, for code that takes a plain flag: setting it asks the loops to end.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Whether the end was requested.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sleeps for `span` in short steps; returns early when the end is requested.
    pub fn wait(&self, span: Duration) {
        const STEP: Duration = Duration::from_millis(50);
        let begun = Instant::now();
        while !self.requested() {
            let left = span.saturating_sub(begun.elapsed());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(STEP));
        }
    }
}

/// A thread; dropping this asks it to end and waits for it.
pub(crate) struct StoppableThread {
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl StoppableThread {
    /// Starts a thread. `work` must return soon after the request.
    pub(crate) fn start(name: &str, work: impl FnOnce(&Stop) + Send + 'static) -> io::Result<Self> {
        let stop = Stop::default();
        let asked = stop.clone();
        let thread = Builder::new().name(name.to_owned());
        let thread = Some(thread.spawn(move || work(&asked))?);
        Ok(Self { stop, thread })
    }
}

impl Drop for StoppableThread {
    fn drop(&mut self) {
        self.stop.request();
        if let Some(thread) = self.thread.take() {
            // It returns nothing; if it panicked, what it did before stays.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_the_request() {
        const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
        let waiting = StoppableThread::start("waits", |stop| stop.wait(YEAR)).unwrap();
        drop(waiting);
        let begun = Instant::now();
        Stop::default().wait(Duration::from_millis(60));
        assert!(begun.elapsed() >= Duration::from_millis(60));
    }
}
