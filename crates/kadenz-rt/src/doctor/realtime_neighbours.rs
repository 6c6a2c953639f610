//! Other real-time tasks of user programs.

use super::{Check, Finding, Machine, Severity, processes};

pub(super) struct RealtimeNeighbours;

const ID: &str = "realtime-neighbours";
/// So many are named.
const NAMED: usize = 8;
/// From this priority on a neighbour stands beside or above a usual control loop.
const HIGH: u32 = 80;

impl Check for RealtimeNeighbours {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

fn judge(machine: &Machine<'_>) -> Finding {
    if machine.processes().is_empty() {
        return Finding::new(ID, Severity::Note, "other real-time tasks: not known")
            .cost("not known")
            .evidence("not known here: /proc/<pid>/stat absent");
    }
    let own = if machine.root.is_live() {
        std::process::id()
    } else {
        0
    };
    let others = machine
        .processes()
        .iter()
        .filter(|p| !p.kernel && p.pid != own);
    let threads = others.flat_map(|process| processes::threads(machine.root, process.pid));
    let mut neighbours: Vec<_> = threads
        .filter(|thread| thread.realtime_priority > 0)
        .collect();
    if neighbours.is_empty() {
        return Finding::fine(
            ID,
            "no other program runs real-time tasks",
            "field rt_priority of /proc/<pid>/task/*/stat is 0 throughout",
        );
    }
    neighbours.sort_by_key(|thread| std::cmp::Reverse(thread.realtime_priority));
    let highest = neighbours[0].realtime_priority;
    let named = neighbours.iter().take(NAMED);
    let named = named.map(|t| format!("{} {} at {}", t.pid, t.name, t.realtime_priority));
    let severity = if highest >= HIGH {
        Severity::Costs
    } else {
        Severity::Note
    };
    let title = format!("{} real-time threads of other programs", neighbours.len());
    Finding::new(ID, severity, title)
        .cost(format!(
            "a loop at the same priority or below waits as long as they run (sched(7)); the highest \
             is at {highest}"
        ))
        .evidence(format!("/proc/<pid>/task/*/stat: {}", named.collect::<Vec<_>>().join(", ")))
        .remedy("sudo chrt -p <lower priority> <thread>, or choose the loop's priority above them")
}
