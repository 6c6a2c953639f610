//! Whether a shield whose process was killed is still in force, a testbed's programs still run, or a
//! cable is still there.

use super::finding::{Unknown, costs, fine, note};
use super::{Finding, Look, Machine, Root};
use crate::host::ReadFactError;
use crate::shield;
use crate::shield::journal::{FILE_NAME, FOLDER, Journal, ShieldOwner};

const REMEDY: &str = "sudo kadenz doctor --restore";

#[cfg(target_os = "linux")]
pub(super) const LOOKS: &[Look] = &[
    Look::Maybe(shield_journal),
    Look::Maybe(testbed),
    Look::Maybe(cables),
];
#[cfg(not(target_os = "linux"))]
pub(super) const LOOKS: &[Look] = &[Look::Maybe(shield_journal)];

fn shield_journal(machine: &Machine<'_>) -> Option<Finding> {
    let path = in_folder(machine.root, FILE_NAME);
    let finding = match machine.root.read(&path) {
        Ok(text) => judge(machine.root, &path, &Journal::parse(text.as_bytes())),
        Err(ReadFactError::Absent { .. }) if machine.root.has("/proc") => fine(
            "no measurement left the machine changed",
            format!("{path}: absent"),
        ),
        Err(why) => {
            let finding = Unknown::from(why).finding("what measurements left changed");
            finding.remedy(REMEDY)
        }
    };
    Some(finding)
}

/// The path of a file in the folder where measurements journal their changes.
fn in_folder(root: &Root, file: &str) -> String {
    if root.is_live() {
        let folder = shield::journal_folder();
        return folder.join(file).to_string_lossy().into_owned();
    }
    format!("{FOLDER}/{file}")
}

/// Cables that a killed `kadenz ethercat sim` left in this program's network namespace.
#[cfg(target_os = "linux")]
fn cables(machine: &Machine<'_>) -> Option<Finding> {
    let left = machine
        .root
        .is_live()
        .then(crate::net::cable::abandoned)?
        .ok()?;
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
    let cost = "their names are taken, and whatever looks for interfaces finds them";
    Some(costs(title).cost(cost).evidence(evidence).remedy(REMEDY))
}

/// A testbed ends with its process; processes that its programs have started do not.
#[cfg(target_os = "linux")]
fn testbed(machine: &Machine<'_>) -> Option<Finding> {
    use crate::net::claim::{FILE_NAME, Record};

    let root = machine.root;
    let path = in_folder(root, FILE_NAME);
    let text = root.read(&path).ok()?;
    let record = Record::parse(text.as_bytes())?;
    let evidence = format!("{path}: {} by process {}", record.topology, record.pid);
    if lives_since(root, record.pid, record.start) {
        let title = format!(
            "process {} has built the testbed {} just now",
            record.pid, record.topology
        );
        let cost = "a thread at FIFO 90 while frames travel";
        return Some(note(title).cost(cost).evidence(evidence));
    }
    if boot(root).is_some_and(|boot| boot != record.boot) {
        return None;
    }
    let title = format!("the testbed {} was killed", record.topology);
    let cost = "nothing, if its programs had started no others; those still run";
    Some(costs(title).cost(cost).evidence(evidence).remedy(REMEDY))
}

fn judge(root: &Root, path: &str, journal: &Journal) -> Finding {
    let changes = journal.changes.len();
    let Some(owner) = &journal.owner else {
        return left(path, changes, "a process that is not known");
    };
    let evidence = format!("{path}: {changes} changes by process {}", owner.pid);
    if lives(root, owner) {
        let title = format!("process {} shields CPUs {} just now", owner.pid, owner.cpus);
        return note(title)
            .cost("everything else shares the other CPUs until that process ends")
            .evidence(evidence);
    }
    if boot(root).is_some_and(|boot| boot != owner.boot) {
        return note("a journal records a shield from before the last boot")
            .cost("none: the boot undid what it names")
            .evidence(evidence)
            .remedy(REMEDY);
    }
    let maker = format!("process {}, which shielded CPUs {}", owner.pid, owner.cpus);
    left(path, changes, &maker)
}

fn left(path: &str, changes: usize, maker: &str) -> Finding {
    costs("a killed measurement left the machine changed")
    .cost(
        "threads, interrupts and kernel workers stay off the CPUs that it shielded, so everything \
             else has fewer, and whatever is measured now meets another machine",
    )
    .evidence(format!("{path}: {changes} changes by {maker}"))
    .remedy(REMEDY)
}

fn boot(root: &Root) -> Option<String> {
    root.read("/proc/sys/kernel/random/boot_id").ok()
}

/// Returns whether the process with that number started when the owner did: the kernel uses numbers again.
fn lives(root: &Root, owner: &ShieldOwner) -> bool {
    lives_since(root, owner.pid, owner.start)
}

fn lives_since(root: &Root, pid: u32, start: u64) -> bool {
    let stat = root.read(&format!("/proc/{pid}/stat"));
    stat.is_ok_and(|line| shield::start_of(&line) == Some(start))
}
