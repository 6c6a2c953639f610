//! The share of the CPU that is kept from real-time tasks.

use super::{Check, Finding, Machine, Severity, remedy, rt_groups};

pub(super) struct RtThrottling;

const ID: &str = "rt-throttling";
const RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";
const FAIR_SERVER: &str = "/sys/kernel/debug/sched/fair_server";

impl Check for RtThrottling {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        // Linux 6.12 put the fair server in the place of the throttle, unless groups are in use.
        let is_new = machine
            .kernel_version()
            .is_some_and(|version| version >= (6, 12));
        let has_server = is_new || machine.root.has(FAIR_SERVER);
        let mut findings = Vec::new();
        if !has_server || rt_groups::seen(machine).is_some() {
            findings.push(throttle(machine));
        }
        if has_server {
            findings.push(fair_server(machine));
        }
        findings
    }
}

fn throttle(machine: &Machine<'_>) -> Finding {
    let readings = (
        machine.root.read_number(RUNTIME),
        machine.root.read_number(PERIOD),
    );
    let (runtime, period) = match readings {
        (Ok(runtime), Ok(period)) => (runtime, period),
        (Err(why), _) | (_, Err(why)) => {
            return Finding::unknown(ID, "real-time throttling", &why);
        }
    };
    let evidence = format!("{RUNTIME}: {runtime}; {PERIOD}: {period}");
    if runtime < 0 || runtime >= period {
        return Finding::fine(ID, "real-time tasks are not throttled", evidence);
    }
    let stall = period.saturating_sub(runtime) / 1000;
    Finding::new(
        ID,
        Severity::Costs,
        "real-time tasks that do not sleep are throttled",
    )
    .cost(format!(
        "a SCHED_FIFO or SCHED_RR task that spins without sleeping is stopped for up to \
             {stall} ms in every {} ms (sched(7); kernel documentation sched-rt-group); a loop \
             that sleeps in every cycle never meets it",
        period / 1000
    ))
    .evidence(evidence)
    .remedy(remedy::sysctl("kernel.sched_rt_runtime_us", "-1"))
}

/// Since Linux 6.12 ordinary tasks are served by a deadline server when real-time tasks starve
/// them, with the same defaults that the throttle had.
fn fair_server(machine: &Machine<'_>) -> Finding {
    let reading = longest_server(machine);
    let (runtime, period, evidence) = match reading {
        Some((0, _, path)) => {
            return Finding::fine(ID, "the fair server is off", format!("{path}: 0"));
        }
        Some((runtime, period, path)) => (
            runtime,
            period,
            format!("{path}: {runtime}, period {period} (ns)"),
        ),
        None => (
            50_000_000,
            1_000_000_000,
            format!(
                "kernel {}; {FAIR_SERVER} not readable, so the kernel's default is assumed",
                machine.facts.kernel.as_deref().unwrap_or("unknown")
            ),
        ),
    };
    Finding::new(
        ID,
        Severity::Costs,
        "ordinary tasks are served at the cost of real-time tasks",
    )
    .cost(format!(
        "where an ordinary task waits on the same CPU, a SCHED_FIFO or SCHED_RR task that spins \
             without sleeping is stopped for up to {} ms in every {} ms (fair server, Linux 6.12, \
             kernel/sched/deadline.c); a loop that sleeps in every cycle never meets it",
        runtime / 1_000_000,
        period / 1_000_000
    ))
    .evidence(evidence)
    .remedy(remedy::now_and_for_good(
        "for f in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do echo 0 | sudo tee $f; done",
        &remedy::at_boot(
            "fair-server",
            // systemd makes one dollar sign of two.
            "for f in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do echo 0 > $$f; done",
        ),
    ))
}

/// The server with the longest run time: (runtime, period, file), in nanoseconds.
fn longest_server(machine: &Machine<'_>) -> Option<(i64, i64, String)> {
    let cpus = machine.root.list(FAIR_SERVER).ok()?;
    let servers = cpus.iter().filter_map(|cpu| {
        let path = format!("{FAIR_SERVER}/{cpu}/runtime");
        let runtime = machine.root.read_number(&path).ok()?;
        let period = machine
            .root
            .read_number(&format!("{FAIR_SERVER}/{cpu}/period"))
            .ok()?;
        Some((runtime, period, path))
    });
    servers.max_by_key(|(runtime, ..)| *runtime)
}
