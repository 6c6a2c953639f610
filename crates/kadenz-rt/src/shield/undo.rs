//! Undoing changes.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::journal::{Change, Members, Writer};
use super::kernel::{Kernel, ThreadFacts, has, numbers};
use super::permitted::{WORKQUEUES, cgroup_mounts, is_permitted};
use crate::tuning::CpuSet;

/// The result of undoing changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Restored {
    /// The changes that were undone, in words, in that order; changes that were undone already are not listed.
    pub put_back: Vec<String>,
    /// The changes that could not be undone.
    pub failed: Vec<Unrestored>,
}

/// A change that could not be undone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[error("{what} could not be put back: {why}; {remedy}")]
pub struct Unrestored {
    /// A description of the change.
    pub what: String,
    /// Why it could not be undone.
    pub why: String,
    /// The command or step that puts it back by hand.
    pub remedy: String,
}

impl Restored {
    /// Whether everything is as it was.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }

    /// Removes the journal when it describes no change any more.
    pub(super) fn close(&mut self, journal: Writer) {
        if self.failed.is_empty()
            && let Err(error) = journal.close()
        {
            self.failed.push(Unrestored {
                what: "the journal".to_owned(),
                why: error.to_string(),
                remedy: "remove it by hand".to_owned(),
            });
        }
    }
}

/// How often a control group that still has members is emptied again: its members may fork meanwhile, and a process
/// that ends leaves only when its memory is free.
const MAX_PASSES: u32 = 1000;
/// Pause between two passes that found the same members.
const PAUSE: Duration = Duration::from_millis(5);

/// Undoes the changes, the last one first, except for the CPUs of threads: those come at the very end, when their
/// control groups again allow the earlier CPUs.
pub(super) fn undo(kernel: &dyn Kernel, changes: &[Change]) -> Restored {
    let mounts = cgroup_mounts(kernel);
    let is_affinity = |change: &&Change| matches!(change, Change::Affinity { .. });
    let affinities = changes.iter().rev().filter(is_affinity);
    let others = changes.iter().rev().filter(|change| !is_affinity(change));
    let mut restored = Restored::default();
    for change in others.chain(affinities) {
        if !is_permitted(change, &mounts) {
            restored.failed.push(foreign(change));
            continue;
        }
        match undo_one(kernel, change) {
            Ok(true) => restored.put_back.push(words(change)),
            Ok(false) => {}
            Err(error) => restored.failed.push(unrestored(change, &error)),
        }
    }
    restored
}

/// Undoes one change, and returns whether there was something to undo.
fn undo_one(kernel: &dyn Kernel, change: &Change) -> io::Result<bool> {
    match change {
        Change::File { path, before } => file(kernel, path, before),
        Change::Folder {
            path,
            home,
            members,
        } => folder(kernel, path, home, *members),
        Change::Controller { path } => controller(kernel, path),
        Change::Affinity {
            thread,
            start,
            before,
        } => affinity(kernel, *thread, *start, before),
        Change::Entered { .. } => Ok(leave(kernel, change)),
    }
}

/// The file that holds the value to be written back. The kernel shows the applied mask in the file that is written,
/// and the requested mask in another.
pub(super) fn source(kernel: &dyn Kernel, path: &str) -> String {
    let requested = format!("{WORKQUEUES}/cpumask_requested");
    if path == format!("{WORKQUEUES}/cpumask") && has(kernel, &requested) {
        return requested;
    }
    path.to_owned()
}

fn file(kernel: &dyn Kernel, path: &str, before: &str) -> io::Result<bool> {
    let source = source(kernel, path);
    let now = match kernel.read(&source) {
        Ok(now) => now,
        // An interrupt that was freed, or a group that was removed: there is nothing to undo.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if now.trim() == before {
        return Ok(false);
    }
    kernel.write(path, before)?;
    let now = kernel.read(&source)?;
    if now.trim() == before {
        return Ok(true);
    }
    Err(io::Error::other(format!("it holds {:?} still", now.trim())))
}

