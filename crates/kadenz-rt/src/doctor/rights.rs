//! The right to run at a real-time priority.

use super::{Check, Finding, Machine, Severity, limits};

pub(super) struct Rights;

const ID: &str = "realtime-rights";
/// Number of `CAP_SYS_NICE`, `capability.h`.
const CAP_SYS_NICE: u32 = 23;

impl Check for Rights {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let mut findings = vec![priority(machine)];
        findings.extend(time_limit(machine));
        findings.extend(rtkit(machine));
        findings
    }
}

fn priority(machine: &Machine<'_>) -> Finding {
    if let Some(evidence) = limits::capability(machine.root, CAP_SYS_NICE, "CAP_SYS_NICE") {
        return Finding::fine(ID, "this process may take any real-time priority", evidence);
    }
    let limit = match limits::read(machine.root, "Max realtime priority") {
        Ok(limit) => limit,
        Err(why) => return Finding::unknown(ID, "right to real-time priority", &why),
    };
    let evidence = format!(
        "{}: Max realtime priority {} (hard {}); no CAP_SYS_NICE in /proc/self/status{}",
        limits::PATH,
        limit.soft,
        limit.hard,
        limits::configured(machine.root, "rtprio")
    );
    match limit.soft_number() {
        Some(0) => Finding::new(
            ID,
            Severity::Spoils,
            "this user may not use real-time priority",
        )
        .cost(
            "the loop runs as an ordinary process and waits for others: up to 346 ms under load at \
                 1 kHz against 1.1 ms with priority, locked memory and a shielded CPU (paper of H. \
                 Yoon et al., 3.4)",
        )
        .evidence(evidence)
        .remedy(limits::remedy("rtprio", "98")),
        Some(highest) if highest < 80 => {
            let title = format!("this user may use real-time priority up to {highest} only");
            Finding::new(ID, Severity::Note, title)
                .cost("interrupt threads run at 50 by default (kernel/irq/manage.c, sched_set_fifo): a loop \
                     at 50 or below waits for them")
                .evidence(evidence)
                .remedy(limits::remedy("rtprio", "98"))
        }
        _ => Finding::fine(ID, "this user may use real-time priority", evidence),
    }
}

/// `RLIMIT_RTTIME` ends a real-time task that runs too long without blocking.
fn time_limit(machine: &Machine<'_>) -> Option<Finding> {
    let limit = limits::read(machine.root, "Max realtime timeout").ok()?;
    let microseconds = limit.soft_number()?;
    let title = "a real-time task that does not block is ended";
    Some(
        Finding::new(ID, Severity::Costs, title)
            .cost(format!(
                "a real-time thread that runs {microseconds} us without a blocking system call gets \
                 SIGXCPU, and SIGKILL at the hard limit (getrlimit(2), RLIMIT_RTTIME)"
            ))
            .evidence(format!("{}: Max realtime timeout {microseconds} us", limits::PATH))
            .remedy("in the starting shell: ulimit -R unlimited"),
    )
}

fn rtkit(machine: &Machine<'_>) -> Option<Finding> {
    let daemon = machine
        .processes()
        .iter()
        .find(|p| p.name.starts_with("rtkit-daemon"))?;
    Some(
        Finding::new(ID, Severity::Note, "rtkit hands out real-time priority")
            .cost(
                "rtkit's watchdog demotes the threads that it made real-time to SCHED_OTHER when \
                 the system overloads (rtkit README): a loop should take its priority by \
                 RLIMIT_RTPRIO, not from rtkit",
            )
            .evidence(format!("process {} {}", daemon.pid, daemon.name)),
    )
}
