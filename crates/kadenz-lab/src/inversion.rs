//! Priority inversion, staged: which tasks does a real-time task wait for at a shared lock?
//!
//! Source: \[Yoon2009\], figure 3 and section 2: with a mutex that inherits priorities and wakes by priority, the
//! real-time task waits for one other task at most.
//!
//! All tasks run on one CPU: B, an ordinary task, holds the lock; C, another ordinary task, waits for it; then D, the
//! task of highest priority, waits for it, too. Then a task of middle priority begins much work, and B, at the same
//! moment, the rest of its critical section. Only the order in which they finish counts, never how long they take.
//!
//! That C came first makes no difference on Linux: an ordinary mutex, too, wakes the waiter of the highest priority
//! first there. It lacks the priority that B inherits.
//!
//! ```no_run
//! use kadenz_lab::inversion::{Event, Lock, stage};
//!
//! let order = stage(Lock::PriorityInheriting)?;
//! assert_eq!(order[..2], [Event::HolderDone, Event::RealTimeIn]);
//! # Ok::<(), kadenz_lab::inversion::InversionError>(())
//! ```

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use kadenz_rt::host::Root;
use kadenz_rt::pi_mutex::{CreatePiMutexError, PiMutex};
use kadenz_rt::tuning::{self, CpuSet, Measure, Policy, Tuning};

use crate::load::allowed_cpus;

/// The lock that the tasks share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// [`PiMutex`]: its owner inherits the priority of its waiters.
    PriorityInheriting,
    /// [`std::sync::Mutex`]: its owner keeps its own priority.
    Ordinary,
}

/// Events of the tasks, each of which happens once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// B, ordinary, which held the lock, is about to release it.
    HolderDone,
    /// C, ordinary, which waited for the lock before D came, has it.
    WaiterIn,
    /// D, of the highest priority, has the lock.
    RealTimeIn,
    /// The task of middle priority, which wants no lock, has done all its work.
    MiddleDone,
}

/// Why the inversion could not be staged.
#[derive(Debug, thiserror::Error)]
pub enum InversionError {
    /// The machine refused a priority or a CPU.
    #[error("{requested} was not granted: {reason}; remedy: {remedy}")]
    Refused {
        /// The setting that was requested, in words.
        requested: String,
        /// Why it was refused.
        reason: String,
        /// How to get it.
        remedy: String,
    },
    /// The system has no such mutex.
    #[error(transparent)]
    Mutex(#[from] CreatePiMutexError),
    /// A task did not reach the point where it waits.
    #[error("a task never came to wait: /proc does not show it, or this machine hangs")]
    Stuck,
}

/// Above all tasks of the experiment, so that the tasks that it wakes together begin together.
const STAGE: u8 = 30;
const REAL_TIME: u8 = 20;
const MIDDLE: u8 = 10;
/// Work of the task of middle priority: some ten milliseconds, far from RT throttling.
const MIDDLE_ITERATIONS: u64 = 2_000_000;
/// The rest of B's work.
const HOLDER_ITERATIONS: u64 = 1_000;

/// Stages the inversion once with `lock`, and returns the events in their order.
///
/// Requests real-time priorities and gives them back; holds the calling thread on one CPU meanwhile.
///
/// # Errors
/// [`InversionError`]; without the right to real-time priorities there is nothing to measure.
pub fn stage(lock: Lock) -> Result<Vec<Event>, InversionError> {
    match lock {
        Lock::PriorityInheriting => play(&PiMutex::new(())?),
        Lock::Ordinary => play(&Mutex::new(())),
    }
}

/// A lock of either kind.
trait Exclusive: Sync {
    fn with(&self, section: impl FnOnce());
}

impl Exclusive for PiMutex<()> {
    fn with(&self, section: impl FnOnce()) {
        let _held = self.lock();
        section();
    }
}

impl Exclusive for Mutex<()> {
    fn with(&self, section: impl FnOnce()) {
        let _held = self.lock().unwrap_or_else(PoisonError::into_inner);
        section();
    }
}

/// What the tasks share besides the lock. None of it is a lock.
#[derive(Default)]
struct Stage {
    go: AtomicBool,
    refused: AtomicBool,
    events: AtomicUsize,
    order: [OnceLock<Event>; 4],
}

impl Stage {
    fn happened(&self, event: Event) {
        let place = self.events.fetch_add(1, Ordering::SeqCst);
        // Four events, four places, each taken once.
        let _ = self.order[place].set(event);
    }

