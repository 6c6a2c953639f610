//! Real-time group scheduling: whether this control group may run real-time tasks at all.

use super::{Check, Finding, Machine, Severity, cgroup, remedy};

pub(super) struct RtGroups;

const ID: &str = "rt-group-scheduling";
const OPTION: &str = "CONFIG_RT_GROUP_SCHED=y";

impl Check for RtGroups {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        vec![judge(machine)]
    }
}

/// How it was seen that the kernel schedules real-time groups; `None` where nothing says so.
pub(super) fn seen(machine: &Machine<'_>) -> Option<String> {
    let folders = cgroup::read(machine.root).cpu;
    let file = folders
        .iter()
        .map(|folder| format!("{folder}/cpu.rt_runtime_us"));
    if let Some(path) = file.into_iter().find(|path| machine.root.has(path)) {
        return Some(format!("{path} exists"));
    }
    let build = machine.build()?;
    build
        .has(OPTION)
        .then(|| format!("{}: {OPTION}", build.path))
}

fn judge(machine: &Machine<'_>) -> Finding {
    let Some(evidence) = seen(machine) else {
        return absent(machine);
    };
    let folders = cgroup::read(machine.root).cpu;
    let path = folders
        .first()
        .map(|folder| format!("{folder}/cpu.rt_runtime_us"));
    let runtime = path.as_deref().map(|path| machine.root.read_number(path));
    match (path, runtime) {
        (Some(path), Some(Ok(0))) => refused(&path),
        (Some(path), Some(Ok(runtime))) => {
            let title = "real-time groups are scheduled, and this group has real-time";
            Finding::fine(ID, title, format!("{path}: {runtime}"))
        }
        _ => unified(&evidence),
    }
}

fn absent(machine: &Machine<'_>) -> Finding {
    let Some(build) = machine.build() else {
        return Finding::new(ID, Severity::Note, "real-time group scheduling: not known")
            .cost("not known")
            .evidence(
                "not known here: cpu.rt_runtime_us absent in this control group, and \
                 /boot/config-<release> absent",
            );
    };
    let evidence = format!("{}: no {OPTION}", build.path);
    Finding::fine(ID, "real-time tasks are not scheduled in groups", evidence)
}

fn refused(path: &str) -> Finding {
    let now = format!(
        "echo 950000 | sudo tee {} (the groups above need as much first)",
        remedy::shell_word(path)
    );
    let good = "in the unit of the service: Slice=-.slice, or boot a kernel without \
                CONFIG_RT_GROUP_SCHED";
    Finding::new(
        ID,
        Severity::Spoils,
        "this control group has no real-time at all",
    )
    .cost(
        "SCHED_FIFO and SCHED_RR are refused to every process in it, root's too (kernel \
             documentation sched-rt-group, 2.2): the loop runs as an ordinary process",
    )
    .evidence(format!("{path}: 0"))
    .remedy(remedy::now_and_for_good(&now, good))
}

fn unified(evidence: &str) -> Finding {
    Finding::new(
        ID,
        Severity::Note,
        "the kernel can schedule real-time tasks in groups",
    )
    .cost(
        "with control groups version 2 and the cpu controller in use, real-time tasks may run \
             in the root group only (kernel documentation cgroup-v2, CPU): elsewhere SCHED_FIFO is \
             refused",
    )
    .evidence(evidence.to_owned())
    .remedy("run in the root group, or boot with rt_group_sched=0 where the kernel knows it")
}
