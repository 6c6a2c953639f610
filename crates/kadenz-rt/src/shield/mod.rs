//! C: the CPU shield, which keeps everything else off some CPUs, and restores the machine afterwards.
//!
//! [`raise`] moves threads, interrupts and the kernel's own workers to the other CPUs; the threads that are to run
//! there alone enter by a [`ShieldEntrance`]. Dropping the [`Shield`] undoes everything. Every change is in a journal
//! on the disk before it is made, so that [`restore`] can undo the changes of a killed process ([`leftovers`] finds
//! them). `docs/shield.md` names every file that is changed.
//!
//! None of this is real-time safe: it reads and writes files, allocates, locks and blocks. A
//! shield is raised before a loop starts, and dropped after it has ended.
//!
//! ```no_run
//! use kadenz_rt::{shield, tuning::CpuSet};
//!
//! let shield = shield::raise(&CpuSet::single(1))?;
//! let entrance = shield.entrance();
//! std::thread::spawn(move || {
//!     let inside = entrance.enter();
//!     assert!(inside.measure.ok);
//!     // the loop
//! });
//! # Ok::<(), shield::RaiseShieldError>(())
//! ```

mod entrance;
mod error;
pub mod journal;
mod kernel;
mod knobs;
mod leftovers;
mod permitted;
mod plan;
pub mod sim;
mod undo;
mod v1;
mod v2;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

pub use entrance::{Inside, ShieldEntrance};
pub use error::RaiseShieldError;
pub use kernel::Kernel;
#[cfg(target_os = "linux")]
pub use kernel::LiveKernel;
pub use leftovers::{
    LeftoverShield, RestoreShieldError, leftovers, leftovers_in, restore, restore_in,
};
pub use permitted::is_permitted;
pub use undo::{Restored, Unrestored};

use crate::tuning::{CpuSet, Measure};
use journal::{FOLDER, FOLDER_VARIABLE, Journal, Opened, ShieldOwner, VERSION, Writer};
use kernel::{Hierarchy, ShieldCgroup, ThreadFacts};
use plan::Plan;
use undo::RollbackLog;

/// CPUs that are kept free of everything else. Dropping it restores the machine.
#[derive(Debug)]
#[must_use = "dropping this puts everything back at once"]
pub struct Shield {
    /// One measure for each request to the kernel.
    pub measures: Vec<Measure>,
    cpus: CpuSet,
    place: ShieldCgroup,
    raised: Arc<RaisedShield>,
}

/// The changes to undo; `None` once they are undone. Locked while a shield is raised and while it is undone, so
/// that a thread that waits for the lock finds one or the other complete.
struct RaisedShield(Mutex<Option<RollbackLog>>);

impl std::fmt::Debug for RaisedShield {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RaisedShield")
    }
}

impl RaisedShield {
    fn lock(&self) -> MutexGuard<'_, Option<RollbackLog>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lower(&self) -> Restored {
        self.lock()
            .take()
            .map(RollbackLog::undo)
            .unwrap_or_default()
    }
}

/// The shields of this process, for its sudden end.
static RAISED: Mutex<Vec<Weak<RaisedShield>>> = Mutex::new(Vec::new());

/// Keeps everything else off these CPUs of this machine until the shield is dropped. First undoes the changes of an
/// earlier shield whose process has died.
///
/// # Errors
/// [`RaiseShieldError`], and the machine is as it was; a knob that the kernel refuses is not an error but a measure of
/// the shield.
pub fn raise(cpus: &CpuSet) -> Result<Shield, RaiseShieldError> {
    #[cfg(target_os = "linux")]
    return raise_on(Arc::new(LiveKernel), cpus, &journal_folder());
    #[cfg(not(target_os = "linux"))]
    {
        let _ = cpus;
        Err(RaiseShieldError::Unsupported)
    }
}

