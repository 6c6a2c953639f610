//! What the kernel has already said about its own latencies.

use super::{Check, Finding, Machine, Severity};

pub(super) struct KernelLog;

const ID: &str = "kernel-log";
const PATH: &str = "/dev/kmsg";

/// Words of a message, how much it matters, and what it means.
const MESSAGES: [(&str, Severity, &str); 12] = [
    (
        "RT throttling activated",
        Severity::Costs,
        "a real-time task ran into the RT throttle and was stopped",
    ),
    (
        "Marking TSC unstable",
        Severity::Costs,
        "the kernel gave the time stamp counter up",
    ),
    (
        "as unstable because",
        Severity::Costs,
        "the kernel gave a clock source up as unstable",
    ),
    (
        "hrtimer: interrupt took",
        Severity::Costs,
        "timers were served late",
    ),
    (
        "took too long to run",
        Severity::Costs,
        "a non-maskable interrupt took long",
    ),
    (
        "soft lockup",
        Severity::Spoils,
        "a CPU did not schedule for more than 20 s",
    ),
    (
        "hard LOCKUP",
        Severity::Spoils,
        "a CPU served no interrupt for more than 10 s",
    ),
    (
        "self-detected stall",
        Severity::Spoils,
        "a CPU held up RCU for many seconds",
    ),
    (
        "detected stalls on CPUs",
        Severity::Spoils,
        "a CPU held up RCU for many seconds",
    ),
    (
        "clock throttled",
        Severity::Costs,
        "heat slowed the CPU down",
    ),
    (
        "split_lock trap",
        Severity::Costs,
        "a program was made to sleep for a split lock",
    ),
    (
        "Out of memory: Killed",
        Severity::Costs,
        "memory ran out and a process was ended",
    ),
];

impl Check for KernelLog {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        // Where the log itself is closed to this user, some systems keep a readable copy.
        let copies = [PATH, "/var/log/kern.log", "/var/log/dmesg"];
        let found = copies
            .iter()
            .find_map(|path| Some((*path, machine.root.read(path).ok()?)));
        match found {
            Some((path, log)) => judge(path, &log),
            None => match machine.root.read(PATH) {
                Err(why) => vec![Finding::unknown(ID, "kernel log", &why)],
                Ok(log) => judge(PATH, &log),
            },
        }
    }
}

fn judge(path: &str, log: &str) -> Vec<Finding> {
    let findings: Vec<Finding> = MESSAGES
        .iter()
        .filter_map(|message| look_for(path, log, message))
        .collect();
    if findings.is_empty() {
        let evidence = format!("{path}: no message that the doctor knows");
        return vec![Finding::fine(ID, "the kernel has not complained", evidence)];
    }
    findings
}

fn look_for(path: &str, log: &str, message: &(&str, Severity, &str)) -> Option<Finding> {
    let (words, severity, meaning) = *message;
    let mut lines = log.lines().filter(|line| line.contains(words));
    let line = lines.next()?;
    // A record of /dev/kmsg has numbers before the semicolon.
    let text = line.split_once(';').map_or(line, |(_, text)| text);
    let text: String = text.chars().take(160).collect();
    let times = lines.count() + 1;
    Some(
        Finding::new(ID, severity, format!("the kernel says: {meaning}"))
            .cost("what is named happened on this machine since boot, and can happen again")
            .evidence(format!("{path}, {times} times, first: {text}"))
            .remedy(format!("sudo dmesg --ctime | grep -F '{words}'")),
    )
}
