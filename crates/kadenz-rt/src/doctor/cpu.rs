//! How fast the CPUs run, how deep they sleep, and which of them serve the loop and the interrupts.

use crate::host::idle::{self, IdleStates, LIMIT};
use crate::host::{cpu_list, governor_path};

use super::finding::{Unknown, costs, fine, found, note};
use super::{Finding, Machine, Severity, finding};

const FREQUENCY: &str = "/sys/devices/system/cpu/cpu0/cpufreq";

pub(super) fn governor(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    const ALL: &str = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    let Some(governor) = machine.facts.governor.as_deref() else {
        return Ok(Unknown::absent(&governor_path(0))
            .finding("CPU frequency governor")
            .cost("unknown; a virtual machine leaves the frequency to its host"));
    };
    let latency = format!("{FREQUENCY}/cpuinfo_transition_latency");
    let change = match machine.root.read_number(&latency) {
        // Drivers that do not know report the highest number there is.
        Ok(ns) if (1..10_000_000).contains(&ns) => {
            format!("; cpuinfo_transition_latency: {} us a change", ns / 1000)
        }
        _ => String::new(),
    };
    let title = format!("the CPU frequency governor is {governor}");
    let evidence = format!("{ALL}: {governor}{change}");
    if governor == "performance" {
        return Ok(fine(title, evidence));
    }
    Ok(costs(title)
        .cost(
            "after idle the clock is low, so the same code takes longer by the ratio of the \
             frequencies until the governor has raised it, and each change takes the driver's \
             transition latency (kernel documentation cpufreq; [Enner2016] switched it off, `cpuspeed \
             off`)",
        )
        .evidence(evidence)
        .remedy(finding::sysfs(ALL, "performance")))
}

pub(super) fn boost(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
    const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";
    let root = machine.root;
    // The two files say the opposite of each other.
    let (path, value, on, off) = match (root.read(NO_TURBO), root.read(BOOST)) {
        (Ok(value), _) => (NO_TURBO, value, "0", "1"),
        (_, Ok(value)) => (BOOST, value, "1", "0"),
        (Err(_), Err(why)) => return Err(Unknown::from(why).and(&format!("{NO_TURBO} absent"))),
    };
    let status = root.read("/sys/devices/system/cpu/intel_pstate/status");
    let status = status.map_or(String::new(), |s| format!("; intel_pstate/status: {s}"));
    let range = frequency_range(machine).unwrap_or_default();
    let evidence = format!("{path}: {value}{status}{range}");
    if value != on {
        return Ok(fine("frequency boost is off", evidence));
    }
    Ok(note("frequency boost is on")
        .cost(
            "how fast the same code runs depends on how many cores are busy and how warm they are: \
             its time varies by the ratio of boost to base frequency, and falls back when heat or \
             power run out (kernel documentation intel_pstate, cpufreq)",
        )
        .evidence(evidence)
        .remedy(finding::sysfs(path, off)))
}

/// Base and highest frequency of the first CPU, where the driver reports both.
fn frequency_range(machine: &Machine<'_>) -> Option<String> {
    let megahertz = |file: &str| {
        let kilohertz = machine.root.read_number(&format!("{FREQUENCY}/{file}"));
        kilohertz.ok().map(|kilohertz| kilohertz / 1000)
    };
    let (base, highest) = (megahertz("base_frequency")?, megahertz("cpuinfo_max_freq")?);
    Some(format!("; base {base} MHz, highest {highest} MHz"))
}

/// A wake-up from an idle state of this latency cannot be told from any other.
const SHALLOW_US: i64 = 2;
/// From this latency on, a loop at 1 kHz suffers.
const DEEP_US: i64 = 20;

