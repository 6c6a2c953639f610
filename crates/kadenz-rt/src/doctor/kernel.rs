//! How the kernel was built and started, and what it says of itself.

use crate::host::kernel::{self, DynamicMode, Preemption};

use super::finding::{Unknown, costs, fine, found, note, or_else, spoils};
use super::{Finding, Machine, Severity, finding};

const COMMAND_LINE: &str = "/proc/cmdline";

pub(super) fn preemption(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    use DynamicMode::{Full, Lazy};
    let seen = kernel::preemption(machine.root)
        .ok_or_else(|| Unknown::absent("/sys/kernel/realtime and /proc/sys/kernel/version"))?;
    let until_yields = "until another process's system call returns or yields";
    let while_locked = "while the kernel holds a spin lock or serves an interrupt";
    let (finding, wait) = match seen.model {
        Preemption::RealTime => {
            return Ok(fine(
                "the kernel is fully preemptible (PREEMPT_RT)",
                seen.evidence,
            ));
        }
        Preemption::Full | Preemption::Dynamic(Some(Full)) => (
            costs("the kernel is preemptible, but not PREEMPT_RT"),
            while_locked.to_owned(),
        ),
        Preemption::Dynamic(Some(Lazy)) => (
            costs("the kernel is lazily preemptible, not PREEMPT_RT"),
            while_locked.to_owned(),
        ),
        Preemption::Dynamic(None) => (
            costs("the kernel's preemption was chosen at boot, and the choice is not readable"),
            format!(
                "while the kernel holds a spin lock, or, where the choice was none or voluntary, \
                 {until_yields}"
            ),
        ),
        model @ (Preemption::Dynamic(_) | Preemption::NoneOrVoluntary) => (
            spoils(format!("the kernel does not preempt itself ({model})")),
            until_yields.to_owned(),
        ),
    };
    Ok(finding
        .cost(format!(
            "a wake-up waits {wait} ([Sticha2014], figure 2.2: up to 15 ms without \
             PREEMPT_RT against 30 us with it on one and the same board)"
        ))
        .evidence(seen.evidence)
        .remedy(preempt_more(machine, seen.model)))
}

fn preempt_more(machine: &Machine<'_>, model: Preemption) -> String {
    let release = machine.facts.os_release.as_deref().unwrap_or("");
    let install = if release.contains("Debian") {
        "sudo apt install linux-image-rt-amd64 && sudo reboot (on ARM: linux-image-rt-arm64)"
    } else if release.contains("Ubuntu") {
        "sudo pro enable realtime-kernel && sudo reboot"
    } else if release.contains("Red Hat") {
        "sudo dnf install kernel-rt && sudo reboot"
    } else {
        "install a kernel built with CONFIG_PREEMPT_RT=y (in mainline since Linux 6.12) and reboot"
    };
    match model {
        Preemption::Dynamic(None) => format!(
            "best: {install}\nto see the choice: sudo mount -t debugfs debugfs /sys/kernel/debug; \
             sudo cat /sys/kernel/debug/sched/preempt"
        ),
        Preemption::Dynamic(Some(DynamicMode::None | DynamicMode::Voluntary)) => format!(
            "best: {install}\nnow: echo full | sudo tee /sys/kernel/debug/sched/preempt\nfor good: {}",
            finding::kernel_parameter(machine, "preempt=full")
        ),
        _ => install.to_owned(),
    }
}

pub(super) fn tick(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    const PATH: &str = "/sys/devices/system/cpu/nohz_full";
    let build = machine.build();
    let rate = build.and_then(|build| Some((build.value("CONFIG_HZ")?, &build.path)));
    let built = rate.map_or(String::new(), |(hz, path)| {
        format!("; {path}: CONFIG_HZ={hz}")
    });
    // Kernels that cannot do without the tick lack the file.
    let seen = match machine.root.read(PATH) {
        // The kernel prints this where the list is empty.
        Ok(list) if list.is_empty() || list == "(null)" => "empty",
        Ok(list) => {
            let title = format!("CPU {list} runs without tick while one task runs");
            return Ok(fine(title, format!("{PATH}: {list}{built}")));
        }
        Err(why) if machine.root.read(COMMAND_LINE).is_err() => return Err(why.into()),
        Err(_) if machine.root.has(PATH) => "empty",
        Err(_) => "absent",
    };
    let hz = rate.map_or("100 to 1000", |(hz, _)| hz);
    let finding = note("every busy CPU is interrupted by the tick")
        .cost(format!(
            "{hz} short interruptions a second (kernel documentation no_hz); they matter to loops \
             that compute through the whole cycle, hardly to one that sleeps; how long they are \
             here, the floor series of a run shows"
        ))
        .evidence(format!("{PATH}: {seen}{built}"));
    let Some(cpu) = machine.loop_cpus() else {
        return Ok(finding);
    };
    let first = match seen {
        "absent" => "with a kernel built with CONFIG_NO_HZ_FULL=y: ",
        _ => "",
    };
    let parameter = format!("nohz_full={cpu} rcu_nocbs={cpu}");
    let fix = finding::kernel_parameter(machine, &parameter);
    Ok(finding.remedy(format!("{first}{fix}")))
}

