//! I, and S from outside: CPUs whose idle states are held off, or that never idle, while a program runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};

use super::linux::c_path;
use crate::os::linux::sched::{SchedAttr, set_affinity, set_scheduling};
use crate::os::linux::signals::{Mask, set_mask};
use crate::os::linux::{launch, sched};
use crate::tuning::linux::{dma_latency, kernel_says};
use crate::tuning::{CpuSet, Measure, Note};

/// Keeps CPUs from idling until it is dropped. A wake-up then finds a running processor: the CPU has no idle state
/// to leave and, in a virtual machine, the hypervisor need not schedule a halted processor again.
///
/// From outside a program this is the nearest equivalent of a spinning sleep, but not the same: the program still
/// sleeps, an interrupt wakes it, and it takes the CPU from the spinning thread.
#[derive(Debug)]
pub struct Awake {
    stop: Arc<AtomicBool>,
    spinners: Vec<JoinHandle<()>>,
    _latency: Option<dma_latency::LatencyRequest>,
}

/// Spins between two looks at the flag: some microseconds.
const SPINS: u32 = 1000;

impl Awake {
    /// Holds `/dev/cpu_dma_latency` at so many microseconds for the whole machine: no CPU enters an idle state that
    /// takes longer to leave. The kernel lifts the limit when this is dropped, and also when the process ends in
    /// any other way.
    ///
    /// Returns the granted measure.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    #[must_use]
    pub fn limit(latency_us: u32) -> (Self, Measure) {
        let (latency, held) = dma_latency::apply(latency_us);
        let awake = Self {
            stop: Arc::default(),
            spinners: Vec::new(),
            _latency: held,
        };
        (awake, latency)
    }

    /// Applies [`limit`](Self::limit) with 0 and, for each of `cpus`, starts a `SCHED_IDLE` thread that spins on
    /// it: any other thread that wants the CPU preempts it at once.
    ///
    /// With `enter`, a cgroup's `cgroup.procs` or `tasks`, the threads enter that group first. That
    /// takes a list of `tasks`, which the second version of cgroups does not have.
    ///
    /// Returns the granted measures.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    #[must_use]
    pub fn hold(cpus: Option<&CpuSet>, enter: Option<&Path>) -> (Self, Vec<Measure>) {
        let (mut awake, latency) = Self::limit(0);
        let mut measures = vec![latency];
        if let Some(cpus) = cpus {
            measures.push(awake.spin_on(cpus, enter));
        }
        (awake, measures)
    }

    fn spin_on(&mut self, cpus: &CpuSet, enter: Option<&Path>) -> Measure {
        let tasks = enter.map(tasks_of);
        let mut spinning = CpuSet::default();
        let mut trouble = None;
        for cpu in cpus.iter() {
            match self.start(cpu, tasks.clone()) {
                Ok(()) => spinning.insert(cpu),
                Err(error) => trouble = Some(format!("CPU {cpu}: {error}")),
            }
        }
        let granted = match spinning.is_empty() {
            true => "none".to_owned(),
            false => format!("a SCHED_IDLE thread on CPUs {spinning}"),
        };
        let remedy =
            "choose CPUs that this process may use: grep Cpus_allowed_list /proc/self/status";
        let note = trouble.map(|reason| Note::new(reason, remedy));
        let requested = format!("a SCHED_IDLE thread on CPUs {cpus}");
        Measure::noted("idle_spinner", requested, granted, note.is_none(), note)
    }

    /// Starts one thread and waits until it spins, or returns why it does not.
    fn start(&mut self, cpu: usize, tasks: Option<PathBuf>) -> io::Result<()> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let stop = Arc::clone(&self.stop);
        let thread = Builder::new()
            .name(format!("kadenz-idle-{cpu}"))
            .spawn(move || {
                let placed = place(cpu, tasks.as_deref());
                let good = placed.is_ok();
                // The receiver is `start`, which waits for this message.
                let _ = sender.send(placed);
                if good {
                    spin(&stop);
                }
            })?;
        self.spinners.push(thread);
        receiver
            .recv()
            .unwrap_or(Err(libc::ESRCH))
            .map_err(|errno| {
                io::Error::new(
                    io::Error::from_raw_os_error(errno).kind(),
                    kernel_says(errno),
                )
            })
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for spinner in self.spinners.drain(..) {
            // The thread cannot panic, and there would be no remedy if it did.
            let _ = spinner.join();
        }
    }
}

/// Moves the calling thread to its CPU and group, at the lowest priority.
fn place(cpu: usize, tasks: Option<&Path>) -> Result<(), i32> {
    // Signals are for the thread that waits for the program.
    set_mask(&Mask::all_but(libc::SIGTRAP))?;
    set_scheduling(&SchedAttr {
        policy: libc::SCHED_IDLE as u32,
        ..SchedAttr::default()
    })?;
    if let Some(tasks) = tasks {
        launch::enter(&c_path(tasks).map_err(|_| libc::EINVAL)?)?;
    }
    let wanted = CpuSet::single(cpu);
    set_affinity(wanted.as_mask())?;
    match sched::affinity()? == *wanted.as_mask() {
        true => Ok(()),
        false => Err(libc::EINVAL),
    }
}

fn spin(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        (0..SPINS).for_each(|_| std::hint::spin_loop());
    }
}

/// A single thread enters a group by the group's list of tasks, which lies beside its list of processes.
fn tasks_of(list: &Path) -> PathBuf {
    list.with_file_name("tasks")
}
