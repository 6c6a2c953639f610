// Shared code of the MainDevices of `cargo xtask bench ethercat` written in Rust, as exchange.h for C.

use rustix::thread::{clock_nanosleep_absolute, ClockId};
use rustix::time::{clock_gettime, ClockId as Clock, Timespec};

const WARM_UP: i64 = 50;

fn time_of(clock: Clock) -> i64 {
    let now = clock_gettime(clock);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Calls `exchange` on each beat; it returns whether every device took part. Prints a line at the end.
pub fn exchange_all(devices: usize, count: i64, interval_ns: i64, mut exchange: impl FnMut() -> bool) {
    let mut values = vec![0; count as usize];
    let (mut lost, mut late, mut cpu_ns) = (0, 0, 0);
    let mut beat = time_of(Clock::Monotonic) + 10_000_000;
    for at in -WARM_UP..count {
        let until = Timespec { tv_sec: beat / 1_000_000_000, tv_nsec: beat % 1_000_000_000 };
        while clock_nanosleep_absolute(ClockId::Monotonic, &until).is_err() {}
        if at == 0 {
            cpu_ns = time_of(Clock::ProcessCPUTime);
        }
        let before = time_of(Clock::Monotonic);
        let whole = exchange();
        let after = time_of(Clock::Monotonic);
        if let Some(value) = usize::try_from(at).ok().and_then(|at| values.get_mut(at)) {
            *value = after - before;
            lost += i64::from(!whole);
            late += i64::from(after > beat + interval_ns);
        }
        beat += interval_ns;
    }
    let cpu_ns = (time_of(Clock::ProcessCPUTime) - cpu_ns) / count;
    values.sort_unstable();
    let at = |share: f64| values[(share * count as f64).ceil() as usize - 1];
    println!(
        "{{\"devices\":{devices},\"count\":{count},\"lost\":{lost},\"late\":{late},\"p50_ns\":{},\"p99_ns\":{},\
         \"max_ns\":{},\"cpu_ns\":{cpu_ns}}}",
        at(0.5),
        at(0.99),
        at(1.0)
    );
}
