//! The timer tick.

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct Tick;

const ID: &str = "tick";
const PATH: &str = "/sys/devices/system/cpu/nohz_full";

impl Check for Tick {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    let rate = machine.build().and_then(|build| {
        let hz = build.value("CONFIG_HZ")?;
        Some((hz.to_owned(), format!("; {}: CONFIG_HZ={hz}", build.path)))
    });
    let (hz, built) = rate.unwrap_or_else(|| ("100 to 1000".to_owned(), String::new()));
    let list = match machine.root.read(PATH) {
        // The kernel prints this where the list is empty.
        Ok(list) if list.is_empty() || list == "(null)" => None,
        Ok(list) => Some(list),
        Err(why) if machine.root.read("/proc/cmdline").is_err() => {
            return Finding::unknown(ID, "timer tick", &why);
        }
        // Kernels that cannot do without the tick lack the file.
        Err(_) => None,
    };
    match list {
        Some(list) => {
            let title = format!("CPU {list} runs without tick while one task runs");
            Finding::fine(ID, title, format!("{PATH}: {list}{built}"))
        }
        None => {
            let word = if machine.root.has(PATH) {
                "empty"
            } else {
                "absent"
            };
            ticking(machine, &hz, &format!("{PATH}: {word}{built}"))
        }
    }
}

fn ticking(machine: &Machine<'_>, hz: &str, evidence: &str) -> Finding {
    let finding = Finding::new(
        ID,
        Severity::Note,
        "every busy CPU is interrupted by the tick",
    )
    .cost(format!(
        "{hz} short interruptions a second (kernel documentation no_hz); they matter to loops \
             that compute through the whole cycle, hardly to one that sleeps; how long they are \
             here, the floor series of a run shows"
    ))
    .evidence(evidence);
    match machine.loop_cpus() {
        Some(cpu) => {
            let parameter = format!("nohz_full={cpu} rcu_nocbs={cpu}");
            let mend = remedy::kernel_parameter(machine, &parameter);
            // The file is there only where the kernel can do it.
            let able = machine.root.has(PATH);
            let first = if able {
                ""
            } else {
                "with a kernel built with CONFIG_NO_HZ_FULL=y: "
            };
            finding.remedy(format!("{first}{mend}"))
        }
        None => finding,
    }
}
