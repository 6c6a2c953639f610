//! The rights of this process: to real-time priority and to lock memory.

use crate::host::{ReadFactError, Root};

use super::finding::{Unknown, costs, fine, note, spoils};
use super::{Finding, Machine, finding};

const LIMITS: &str = "/proc/self/limits";
/// Number of `CAP_SYS_NICE`, `capability.h`.
const CAP_SYS_NICE: u32 = 23;
/// Number of `CAP_IPC_LOCK`, `capability.h`.
const CAP_IPC_LOCK: u32 = 14;
/// Less memory than this does not hold a program with its libraries, stacks and buffers.
const ENOUGH_BYTES: u64 = 256 << 20;

/// The right to run at a real-time priority.
pub(super) fn priority(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    let root = machine.root;
    if let Some(evidence) = capability(root, CAP_SYS_NICE, "CAP_SYS_NICE") {
        return Ok(fine(
            "this process may take any real-time priority",
            evidence,
        ));
    }
    let (limit, evidence) = limit_of(root, "Max realtime priority", "CAP_SYS_NICE", "rtprio")?;
    let finding = match limit {
        Some(0) => spoils("this user may not use real-time priority").cost(
            "the loop runs as an ordinary process and waits for others: up to 346 ms under load at \
             1 kHz against 1.1 ms with priority, locked memory and a shielded CPU ([Yoon2009], \
             3.4)",
        ),
        Some(highest) if highest < 80 => note(format!(
            "this user may use real-time priority up to {highest} only"
        ))
        .cost(
            "interrupt threads run at 50 by default (kernel/irq/manage.c, sched_set_fifo): a loop \
                 at 50 or below waits for them",
        ),
        _ => return Ok(fine("this user may use real-time priority", evidence)),
    };
    Ok(finding.evidence(evidence).remedy(raise("rtprio", "98")))
}

/// `RLIMIT_RTTIME` ends a real-time task that runs too long without blocking.
pub(super) fn time_limit(machine: &Machine<'_>) -> Option<Finding> {
    let item = "Max realtime timeout";
    let limit = ResourceLimit::read(machine.root, item).ok()?;
    let microseconds = limit.soft_number()?;
    let finding = costs("a real-time task that does not block is ended")
        .cost(format!(
            "a real-time thread that runs {microseconds} us without a blocking system call gets \
             SIGXCPU, and SIGKILL at the hard limit (getrlimit(2), RLIMIT_RTTIME)"
        ))
        .evidence(format!("{LIMITS}: {item} {microseconds} us"))
        .remedy("in the starting shell: ulimit -R unlimited");
    Some(finding)
}

pub(super) fn rtkit(machine: &Machine<'_>) -> Option<Finding> {
    let mut processes = machine.processes().iter();
    let daemon = processes.find(|process| process.name.starts_with("rtkit-daemon"))?;
    let finding = note("rtkit hands out real-time priority")
        .cost(
            "rtkit's watchdog demotes the threads that it made real-time to SCHED_OTHER when \
             the system overloads (rtkit README): a loop should take its priority by \
             RLIMIT_RTPRIO, not from rtkit",
        )
        .evidence(format!("process {} {}", daemon.pid, daemon.name));
    Some(finding)
}

pub(super) fn memory_lock(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    let root = machine.root;
    if let Some(evidence) = capability(root, CAP_IPC_LOCK, "CAP_IPC_LOCK") {
        return Ok(fine("this process may lock all its memory", evidence));
    }
    let (limit, evidence) = limit_of(root, "Max locked memory", "CAP_IPC_LOCK", "memlock")?;
    let Some(bytes) = limit.filter(|bytes| *bytes < ENOUGH_BYTES) else {
        return Ok(fine("this process may lock its memory", evidence));
    };
    Ok(
        costs(format!("this process may lock {} KiB only", bytes / 1024))
            .cost(
                "mlockall fails with ENOMEM (mlock(2)): pages can be taken away, and touching one \
             again waits for the disk ([Sticha2014], 2.3.3)",
            )
            .evidence(evidence)
            .remedy(raise("memlock", "unlimited")),
    )
}

