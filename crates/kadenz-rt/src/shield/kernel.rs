//! The kernel's files and calls that a shield reads and changes, so that the same logic runs on the machine and on
//! a fake.

use std::io;

use super::journal::Members;
use crate::host::cgroup_of;
#[cfg(target_os = "linux")]
use crate::os::linux::sched;
use crate::tuning::CpuSet;

/// The files and calls through which a shield is raised. Paths are absolute.
pub trait Kernel: Send + Sync {
    /// The file's text.
    ///
    /// # Errors
    /// The system's error.
    fn read(&self, path: &str) -> io::Result<String>;

    /// Writes a value to a file of the kernel, in one piece.
    ///
    /// # Errors
    /// The system's error; the value is then as it was.
    fn write(&self, path: &str, text: &str) -> io::Result<()>;

    /// Makes a control group.
    ///
    /// # Errors
    /// The system's error.
    fn make_folder(&self, path: &str) -> io::Result<()>;

    /// Removes a control group, which must be empty.
    ///
    /// # Errors
    /// The system's error.
    fn remove_folder(&self, path: &str) -> io::Result<()>;

    /// The names of the folders in a folder, sorted.
    ///
    /// # Errors
    /// The system's error.
    fn folders(&self, path: &str) -> io::Result<Vec<String>>;

    /// The CPUs on which a thread may run.
    ///
    /// # Errors
    /// The system's error.
    fn affinity(&self, thread: u32) -> io::Result<CpuSet>;

    /// Sets the CPUs on which a thread may run, within its control group.
    ///
    /// # Errors
    /// The system's error.
    fn set_affinity(&self, thread: u32, cpus: &CpuSet) -> io::Result<()>;

    /// The number of the calling thread.
    fn this_thread(&self) -> u32;

    /// The number of the calling process.
    fn this_process(&self) -> u32 {
        std::process::id()
    }
}

/// Whether the kernel has the file at all.
pub(super) fn has(kernel: &dyn Kernel, path: &str) -> bool {
    !kernel
        .read(path)
        .is_err_and(|error| matches!(error.kind(), io::ErrorKind::NotFound))
}

/// The file as a list of CPUs; empty when it holds none.
pub(super) fn cpu_list(kernel: &dyn Kernel, path: &str) -> io::Result<CpuSet> {
    let text = kernel.read(path)?;
    Ok(text.trim().parse().unwrap_or_default())
}

/// The numbers of a file with one in each line, as `tasks` and `cgroup.procs` are.
pub(super) fn numbers(kernel: &dyn Kernel, path: &str) -> io::Result<Vec<u32>> {
    let text = kernel.read(path)?;
    Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
}

/// The facts about a thread in `proc_pid_stat(5)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThreadFacts {
    flags: u64,
    /// Time of its start in clock ticks since boot: with its number it names a thread for good.
    pub(super) start: u64,
}

impl ThreadFacts {
    pub(super) fn read(kernel: &dyn Kernel, thread: u32) -> Option<Self> {
        Self::parse(&kernel.read(&format!("/proc/{thread}/stat")).ok()?)
    }

    /// Parses such a line; returns `None` for a thread that has ended.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let after_name = line.get(line.rfind(')')? + 1..)?;
        let mut fields = after_name.split_whitespace();
        // Fields 3, 9 and 22 of the page. Z and X have ended, and only their number is left.
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        let flags = fields.nth(5)?.parse().ok()?;
        let start = fields.nth(12)?.parse().ok()?;
        Some(Self { flags, start })
    }

    /// `PF_KTHREAD` of the kernel's `include/linux/sched.h`.
    pub(super) fn is_kernel_thread(self) -> bool {
        self.flags & 0x0020_0000 != 0
    }

    /// `PF_NO_SETAFFINITY`: bound to its CPU for good, and no control group may take it.
    pub(super) fn is_bound(self) -> bool {
        self.flags & 0x0400_0000 != 0
    }
}

// The hierarchy of control groups that owns the controller `cpuset`, and a thread's group in it.

