//! The cost of an example for the machine, and its result.

use std::fs;

/// How long this thread was on a CPU, where the system reports it: a busy machine does not change that.
pub(crate) fn cpu_time_s() -> Option<f64> {
    let schedule = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(schedule.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

/// The most memory this process held, where the system reports it.
pub(crate) fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

#[allow(clippy::print_stdout, reason = "the result of the example")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}
