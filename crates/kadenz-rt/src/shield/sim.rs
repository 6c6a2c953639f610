//! A kernel made of maps, which refuses what Linux refuses: for tests of code that raises shields.
//!
//! It follows the rules of cpusets (`Documentation/admin-guide/cgroup-v1/cpusets.rst` and `cgroup-v2.rst`) as far
//! as a shield needs them, and keeps everything else as one text for each file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Kernel;
use crate::tuning::CpuSet;

/// Mount point of the first version in it.
pub const FIRST: &str = "/sys/fs/cgroup/cpuset";
/// Mount point of the second version in it.
pub const SECOND: &str = "/sys/fs/cgroup";
/// The calling thread; its process has the same number.
pub const CALLER: u32 = 1000;

const USER: u64 = 0;
const KERNEL_THREAD: u64 = 0x0020_0000;
const BOUND: u64 = KERNEL_THREAD | 0x0400_0000;

/// A machine with CPUs 0 to 3, some threads, interrupts and knobs.
#[derive(Debug)]
pub struct SimKernel {
    mount: &'static str,
    state: Mutex<State>,
}

#[derive(Clone, Debug, Default)]
struct State {
    files: BTreeMap<String, String>,
    threads: BTreeMap<u32, Thread>,
    refused: BTreeSet<String>,
    forks: u32,
    writes_left: Option<usize>,
    writes: usize,
}

#[derive(Clone, Debug)]
struct Thread {
    flags: u64,
    group: String,
    /// The CPUs that the thread chose itself.
    chosen: Option<CpuSet>,
    /// How many more moves leave the thread in its group, since it is ending.
    exiting: u32,
}

impl SimKernel {
    /// A machine whose cpusets are of the first version, with one named `docker` and in it `box`.
    #[must_use]
    pub fn first() -> Self {
        let kernel = Self::new(FIRST, "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n");
        kernel.group(FIRST, "0-3");
        kernel.group(&format!("{FIRST}/docker"), "0-3");
        kernel.group(&format!("{FIRST}/docker/box"), "2-3");
        kernel.thread(501, USER, &format!("{FIRST}/docker/box"), None);
        kernel
    }

    /// A machine whose cpusets are of the second version, with a group that names its CPUs.
    #[must_use]
    pub fn second() -> Self {
        let kernel = Self::new(SECOND, "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
        kernel.put(&format!("{SECOND}/cgroup.controllers"), "cpuset cpu io");
        kernel.put(&format!("{SECOND}/cgroup.subtree_control"), "cpuset cpu io");
        kernel.put(&format!("{SECOND}/cgroup.procs"), "");
        kernel.put(&format!("{SECOND}/pinned.slice/cgroup.procs"), "");
        for file in ["cpuset.cpus", "cpuset.cpus.effective"] {
            kernel.put(&format!("{SECOND}/pinned.slice/{file}"), "2-3");
        }
        kernel
    }

    fn new(mount: &'static str, mounts: &str) -> Self {
        let kernel = Self {
            mount,
            state: Mutex::default(),
        };
        kernel.put("/proc/mounts", mounts);
        for (path, text) in KNOBS {
            kernel.put(path, text);
        }
        kernel.thread(2, KERNEL_THREAD, mount, None);
        kernel.thread(17, BOUND, mount, Some("3"));
        kernel.thread(30, KERNEL_THREAD, mount, None);
        kernel.thread(400, USER, mount, None);
        kernel.thread(401, USER, mount, Some("1,3"));
        kernel.thread(CALLER, USER, mount, None);
        kernel
    }

    /// Sets a file's text.
    pub fn put(&self, path: &str, text: &str) {
        let mut state = self.lock();
        state.files.insert(path.to_owned(), text.to_owned());
    }

    /// Removes a file; a path without a file is ignored.
    pub fn remove(&self, path: &str) {
        self.lock().files.remove(path);
    }

    /// Refuses every write to a file, as the kernel does for the interrupts it binds itself.
    pub fn refuse(&self, path: &str) {
        self.lock().refused.insert(path.to_owned());
    }

    /// Makes this many threads appear in the root, one each time the caller reads its members.
    pub fn fork(&self, threads: u32) {
        self.lock().forks = threads;
    }

    /// Makes a thread end: it stays in its group for so many moves, as a thread does whose memory is being freed,
    /// and is gone then.
    ///
    /// # Panics
    /// There is no such thread.
    pub fn exit(&self, thread: u32, moves: u32) {
        let mut state = self.lock();
        let thread = state.threads.get_mut(&thread);
        thread.expect("a thread of this kernel").exiting = moves;
    }

    /// Refuses everything after this many changes, as if the caller had been killed; with `None`
    /// it refuses nothing any more.
    pub fn stop_after(&self, changes: Option<usize>) {
        self.lock().writes_left = changes;
    }

    /// How many changes were made so far.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.lock().writes
    }

