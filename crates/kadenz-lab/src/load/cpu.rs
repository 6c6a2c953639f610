//! Busy CPUs: Sticha's additional workload.

use super::options::{LoadOptions, StartLoadError};
use super::rates::{Counter, Tally};
use super::workers::{Site, Workers};
use super::{LoadGenerator, LoadKind};
use crate::stop::Stop;

/// Loops between two checks of the flag and of the clock: some milliseconds.
const LOOPS: u64 = 1 << 21;

/// Threads that do nothing but count.
pub(super) fn start(options: &LoadOptions, site: &Site) -> Result<LoadGenerator, StartLoadError> {
    let threads = options.threads_or_cpus();
    let (on_cpu_ns, loops) = (Tally::new(threads), Tally::new(threads));
    let mut workers = Workers::new(LoadKind::Cpu, site);
    for thread in 0..threads {
        let (on_cpu_ns, loops) = (on_cpu_ns.clone(), loops.clone());
        let work = move |stop: &Stop| count_until(stop, thread, &loops, &on_cpu_ns);
        workers.spawn(&format!("busy-{thread}"), work)?;
    }
    let mut counters = vec![];
    if own_cpu_time_ns().is_some() {
        counters.push(Counter::scaled("busy", "CPUs", 1e9, &on_cpu_ns));
    }
    counters.push(Counter::scaled("counted", "million loops/s", 1e6, &loops));
    Ok(LoadGenerator {
        asked: format!("{threads} busy threads"),
        counters,
        workers,
    })
}

fn count_until(stop: &Stop, thread: usize, loops: &Tally, on_cpu_ns: &Tally) {
    let mut before_ns = own_cpu_time_ns().unwrap_or(0);
    while !stop.requested() {
        for n in 0..LOOPS {
            std::hint::black_box(n);
            if n % 4096 == 0 && stop.requested() {
                break;
            }
        }
        loops.add(thread, LOOPS);
        if let Some(now_ns) = own_cpu_time_ns() {
            on_cpu_ns.add(thread, now_ns.saturating_sub(before_ns));
            before_ns = now_ns;
        }
    }
}

/// How long the calling thread has been on a CPU, where the system reports it. Source: the kernel's
/// `Documentation/scheduler/sched-stats.rst`, `/proc/<pid>/schedstat`.
fn own_cpu_time_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok()
}