/// Read-copy-update: where the kernel frees memory behind the readers' back.
pub(super) fn rcu_callbacks(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    machine.root.read(COMMAND_LINE)?;
    // nohz_full implies rcu_nocbs for its CPUs.
    for name in ["rcu_nocbs", "nohz_full"] {
        if let Some(list) = machine.parameter(name) {
            let evidence = format!("{COMMAND_LINE}: {name}={list}");
            return Ok(fine("RCU callbacks run on other CPUs", evidence));
        }
    }
    let severity = Severity::costs_if(!machine.isolated_cpus().is_empty());
    let finding = found(severity, "RCU callbacks run on the loop's CPU too")
        .cost(
            "the kernel frees memory there in soft interrupts or rcuc threads, in batches that grow \
             with file and network work (kernel documentation kernel-per-CPU-kthreads)",
        )
        .evidence(format!("{COMMAND_LINE}: neither rcu_nocbs= nor nohz_full="));
    let Some(cpu) = machine.loop_cpus() else {
        return Ok(finding);
    };
    Ok(finding.remedy(finding::kernel_parameter(
        machine,
        &format!("rcu_nocbs={cpu}"),
    )))
}

pub(super) fn rcu_expedited(machine: &Machine<'_>) -> Option<Finding> {
    const PATH: &str = "/sys/kernel/rcu_expedited";
    let value = machine
        .root
        .read_number(PATH)
        .ok()
        .filter(|value| *value != 0)?;
    let finding = costs("RCU grace periods are expedited")
        .cost(
            "each of them interrupts other CPUs, which degrades real-time latency (kernel parameter \
             rcupdate.rcu_expedited)",
        )
        .evidence(format!("{PATH}: {value}"))
        .remedy(finding::sysfs(PATH, "0"));
    Some(finding)
}

/// Options that slow every path of the kernel.
const HEAVY: [&str; 8] = [
    "CONFIG_PROVE_LOCKING=y",
    "CONFIG_DEBUG_LOCK_ALLOC=y",
    "CONFIG_LOCK_STAT=y",
    "CONFIG_KASAN=y",
    "CONFIG_KCSAN=y",
    "CONFIG_DEBUG_OBJECTS=y",
    "CONFIG_DEBUG_KMEMLEAK=y",
    "CONFIG_SLUB_DEBUG_ON=y",
];

pub(super) fn debugging(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    let build = machine.build();
    let build = build.ok_or_else(|| Unknown::absent("/boot/config-<release>"))?;
    let options = HEAVY.iter().copied();
    let found: Vec<&str> = options.filter(|option| build.has(option)).collect();
    if found.is_empty() {
        let evidence = format!("{}: none of {}", build.path, HEAVY.join(", "));
        return Ok(fine("the kernel has no heavy debugging built in", evidence));
    }
    Ok(spoils("the kernel has heavy debugging built in")
        .cost(
            "every lock and every allocation in the kernel is checked: hundreds of microseconds with \
             interrupts off in the lock validator are not uncommon (EVL project, core/caveat), and \
             all system calls take longer",
        )
        .evidence(format!("{}: {}", build.path, found.join(", ")))
        .remedy("boot the distribution's kernel without debugging"))
}

pub(super) fn tracing(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    let [first, second] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].map(|folder| {
        let path = format!("{folder}/current_tracer");
        machine.root.read(&path).map(|tracer| (path, tracer))
    });
    let (path, tracer) = first.or_else(|why| second.map_err(|_| why))?;
    let evidence = format!("{path}: {tracer}");
    if tracer == "nop" {
        return Ok(fine("no kernel tracer runs", evidence));
    }
    Ok(costs(format!("the kernel tracer {tracer} runs"))
        .cost(
            "each traced function takes longer; the tracers irqsoff, preemptoff and hwlat are made to \
             hold the CPU themselves (kernel documentation ftrace)",
        )
        .evidence(evidence)
        .remedy(format!("echo nop | sudo tee {path}")))
}