    fn wait_for_go(&self) {
        while !self.go.load(Ordering::SeqCst) {
            thread::park();
        }
    }
}

fn play(lock: &impl Exclusive) -> Result<Vec<Event>, InversionError> {
    let cpus = allowed_cpus(&Root::system());
    let cpu = cpus.last().copied().unwrap_or(0);
    let applied = tuning::apply(&Tuning {
        policy: Policy::Fifo(STAGE),
        cpus: Some(CpuSet::single(cpu)),
        ..Tuning::default()
    });
    if let Some(measure) = applied.measures.iter().find(|measure| !measure.ok) {
        return Err(refused(measure));
    }
    let stage = Stage::default();
    let staged = thread::scope(|scope| run_tasks(scope, &stage, lock));
    if !staged || stage.refused.load(Ordering::SeqCst) {
        return Err(InversionError::Stuck);
    }
    Ok(stage
        .order
        .into_iter()
        .filter_map(OnceLock::into_inner)
        .collect())
}

fn refused(measure: &Measure) -> InversionError {
    let words = |words: &Option<String>| words.clone().unwrap_or_else(|| "unknown".to_owned());
    InversionError::Refused {
        requested: measure.requested.clone(),
        reason: words(&measure.reason),
        remedy: words(&measure.remedy),
    }
}

/// Brings the tasks to their waiting points one by one, and starts them at once.
fn run_tasks<'scope>(
    scope: &'scope Scope<'scope, '_>,
    stage: &'scope Stage,
    lock: &'scope impl Exclusive,
) -> bool {
    let holder = InversionTask::start(scope, Policy::Other, stage, |arrive| {
        lock.with(|| {
            arrive();
            stage.wait_for_go();
            work(HOLDER_ITERATIONS);
            stage.happened(Event::HolderDone);
        });
    });
    let middle = InversionTask::start(scope, Policy::Fifo(MIDDLE), stage, |arrive| {
        arrive();
        stage.wait_for_go();
        work(MIDDLE_ITERATIONS);
        stage.happened(Event::MiddleDone);
    });
    let mut staged = holder.is_waiting() && middle.is_waiting();
    for (policy, event) in [
        (Policy::Other, Event::WaiterIn),
        (Policy::Fifo(REAL_TIME), Event::RealTimeIn),
    ] {
        let task = InversionTask::start(scope, policy, stage, move |arrive| {
            arrive();
            lock.with(|| stage.happened(event));
        });
        staged &= task.is_waiting();
    }
    // No task runs before this thread, the highest on the CPU, waits for their ends.
    stage.go.store(true, Ordering::SeqCst);
    holder.thread.thread().unpark();
    middle.thread.thread().unpark();
    staged
}

/// Works for a number of steps, whatever a clock says.
fn work(steps: u64) {
    for step in 0..steps {
        std::hint::black_box(step);
    }
}

/// One thread of the experiment.
struct InversionTask<'scope> {
    thread: ScopedJoinHandle<'scope, ()>,
    /// Its path in `/proc`, once it is about to wait.
    arrived: Arc<OnceLock<PathBuf>>,
}

impl<'scope> InversionTask<'scope> {
    fn start(
        scope: &'scope Scope<'scope, '_>,
        policy: Policy,
        stage: &'scope Stage,
        part: impl FnOnce(&dyn Fn()) + Send + 'scope,
    ) -> Self {
        let arrived = Arc::new(OnceLock::new());
        let place = arrived.clone();
        let thread = scope.spawn(move || {
            // The thread inherits the CPU of its parent, and not the policy.
            let applied = tuning::apply(&Tuning {
                policy,
                ..Tuning::default()
            });
            if !applied.all_granted() {
                stage.refused.store(true, Ordering::SeqCst);
            }
            let own = PathBuf::from("/proc/thread-self");
            let own = own.canonicalize().unwrap_or(own);
            part(&|| {
                let _ = place.set(own.clone());
            });
        });
        Self { thread, arrived }
    }

    /// Waits until the task sleeps at the lock, or for the start; false if it never does.
    fn is_waiting(&self) -> bool {
        const MAX_ATTEMPTS: u32 = 60_000;
        (0..MAX_ATTEMPTS).any(|_| {
            // Lower tasks on this CPU run meanwhile.
            thread::sleep(Duration::from_millis(1));
            self.arrived.get().is_some_and(|own| {
                let stat = std::fs::read_to_string(own.join("stat")).unwrap_or_default();
                // The state follows the name (`proc_pid_stat(5)`, field 3).
                stat.rsplit_once(") ")
                    .is_some_and(|(_, rest)| rest.starts_with('S'))
            })
        })
    }
}
