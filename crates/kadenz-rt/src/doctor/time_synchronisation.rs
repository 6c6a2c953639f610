//! Daemons that steer the clock.

use super::{Check, Finding, Machine, Severity};

pub(super) struct TimeSynchronisation;

const ID: &str = "time-synchronisation";
const NAMES: [&str; 8] = [
    "chronyd",
    "ntpd",
    "ntpsec",
    "openntpd",
    "systemd-timesyn",
    "ptp4l",
    "phc2sys",
    "timemaster",
];

impl Check for TimeSynchronisation {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    if machine.processes().is_empty() {
        return Finding::new(ID, Severity::Note, "time synchronisation: not known")
            .cost("not known")
            .evidence("not known here: /proc/<pid>/stat absent");
    }
    let running = machine
        .processes()
        .iter()
        .map(|process| process.name.as_str());
    let found: Vec<&str> = running.filter(|name| NAMES.contains(name)).collect();
    if found.is_empty() {
        let evidence = "no time daemon among the processes";
        return Finding::fine(ID, "no daemon steers the clock", evidence);
    }
    Finding::new(ID, Severity::Note, "a daemon steers the clock")
        .cost(
            "CLOCK_MONOTONIC never steps, but its rate is steered, by at most 500 ppm in the kernel's \
             adjtimex(2): half a microsecond in a millisecond; wall time may step, so Kadenz does not \
             measure with it",
        )
        .evidence(format!("/proc/<pid>/stat: {}", found.join(", ")))
        .remedy("measure with CLOCK_MONOTONIC_RAW where the clock's own rate matters")
}