pub(super) fn idle_states(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    let idle = IdleStates::read(machine.root);
    let Some(deepest) = idle.deepest() else {
        return without_idle_states(machine);
    };
    let limit = idle::limit_us(machine.root);
    let limited = limit.is_some_and(|limit| limit <= SHALLOW_US);
    let held = limit.map_or(String::new(), |limit| format!("; {LIMIT}: {limit} us"));
    let (name, us) = (&deepest.name, deepest.latency_us);
    let evidence = format!(
        "exit latencies, cpuidle/state*/latency: {}; {}/latency: {us}{held}",
        idle.words(),
        deepest.path
    );
    if us <= SHALLOW_US && machine.is_virtual() && !limited {
        return Ok(host_decides(evidence).remedy(wake_sooner(machine, &idle)));
    }
    if us <= SHALLOW_US || limited {
        return Ok(fine("idle CPUs wake at once", evidence));
    }
    let title = format!("idle CPUs sleep as deep as {name}");
    Ok(found(Severity::costs_if(us > DEEP_US), title)
        .cost(format!(
            "waking from it takes up to {us} us, by the driver's own table (kernel documentation \
             cpuidle, exit latency), and more after it while caches are cold"
        ))
        .evidence(evidence)
        .remedy(wake_sooner(machine, &idle)))
}

/// A virtual machine, whose own idle states do not show how the host treats its CPUs.
fn host_decides(evidence: impl Into<String>) -> Finding {
    note("the host decides how deep idle CPUs sleep")
        .cost(
            "an idle virtual CPU leaves the machine and the host must schedule it again: the \
             host's own wake-up latency is added to ours",
        )
        .evidence(evidence)
}

fn wake_sooner(machine: &Machine<'_>, idle: &IdleStates) -> String {
    let is_virtual = machine.is_virtual();
    let parameter = match idle.driver.as_deref() {
        Some("intel_idle") => "intel_idle.max_cstate=1",
        Some("acpi_idle") => "processor.max_cstate=1",
        _ if is_virtual => "idle=poll",
        _ => "cpuidle.off=1",
    };
    // The program disables states of this latency and above.
    let disabled = if is_virtual { 1 } else { SHALLOW_US + 1 };
    format!(
        "for a program: kadenz run --cpu-dma-latency 0us -- PROGRAM (`kadenz tune --cells PM,PMI` \
         says what that buys)\nnow: sudo cpupower idle-set -D {disabled}\nfor good: {}",
        finding::kernel_parameter(machine, parameter)
    )
}

fn without_idle_states(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    const DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";
    if machine.parameter("idle").as_deref() == Some("poll") {
        return Ok(fine("idle CPUs do not sleep", "/proc/cmdline: idle=poll"));
    }
    let driver = machine.root.read(DRIVER);
    if machine.is_virtual() && driver.is_ok_and(|name| name == "none") {
        let evidence = format!("no idle states: {DRIVER} is `none`, in a virtual machine");
        return Ok(host_decides(evidence).remedy(finding::kernel_parameter(machine, "idle=poll")));
    }
    Err(Unknown::absent(
        "/sys/devices/system/cpu/cpu0/cpuidle/state0",
    ))
}

pub(super) fn isolated(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    const PATH: &str = "/sys/devices/system/cpu/isolated";
    let isolated = machine.isolated_cpus();
    if !isolated.is_empty() {
        let list = cpu_list::format_list(&isolated);
        return Ok(fine(
            format!("CPU {list} is set apart"),
            format!("{PATH}: {list}"),
        ));
    }
    machine.root.read(PATH)?;
    let Some(cpu) = machine.loop_cpus() else {
        return Ok(note("there is no CPU to set apart")
            .cost("the loop shares the only CPU with everything else")
            .evidence(format!(
                "{PATH}: empty; /sys/devices/system/cpu/online: one CPU"
            )));
    };
    let now = format!(
        "for s in system user; do sudo systemctl set-property --runtime $s.slice AllowedCPUs={}; \
         done; sudo systemd-run --scope --slice=kadenz -p AllowedCPUs={cpu} <program>",
        machine.other_cpus()
    );
    let parameter = format!("isolcpus=managed_irq,domain,{cpu}");
    Ok(costs("no CPU is set apart for the loop")
        .cost(
            "other tasks and interrupts share the loop's CPU and its caches: with priority, locked \
             memory and a shielded CPU together the longest period of a 1 ms loop fell from 346 ms \
             to 1.1 ms under load ([Yoon2009], 3.4)",
        )
        .evidence(format!("{PATH}: empty"))
        .remedy(finding::now_and_for_good(
            &now,
            &finding::kernel_parameter(machine, &parameter),
        )))
}

/// A device interrupt: the numbered lines of `/proc/interrupts`.
struct Interrupt {
    number: u32,
    name: String,
    count: u64,
    cpus: Vec<u32>,
}

