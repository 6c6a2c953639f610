//! Kernel tracing that was left on.

use super::{Check, Finding, Machine, Severity};

pub(super) struct KernelTracing;

const ID: &str = "kernel-tracing";
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

impl Check for KernelTracing {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    let [first, second] = FOLDERS.map(|folder| {
        let path = format!("{folder}/current_tracer");
        machine.root.read(&path).map(|tracer| (path, tracer))
    });
    let (path, tracer) = match first.or_else(|why| second.map_err(|_| why)) {
        Ok(found) => found,
        Err(why) => return Finding::unknown(ID, "kernel tracing", &why),
    };
    let evidence = format!("{path}: {tracer}");
    if tracer == "nop" {
        return Finding::fine(ID, "no kernel tracer runs", evidence);
    }
    Finding::new(
        ID,
        Severity::Costs,
        format!("the kernel tracer {tracer} runs"),
    )
    .cost(
        "each traced function takes longer; the tracers irqsoff, preemptoff and hwlat are made to \
             hold the CPU themselves (kernel documentation ftrace)",
    )
    .evidence(evidence)
    .remedy(format!("echo nop | sudo tee {path}"))
}