fn controller(kernel: &dyn Kernel, path: &str) -> io::Result<bool> {
    let on = kernel.read(path)?;
    if !on.split_whitespace().any(|name| name == "cpuset") {
        return Ok(false);
    }
    kernel.write(path, "-cpuset").map(|()| true)
}

fn folder(kernel: &dyn Kernel, path: &str, home: &str, members: Members) -> io::Result<bool> {
    let mut outcome = Ok(());
    let mut before = Vec::new();
    for _ in 0..MAX_PASSES {
        if !has(kernel, &members.of(path)) {
            return Ok(false);
        }
        let inside = numbers(kernel, &members.of(path)).unwrap_or_default();
        for id in &inside {
            // The kernel reports success for a thread that is ending, but leaves it where it is.
            let _ = kernel.write(&members.of(home), &id.to_string());
        }
        outcome = kernel.remove_folder(path);
        match &outcome {
            Ok(()) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
            Err(_) => break,
        }
        if inside == before {
            std::thread::sleep(PAUSE);
        }
        before = inside;
    }
    outcome.map(|()| true)
}

fn affinity(kernel: &dyn Kernel, thread: u32, start: u64, before: &str) -> io::Result<bool> {
    let cpus: CpuSet = before.parse().map_err(io::Error::other)?;
    let lives = |kernel| ThreadFacts::read(kernel, thread).is_some_and(|now| now.start == start);
    if !lives(kernel) || kernel.affinity(thread).is_ok_and(|now| now == cpus) {
        return Ok(false);
    }
    match kernel.set_affinity(thread, &cpus) {
        // It ended meanwhile.
        Err(_) if !lives(kernel) => Ok(false),
        outcome => outcome.map(|()| true),
    }
}

/// Takes a thread or process out of the shield, if it is still in there.
pub(super) fn leave(kernel: &dyn Kernel, change: &Change) -> bool {
    let Change::Entered {
        id,
        start,
        shield,
        from,
        members,
        cpus,
    } = change
    else {
        return false;
    };
    let inside = numbers(kernel, &members.of(shield)).unwrap_or_default();
    let same = ThreadFacts::read(kernel, *id).is_some_and(|now| now.start == *start);
    if !same || !inside.contains(id) {
        return false;
    }
    // The group it came from may be gone; then it moves to the shield's own home.
    let left = kernel.write(&members.of(from), &id.to_string()).is_ok();
    let own = cpus.as_deref().and_then(|cpus| cpus.parse().ok());
    // A thread without CPUs of its own must follow its control group again: the kernel remembers what a thread
    // chose inside the shield, and applies it outside.
    let _ = kernel.set_affinity(*id, &own.unwrap_or_else(every_cpu));
    left
}

fn every_cpu() -> CpuSet {
    (0..CpuSet::MAX).collect()
}

fn words(change: &Change) -> String {
    match change {
        Change::File { path, before } => format!("{path}: {before}"),
        Change::Folder { path, home, .. } => format!("{path} removed, its members are in {home}"),
        Change::Controller { path } => format!("{path}: cpuset switched off"),
        Change::Affinity { thread, before, .. } => format!("thread {thread}: CPUs {before}"),
        Change::Entered { id, from, .. } => format!("thread {id}: back in {from}"),
    }
}

fn unrestored(change: &Change, error: &io::Error) -> Unrestored {
    let denied = matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    );
    let by_hand = match change {
        Change::File { path, before } => format!("echo {before} | sudo tee {path}"),
        Change::Folder { path, .. } => format!("end what runs in {path}, then sudo rmdir {path}"),
        Change::Controller { path } => format!("echo -cpuset | sudo tee {path}"),
        Change::Affinity { thread, before, .. } => format!("sudo taskset -pc {before} {thread}"),
        Change::Entered { .. } => "end that thread".to_owned(),
    };
    Unrestored {
        what: words(change),
        why: error.to_string(),
        remedy: if denied {
            "sudo kadenz doctor --restore".to_owned()
        } else {
            by_hand
        },
    }
}