/// Kernel messages on a serial line.
pub(super) fn serial_console(machine: &Machine<'_>) -> Result<Finding, Unknown> {
    const PRINTK: &str = "/proc/sys/kernel/printk";
    /// Names of serial lines: PCs, ARM boards, USB.
    const LINES: [&str; 5] = ["ttyS", "ttyAMA", "ttymxc", "ttyTHS", "ttyUSB"];
    /// Warnings and worse are below this level (`syslog(2)`).
    const WARNINGS: i64 = 5;
    let line = machine.root.read(COMMAND_LINE)?;
    let words = line.split_whitespace();
    let mut consoles = words.filter_map(|word| word.strip_prefix("console="));
    let serial = consoles.find(|console| LINES.iter().any(|name| console.starts_with(name)));
    let Some(console) = serial else {
        let evidence = format!("{COMMAND_LINE}: no console= on a serial line");
        return Ok(fine(
            "kernel messages do not wait for a serial line",
            evidence,
        ));
    };
    let printk = machine.root.read(PRINTK).unwrap_or_default();
    let level = printk
        .split_whitespace()
        .next()
        .and_then(|word| word.parse::<i64>().ok());
    let severity = Severity::costs_if(level.is_none_or(|level| level > WARNINGS));
    Ok(found(severity, "kernel messages are written to a serial line")
        .cost(
            "a thread that writes a kernel message may wait until it is out: 10 bits a character, so 0.09 \
             ms at 115200 baud and 1 ms at 9600 for each character of the line, with preemption \
             off on kernels that print at once",
        )
        .evidence(format!("{COMMAND_LINE}: console={console}; {PRINTK}: {printk}"))
        .remedy(finding::sysctl("kernel.printk", "1")))
}

/// Words of a message of the kernel, how much it matters, and what it means.
#[rustfmt::skip]
const MESSAGES: [(&str, Severity, &str); 12] = [
    ("RT throttling activated", Severity::Costs, "a real-time task ran into the RT throttle and was stopped"),
    ("Marking TSC unstable", Severity::Costs, "the kernel gave the time stamp counter up"),
    ("as unstable because", Severity::Costs, "the kernel gave a clock source up as unstable"),
    ("hrtimer: interrupt took", Severity::Costs, "timers were served late"),
    ("took too long to run", Severity::Costs, "a non-maskable interrupt took long"),
    ("soft lockup", Severity::Spoils, "a CPU did not schedule for more than 20 s"),
    ("hard LOCKUP", Severity::Spoils, "a CPU served no interrupt for more than 10 s"),
    ("self-detected stall", Severity::Spoils, "a CPU held up RCU for many seconds"),
    ("detected stalls on CPUs", Severity::Spoils, "a CPU held up RCU for many seconds"),
    ("clock throttled", Severity::Costs, "heat slowed the CPU down"),
    ("split_lock trap", Severity::Costs, "a program was made to sleep for a split lock"),
    ("Out of memory: Killed", Severity::Costs, "memory ran out and a process was ended"),
];

/// The kernel's own messages about its latencies.
pub(super) fn log(machine: &Machine<'_>) -> Result<Vec<Finding>, Unknown> {
    const PATH: &str = "/dev/kmsg";
    // Where the log itself is closed to this user, some systems keep a readable copy.
    let copies = ["/var/log/kern.log", "/var/log/dmesg"];
    let mut copies = copies
        .iter()
        .filter_map(|path| Some((*path, machine.root.read(path).ok()?)));
    let (path, log) = match machine.root.read(PATH) {
        Ok(log) => (PATH, log),
        Err(why) => copies.next().ok_or(why)?,
    };
    let findings = MESSAGES.iter().filter_map(|(words, severity, meaning)| {
        let mut lines = log.lines().filter(|line| line.contains(words));
        let line = lines.next()?;
        // A record of /dev/kmsg has numbers before the semicolon.
        let text = line.split_once(';').map_or(line, |(_, text)| text);
        let text: String = text.chars().take(160).collect();
        let times = lines.count() + 1;
        let finding = found(*severity, format!("the kernel says: {meaning}"))
            .cost("what is named happened on this machine since boot, and can happen again")
            .evidence(format!("{path}, {times} times, first: {text}"))
            .remedy(format!("sudo dmesg --ctime | grep -F '{words}'"));
        Some(finding)
    });
    Ok(or_else(findings, || {
        let evidence = format!("{path}: no message that the doctor knows");
        fine("the kernel has not complained", evidence)
    }))
}
