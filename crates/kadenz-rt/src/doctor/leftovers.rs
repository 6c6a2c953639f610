//! Whether a shield whose process was killed is still in force.

use super::{Check, Finding, Machine, Root, Severity};
use crate::host::ReadFactError;
use crate::shield;
use crate::shield::journal::{FILE_NAME, FOLDER, Journal, Owner};

pub(super) struct Leftovers;

const ID: &str = "leftovers";
const REMEDY: &str = "sudo kadenz doctor --restore";

impl Check for Leftovers {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let path = path(machine.root);
        let finding = match machine.root.read(&path) {
            Ok(text) => judge(machine.root, &path, &Journal::parse(text.as_bytes())),
            Err(ReadFactError::Absent { .. }) if machine.root.has("/proc") => Finding::fine(
                ID,
                "no measurement left the machine changed",
                format!("{path}: absent"),
            ),
            Err(why) => Finding::unknown(ID, "what measurements left changed", &why).remedy(REMEDY),
        };
        vec![finding]
    }
}

fn path(root: &Root) -> String {
    if root.is_live() {
        let folder = shield::journal_folder();
        return folder.join(FILE_NAME).to_string_lossy().into_owned();
    }
    format!("{FOLDER}/{FILE_NAME}")
}

fn judge(root: &Root, path: &str, journal: &Journal) -> Finding {
    let changes = journal.changes.len();
    let Some(owner) = &journal.owner else {
        return left(path, changes, "a process that is not known");
    };
    let evidence = format!("{path}: {changes} changes by process {}", owner.pid);
    if lives(root, owner) {
        let title = format!("process {} shields CPUs {} just now", owner.pid, owner.cpus);
        return Finding::new(ID, Severity::Note, title)
            .cost("everything else shares the other CPUs until that process ends")
            .evidence(evidence);
    }
    if boot(root).is_some_and(|boot| boot != owner.boot) {
        return Finding::new(
            ID,
            Severity::Note,
            "a journal tells of a shield before the last boot",
        )
        .cost("nothing: the boot undid what it names")
        .evidence(evidence)
        .remedy(REMEDY);
    }
    let who = format!("process {}, which shielded CPUs {}", owner.pid, owner.cpus);
    left(path, changes, &who)
}

fn left(path: &str, changes: usize, who: &str) -> Finding {
    Finding::new(
        ID,
        Severity::Costs,
        "a killed measurement left the machine changed",
    )
    .cost(
        "threads, interrupts and kernel workers stay off the CPUs that it shielded, so everything \
             else has fewer, and whatever is measured now meets another machine",
    )
    .evidence(format!("{path}: {changes} changes by {who}"))
    .remedy(REMEDY)
}

fn boot(root: &Root) -> Option<String> {
    root.read("/proc/sys/kernel/random/boot_id").ok()
}

/// The process of that number started when the owner did: numbers are used again.
fn lives(root: &Root, owner: &Owner) -> bool {
    let stat = root.read(&format!("/proc/{}/stat", owner.pid));
    stat.is_ok_and(|line| shield::start_of(&line) == Some(owner.start))
}
