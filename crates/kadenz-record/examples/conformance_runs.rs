//! Writes the run folders of `conformance/runs`, which readers of every language must understand.
//!
//! `cargo run -p kadenz-record --example conformance_runs -- FOLDER`

use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kadenz_record::run::folder::{RunWriter, SeriesSpec};
use kadenz_record::run::model::{Clock, EndedBy, Host, Run, Series};
use kadenz_record::samples::Sample;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args()
        .nth(1)
        .ok_or("usage: conformance_runs FOLDER")?;
    let folder = PathBuf::from(folder);
    write(&folder.join("complete"), true)?;
    write(&folder.join("killed"), false)?;
    let mut log = OpenOptions::new()
        .append(true)
        .open(folder.join("killed/wakeup.hlog"))?;
    Ok(log.write_all(b"0.300,0.100,0.054,HISTFAAAAEV42pNpmSz")?)
}

fn write(dir: &Path, ended: bool) -> Result<(), Box<dyn Error>> {
    let run = Run {
        kadenz: env!("CARGO_PKG_VERSION").to_owned(),
        experiment: "conformance".to_owned(),
        command: vec!["conformance_runs".to_owned()],
        host: Host {
            os: "none".to_owned(),
            ..Host::default()
        },
        clock: Clock {
            name: "none".to_owned(),
            ..Clock::default()
        },
        ..Run::default()
    };
    let mut writer = RunWriter::create(dir, run)?;
    let series = Series {
        name: "wakeup".to_owned(),
        description: "made values".to_owned(),
        expected_interval_ns: Some(1_000_000),
        deadline_ns: Some(50_000),
        ..Series::default()
    };
    let mut recorder = writer.series(SeriesSpec { series, raw: true })?;
    let running = writer.start(Duration::from_millis(100))?;
    for part in 0..3 {
        (200 * part..200 * (part + 1)).for_each(|n| recorder.record(sample(n)));
        std::thread::sleep(Duration::from_millis(100));
    }
    if ended {
        running.finish(EndedBy::Finished)?;
    }
    Ok(())
}

fn sample(n: i64) -> Sample {
    let (intended_ns, value_ns) = (n * 1_000_000, (n % 60) * 1_000 - 5_000);
    let actual_ns = intended_ns + value_ns;
    Sample {
        sequence: n.cast_unsigned(),
        intended_ns,
        actual_ns,
        value_ns,
    }
}