/// The remedy contains no command made of the journal's own words: they may be anything.
fn foreign(change: &Change) -> Unrestored {
    Unrestored {
        what: format!("{:?}", words(change)),
        why: "a shield never changes that, so the journal is damaged or forged".to_owned(),
        remedy: "look into the journal, then remove it".to_owned(),
    }
}

// Changes that are written down, then made, then undone.

/// The changes made so far.
pub(super) struct RollbackLog {
    pub(super) kernel: Arc<dyn Kernel>,
    journal: Writer,
    changes: Vec<Change>,
    /// The first entry of each member, and how many of its entries have not left yet.
    pub(super) inside: BTreeMap<Member, (Change, usize)>,
}

/// A thread or process that entered the shield.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Member {
    /// The number of the thread or process.
    pub(super) id: u32,
    /// When it started: numbers are used again.
    start: u64,
}

impl Member {
    /// The member that a change moves into the shield.
    pub(super) fn of(change: &Change) -> Option<Self> {
        match change {
            Change::Entered { id, start, .. } => Some(Self {
                id: *id,
                start: *start,
            }),
            _ => None,
        }
    }
}

impl RollbackLog {
    /// Makes a log whose journal already has its owner's line.
    pub(super) fn new(kernel: Arc<dyn Kernel>, journal: Writer) -> Self {
        Self {
            kernel,
            journal,
            changes: Vec::new(),
            inside: BTreeMap::new(),
        }
    }

    /// Ends one entry of a member, and returns whether the member has no other.
    pub(super) fn is_last_inside(&mut self, entered: &Change) -> bool {
        let Some(member) = Member::of(entered) else {
            return false;
        };
        if let Some((_, entries)) = self.inside.get_mut(&member)
            && *entries > 1
        {
            *entries -= 1;
            return false;
        }
        self.inside.remove(&member).is_some()
    }

    /// Writes changes down, all in one flush; afterwards they may be made.
    pub(super) fn note(&mut self, changes: Vec<Change>) -> io::Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        self.journal.append(&changes)?;
        self.changes.extend(changes);
        Ok(())
    }

    /// Sets a file to another value and returns what the file holds afterwards.
    pub(super) fn set(&mut self, path: &str, value: &str) -> io::Result<String> {
        let before = self.kernel.read(&source(self.kernel.as_ref(), path))?;
        if before.trim() != value {
            self.note(vec![Change::File {
                path: path.to_owned(),
                before: before.trim().to_owned(),
            }])?;
            self.kernel.write(path, value)?;
        }
        Ok(self.kernel.read(path)?.trim().to_owned())
    }

    /// Sets a file of a control group that this log made and removes as a whole.
    pub(super) fn set_own(&self, path: &str, value: &str) -> io::Result<String> {
        self.kernel.write(path, value)?;
        Ok(self.kernel.read(path)?.trim().to_owned())
    }

    /// Makes a control group; at the end its members move to `home`.
    pub(super) fn make_folder(
        &mut self,
        path: &str,
        home: &str,
        members: Members,
    ) -> io::Result<()> {
        // The group belongs to another owner: the journal must not name it as ours.
        if has(self.kernel.as_ref(), &members.of(path)) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.note(vec![Change::Folder {
            path: path.to_owned(),
            home: home.to_owned(),
            members,
        }])?;
        self.kernel.make_folder(path)
    }

    /// The change for a thread's CPUs, if they differ from those of its control group: only these are lost when the
    /// kernel moves the thread to another group (before Linux 6.2).
    pub(super) fn own_affinity(&self, thread: u32, of_group: &CpuSet) -> Option<Change> {
        let cpus = self.kernel.affinity(thread).ok()?;
        let facts = ThreadFacts::read(self.kernel.as_ref(), thread)?;
        (cpus != *of_group && !facts.is_bound()).then(|| Change::Affinity {
            thread,
            start: facts.start,
            before: cpus.to_string(),
        })
    }

    /// Undoes everything, the last change first. The journal stays if something could not be undone.
    pub(super) fn undo(self) -> Restored {
        let mut restored = undo(self.kernel.as_ref(), &self.changes);
        restored.close(self.journal);
        restored
    }
}
