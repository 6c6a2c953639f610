//! Where device interrupts are served.

use crate::host::cpu_list;

use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct Interrupts;

const ID: &str = "irq-affinity";
const PATH: &str = "/proc/interrupts";
/// So many are named.
const NAMED: usize = 5;

/// A device interrupt: the numbered lines of `/proc/interrupts`.
struct Line {
    number: u32,
    name: String,
    count: u64,
    cpus: Vec<u32>,
}

impl Check for Interrupts {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let mut findings = vec![match machine.root.read(PATH) {
            Ok(text) => judge(machine, &text),
            Err(why) => Finding::unknown(ID, "interrupts", &why),
        }];
        findings.extend(balancer(machine));
        findings
    }
}

fn judge(machine: &Machine<'_>, text: &str) -> Finding {
    let mut lines = lines(machine, text);
    lines.sort_by_key(|line| std::cmp::Reverse(line.count));
    let isolated = machine.isolated_cpus();
    let reaching: Vec<&Line> = lines
        .iter()
        .filter(|line| line.cpus.iter().any(|cpu| isolated.contains(cpu)))
        .collect();
    if !isolated.is_empty() && reaching.is_empty() {
        let list = cpu_list::format_list(&isolated);
        let title = format!("no device interrupt reaches the CPUs set apart ({list})");
        return Finding::fine(ID, title, "/proc/irq/*/effective_affinity_list");
    }
    let (severity, shown, title) = if isolated.is_empty() {
        let all: Vec<&Line> = lines.iter().collect();
        (
            Severity::Note,
            all,
            "device interrupts may be served on any CPU",
        )
    } else {
        (
            Severity::Costs,
            reaching,
            "device interrupts reach the CPUs set apart",
        )
    };
    let named = shown.iter().take(NAMED).map(|line| {
        let cpus = cpu_list::format_list(&line.cpus);
        format!(
            "{} {} on CPU {cpus}, {} times",
            line.number, line.name, line.count
        )
    });
    Finding::new(ID, severity, title)
        .cost(
            "a handler delays the loop by as long as it runs, and where handlers are not threads \
             no priority helps (kernel documentation irq-affinity; paper of H. Yoon et al., 3.1, \
             moves them off the loop's CPU)",
        )
        .evidence(format!("{PATH}: {}", named.collect::<Vec<_>>().join("; ")))
        .remedy(mend(machine))
}

fn mend(machine: &Machine<'_>) -> String {
    let others = machine.other_cpus();
    remedy::now_and_for_good(
        &format!(
            "for i in /proc/irq/[0-9]*; do echo {others} | sudo tee $i/smp_affinity_list; done"
        ),
        &remedy::kernel_parameter(machine, &format!("irqaffinity={others}")),
    )
}

fn lines(machine: &Machine<'_>, text: &str) -> Vec<Line> {
    let cpus = text.lines().next().unwrap_or("").split_whitespace().count();
    let lines = text.lines().skip(1).filter_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let number = number.trim().parse().ok()?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let counts = words
            .iter()
            .take(cpus)
            .filter_map(|word| word.parse::<u64>().ok());
        let count = counts.fold(0, u64::saturating_add);
        let name = words.last().filter(|_| words.len() > cpus)?;
        (count > 0).then(|| Line {
            number,
            name: (*name).to_owned(),
            count,
            cpus: affinity(machine, number),
        })
    });
    lines.collect()
}

fn affinity(machine: &Machine<'_>, number: u32) -> Vec<u32> {
    let files = ["effective_affinity_list", "smp_affinity_list"];
    let mut lists = files.iter().filter_map(|file| {
        let list = machine
            .root
            .read(&format!("/proc/irq/{number}/{file}"))
            .ok()?;
        Some(cpu_list::parse_list(&list)).filter(|cpus| !cpus.is_empty())
    });
    lists.next().unwrap_or_default()
}

fn balancer(machine: &Machine<'_>) -> Option<Finding> {
    let daemon = machine
        .processes()
        .iter()
        .find(|process| process.name == "irqbalance")?;
    Some(
        Finding::new(
            ID,
            Severity::Costs,
            "irqbalance moves interrupts between the CPUs",
        )
        .cost(
            "every ten seconds by default (irqbalance(1)) it may put an interrupt onto the loop's \
                 CPU, and undoes an affinity set by hand",
        )
        .evidence(format!("process {} irqbalance", daemon.pid))
        .remedy("sudo systemctl disable --now irqbalance"),
    )
}
