//! Messages as bytes; Python code encodes and decodes types.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use kadenz::Tuning;
use kadenz::msg::bus::{Aggregator, Background, CounterWatcher, SubscriptionOptions, WhenFull};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::{Time, error, timeout, wait};

/// Between two tries to take a lock.
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// A bus: publishes and subscribes bytes.
#[pyclass(frozen, module = "kadenz._kadenz")]
pub(crate) struct Bus {
    bus: kadenz::Bus,
    background: Mutex<Option<Background>>,
}

#[pymethods]
impl Bus {
    #[new]
    #[pyo3(signature = (url=None))]
    fn new(url: Option<&str>) -> PyResult<Self> {
        let bus = match url {
            Some(url) => kadenz::Bus::open(url),
            None => kadenz::Bus::open_default(),
        };
        let background = Mutex::default();
        bus.map(|bus| Self { bus, background }).map_err(error)
    }

    #[getter]
    fn url(&self) -> &str {
        self.bus.url()
    }

    fn publish(&self, channel: &str, payload: &[u8]) -> PyResult<()> {
        self.bus.publish_bytes(channel, payload).map_err(error)
    }

    /// Receives on a thread of its own from now on, until the bus is dropped.
    fn receive_in_background(&self) -> PyResult<()> {
        let mut background = lock(&self.background);
        if background.is_none() {
            let started = self.bus.receive_in_background(Tuning::default());
            *background = Some(started.map_err(error)?);
        }
        Ok(())
    }

    /// The messages that were lost on the way here, by the senders' numbers.
    fn lost(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.bus.lost())
    }

    #[pyo3(signature = (pattern, queue=30, newest=true))]
    fn subscribe(&self, pattern: &str, queue: usize, newest: bool) -> PyResult<Subscription> {
        let when_full = if newest {
            WhenFull::DropOldest
        } else {
            WhenFull::DropNewest
        };
        let options = SubscriptionOptions {
            queue,
            when_full,
            ..SubscriptionOptions::default()
        };
        let aggregator = self.bus.aggregator_with(pattern, &options).map_err(error)?;
        Ok(Subscription {
            watcher: aggregator.watcher(),
            aggregator: Mutex::new(aggregator),
        })
    }
}

/// A message as bytes, with its times.
#[pyclass(frozen, get_all, module = "kadenz._kadenz")]
pub(crate) struct Received {
    channel: String,
    payload: Py<PyBytes>,
    sequence: Option<u32>,
    /// When the kernel received it, on the clock of `time.monotonic_ns`.
    kernel_ns: Option<u64>,
    /// When it was complete in this process.
    taken_ns: u64,
}

/// Receives the messages of the channels that a pattern matches.
#[pyclass(frozen, module = "kadenz._kadenz")]
pub(crate) struct Subscription {
    aggregator: Mutex<Aggregator>,
    watcher: CounterWatcher,
}

#[pymethods]
impl Subscription {
    #[pyo3(signature = (limit=None))]
    fn receive(&self, py: Python<'_>, limit: Option<Time>) -> PyResult<Option<Received>> {
        wait(py, timeout(limit)?, |slice| {
            // Another thread that receives has it for a slice at a time.
            let Some(mut aggregator) = lock_within(&self.aggregator, slice) else {
                return Ok(None);
            };
            let raw = aggregator.next_message(slice).map_err(error)?;
            Ok(raw.map(|raw| {
                let stamps = raw.stamps();
                // Attached for the copy only, so that the message is copied once.
                let payload = Python::attach(|py| PyBytes::new(py, raw.payload).unbind());
                Received {
                    channel: raw.channel.as_str().to_owned(),
                    payload,
                    sequence: raw.delivery.info.source.sequence.map(|it| it.number),
                    kernel_ns: stamps.kernel.map(|it| it.as_ns()),
                    taken_ns: stamps.taken.as_ns(),
                }
            }))
        })
    }

    /// Numbers of received messages, and of those that were dropped because the queue was full. Waits for no thread.
    fn counts(&self) -> (u64, u64) {
        let counters = self.watcher.counters();
        (
            counters.received,
            counters.dropped_oldest + counters.dropped_newest,
        )
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a lock; `None` where another thread has it for so long.
fn lock_within<T>(mutex: &Mutex<T>, span: Duration) -> Option<MutexGuard<'_, T>> {
    let end = Instant::now() + span;
    loop {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() >= end => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
        }
    }
}
