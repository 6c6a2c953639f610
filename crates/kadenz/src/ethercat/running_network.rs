//! A network whose loop runs on a thread of its own.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kadenz_rt::clock::{self, MonotonicTime};

use super::acyclic_access::NetworkMonitor;
use super::error::RunNetworkError;
use super::io::{Flow, Io};
use super::network::{Network, RunRecording, StopHandle};
use super::network_loop::NetworkReport;
use super::shared_values::SharedValues;
use crate::recording::Recording;

/// The time between two looks whether a cycle has come.
const POLL_INTERVAL: Duration = Duration::from_micros(50);

/// The state of a network in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NetworkState {
    /// Whether its loop runs.
    pub is_running: bool,
    /// Cycles up to now.
    pub cycles: u64,
    /// Frames of process data that did not come back in their cycle.
    pub lost: u64,
    /// Devices that answer and are in OP.
    pub operational: usize,
    /// Devices of the network, answering or not.
    pub devices: usize,
}

/// A network whose loop runs on a thread of its own. Dropping it stops the loop, and waits for its end.
pub struct RunningNetwork {
    monitor: NetworkMonitor,
    stop: StopHandle,
    progress: Arc<Progress>,
    interval: Duration,
    thread: Mutex<Option<JoinHandle<Result<NetworkReport, RunNetworkError>>>>,
}

/// The loop's progress, for threads that wait for a cycle.
#[derive(Debug, Default)]
struct Progress {
    cycle: AtomicU64,
    /// When the control law was called last, ns.
    at: AtomicU64,
    has_ended: AtomicBool,
}

impl Network<'static> {
    /// Starts the loop on a thread of its own, which gets the tuning, and shares values with it. With a recording, the
    /// series of the loop go there, as by [`NetworkBuilder::record`](super::NetworkBuilder::record); finish it after
    /// [`RunningNetwork::stop`].
    ///
    /// ```
    /// use kadenz::ethercat::{Network, SharedValues, Value};
    ///
    /// let net = Network::sim(8)?.bring_up()?;
    /// let mut values = SharedValues::default();
    /// let waist = net.device("waist yaw")?;
    /// let actual = values.input(&waist, 0x6064, None)?;
    /// let target = values.output(&waist, 0x607A, None)?;
    /// let net = net.start(values, None)?;
    /// target.set(Value::Integer(1_000))?;
    /// net.wait_cycle(10, std::time::Duration::from_secs(10));
    /// println!("{:?}, {:?}", actual.get(), net.state());
    /// println!("{}", net.stop()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`RunNetworkError::Thread`] where this machine gives no thread. [`RunningNetwork::stop`] returns all other
    /// errors of the loop.
    pub fn start(
        self,
        values: SharedValues,
        run: Option<Arc<Recording>>,
    ) -> Result<RunningNetwork, RunNetworkError> {
        let (monitor, stop, interval) = (self.monitor(), self.stop_handle(), self.cycle());
        let deadline = self.deadline();
        let progress = Arc::new(Progress::default());
        let loop_progress = Arc::clone(&progress);
        let work = move || {
            let _ended = SetOnDrop(&loop_progress.has_ended);
            let law = |io: &mut Io<'_, '_>| {
                values.exchange(io);
                loop_progress
                    .at
                    .store(clock::now().as_ns(), Ordering::Relaxed);
                loop_progress.cycle.store(io.number(), Ordering::Release);
                Flow::Continue
            };
            match &run {
                Some(run) => self.record_in(RunRecording::of(run, deadline)).run(law),
                None => self.run(law),
            }
        };
        let thread = std::thread::Builder::new().name("kadenz-network".to_owned());
        let thread = thread.spawn(work).map_err(RunNetworkError::Thread)?;
        Ok(RunningNetwork {
            monitor,
            stop,
            progress,
            interval,
            thread: Mutex::new(Some(thread)),
        })
    }
}

/// Sets a flag when it is dropped, also after a panic.
pub(super) struct SetOnDrop<'f>(pub(super) &'f AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl RunningNetwork {
    /// The network's state.
    ///
    /// # Real-time safety
    /// It locks, for the states of devices.
    #[must_use]
    pub fn state(&self) -> NetworkState {
        let (table, snapshot) = (&self.monitor.device_table, self.monitor.health.snapshot());
        NetworkState {
            is_running: !self.progress.has_ended.load(Ordering::Acquire),
            cycles: self.progress.cycle.load(Ordering::Acquire),
            lost: snapshot.lost,
            operational: (0..table.len()).filter(|it| table.operates(*it)).count(),
            devices: table.len(),
        }
    }

    /// The segment's monitor, for all other states and counts.
    #[must_use]
    pub const fn monitor(&self) -> &NetworkMonitor {
        &self.monitor
    }

    /// Waits for a cycle after that of this number, and returns the number of the last one; `None` where the loop has
    /// ended, or no cycle came in time. It sleeps to the time at which the next cycle is due, and then looks every 50
    /// us: the loop makes no system call for it.
    pub fn wait_cycle(&self, after: u64, timeout: Duration) -> Option<u64> {
        let start = Instant::now();
        loop {
            let cycle = self.progress.cycle.load(Ordering::Acquire);
            if cycle > after {
                return Some(cycle);
            }
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() || self.progress.has_ended.load(Ordering::Acquire) {
                return None;
            }
            let at = MonotonicTime::from_ns(self.progress.at.load(Ordering::Relaxed));
            let since = Duration::from_nanos(clock::now().since(at).try_into().unwrap_or(0));
            let due = self.interval.saturating_sub(since);
            std::thread::sleep(due.max(POLL_INTERVAL).min(left));
        }
    }

    /// Ends the loop after its shutdown cycles, and returns its report.
    ///
    /// # Errors
    /// [`RunNetworkError`] where the loop did not run, ended by itself because a cycle was not done in time, or was
    /// stopped already.
    ///
    /// # Panics
    /// Where the loop panicked.
    pub fn stop(&self) -> Result<NetworkReport, RunNetworkError> {
        self.stop.stop();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let thread = thread.take().ok_or(RunNetworkError::Stopped)?;
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Ends the loop as [`stop`](Self::stop), for a caller that does not want its result, not even its panic.
    pub(super) fn end(&self) {
        self.stop.stop();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for RunningNetwork {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for RunningNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningNetwork")
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
