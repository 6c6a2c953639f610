//! The thesis's additional CPU workload: every CPU busy at ordinary priority.

use std::thread::JoinHandle;

use crate::stop::Stop;

/// Keeps every CPU busy until it is dropped.
///
/// Threads run at the ordinary priority of the caller's process, one a CPU, and do nothing but
/// count. Dropping it ends and joins them.
#[derive(Debug)]
pub struct BusyLoad {
    stop: Stop,
    threads: Vec<JoinHandle<u64>>,
}

impl BusyLoad {
    /// Starts one busy thread for each available CPU.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start() -> std::io::Result<Self> {
        let cpus = std::thread::available_parallelism()?.get();
        let mut load = Self {
            stop: Stop::default(),
            threads: Vec::with_capacity(cpus),
        };
        for cpu in 0..cpus {
            let stop = load.stop.clone();
            load.threads.push(
                std::thread::Builder::new()
                    .name(format!("busy-{cpu}"))
                    .spawn(move || count_until(&stop))?,
            );
        }
        Ok(load)
    }

    /// How many threads are busy.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }
}

fn count_until(stop: &Stop) -> u64 {
    let mut count = 0u64;
    while !stop.requested() {
        count = std::hint::black_box(count.wrapping_add(1));
    }
    count
}

impl Drop for BusyLoad {
    fn drop(&mut self) {
        self.stop.request();
        for thread in self.threads.drain(..) {
            // A busy thread has nothing to tell; it cannot panic.
            let _ = thread.join();
        }
    }
}
