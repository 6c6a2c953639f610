//! What the kernel reads when a program asks for the time.

use crate::host::CLOCK_SOURCE;

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct ClockSource;

const ID: &str = "clock-source";
const AVAILABLE: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

impl Check for ClockSource {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let mut findings = vec![source(machine)];
        findings.extend(flags(machine));
        findings
    }
}

fn source(machine: &Machine<'_>) -> Finding {
    let name = match machine.root.read(CLOCK_SOURCE) {
        Ok(name) => name,
        Err(why) => return Finding::unknown(ID, "clock source", &why),
    };
    let available = machine.root.read(AVAILABLE).unwrap_or_default();
    let evidence = format!("{CLOCK_SOURCE}: {name}; available: {available}");
    let title = format!("the clock source is {name}");
    match name.as_str() {
        "tsc" | "arch_sys_counter" | "riscv_clocksource" => Finding::fine(ID, title, evidence),
        "kvm-clock" | "hyperv_clocksource_tsc_page" | "xen" => {
            Finding::new(ID, Severity::Note, title)
                .cost(
                    "the clock of a virtual machine: read without a system call on usual kernels, \
                     but the hypervisor may correct it",
                )
                .evidence(evidence)
        }
        "jiffies" | "refined-jiffies" => Finding::new(ID, Severity::Spoils, title)
            .cost(
                "time moves in steps of a timer tick, 1 to 10 ms (CONFIG_HZ): nothing shorter can \
                 be measured, and high-resolution timers are off",
            )
            .evidence(evidence)
            .remedy(switch(machine, &available)),
        _ => Finding::new(ID, Severity::Costs, title)
            .cost(
                "each reading goes to the chipset and through a system call: about 0.7 us with \
                 acpi_pm against 0.04 us with tsc on one and the same machine (PostgreSQL manual, \
                 pg_test_timing), and the CPUs wait for each other",
            )
            .evidence(evidence)
            .remedy(switch(machine, &available)),
    }
}

fn switch(machine: &Machine<'_>, available: &str) -> String {
    if available.split_whitespace().any(|name| name == "tsc") {
        let parameter = remedy::kernel_parameter(machine, "clocksource=tsc");
        let now = format!("echo tsc | sudo tee {CLOCK_SOURCE}");
        return remedy::now_and_for_good(&now, &parameter);
    }
    format!(
        "find out why the kernel gave tsc up: sudo dmesg | grep -i -e tsc -e clocksource; where the \
         hardware is known to be good: {}",
        remedy::kernel_parameter(machine, "tsc=reliable")
    )
}

/// x86 without an invariant time stamp counter.
fn flags(machine: &Machine<'_>) -> Option<Finding> {
    let cpuinfo = machine.root.read("/proc/cpuinfo").ok()?;
    let line = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
    let missing: Vec<&str> = ["constant_tsc", "nonstop_tsc"]
        .into_iter()
        .filter(|flag| !line.split_whitespace().any(|word| word == *flag))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let missing = missing.join(" and ");
    Some(
        Finding::new(
            ID,
            Severity::Note,
            "the time stamp counter is not invariant",
        )
        .cost("it changes its rate or stops in deep sleep: the clock TSC must not be used here")
        .evidence(format!("/proc/cpuinfo: flags lack {missing}")),
    )
}