/// The soft limit in `/proc/self/limits`, if there is one, and the evidence for it: the capability
/// that would lift it is missing, and pam_limits may know it as `item`.
fn limit_of(
    root: &Root,
    name: &str,
    capability: &str,
    item: &str,
) -> Result<(Option<u64>, String), Unknown> {
    let limit = ResourceLimit::read(root, name)?;
    let evidence = format!(
        "{LIMITS}: {name} {} (hard {}); no {capability} in /proc/self/status{}",
        limit.soft,
        limit.hard,
        configured(root, item)
    );
    Ok((limit.soft_number(), evidence))
}

/// One line of `/proc/self/limits`: numbers, or `unlimited`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ResourceLimit {
    soft: String,
    hard: String,
}

impl ResourceLimit {
    /// Reads the line that begins with `name`.
    fn read(root: &Root, name: &str) -> Result<Self, ReadFactError> {
        let text = root.read(LIMITS)?;
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let mut words = line.unwrap_or("").split_whitespace().map(str::to_owned);
        match (words.next(), words.next()) {
            (Some(soft), Some(hard)) => Ok(Self { soft, hard }),
            _ => Err(ReadFactError::strange(
                LIMITS,
                &text,
                "its usual table of limits",
            )),
        }
    }

    /// The soft limit; `None` when there is none.
    fn soft_number(&self) -> Option<u64> {
        self.soft.parse().ok()
    }
}

/// Evidence that this process holds a capability; `None` when it does not or that is not readable.
fn capability(root: &Root, number: u32, name: &str) -> Option<String> {
    let path = "/proc/self/status";
    let status = root.read(path).ok()?;
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?
        .trim();
    let bits = u64::from_str_radix(mask, 16).ok()?;
    (bits & (1 << number) != 0).then(|| format!("{path}: CapEff {mask} holds {name}"))
}

/// What the files of pam_limits set for `item`, as an addition to the evidence: settings that exist but are not in
/// force mean that the user must log in again.
fn configured(root: &Root, item: &str) -> String {
    let folder = "/etc/security/limits.d";
    let mut paths = vec!["/etc/security/limits.conf".to_owned()];
    let names = root.list(folder).unwrap_or_default();
    paths.extend(
        names
            .iter()
            .filter(|n| n.ends_with(".conf"))
            .map(|n| format!("{folder}/{n}")),
    );
    let lines = paths.iter().filter_map(|path| {
        let text = root.read(path).ok()?;
        let line = text
            .lines()
            .map(str::trim)
            .find(|line| !line.starts_with('#') && line.split_whitespace().nth(2) == Some(item))?;
        Some(format!("{path}: {line}"))
    });
    let found: Vec<String> = lines.collect();
    if found.is_empty() {
        return String::new();
    }
    format!(
        "; configured, in force for its members after the next login: {}",
        found.join("; ")
    )
}

/// How to raise a limit of pam_limits.
fn raise(item: &str, value: &str) -> String {
    finding::now_and_for_good(
        "sudo setcap cap_sys_nice,cap_ipc_lock+ep <program>, or run it as root",
        &format!(
            "sudo groupadd -f realtime && sudo usermod -aG realtime $USER && echo '@realtime - \
             {item} {value}' | sudo tee -a /etc/security/limits.d/90-kadenz.conf, then log in again"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_capabilities_of_a_usual_process() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        std::fs::create_dir_all(folder.path().join("proc/self")).unwrap();
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max realtime priority     10                   99                   \n\
                      Max realtime timeout      unlimited            unlimited            us\n";
        std::fs::write(folder.path().join("proc/self/limits"), limits).unwrap();
        std::fs::write(
            folder.path().join("proc/self/status"),
            "CapEff:\t0000000000800000",
        )
        .unwrap();
        let limit = ResourceLimit::read(&root, "Max realtime priority").unwrap();
        assert_eq!((limit.soft_number(), limit.hard.as_str()), (Some(10), "99"));
        assert_eq!(
            ResourceLimit::read(&root, "Max realtime timeout")
                .unwrap()
                .soft_number(),
            None
        );
        assert!(capability(&root, 23, "CAP_SYS_NICE").is_some());
        assert!(capability(&root, 14, "CAP_IPC_LOCK").is_none());
    }
}
