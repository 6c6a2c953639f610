//! How much memory is left.

use crate::host;

use super::{Check, Finding, Machine, Severity};

pub(super) struct FreeMemory;

const ID: &str = "free-memory";
/// Below this share the kernel reclaims again and again.
const LITTLE: f64 = 0.1;

impl Check for FreeMemory {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    let all = host::meminfo(machine.root, "MemTotal");
    let available = host::meminfo(machine.root, "MemAvailable");
    let (all, available) = match (all, available) {
        (Ok(all), Ok(available)) => (all, available),
        (Err(why), _) | (_, Err(why)) => return Finding::unknown(ID, "free memory", &why),
    };
    let evidence = format!(
        "/proc/meminfo: MemAvailable {} MiB of MemTotal {} MiB",
        available >> 20,
        all >> 20
    );
    if available as f64 >= LITTLE * all as f64 {
        return Finding::fine(ID, "there is memory left", evidence);
    }
    Finding::new(ID, Severity::Costs, "little memory is left")
        .cost(
            "an allocation has to wait until the kernel has written or dropped other pages, which is \
             a wait for the disk, and the out-of-memory killer may end a process",
        )
        .evidence(evidence)
        .remedy("end what uses the memory (ps aux --sort=-rss | head), or add memory")
}
