//! Whether a timer may be served by another CPU than the one that set it.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct TimerMigration;

const ID: &str = "timer-migration";
const PATH: &str = "/proc/sys/kernel/timer_migration";

impl Check for TimerMigration {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let finding = match machine.root.read_number(PATH) {
            Ok(0) => Finding::fine(ID, "timers stay on their CPU", format!("{PATH}: 0")),
            Ok(value) => judge(machine, value),
            Err(why) => Finding::unknown(ID, "timer migration", &why),
        };
        vec![finding]
    }
}

fn judge(machine: &Machine<'_>, value: i64) -> Finding {
    // On shielded CPUs it always happens: their timers go to the others.
    let shielded = !machine.isolated_cpus().is_empty() || machine.parameter("nohz_full").is_some();
    let severity = if shielded {
        Severity::Costs
    } else {
        Severity::Note
    };
    Finding::new(ID, severity, "timers may move to another CPU")
        .cost(
            "the timer that wakes a loop on an idle or nohz_full CPU may be served by another one, \
             which then has to wake the loop's CPU, and does so late when it has interrupts off \
             itself (kernel/time/hrtimer.c; NVIDIA's guide to its real-time kernel sets it to 0)",
        )
        .evidence(format!("{PATH}: {value}"))
        .remedy(remedy::sysctl("kernel.timer_migration", "0"))
}
