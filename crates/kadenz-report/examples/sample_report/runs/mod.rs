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

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::path::Path;

use kadenz_record::run::model::{Clock, EndedBy, Host, Kind, Run, Series, Warning};
use kadenz_record::samples::writer::SamplesWriter;
use kadenz_record::samples::{Sample, SamplesHeader};
use serde_json::Value;

/// A typical machine of a robot.
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

/// A run of this command that ended as it should.
fn finished(experiment: &str, started_at: &str, duration_ns: u64, command: &str) -> Run {
    Run {
        version: 1,
        kadenz: env!("CARGO_PKG_VERSION").into(),
        experiment: experiment.into(),
        started_at: started_at.into(),
        duration_ns,
        complete: true,
        ended_by: Some(EndedBy::Finished),
        command: command.split(' ').map(String::from).collect(),
        host: host(),
        clock: clock(),
        ..Run::default()
    }
}

fn parameters<const N: usize>(all: [(&str, Value); N]) -> BTreeMap<String, Value> {
    all.map(|(name, value)| (name.to_owned(), value)).into()
}

fn c_states() -> Warning {
    Warning::new(
        "c_states",
        "CPU 3 may sleep in C6; waking it takes up to 133 us, which every sample may carry.",
        Some("kadenz check --cpu-dma-latency 0"),
    )
}

/// A series of nanoseconds.
fn series(name: &str, kind: Kind) -> Series {
    Series {
        name: name.into(),
        kind,
        unit: "ns".into(),
        ..Series::default()
    }
}

/// Writes samples into the folder of a run, for a series of this name; returns the name of the file.
fn write_samples(folder: &Path, name: &str, samples: &[Sample]) -> Result<String, Box<dyn Error>> {
    let file = format!("{name}.samples.arrow");
    let header = SamplesHeader {
        series: name.into(),
        unit: "ns".into(),
        ..SamplesHeader::default()
    };
    let mut writer = SamplesWriter::new(File::create(folder.join(&file))?, &header)?;
    writer.write(samples)?;
    writer.finish()?;
    Ok(file)
}
