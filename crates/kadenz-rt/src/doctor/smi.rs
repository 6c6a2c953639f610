//! System management interrupts: the firmware takes the CPU and the kernel does not see it.

use crate::host::ReadFactError;

use super::{Check, Finding, Machine, Severity};

pub(super) struct Smi;

const ID: &str = "smi";
/// `MSR_SMI_COUNT` of Intel's Software Developer's Manual, volume 4: SMIs since reset, low 32 bits.
const SMI_COUNT: u64 = 0x34;
/// As many in an hour are one a minute.
const MANY_AN_HOUR: f64 = 60.0;

impl Check for Smi {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let cpuinfo = machine.root.read("/proc/cpuinfo").unwrap_or_default();
        if !cpuinfo.contains("GenuineIntel") {
            return vec![not_counted("only Intel processors count them (MSR 0x34)")];
        }
        if machine.is_virtual() {
            return vec![not_counted(
                "a virtual machine does not see its host's (MSR 0x34)",
            )];
        }
        let cpu = machine.cpus.first().copied().unwrap_or(0);
        let path = format!("/dev/cpu/{cpu}/msr");
        let finding = match machine.root.read_at::<8>(&path, SMI_COUNT) {
            Ok(bytes) => judge(machine, &path, u64::from_le_bytes(bytes) & 0xffff_ffff),
            Err(why) => closed(&why),
        };
        vec![finding]
    }
}

const COST: &str = "the firmware stops the CPUs and the kernel knows nothing of it, sometimes for \
                    milliseconds (kernel documentation hwlat_detector)";

fn judge(machine: &Machine<'_>, path: &str, count: u64) -> Finding {
    let evidence = format!("{path} at 0x34: {count} since reset");
    if count == 0 {
        return Finding::fine(ID, "no system management interrupt since reset", evidence);
    }
    let hours = machine.root.read("/proc/uptime").ok().and_then(|text| {
        let seconds: f64 = text.split_whitespace().next()?.parse().ok()?;
        (seconds > 0.0).then_some(seconds / 3600.0)
    });
    // Many come while booting, so the rate is an upper bound and says so.
    let rate = hours.map(|hours| count as f64 / hours);
    let often = rate.is_some_and(|rate| rate >= MANY_AN_HOUR);
    let severity = if often {
        Severity::Costs
    } else {
        Severity::Note
    };
    let rate = rate.map_or(String::new(), |rate| {
        format!(", at most {rate:.0} an hour if none came while booting")
    });
    Finding::new(
        ID,
        severity,
        format!("{count} system management interrupts since reset"),
    )
    .cost(COST)
    .evidence(format!("{evidence}{rate}"))
    .remedy(
        "in the firmware's setup: switch off legacy USB, and power and thermal management by \
             firmware; then measure: sudo rtla hwnoise -d 60s",
    )
}

fn not_counted(why: &str) -> Finding {
    Finding::new(
        ID,
        Severity::Note,
        "system management interrupts: not known",
    )
    .cost(COST)
    .evidence(format!("not known here: {why}"))
    .remedy("measure what the hardware takes: sudo rtla hwnoise -d 60s")
}

fn closed(why: &ReadFactError) -> Finding {
    Finding::new(
        ID,
        Severity::Note,
        "system management interrupts: not known",
    )
    .cost(COST)
    .evidence(why.to_string())
    .remedy("sudo modprobe msr, then run this again as root; or measure: sudo rtla hwnoise -d 60s")
}
