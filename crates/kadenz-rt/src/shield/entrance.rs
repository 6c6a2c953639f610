//! How threads and processes get into a shield, and out again.

use std::io;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use super::Raised;
use super::journal::{Change, Members};
use super::kernel::{Kernel, ShieldCgroup, ThreadFacts, cpu_list, place_of};
use super::undo;
use super::undo::RollbackLog;
use crate::tuning::{CpuSet, Measure};

/// The way into a shield, for any thread of this process and for its children.
#[derive(Clone, Debug)]
pub struct Entrance {
    place: ShieldCgroup,
    cpus: CpuSet,
    raised: Arc<Raised>,
}

/// The calling thread is in the shield, if the measure says so. Dropping it takes the thread back
/// to where it came from.
#[derive(Debug)]
#[must_use = "dropping this takes the thread out again"]
pub struct Inside {
    /// Whether the thread got in.
    pub measure: Measure,
    way_back: Option<(Change, Arc<Raised>)>,
    /// A thread can only go in and out by itself.
    _not_send: PhantomData<*const ()>,
}

impl Entrance {
    pub(super) fn new(place: ShieldCgroup, cpus: CpuSet, raised: Arc<Raised>) -> Self {
        Self {
            place,
            cpus,
            raised,
        }
    }

    /// Takes the calling thread into the shield; under the second version of control groups its
    /// whole process, for there an isolated partition takes nothing less.
    ///
    /// # Real-time safety
    /// Not real-time safe: call it before the loop.
    pub fn enter(&self) -> Inside {
        let mut state = self.raised.lock();
        let outcome = match state.as_mut() {
            Some(log) => self.go_in(log),
            None => Err(io::Error::other("the shield has been put back")),
        };
        drop(state);
        Inside {
            measure: self.measure(outcome.as_ref().err()),
            way_back: outcome
                .ok()
                .map(|change| (change, Arc::clone(&self.raised))),
            _not_send: PhantomData,
        }
    }

    /// The file into which a parent writes the number of a child process, to put it into the
    /// shield. What is in there when the shield is put back goes where this process came from.
    #[must_use]
    pub fn procs_path(&self) -> PathBuf {
        PathBuf::from(Members::Processes.of(&self.place.folder))
    }

    /// The shielded CPUs.
    #[must_use]
    pub fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    fn go_in(&self, log: &mut RollbackLog) -> io::Result<Change> {
        let change = self.change(log.kernel.as_ref());
        let Change::Entered { id, .. } = &change else {
            return Err(io::ErrorKind::Other.into());
        };
        let id = *id;
        log.note(vec![change.clone()])?;
        let members = self.place.members.of(&self.place.folder);
        log.kernel.write(&members, &id.to_string())?;
        Ok(change)
    }

    fn change(&self, kernel: &dyn Kernel) -> Change {
        let (id, controller) = match self.place.members {
            Members::Threads => (kernel.this_thread(), "cpuset"),
            Members::Processes => (kernel.this_process(), ""),
        };
        let from = place_of(kernel, &self.place.mount, id, controller);
        Change::Entered {
            id,
            start: ThreadFacts::read(kernel, id).map_or(0, |facts| facts.start),
            shield: self.place.folder.clone(),
            cpus: chosen(kernel, id, &from),
            from,
            members: self.place.members,
        }
    }

    fn measure(&self, error: Option<&io::Error>) -> Measure {
        Measure {
            name: "shield_entered",
            requested: format!("to run in the shield on CPUs {}", self.cpus),
            granted: match (error, self.place.members) {
                (Some(_), _) => "outside".to_owned(),
                (None, Members::Threads) => "this thread is in it".to_owned(),
                (None, Members::Processes) => "this process is in it".to_owned(),
            },
            ok: error.is_none(),
            reason: error.map(|error| format!("the kernel says: {error}")),
            remedy: error.map(|_| "raise the shield again, as root".to_owned()),
        }
    }
}

/// The CPUs that a thread chose for itself, if it has others than its control group gives it.
fn chosen(kernel: &dyn Kernel, thread: u32, group: &str) -> Option<String> {
    let files = [
        "cpuset.effective_cpus",
        "cpuset.cpus.effective",
        "cpuset.cpus",
    ];
    let of_group = files
        .iter()
        .find_map(|file| cpu_list(kernel, &format!("{group}/{file}")).ok())?;
    let cpus = kernel.affinity(thread).ok()?;
    (cpus != of_group).then(|| cpus.to_string())
}

impl Drop for Inside {
    fn drop(&mut self) {
        let Some((change, raised)) = self.way_back.take() else {
            return;
        };
        // Once the shield is put back, so is the thread.
        if let Some(log) = raised.lock().as_ref() {
            undo::leave(log.kernel.as_ref(), &change);
        }
    }
}
