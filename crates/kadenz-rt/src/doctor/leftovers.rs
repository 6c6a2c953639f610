//! Whether a shield whose process was killed is still in force, a testbed's programs still run, or a
//! cable is still there.

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
        #[cfg(target_os = "linux")]
        return std::iter::once(finding)
            .chain(testbed::examine(machine.root))
            .chain(cables(machine.root))
            .collect();
        #[cfg(not(target_os = "linux"))]
        vec![finding]
    }
}

/// Cables of a killed `kadenz ethercat sim`, in this program's own network.
#[cfg(target_os = "linux")]
fn cables(root: &Root) -> Option<Finding> {
    let left = root.is_live().then(crate::net::cable::abandoned)?.ok()?;
    let evidence = left.iter().map(|it| {
        format!(
            "{}: made by process {}, which has ended",
            it.interface, it.pid
        )
    });
    let evidence = evidence.collect::<Vec<_>>().join("; ");
    let title = match left.len() {
        0 => return None,
        1 => "a killed program left a cable of two interfaces".to_owned(),
        count => format!("killed programs left {count} cables of two interfaces each"),
    };
    let finding = Finding::new(ID, Severity::Costs, title);
    let cost = "their names are taken, and whatever looks for interfaces finds them";
    Some(finding.cost(cost).evidence(evidence).remedy(REMEDY))
}

/// A testbed goes with its process; what its programs have started does not.
#[cfg(target_os = "linux")]
mod testbed {
    use super::{Finding, ID, REMEDY, Root, Severity, boot, lives_since, shield};
    use crate::net::claim::{FILE_NAME, Record};

    pub(super) fn examine(root: &Root) -> Option<Finding> {
        let path = if root.is_live() {
            let folder = shield::journal_folder();
            folder.join(FILE_NAME).to_string_lossy().into_owned()
        } else {
            format!("{}/{FILE_NAME}", super::FOLDER)
        };
        let text = root.read(&path).ok()?;
        let record = Record::parse(text.as_bytes())?;
        let evidence = format!("{path}: {} by process {}", record.topology, record.pid);
        if lives_since(root, record.pid, record.start) {
            let title = format!(
                "process {} has built the testbed {} just now",
                record.pid, record.topology
            );
            let finding = Finding::new(ID, Severity::Note, title);
            return Some(
                finding
                    .cost("a thread at FIFO 90 while frames travel")
                    .evidence(evidence),
            );
        }
        if boot(root).is_some_and(|boot| boot != record.boot) {
            return None;
        }
        let title = format!("the testbed {} was killed", record.topology);
        let finding = Finding::new(ID, Severity::Costs, title);
        let cost = "nothing, if its programs had started no others; those still run";
        Some(finding.cost(cost).evidence(evidence).remedy(REMEDY))
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
    lives_since(root, owner.pid, owner.start)
}

fn lives_since(root: &Root, pid: u32, start: u64) -> bool {
    let stat = root.read(&format!("/proc/{pid}/stat"));
    stat.is_ok_and(|line| shield::start_of(&line) == Some(start))
}
