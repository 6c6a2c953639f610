//! How threads and processes enter a shield and leave it.

use std::io;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use super::RaisedShield;
use super::journal::{Change, Members};
use super::kernel::{Kernel, ShieldCgroup, ThreadFacts, cpu_list, place_of};
use super::undo;
use super::undo::{Member, RollbackLog};
use crate::tuning::{CpuSet, Measure};

/// The way into a shield, for any thread of this process and for its children.
#[derive(Clone, Debug)]
pub struct ShieldEntrance {
    place: ShieldCgroup,
    cpus: CpuSet,
    raised: Arc<RaisedShield>,
}

/// The calling thread is in the shield, if the measure says so. Dropping this moves the thread back to its earlier
/// control group. Under cgroup v2 the whole process is in the shield, and leaves it when the last of these is dropped.
#[derive(Debug)]
#[must_use = "dropping this takes the thread out again"]
pub struct Inside {
    /// Whether the thread got in.
    pub measure: Measure,
    way_back: Option<(Change, Arc<RaisedShield>)>,
    /// A thread can only enter and leave by itself.
    _not_send: PhantomData<*const ()>,
}

impl ShieldEntrance {
    pub(super) fn new(place: ShieldCgroup, cpus: CpuSet, raised: Arc<RaisedShield>) -> Self {
        Self {
            place,
            cpus,
            raised,
        }
    }

    /// Moves the calling thread into the shield; under cgroup v2 its whole process, because an isolated partition
    /// there takes only whole processes.
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

    /// The file into which a parent writes the number of a child process, to move the child into the shield. When
    /// the shield is dropped, its members move to the control group that this process came from.
    #[must_use]
    pub fn procs_path(&self) -> PathBuf {
        PathBuf::from(Members::Processes.of(&self.place.folder))
    }

    /// The CPUs that the shield keeps for its members.
    #[must_use]
    pub fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    fn go_in(&self, log: &mut RollbackLog) -> io::Result<Change> {
        let found = self.change(log.kernel.as_ref());
        let Some(member) = Member::of(&found) else {
            return Err(io::ErrorKind::Other.into());
        };
        // A member that is inside already came from where the first entry found it.
        let change = if let Some((first, _)) = log.inside.get(&member) {
            first.clone()
        } else {
            log.note(vec![found.clone()])?;
            found
        };
        let members = self.place.members.of(&self.place.folder);
        log.kernel.write(&members, &member.id.to_string())?;
        log.inside.entry(member).or_insert((change.clone(), 0)).1 += 1;
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

/// The CPUs that a thread chose itself, if they differ from those of its control group.
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
        // Undoing the shield has already moved the thread back.
        if let Some(log) = raised.lock().as_mut()
            && log.is_last_inside(&change)
        {
            undo::leave(log.kernel.as_ref(), &change);
        }
    }
}
