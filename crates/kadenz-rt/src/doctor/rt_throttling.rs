//! The bandwidth limit of real-time tasks.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct RtThrottling;

const ID: &str = "rt-throttling";
const RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";

impl Check for RtThrottling {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let readings = (
            machine.root.read_number(RUNTIME),
            machine.root.read_number(PERIOD),
        );
        let finding = match readings {
            (Ok(runtime), Ok(period)) => judge(runtime, period),
            (Err(why), _) | (_, Err(why)) => Finding::unknown(ID, "real-time throttling", &why),
        };
        vec![finding]
    }
}

fn judge(runtime: i64, period: i64) -> Finding {
    let evidence = format!("{RUNTIME}: {runtime}; {PERIOD}: {period}");
    if runtime < 0 || runtime >= period {
        return Finding::fine(ID, "real-time tasks are not throttled", evidence);
    }
    let stall = period.saturating_sub(runtime) / 1000;
    Finding::new(ID, Severity::Costs, "real-time tasks that do not sleep are throttled")
        .cost(format!(
            "a SCHED_FIFO or SCHED_RR task that spins without sleeping is stopped up to {stall} ms \
             in every {} ms (sched(7); kernel documentation, sched-rt-group); one that sleeps every \
             cycle never meets it",
            period / 1000
        ))
        .evidence(evidence)
        .remedy(remedy::sysctl("kernel.sched_rt_runtime_us", "-1"))
}