    /// All files, and for each thread its group and the CPUs it may run on.
    #[must_use]
    pub fn snapshot(&self) -> BTreeMap<String, String> {
        let state = self.lock();
        let mut all = state.files.clone();
        for (id, thread) in &state.threads {
            let cpus = state.affinity(thread);
            all.insert(
                format!("thread {id}"),
                format!("{} on {cpus}", thread.group),
            );
        }
        all
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn group(&self, path: &str, cpus: &str) {
        let mut state = self.lock();
        state.make_first(path);
        state
            .files
            .insert(format!("{path}/cpuset.cpus"), cpus.to_owned());
        state
            .files
            .insert(format!("{path}/cpuset.mems"), "0".to_owned());
    }

    fn thread(&self, id: u32, flags: u64, group: &str, chosen: Option<&str>) {
        let thread = Thread {
            flags,
            group: group.to_owned(),
            chosen: chosen.and_then(|cpus| cpus.parse().ok()),
            exiting: 0,
        };
        self.lock().threads.insert(id, thread);
    }
}

const KNOBS: [(&str, &str); 13] = [
    ("/sys/devices/system/cpu/online", "0-3\n"),
    ("/proc/sys/kernel/random/boot_id", "this-boot\n"),
    ("/proc/irq/default_smp_affinity", "f\n"),
    ("/proc/irq/9/smp_affinity_list", "0-3\n"),
    ("/proc/irq/24/smp_affinity_list", "3\n"),
    ("/proc/irq/25/smp_affinity_list", "0\n"),
    ("/proc/sys/kernel/timer_migration", "1\n"),
    ("/proc/sys/kernel/watchdog_cpumask", "0-3\n"),
    ("/proc/sys/vm/stat_interval", "1\n"),
    ("/sys/kernel/rcu_expedited", "1\n"),
    ("/sys/kernel/rcu_normal", "0\n"),
    ("/sys/devices/virtual/workqueue/cpumask", "f\n"),
    ("/sys/devices/virtual/workqueue/writeback/cpumask", "f\n"),
];

impl State {
    /// Counts a change, unless the caller is dead by now.
    fn change(&mut self) -> io::Result<()> {
        match &mut self.writes_left {
            Some(0) => return Err(io::Error::other("stopped")),
            Some(left) => *left -= 1,
            None => {}
        }
        self.writes += 1;
        Ok(())
    }

    fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    fn cpus(&self, group: &str) -> CpuSet {
        let list = self.text(&format!("{group}/cpuset.cpus"));
        list.and_then(|list| list.trim().parse().ok())
            .unwrap_or_default()
    }

    /// The CPUs of the thread's group, without those that the thread did not choose.
    fn affinity(&self, thread: &Thread) -> CpuSet {
        let mut given = self.cpus(&thread.group);
        if given.is_empty() {
            given = (0..4).collect();
        }
        let chosen = thread.chosen.clone().unwrap_or_else(|| given.clone());
        let both = given.without(&given.without(&chosen));
        if thread.flags == BOUND {
            chosen
        } else if both.is_empty() {
            given
        } else {
            both
        }
    }

    fn make_first(&mut self, path: &str) {
        let files = [
            ("tasks", ""),
            ("cgroup.procs", ""),
            ("cpuset.cpus", ""),
            ("cpuset.mems", ""),
            ("cpuset.cpu_exclusive", "0"),
            ("cpuset.sched_load_balance", "1"),
        ];
        for (name, text) in files {
            self.files.insert(format!("{path}/{name}"), text.to_owned());
        }
    }

    fn make_second(&mut self, path: &str) {
        let controllers = self.text(&format!("{SECOND}/cgroup.subtree_control"));
        let has_cpuset = controllers.is_some_and(|list| list.contains("cpuset"));
        self.files
            .insert(format!("{path}/cgroup.procs"), String::new());
        if has_cpuset {
            for (name, text) in [
                ("cpus", ""),
                ("cpus.partition", "member"),
                ("cpus.effective", "0-3"),
            ] {
                self.files
                    .insert(format!("{path}/cpuset.{name}"), text.to_owned());
            }
        }
    }

