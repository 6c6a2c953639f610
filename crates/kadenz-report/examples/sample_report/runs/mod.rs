//! The invented runs.

mod check;
mod day;
mod hostile;
mod missed;
mod network;
mod night;
mod tune;

pub(crate) use check::{check, compared, nights};
pub(crate) use day::day;
pub(crate) use hostile::{hostile, sparse};
pub(crate) use missed::missed;
pub(crate) use network::round_trips;
pub(crate) use night::night;
pub(crate) use tune::{tune, tune_interrupted};

use kadenz_record::run::model::{Clock, Host, TuningMeasure};

/// A machine as a robot carries it.
fn host() -> Host {
    Host {
        os: "linux".into(),
        os_release: Some("Debian GNU/Linux 12 (bookworm)".into()),
        kernel: Some("6.12.8-rt8".into()),
        preemption: Some("PREEMPT_RT".into()),
        cpu: Some("Intel(R) Core(TM) i7-4770R CPU @ 3.20GHz".into()),
        cpus: 8,
        memory_bytes: Some(16 << 30),
        clock_source: Some("tsc".into()),
        governor: Some("performance".into()),
        cgroup: None,
        virtualisation: Some("none".into()),
    }
}

fn clock() -> Clock {
    Clock {
        name: "CLOCK_MONOTONIC".into(),
        resolution_ns: 1.0,
        read_cost_ns: 21.4,
        record_cost_ns: Some(9.8),
    }
}

fn granted(name: &str, value: &str) -> TuningMeasure {
    TuningMeasure {
        name: name.into(),
        requested: value.into(),
        granted: value.into(),
        ok: true,
        ..TuningMeasure::default()
    }
}

fn command(line: &str) -> Vec<String> {
    line.split(' ').map(String::from).collect()
}
