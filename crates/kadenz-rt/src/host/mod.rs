//! Facts about this machine, read and never guessed.

pub mod cpu_list;
pub mod cpu_time;
#[cfg(not(target_os = "linux"))]
mod foreign;
pub mod idle;
pub(crate) mod kernel;
mod root;
pub mod storage;
pub(crate) mod virtualisation;

pub use root::{ReadFactError, Root};

/// The machine that the program runs on. Facts that could not be read are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// `linux`, `macos`, `windows`.
    pub os: String,
    /// Distribution or product name and version.
    pub os_release: Option<String>,
    /// Kernel release, `uname -r`.
    pub kernel: Option<String>,
    /// `PREEMPT_RT`, `PREEMPT`, `PREEMPT_DYNAMIC (voluntary)`, `none or voluntary`.
    pub preemption: Option<String>,
    /// CPU model name as the operating system gives it.
    pub cpu: Option<String>,
    /// Logical CPUs that are online; 0 when that could not be read.
    pub cpus: u32,
    /// Total memory in bytes, as the operating system reports it.
    pub memory_bytes: Option<u64>,
    /// Kernel clock source in use, for example `tsc`.
    pub clock_source: Option<String>,
    /// CPU frequency governor; several, separated by commas, when the CPUs differ.
    pub governor: Option<String>,
    /// Control group of this process.
    pub cgroup: Option<String>,
    /// Hypervisor, container or both; `none` on bare metal.
    pub virtualisation: Option<String>,
}

/// Facts about the machine this runs on.
///
/// ```
/// let facts = kadenz_rt::host::facts();
/// assert_eq!(facts.os, std::env::consts::OS);
/// assert!(facts.cpus > 0);
/// ```
///
/// # Real-time safety
/// Allocates and reads files: not for a real-time path.
#[must_use]
pub fn facts() -> HostFacts {
    #[cfg(target_os = "linux")]
    let mut facts = facts_at(&Root::system());
    #[cfg(not(target_os = "linux"))]
    let mut facts = foreign::facts();
    std::env::consts::OS.clone_into(&mut facts.os);
    if facts.cpus == 0 {
        let cpus = std::thread::available_parallelism().map_or(0, usize::from);
        facts.cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
    }
    facts
}

/// Facts about the Linux machine whose files lie under `root`.
#[must_use]
pub fn facts_at(root: &Root) -> HostFacts {
    HostFacts {
        os: "linux".to_owned(),
        os_release: os_release(root),
        kernel: root.read("/proc/sys/kernel/osrelease").ok(),
        preemption: kernel::preemption(root).map(|seen| seen.model.to_string()),
        cpu: cpu_model(root),
        cpus: u32::try_from(online_cpus(root).len()).unwrap_or(u32::MAX),
        memory_bytes: memory_bytes(root),
        clock_source: root.read(CLOCK_SOURCE).ok(),
        governor: governor(root),
        cgroup: cgroup(root),
        virtualisation: virtualisation::read(root).describe(),
    }
}

pub(crate) const CLOCK_SOURCE: &str =
    "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The CPUs that are online, by number; empty when neither sysfs nor `/proc/cpuinfo` lists them.
#[must_use]
pub fn online_cpus(root: &Root) -> Vec<u32> {
    if let Ok(list) = root.read("/sys/devices/system/cpu/online") {
        return cpu_list::parse_list(&list);
    }
    let Ok(cpuinfo) = root.read("/proc/cpuinfo") else {
        return Vec::new();
    };
    let lines = cpuinfo.lines().filter(|line| line.starts_with("processor"));
    lines
        .filter_map(|line| value_of(line)?.parse().ok())
        .collect()
}

/// The text behind the colon of `key : value`.
pub(crate) fn value_of(line: &str) -> Option<&str> {
    line.split_once(':').map(|(_, value)| value.trim())
}

fn os_release(root: &Root) -> Option<String> {
    let text = root
        .read("/etc/os-release")
        .or_else(|_| root.read("/usr/lib/os-release"))
        .ok()?;
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches(['"', '\'']).to_owned())
}

fn cpu_model(root: &Root) -> Option<String> {
    let cpuinfo = root.read("/proc/cpuinfo").ok()?;
    // x86 says `model name`, ARM boards `Model` or `Hardware`.
    let keys = ["model name", "Model", "Hardware", "cpu model"];
    let value = keys.iter().find_map(|key| {
        let line = cpuinfo.lines().find(|line| line.starts_with(key))?;
        value_of(line)
    });
    value.map(str::to_owned).or_else(|| {
        let model = root.read("/proc/device-tree/model").ok()?;
        Some(model.trim_matches('\0').to_owned())
    })
}

/// A value of `/proc/meminfo`, in bytes.
pub(crate) fn meminfo(root: &Root, key: &str) -> Result<u64, ReadFactError> {
    let path = "/proc/meminfo";
    let text = root.read(path)?;
    let line = text
        .lines()
        .find(|line| line.split(':').next() == Some(key));
    let value = line
        .and_then(value_of)
        .and_then(|v| v.split_whitespace().next());
    let kibibytes: Option<u64> = value.and_then(|v| v.parse().ok());
    kibibytes
        .and_then(|n| n.checked_mul(1024))
        .ok_or_else(|| ReadFactError::strange(path, &text, "its usual lines with kB"))
}

/// Memory that programs may still take without pushing others out, in bytes.
///
/// # Errors
/// When the system does not report it.
pub fn available_memory_bytes(root: &Root) -> Result<u64, ReadFactError> {
    meminfo(root, "MemAvailable")
}

fn memory_bytes(root: &Root) -> Option<u64> {
    meminfo(root, "MemTotal").ok()
}

fn governor(root: &Root) -> Option<String> {
    let mut names: Vec<String> = online_cpus(root)
        .iter()
        .filter_map(|cpu| root.read(&governor_path(*cpu)).ok())
        .collect();
    names.sort();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

pub(crate) fn governor_path(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor")
}

/// The control group of this process: the unified one if it is in use, else that of the `cpu` controller, which is
/// the one that can throttle the process.
fn cgroup(root: &Root) -> Option<String> {
    let text = root.read("/proc/self/cgroup").ok()?;
    let chosen = cgroup_of(&text, "cpu").or_else(|| cgroup_of(&text, ""))?;
    Some(chosen.to_owned())
}

/// The control groups that `/proc/<pid>/cgroup` lists: the controllers, none for the unified hierarchy, and the path.
pub(crate) fn cgroups(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines()
        .filter_map(|line| line.split_once(':')?.1.split_once(':'))
}

/// The path of the control group of one controller; the empty name is the unified hierarchy.
pub(crate) fn cgroup_of<'a>(text: &'a str, controller: &str) -> Option<&'a str> {
    cgroups(text)
        .find(|(controllers, _)| controllers.split(',').any(|name| name == controller))
        .map(|(_, path)| path)
}
