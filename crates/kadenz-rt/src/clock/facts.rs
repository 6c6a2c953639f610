//! What a clock costs and how fine it is, measured rather than believed.

use super::Clock;

/// What was measured of a clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockFacts {
    /// Smallest step seen between two readings.
    pub resolution_ns: f64,
    /// Cost of one reading: the median over several batches.
    pub read_cost_ns: f64,
}

const BATCHES: usize = 21;
const READS_A_BATCH: u32 = 500;

/// Measures a clock with about ten thousand readings: well under a millisecond on most machines.
///
/// The resolution is the smallest non-zero difference between readings that follow each other.
/// It cannot be finer than one reading takes, so on fast clocks it approaches the read cost.
#[must_use]
pub fn measure(clock: &dyn Clock) -> ClockFacts {
    let mut costs_ns = [0.0; BATCHES];
    let mut step_ns = u64::MAX;
    for cost in &mut costs_ns {
        let start = clock.now();
        let mut previous = start;
        for _ in 0..READS_A_BATCH {
            let now = clock.now();
            let step = now.as_ns() - previous.as_ns().min(now.as_ns());
            if step > 0 {
                step_ns = step_ns.min(step);
            }
            previous = now;
        }
        *cost = previous.since(start) as f64 / f64::from(READS_A_BATCH);
    }
    costs_ns.sort_by(f64::total_cmp);
    if step_ns == u64::MAX {
        step_ns = next_step_ns(clock);
    }
    ClockFacts {
        resolution_ns: step_ns as f64,
        read_cost_ns: costs_ns[BATCHES / 2],
    }
}

/// Waits for a coarse clock to move, and says by how much it did.
fn next_step_ns(clock: &dyn Clock) -> u64 {
    let start = clock.now();
    loop {
        let now = clock.now();
        if now > start {
            return now.as_ns() - start.as_ns();
        }
        std::hint::spin_loop();
    }
}
