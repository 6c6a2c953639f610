//! The right to lock memory.

use super::{Check, Finding, Machine, Severity, limits};

pub(super) struct MemoryLock;

const ID: &str = "memory-lock-rights";
/// Number of `CAP_IPC_LOCK`, `capability.h`.
const CAP_IPC_LOCK: u32 = 14;
/// Less than this does not hold a program with its libraries, stacks and buffers.
const ENOUGH: u64 = 256 << 20;

impl Check for MemoryLock {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    if let Some(evidence) = limits::capability(machine.root, CAP_IPC_LOCK, "CAP_IPC_LOCK") {
        return Finding::fine(ID, "this process may lock all its memory", evidence);
    }
    let limit = match limits::read(machine.root, "Max locked memory") {
        Ok(limit) => limit,
        Err(why) => return Finding::unknown(ID, "right to lock memory", &why),
    };
    let evidence = format!(
        "{}: Max locked memory {} (hard {}); no CAP_IPC_LOCK in /proc/self/status{}",
        limits::PATH,
        limit.soft,
        limit.hard,
        limits::configured(machine.root, "memlock")
    );
    match limit.soft_number() {
        Some(bytes) if bytes < ENOUGH => {
            let title = format!("this process may lock {} KiB only", bytes / 1024);
            Finding::new(ID, Severity::Costs, title)
                .cost(
                    "mlockall fails with ENOMEM (mlock(2)): pages can be taken away, and touching one \
                     again waits for the disk (thesis of J. Sticha, 2.3.3)",
                )
                .evidence(evidence)
                .remedy(limits::remedy("memlock", "unlimited"))
        }
        _ => Finding::fine(ID, "this process may lock its memory", evidence),
    }
}