    /// The other groups directly in the parent of `group`.
    fn siblings(&self, group: &str) -> Vec<String> {
        let parent = group.rsplit_once('/').map_or("", |(parent, _)| parent);
        let mut groups = folders(&self.files, parent);
        groups.retain(|name| format!("{parent}/{name}") != group);
        groups
            .iter()
            .map(|name| format!("{parent}/{name}"))
            .collect()
    }

    fn meets_a_sibling(&self, group: &str, cpus: &CpuSet) -> bool {
        let siblings = self.siblings(group);
        siblings
            .iter()
            .any(|other| self.cpus(other).without(cpus) != self.cpus(other))
    }

    /// Sets a value of a file of a cpuset, by the rules of its version.
    fn set_cpuset(&mut self, group: &str, file: &str, value: &str) -> io::Result<()> {
        let cpus: CpuSet = value.parse().unwrap_or_default();
        let first = self.files.contains_key(&format!("{group}/tasks"));
        match file {
            "cpuset.cpus" if first => self.check_cpus(group, &cpus)?,
            "cpuset.cpu_exclusive" if self.meets_a_sibling(group, &self.cpus(group)) => {
                return Err(ErrorKind::InvalidInput.into());
            }
            "cpuset.cpus" => {
                let effective = format!("{group}/cpuset.cpus.effective");
                self.files.insert(effective, value.to_owned());
            }
            "cpuset.cpus.partition" if self.meets_a_sibling(group, &self.cpus(group)) => {
                let invalid = format!("{value} invalid (Cpu list in cpuset.cpus not exclusive)");
                self.files.insert(format!("{group}/{file}"), invalid);
                return Ok(());
            }
            _ => {}
        }
        self.files
            .insert(format!("{group}/{file}"), value.to_owned());
        Ok(())
    }

    fn check_cpus(&self, group: &str, cpus: &CpuSet) -> io::Result<()> {
        let parent = group.rsplit_once('/').map_or("", |(parent, _)| parent);
        let in_parent = cpus.without(&self.cpus(parent)).is_empty() || group == FIRST;
        let children = folders(&self.files, group);
        let mut children = children
            .iter()
            .map(|name| self.cpus(&format!("{group}/{name}")));
        let occupied = self.threads.values().any(|thread| thread.group == group);
        match () {
            () if !in_parent => Err(ErrorKind::PermissionDenied.into()),
            () if !children.all(|child| child.without(cpus).is_empty()) => {
                Err(ErrorKind::ResourceBusy.into())
            }
            () if occupied && cpus.is_empty() => Err(ErrorKind::StorageFull.into()),
            () => Ok(()),
        }
    }

    fn move_thread(&mut self, id: &str, group: &str) -> io::Result<()> {
        let gone = || io::Error::from(ErrorKind::NotFound);
        let id: u32 = id.parse().map_err(io::Error::other)?;
        let empty =
            self.files.contains_key(&format!("{group}/tasks")) && self.cpus(group).is_empty();
        let thread = self.threads.get_mut(&id).ok_or_else(gone)?;
        // The kernel's forker, and threads that are bound to a CPU, cannot be moved.
        if thread.flags == BOUND || id == 2 {
            return Err(ErrorKind::InvalidInput.into());
        }
        if empty {
            return Err(ErrorKind::StorageFull.into());
        }
        if thread.exiting > 0 {
            thread.exiting -= 1;
            if thread.exiting == 0 {
                self.threads.remove(&id);
            }
            return Ok(());
        }
        group.clone_into(&mut thread.group);
        Ok(())
    }