/// As [`raise`], on any kernel and with the journal in any folder.
///
/// # Errors
/// As [`raise`].
pub fn raise_on(
    kernel: Arc<dyn Kernel>,
    cpus: &CpuSet,
    journal: &Path,
) -> Result<Shield, RaiseShieldError> {
    let mut plan = Plan::of(cpus, &plan::online(kernel.as_ref()))?;
    let hierarchy = Hierarchy::find(kernel.as_ref()).ok_or(RaiseShieldError::NoController)?;
    let writer = own_journal(kernel.as_ref(), cpus, journal, &mut plan)?;
    let raised = Arc::new(RaisedShield(Mutex::new(None)));
    let mut state = raised.lock();
    known().push(Arc::downgrade(&raised));
    let mut log = RollbackLog::new(kernel, writer);
    let place = match hierarchy {
        Hierarchy::First(mount) => v1::raise(&mut log, &mount, &mut plan),
        Hierarchy::Second(mount) => v2::raise(&mut log, &mount, &mut plan),
    };
    let place = match place {
        Ok(place) => place,
        Err(error) => {
            let undone = log.undo();
            return Err(undone
                .failed
                .into_iter()
                .next()
                .map_or(error, RaiseShieldError::Leftover));
        }
    };
    knobs::turn(&mut log, &mut plan);
    *state = Some(log);
    drop(state);
    Ok(Shield {
        measures: plan.measures,
        cpus: plan.cpus,
        place,
        raised,
    })
}

/// Opens the machine's journal, and undoes the changes that a dead owner left in it.
fn own_journal(
    kernel: &dyn Kernel,
    cpus: &CpuSet,
    folder: &Path,
    plan: &mut Plan,
) -> Result<Writer, RaiseShieldError> {
    let (mut writer, left) = match Writer::open(folder)? {
        Opened::Ours(writer, left) => (writer, left),
        Opened::Held(journal) => return Err(busy(journal)),
    };
    let owner = owner(kernel, cpus);
    let restored = leftovers::put_back(kernel, &left, &owner.boot);
    if let Some(failed) = restored.failed.into_iter().next() {
        return Err(RaiseShieldError::Leftover(failed));
    }
    if !restored.put_back.is_empty() {
        plan.measures
            .push(leftovers::measure(&left, restored.put_back.len()));
    }
    writer.begin(&owner)?;
    Ok(writer)
}

fn busy(journal: Journal) -> RaiseShieldError {
    let owner = journal.owner;
    RaiseShieldError::Busy {
        pid: owner.as_ref().map_or(0, |owner| owner.pid),
        cpus: owner.map(|owner| owner.cpus).unwrap_or_default(),
    }
}

fn owner(kernel: &dyn Kernel, cpus: &CpuSet) -> ShieldOwner {
    let pid = kernel.this_process();
    ShieldOwner {
        version: VERSION,
        pid,
        start: ThreadFacts::read(kernel, pid).map_or(0, |facts| facts.start),
        boot: boot(kernel),
        cpus: cpus.to_string(),
    }
}

/// When a thread started, from its line of `proc_pid_stat(5)`.
pub(crate) fn start_of(stat: &str) -> Option<u64> {
    ThreadFacts::parse(stat).map(|facts| facts.start)
}

/// The identifier of the present boot.
fn boot(kernel: &dyn Kernel) -> String {
    let id = kernel.read("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim().to_owned()
}

/// The folder of this machine's journal: `/run/kadenz`, or the value of `KADENZ_JOURNAL_FOLDER`.
#[must_use]
pub(crate) fn journal_folder() -> PathBuf {
    std::env::var_os(FOLDER_VARIABLE).map_or_else(|| PathBuf::from(FOLDER), PathBuf::from)
}

fn known() -> MutexGuard<'static, Vec<Weak<RaisedShield>>> {
    let mut known = RAISED.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|raised| raised.strong_count() > 0);
    known
}

/// Undoes the changes of every shield of this process, for a program that is about to end without dropping them.
/// Waits for a shield that is just being raised or undone.
pub fn lower_all() -> Restored {
    let shields: Vec<Arc<RaisedShield>> = known().iter().filter_map(Weak::upgrade).collect();
    let mut all = Restored::default();
    for shield in shields {
        let restored = shield.lower();
        all.put_back.extend(restored.put_back);
        all.failed.extend(restored.failed);
    }
    all
}

impl Shield {
    /// The CPUs that the shield keeps for its members.
    #[must_use]
    pub fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    /// The way for threads and processes to enter. It outlives the shield without harm: nothing can enter any more
    /// then.
    #[must_use]
    pub fn entrance(&self) -> ShieldEntrance {
        ShieldEntrance::new(
            self.place.clone(),
            self.cpus.clone(),
            Arc::clone(&self.raised),
        )
    }

    /// Undoes everything, as dropping does, and returns the result. Changes that could not be undone stay in the
    /// journal.
    pub fn lower(self) -> Restored {
        self.raised.lower()
    }
}

impl Drop for Shield {
    fn drop(&mut self) {
        self.raised.lower();
    }
}
