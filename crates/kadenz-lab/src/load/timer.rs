//! Timer interrupts, and wake-ups from CPU to CPU.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use kadenz_rt::host::{Root, cpu_list};
use kadenz_rt::tuning::{self, CpuSet, Tuning};

use super::options::{LoadOptions, StartLoadError};
use super::rates::{Counter, Tally};
use super::workers::{Site, Workers};
use super::{LoadGenerator, LoadKind};
use crate::stop::Stop;

/// Sleeping threads on each CPU.
const SLEEPERS_A_CPU: usize = 4;
/// How long they sleep; each wake-up is a timer interrupt of its CPU.
const SLEEP: Duration = Duration::from_micros(100);
/// How soon a thread that waits for its turn notices the end.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// CPUs above are not pinned to.
const MAX_CPUS: u32 = 1024;

/// Threads that sleep briefly on each CPU, and pairs on neighbouring CPUs that wake each other.
pub(super) fn start(options: &LoadOptions, site: &Site) -> Result<LoadGenerator, StartLoadError> {
    let cpus = allowed_cpus(&Root::system());
    let sleepers = options.threads.unwrap_or(SLEEPERS_A_CPU * cpus.len());
    let pairs = if cpus.len() > 1 { cpus.len() } else { 0 };
    let (sleeps, handovers) = (Tally::new(sleepers), Tally::new(pairs.max(1)));
    let mut workers = Workers::new(LoadKind::Timer, site);
    for sleeper in 0..sleepers {
        let (cpu, sleeps) = (cpus[sleeper % cpus.len()], sleeps.clone());
        let work =
            move |stop: &Stop| on_cpu(cpu, || sleep_repeatedly(stop, || sleeps.add(sleeper, 1)));
        workers.spawn(&format!("nap-{sleeper}"), work)?;
    }
    for pair in 0..pairs {
        let places = [cpus[pair], cpus[(pair + 1) % cpus.len()]];
        spawn_pair(&mut workers, pair, places, &handovers)?;
    }
    let mut counters = vec![Counter::new("slept", "wake-ups/s", &sleeps)];
    if pairs > 0 {
        counters.push(Counter::new("woke each other", "wake-ups/s", &handovers));
    }
    let asked = format!(
        "{sleepers} threads that sleep for {} us again and again, {pairs} pairs that wake each other from CPU to CPU",
        SLEEP.as_micros(),
    );
    Ok(LoadGenerator {
        asked,
        counters,
        workers,
    })
}

fn spawn_pair(
    workers: &mut Workers,
    pair: usize,
    places: [usize; 2],
    handovers: &Tally,
) -> Result<(), StartLoadError> {
    let turn = Arc::new(Turn::default());
    for (side, cpu) in places.into_iter().enumerate() {
        let (turn, handovers) = (turn.clone(), handovers.clone());
        let mine = side == 1;
        let work = move |stop: &Stop| {
            on_cpu(cpu, || {
                while !stop.requested() {
                    if turn.hand_over(mine) {
                        handovers.add(pair, 1);
                    }
                }
            });
        };
        workers.spawn(&format!("wake-{pair}"), work)?;
    }
    Ok(())
}

/// Which of two threads has the turn.
#[derive(Default)]
struct Turn {
    holder: Mutex<bool>,
    changed: Condvar,
}

impl Turn {
    /// Waits for the turn of `mine` and hands it to the other; false when it does not come.
    fn hand_over(&self, mine: bool) -> bool {
        let holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .changed
            .wait_timeout_while(holder, STOP_POLL_INTERVAL, |holder| *holder != mine);
        let (mut holder, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *holder != mine {
            return false;
        }
        *holder = !mine;
        drop(holder);
        self.changed.notify_one();
        true
    }
}

fn sleep_repeatedly(stop: &Stop, mut woke: impl FnMut()) {
    while !stop.requested() {
        std::thread::sleep(SLEEP);
        woke();
    }
}

/// Works on one CPU; where that is refused, on any.
fn on_cpu(cpu: usize, work: impl FnOnce()) {
    let _pinned = tuning::apply(&Tuning {
        cpus: Some(CpuSet::single(cpu)),
        ..Tuning::default()
    });
    work();
}

/// The CPUs that the calling thread may run on; never none.
pub(crate) fn allowed_cpus(root: &Root) -> Vec<usize> {
    let status = root.read("/proc/thread-self/status").unwrap_or_default();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let mut cpus = cpu_list::parse_list(list.unwrap_or_default());
    cpus.retain(|cpu| *cpu < MAX_CPUS);
    if cpus.is_empty() {
        cpus.push(0);
    }
    cpus.into_iter().map(|cpu| cpu as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpus_of_this_thread_are_read_and_one_is_always_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        assert_eq!(allowed_cpus(&root), [0]);
        let path = folder.path().join("proc/thread-self");
        std::fs::create_dir_all(&path).unwrap();
        let text = "Name:\tx\nCpus_allowed:\t6\nCpus_allowed_list:\t1-2,5000\n";
        std::fs::write(path.join("status"), text).unwrap();
        assert_eq!(allowed_cpus(&root), [1, 2]);
    }

    #[test]
    fn a_turn_goes_to_and_fro() {
        let turn = Turn::default();
        assert!(turn.hand_over(false));
        assert!(!turn.hand_over(false));
        assert!(turn.hand_over(true));
    }
}