/// Where device interrupts are served.
pub(super) fn interrupts(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    const PATH: &str = "/proc/interrupts";
    /// At most so many interrupts are named.
    const NAMED: usize = 5;
    let mut lines = interrupt_lines(machine, &machine.root.read(PATH)?);
    lines.sort_by_key(|line| std::cmp::Reverse(line.count));
    let isolated = machine.isolated_cpus();
    let finding = if isolated.is_empty() {
        note("device interrupts may be served on any CPU")
    } else {
        lines.retain(|line| line.cpus.iter().any(|cpu| isolated.contains(cpu)));
        if lines.is_empty() {
            let list = cpu_list::format_list(&isolated);
            let title = format!("no device interrupt reaches the CPUs set apart ({list})");
            return Ok(fine(title, "/proc/irq/*/effective_affinity_list"));
        }
        costs("device interrupts reach the CPUs set apart")
    };
    let named = lines.iter().take(NAMED).map(
        |Interrupt {
             number,
             name,
             count,
             cpus,
         }| {
            let cpus = cpu_list::format_list(cpus);
            format!("{number} {name} on CPU {cpus}, {count} times")
        },
    );
    let others = machine.other_cpus();
    Ok(finding
        .cost(
            "a handler delays the loop by as long as it runs, and where handlers are not threads \
             no priority helps (kernel documentation irq-affinity; [Yoon2009], 3.1, moves them \
             off the loop's CPU)",
        )
        .evidence(format!("{PATH}: {}", named.collect::<Vec<_>>().join("; ")))
        .remedy(finding::now_and_for_good(
            &format!(
                "for i in /proc/irq/[0-9]*; do echo {others} | sudo tee $i/smp_affinity_list; done"
            ),
            &finding::kernel_parameter(machine, &format!("irqaffinity={others}")),
        )))
}

fn interrupt_lines(machine: &Machine<'_>, text: &str) -> Vec<Interrupt> {
    let cpus = text.lines().next().unwrap_or("").split_whitespace().count();
    let lines = text.lines().skip(1).filter_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let number = number.trim().parse().ok()?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let counts = words.iter().take(cpus);
        let counts = counts.filter_map(|word| word.parse::<u64>().ok());
        let count = counts.fold(0, u64::saturating_add);
        let name = words.last().filter(|_| words.len() > cpus)?;
        (count > 0).then(|| Interrupt {
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
        let list = machine.root.read(&format!("/proc/irq/{number}/{file}"));
        list.ok().map(|list| cpu_list::parse_list(&list))
    });
    lists.find(|cpus| !cpus.is_empty()).unwrap_or_default()
}

pub(super) fn interrupt_balancer(machine: &Machine<'_>) -> Option<Finding> {
    let mut processes = machine.processes().iter();
    let daemon = processes.find(|process| process.name == "irqbalance")?;
    let finding = costs("irqbalance moves interrupts between the CPUs")
        .cost(
            "every ten seconds by default (irqbalance(1)) it may put an interrupt onto the loop's \
             CPU, and undoes an affinity set by hand",
        )
        .evidence(format!("process {} irqbalance", daemon.pid))
        .remedy("sudo systemctl disable --now irqbalance");
    Some(finding)
}

/// Defences against flaws of the processor.
pub(super) fn mitigations(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    const FOLDER: &str = "/sys/devices/system/cpu/vulnerabilities";
    let mut active = machine.root.list(FOLDER)?;
    active.retain(|name| {
        let text = machine.root.read(&format!("{FOLDER}/{name}"));
        text.is_ok_and(|text| text.starts_with("Mitigation"))
    });
    if active.is_empty() {
        return Ok(fine(
            "no mitigation is active",
            format!("{FOLDER}/*: no Mitigation"),
        ));
    }
    let parameter = finding::kernel_parameter(machine, "mitigations=off");
    Ok(note(format!("{} mitigations are active", active.len()))
        .cost(
            "every entry into the kernel and every switch between processes takes longer, by an \
             amount that depends on the processor and its flaws: measure it with `kadenz timer \
             cyclic`, booted with and without",
        )
        .evidence(format!("{FOLDER}: {}", active.join(", ")))
        .remedy(format!(
            "only on a machine that runs nothing foreign: {parameter}"
        )))
}
