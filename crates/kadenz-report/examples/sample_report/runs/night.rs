//! Half an hour of round trips in which three things recur, with raw samples.

use std::error::Error;
use std::fs;
use std::path::Path;

use kadenz_record::run::model::{Kind, Run, Series, SeriesFiles};
use kadenz_record::samples::Sample;
use kadenz_report::modes::sim::{Noise, Recipe};
use kadenz_report::summary::Summary;

use super::{finished, write_samples};

const SAMPLES: u64 = 180_000;

/// The run, with its folder and samples file below `out`, searched for modes.
pub(crate) fn night(out: &Path) -> Result<Summary, Box<dyn Error>> {
    let folder = out.join("runs").join("night-2026-05-10");
    fs::create_dir_all(&folder)?;
    let recipe = recipe();
    let sample = |(sequence, (at_ns, value_ns))| Sample {
        sequence,
        intended_ns: at_ns,
        actual_ns: at_ns,
        value_ns,
    };
    let points = recipe.points().map(|point| (point.at_ns, point.value_ns));
    let samples: Vec<Sample> = (0..).zip(points).map(sample).collect();
    let file = write_samples(&folder, "rtt", &samples)?;
    fs::write(
        folder.join("run.json"),
        serde_json::to_vec_pretty(&run(file, &samples))?,
    )?;
    let mut summary = Summary::of_run(&folder)?;
    summary.search_modes()?;
    Ok(summary)
}

/// Enner's modes, more frequent than his.
fn recipe() -> Recipe {
    let mut recipe = Recipe {
        samples: SAMPLES,
        noise: Noise::Lognormal {
            median_ns: 300.0,
            sigma: 1.0,
        },
        ..Recipe::enner2016b()
    };
    for (mode, period_s) in recipe.modes.iter_mut().zip([120.0, 5.0, 240.0]) {
        mode.period_s = period_s;
        mode.first_s = mode.first_s.min(0.4 * period_s);
    }
    recipe
}

fn run(file: String, samples: &[Sample]) -> Run {
    let mut series = Series {
        expected_interval_ns: Some(10_000_000),
        files: SeriesFiles {
            samples: Some(file),
            ..SeriesFiles::default()
        },
        ..super::series("rtt", Kind::Latency)
    };
    series.counts.recorded = samples.len() as u64;
    series.counts.min_ns = samples.iter().map(|it| it.value_ns).min();
    series.counts.max_ns = samples.iter().map(|it| it.value_ns).max();
    Run {
        kadenz: String::new(),
        command: Vec::new(),
        series: vec![series],
        ..finished("udp send", "2026-05-10T22:00:00Z", SAMPLES * 10_000_000, "")
    }
}
