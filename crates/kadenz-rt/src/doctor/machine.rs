//! The machine as the checks see it.

use std::cell::OnceCell;

use crate::host::kernel::{self, BuildConfig};
use crate::host::{self, HostFacts, Root, cpu_list};

use super::processes::{self, Process};

/// A root, and the facts that were read from it once for all checks.
pub struct Machine<'a> {
    /// The root under which files are read.
    pub root: &'a Root,
    /// System, kernel, CPU and memory of the machine under the root.
    pub facts: HostFacts,
    /// CPUs online; empty when not known.
    pub cpus: Vec<u32>,
    processes: OnceCell<Vec<Process>>,
    build: OnceCell<Option<BuildConfig>>,
}

impl<'a> Machine<'a> {
    /// Reads the facts that several checks need.
    #[must_use]
    pub fn read(root: &'a Root) -> Self {
        Self {
            root,
            facts: host::facts_at(root),
            cpus: host::online_cpus(root),
            processes: OnceCell::new(),
            build: OnceCell::new(),
        }
    }

    /// The kernel's version as (major, minor), from its release.
    #[must_use]
    pub(crate) fn kernel_version(&self) -> Option<(u32, u32)> {
        let release = self.facts.kernel.as_deref()?;
        let mut parts = release.split(|c: char| !c.is_ascii_digit());
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    }

    /// The processes that this user can see.
    #[must_use]
    pub fn processes(&self) -> &[Process] {
        self.processes.get_or_init(|| processes::read(self.root))
    }

    /// The kernel's build configuration, where it can be read.
    pub(crate) fn build(&self) -> Option<&BuildConfig> {
        self.build
            .get_or_init(|| BuildConfig::read(self.root))
            .as_ref()
    }

    /// A parameter of the kernel's command line.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<String> {
        kernel::parameter(self.root, name)
    }

    /// The flags of the first processor; `None` where `/proc/cpuinfo` has none.
    pub(super) fn cpu_flags(&self) -> Option<Vec<String>> {
        let cpuinfo = self.root.read("/proc/cpuinfo").ok()?;
        let flags = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
        Some(flags.split_whitespace().map(str::to_owned).collect())
    }

    /// CPUs that the scheduler leaves alone (`isolcpus=`, or an isolated cpuset partition).
    #[must_use]
    pub(crate) fn isolated_cpus(&self) -> Vec<u32> {
        let files = [
            "/sys/devices/system/cpu/isolated",
            "/sys/fs/cgroup/cpuset.cpus.isolated",
        ];
        let lists = files.iter().filter_map(|path| self.root.read(path).ok());
        let mut cpus: Vec<u32> = lists.flat_map(|list| cpu_list::parse_list(&list)).collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }

    /// The CPUs of the real-time loop as a list: the isolated ones, else the last one online, as the first ones
    /// serve most interrupts. `None` on a machine with one CPU, or where that is not known.
    #[must_use]
    pub fn loop_cpus(&self) -> Option<String> {
        let isolated = self.isolated_cpus();
        if !isolated.is_empty() {
            return Some(cpu_list::format_list(&isolated));
        }
        if self.cpus.len() < 2 {
            None
        } else {
            self.cpus.last().map(u32::to_string)
        }
    }

    /// The other CPUs as a list: where everything else should run.
    #[must_use]
    pub(crate) fn other_cpus(&self) -> String {
        let of_loop = cpu_list::parse_list(&self.loop_cpus().unwrap_or_default());
        let mut others = self.cpus.clone();
        others.retain(|cpu| !of_loop.contains(cpu));
        if others.is_empty() {
            "0".to_owned()
        } else {
            cpu_list::format_list(&others)
        }
    }

    /// Whether a hypervisor lies beneath the kernel.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        host::virtualisation::read(self.root).hypervisor.is_some()
    }
}