/// The hierarchy that owns the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hierarchy {
    /// The first version, mounted here.
    First(String),
    /// The second version, mounted here.
    Second(String),
}

/// The shield's control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShieldCgroup {
    pub(super) folder: String,
    pub(super) members: Members,
    pub(super) mount: String,
}

impl Hierarchy {
    /// Looks through the mounts; returns `None` when no hierarchy has the controller.
    pub(super) fn find(kernel: &dyn Kernel) -> Option<Self> {
        let mounts = kernel.read("/proc/mounts").ok()?;
        let mounts: Vec<(&str, &str, &str)> = mounts.lines().filter_map(fields).collect();
        let first = mounts.iter().find(|(_, kind, options)| {
            *kind == "cgroup" && options.split(',').any(|option| option == "cpuset")
        });
        if let Some((point, ..)) = first {
            return Some(Self::First((*point).to_owned()));
        }
        let second = mounts.iter().find(|(point, kind, _)| {
            let controllers = || kernel.read(&format!("{point}/cgroup.controllers")).ok();
            let has = |list: String| list.split_whitespace().any(|name| name == "cpuset");
            *kind == "cgroup2" && controllers().is_some_and(has)
        });
        second.map(|(point, ..)| Self::Second((*point).to_owned()))
    }
}

/// Mount point, type and options of a line of `/proc/mounts`.
fn fields(line: &str) -> Option<(&str, &str, &str)> {
    let mut fields = line.split(' ').skip(1);
    Some((fields.next()?, fields.next()?, fields.next()?))
}

/// The control group of a thread in the hierarchy of a controller (`""` for the second version); the mount point
/// when it cannot be found.
pub(super) fn place_of(kernel: &dyn Kernel, mount: &str, thread: u32, controller: &str) -> String {
    let groups = kernel
        .read(&format!("/proc/{thread}/cgroup"))
        .unwrap_or_default();
    let path = cgroup_of(&groups, controller).unwrap_or_default();
    let group = format!("{mount}{path}");
    let group = group.trim_end_matches('/').to_owned();
    // A mount may show a part of the hierarchy only.
    if kernel.folders(&group).is_ok() {
        group
    } else {
        mount.to_owned()
    }
}

/// This machine's kernel.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, Default)]
pub struct LiveKernel;

#[cfg(target_os = "linux")]
impl Kernel for LiveKernel {
    fn read(&self, path: &str) -> io::Result<String> {
        std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        use std::io::Write as _;

        // Never creates: in /proc and /sys there is nothing to create.
        std::fs::OpenOptions::new()
            .write(true)
            .open(path)?
            .write_all(text.as_bytes())
    }

    fn make_folder(&self, path: &str) -> io::Result<()> {
        std::fs::create_dir(path)
    }

    fn remove_folder(&self, path: &str) -> io::Result<()> {
        std::fs::remove_dir(path)
    }

    fn folders(&self, path: &str) -> io::Result<Vec<String>> {
        let entries = std::fs::read_dir(path)?.filter_map(Result::ok);
        let mut names: Vec<String> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        Ok(names)
    }

    fn affinity(&self, thread: u32) -> io::Result<CpuSet> {
        sched::affinity_of(thread)
            .map(CpuSet::from_mask)
            .map_err(io::Error::from_raw_os_error)
    }

    fn set_affinity(&self, thread: u32, cpus: &CpuSet) -> io::Result<()> {
        sched::set_affinity_of(thread, cpus.as_mask()).map_err(io::Error::from_raw_os_error)
    }

    fn this_thread(&self) -> u32 {
        sched::this_thread()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_start_are_read_behind_any_name() {
        let line = "12 (a) (b) S 2 0 0 0 -1 69238848 0 0 0 0 0 0 0 0 -100 0 1 0 345 0 0";
        let facts = ThreadFacts::parse(line).unwrap();
        assert_eq!(facts.start, 345);
        assert!(facts.is_kernel_thread() && facts.is_bound());
        assert_eq!(ThreadFacts::parse(&line.replace(" S ", " Z ")), None);
        assert_eq!(ThreadFacts::parse(")("), None);
    }
}