    fn switch(&mut self, path: &str, wish: &str) {
        let now = self.text(path).unwrap_or_default();
        let name = wish.trim_start_matches(['+', '-']);
        let mut on: Vec<&str> = now.split_whitespace().filter(|it| *it != name).collect();
        if wish.starts_with('+') {
            on.insert(0, name);
        }
        let on = on.join(" ");
        self.files.insert(path.to_owned(), on);
    }
}

/// The names of the folders directly in `path`.
fn folders(files: &BTreeMap<String, String>, path: &str) -> Vec<String> {
    let inside = files
        .keys()
        .filter_map(|file| file.strip_prefix(path)?.strip_prefix('/'));
    let names: BTreeSet<&str> = inside
        .filter_map(|rest| Some(rest.split_once('/')?.0))
        .collect();
    names.into_iter().map(str::to_owned).collect()
}

impl Kernel for SimKernel {
    fn read(&self, path: &str) -> io::Result<String> {
        let mut state = self.lock();
        let of_thread = path
            .strip_prefix("/proc/")
            .and_then(|rest| rest.split_once('/'));
        if let Some((Ok(id), file)) = of_thread.map(|(id, file)| (id.parse::<u32>(), file)) {
            let thread = state.threads.get(&id).ok_or(ErrorKind::NotFound)?;
            let group = thread.group.strip_prefix(self.mount).unwrap_or_default();
            let controllers = if self.mount == FIRST { "cpuset" } else { "" };
            return Ok(match file {
                "cgroup" => format!("1:{controllers}:{group}/\n"),
                _ => format!(
                    "{id} (t) S 1 0 0 0 -1 {} 0 0 0 0 0 0 0 0 20 0 1 0 {id} 0\n",
                    thread.flags
                ),
            });
        }
        let text = state.text(path).ok_or(ErrorKind::NotFound)?.to_owned();
        let Some((group, "tasks" | "cgroup.procs")) = path.rsplit_once('/') else {
            return Ok(text);
        };
        if group == self.mount && state.forks > 0 {
            state.forks -= 1;
            let id = 2000 + state.forks;
            let thread = Thread {
                flags: USER,
                group: group.to_owned(),
                chosen: None,
                exiting: 0,
            };
            state.threads.insert(id, thread);
        }
        let inside = state
            .threads
            .iter()
            .filter(|(_, thread)| thread.group == group);
        Ok(inside.map(|(id, _)| format!("{id}\n")).collect())
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let mut state = self.lock();
        if !state.files.contains_key(path) {
            return Err(ErrorKind::NotFound.into());
        }
        if state.refused.contains(path) {
            return Err(io::Error::other("Input/output error"));
        }
        state.change()?;
        match path.rsplit_once('/') {
            Some((group, "tasks" | "cgroup.procs")) => state.move_thread(text, group),
            Some((_, "cgroup.subtree_control")) => {
                state.switch(path, text);
                Ok(())
            }
            Some((group, file)) if file.starts_with("cpuset.") => {
                state.set_cpuset(group, file, text)
            }
            _ => {
                state.files.insert(path.to_owned(), format!("{text}\n"));
                Ok(())
            }
        }
    }

    fn make_folder(&self, path: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.change()?;
        match self.mount {
            FIRST => state.make_first(path),
            _ => state.make_second(path),
        }
        Ok(())
    }

    fn remove_folder(&self, path: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.change()?;
        if state.threads.values().any(|thread| thread.group == path) {
            return Err(ErrorKind::ResourceBusy.into());
        }
        let inside = format!("{path}/");
        state.files.retain(|file, _| !file.starts_with(&inside));
        Ok(())
    }

    fn folders(&self, path: &str) -> io::Result<Vec<String>> {
        let state = self.lock();
        if path == "/proc" {
            return Ok(state.threads.keys().map(u32::to_string).collect());
        }
        let names = folders(&state.files, path);
        let inside = format!("{path}/");
        if names.is_empty() && !state.files.keys().any(|file| file.starts_with(&inside)) {
            return Err(ErrorKind::NotFound.into());
        }
        Ok(names)
    }

    fn affinity(&self, thread: u32) -> io::Result<CpuSet> {
        let state = self.lock();
        let thread = state.threads.get(&thread).ok_or(ErrorKind::NotFound)?;
        Ok(state.affinity(thread))
    }

    fn set_affinity(&self, thread: u32, cpus: &CpuSet) -> io::Result<()> {
        let mut state = self.lock();
        state.change()?;
        let thread = state.threads.get_mut(&thread).ok_or(ErrorKind::NotFound)?;
        if thread.flags == BOUND {
            return Err(ErrorKind::InvalidInput.into());
        }
        thread.chosen = Some(cpus.clone());
        Ok(())
    }

    fn this_thread(&self) -> u32 {
        CALLER
    }

    fn this_process(&self) -> u32 {
        CALLER
    }
}
