//! The processes of the machine, as far as this user can see them.

use crate::host::Root;

/// More are not looked at: a machine with more has other troubles.
const MOST_PROCESSES: usize = 20_000;
/// `PF_KTHREAD` of the kernel's `include/linux/sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// One process or thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its name, cut by the kernel to 15 characters.
    pub name: String,
    /// Whether it is a thread of the kernel.
    pub kernel: bool,
    /// 1 to 99 for `SCHED_FIFO` and `SCHED_RR`, else 0.
    pub realtime_priority: u32,
}

/// Reads `/proc/<pid>/stat` of every process; empty when `/proc` cannot be read.
pub(super) fn read(root: &Root) -> Vec<Process> {
    numbers(root, "/proc")
        .filter_map(|pid| parse(pid, &root.read(&format!("/proc/{pid}/stat")).ok()?))
        .collect()
}

/// The threads of one process.
pub(super) fn threads(root: &Root, pid: u32) -> Vec<Process> {
    let tasks = format!("/proc/{pid}/task");
    let threads = numbers(root, &tasks);
    threads
        .filter_map(|tid| parse(tid, &root.read(&format!("{tasks}/{tid}/stat")).ok()?))
        .collect()
}

fn numbers(root: &Root, path: &str) -> impl Iterator<Item = u32> {
    let names = root.list(path).unwrap_or_default();
    names
        .into_iter()
        .filter_map(|name| name.parse().ok())
        .take(MOST_PROCESSES)
}

/// Reads a line of `proc_pid_stat(5)`: the name stands in parentheses and may hold some itself.
fn parse(pid: u32, line: &str) -> Option<Process> {
    let (start, end) = (line.find('(')?, line.rfind(')')?);
    let name = line.get(start + 1..end)?.to_owned();
    let fields: Vec<&str> = line.get(end + 1..)?.split_whitespace().collect();
    // Fields 9 (flags) and 40 (rt_priority) of the page; here counting begins after field 2.
    let flags: u64 = fields.get(6)?.parse().ok()?;
    let realtime_priority = fields
        .get(37)
        .and_then(|field| field.parse().ok())
        .unwrap_or(0);
    Some(Process {
        pid,
        name,
        kernel: flags & KERNEL_THREAD != 0,
        realtime_priority,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_parentheses() {
        let line = "12 (a) (b) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 -100 0 1 0 3 0 0 0 0 0 0 0 0 0 0 \
                    2147483647 0 0 0 0 17 0 99 1 0";
        let process = parse(12, line).unwrap();
        assert_eq!(process.name, "a) (b");
        assert!(process.kernel);
        assert_eq!(process.realtime_priority, 99);
        assert_eq!(parse(1, ")("), None);
    }
}
