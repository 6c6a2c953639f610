//! What a search costs.

use std::fs;

use kadenz_report::modes::sim::Recipe;
use kadenz_report::modes::{Finder, Mode, Point};

/// Points that are made before the clock of the search goes on.
const CHUNK: usize = 1 << 16;

/// What was found, and what that cost.
pub(crate) struct Watched {
    pub(crate) modes: Vec<Mode>,
    /// What the search took of a CPU, without making the record; NaN where the system does not tell.
    pub(crate) cpu_s: f64,
    /// The most memory the process held, where the system tells.
    pub(crate) peak_bytes: Option<u64>,
}

/// Searches a record as it is made.
pub(crate) fn watched(recipe: &Recipe) -> Watched {
    // Sets the peak back, where the system can.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let mut finder = Finder::new(Some(recipe.interval_ns.cast_unsigned()));
    let mut points = recipe.points();
    let mut chunk: Vec<Point> = Vec::with_capacity(CHUNK);
    let mut spent_s = 0.0;
    loop {
        chunk.clear();
        chunk.extend(points.by_ref().take(CHUNK));
        if chunk.is_empty() {
            break;
        }
        let begun_s = cpu_time_s();
        chunk.iter().for_each(|&point| finder.take(point));
        spent_s += cpu_time_s() - begun_s;
    }
    let begun_s = cpu_time_s();
    let found = finder.finish();
    Watched {
        modes: found.modes,
        cpu_s: spent_s + cpu_time_s() - begun_s,
        peak_bytes: peak_bytes(),
    }
}

/// How long this thread was on a CPU.
fn cpu_time_s() -> f64 {
    let schedule = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = schedule
        .split(' ')
        .next()
        .and_then(|it| it.parse::<f64>().ok());
    ns.map_or(f64::NAN, |it| it / 1e9)
}

fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}
