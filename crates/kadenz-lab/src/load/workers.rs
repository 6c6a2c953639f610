//! The threads of a generator: started together, at ordinary priority, ended and joined together.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use kadenz_rt::tuning::{self, Tuning};

use super::{LoadKind, StartLoadError};
use crate::stop::Stop;

/// Opens once; until then threads wait before it.
#[derive(Clone, Debug, Default)]
pub(super) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(super) fn open(&self) {
        let (open, opened) = &*self.0;
        *open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        opened.notify_all();
    }

    fn pass(&self) {
        let (open, opened) = &*self.0;
        let guard = open.lock().unwrap_or_else(PoisonError::into_inner);
        drop(
            opened
                .wait_while(guard, |open| !*open)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }
}

/// What a generator is started with. Every thread of every generator waits before the gate until
/// all are there: else starting the last of them would have to fight the load of the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    pub(super) gate: Gate,
    pub(super) stop: Stop,
}

/// Small stacks: a generator may have thousands of threads, and none calls deep.
const STACK: usize = 128 << 10;

/// Threads that are ended and joined when this is dropped.
#[derive(Debug)]
pub(super) struct Workers {
    kind: LoadKind,
    site: Site,
    first_error: FirstError,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    pub(super) fn new(kind: LoadKind, site: &Site) -> Self {
        Self {
            kind,
            site: site.clone(),
            first_error: FirstError::default(),
            threads: Vec::new(),
        }
    }

    /// Starts a thread that works once the gate is open. `work` must return soon after a stop.
    pub(super) fn spawn(
        &mut self,
        name: &str,
        work: impl FnOnce(&Stop) + Send + 'static,
    ) -> Result<(), StartLoadError> {
        let site = self.site.clone();
        let thread = std::thread::Builder::new()
            .name(name.chars().take(15).collect())
            .stack_size(STACK)
            .spawn(move || {
                // A thread begins with the policy of the one that started it.
                let _ordinary = tuning::apply(&Tuning::default());
                site.gate.pass();
                if !site.stop.requested() {
                    work(&site.stop);
                }
            });
        let kind = self.kind;
        self.threads
            .push(thread.map_err(|error| StartLoadError::Thread { kind, error })?);
        Ok(())
    }

    /// Starts a thread that does the same again and again, and goes on after a failure.
    pub(super) fn repeat(
        &mut self,
        name: &str,
        mut work: impl FnMut(&Stop) -> Result<(), String> + Send + 'static,
    ) -> Result<(), StartLoadError> {
        let first_error = self.first_error.clone();
        self.spawn(name, move |stop| {
            while !stop.requested() {
                if let Err(what) = work(stop) {
                    first_error.note(what);
                }
            }
        })
    }

    /// The first thing that kept them from their work.
    pub(super) fn first_error(&self) -> Option<String> {
        self.first_error.get()
    }

    /// Ends and joins them.
    pub(super) fn end(&mut self) {
        self.site.stop.request();
        self.site.gate.open();
        for thread in self.threads.drain(..) {
            // A worker has counted its results already; a panic of one must not hide the others.
            let _ = thread.join();
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.end();
    }
}

/// The first thing that kept a generator from its work.
#[derive(Clone, Debug, Default)]
struct FirstError(Arc<Mutex<Option<String>>>);

/// How long a worker rests after a failure, so that what fails does not become the load.
const REST: Duration = Duration::from_millis(50);

impl FirstError {
    /// Notes what failed, if it is the first, and rests.
    fn note(&self, what: String) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(what);
        std::thread::sleep(REST);
    }

    fn get(&self) -> Option<String> {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn no_worker_works_before_the_gate_opens_nor_after_the_end() {
        let site = Site::default();
        let worked = Arc::new(AtomicU64::new(0));
        let mut workers = Workers::new(LoadKind::Cpu, &site);
        for _ in 0..3 {
            let worked = worked.clone();
            let work = move |_: &Stop| {
                worked.fetch_add(1, Ordering::Relaxed);
            };
            workers.spawn("worker", work).unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(worked.load(Ordering::Relaxed), 0);
        drop(workers);
        assert_eq!(worked.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn the_first_error_stays() {
        let first_error = FirstError::default();
        assert_eq!(first_error.get(), None);
        first_error.note("first".to_owned());
        first_error.note("second".to_owned());
        assert_eq!(first_error.get().as_deref(), Some("first"));
    }
}
