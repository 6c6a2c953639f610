//! Kernel messages on a serial line.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct SerialConsole;

const ID: &str = "serial-console";
const PRINTK: &str = "/proc/sys/kernel/printk";
/// Names of serial lines: PCs, ARM boards, USB.
const LINES: [&str; 5] = ["ttyS", "ttyAMA", "ttymxc", "ttyTHS", "ttyUSB"];
/// Warnings and worse are below this level (`syslog(2)`).
const WARNINGS: i64 = 5;

impl Check for SerialConsole {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    let line = match machine.root.read("/proc/cmdline") {
        Ok(line) => line,
        Err(why) => return Finding::unknown(ID, "serial console", &why),
    };
    let consoles = line
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("console="));
    let serial = consoles
        .into_iter()
        .find(|c| LINES.iter().any(|name| c.starts_with(name)));
    let Some(console) = serial else {
        let evidence = "/proc/cmdline: no console= on a serial line";
        return Finding::fine(
            ID,
            "kernel messages do not wait for a serial line",
            evidence,
        );
    };
    let printk = machine.root.read(PRINTK).unwrap_or_default();
    let level = printk
        .split_whitespace()
        .next()
        .and_then(|word| word.parse::<i64>().ok());
    let severity = match level {
        Some(level) if level <= WARNINGS => Severity::Note,
        _ => Severity::Costs,
    };
    Finding::new(ID, severity, "kernel messages are written to a serial line")
        .cost(
            "whoever writes a kernel message may wait until it is out: 10 bits a character, so 0.09 \
             ms at 115200 baud and 1 ms at 9600 for each character of the line, with preemption \
             off on kernels that print at once",
        )
        .evidence(format!("/proc/cmdline: console={console}; {PRINTK}: {printk}"))
        .remedy(remedy::sysctl("kernel.printk", "1"))
}
