//! The noises of the days: those of a network, a queue and a machine without any period.

use std::error::Error;
use std::path::Path;

use kadenz_record::hlog::reader::IntervalLog;
use kadenz_report::modes::sim::{Disturbance, Noise, Recipe};

/// jHiccup's logs: recorded on machines of other users, with stalls of a second and more.
const V2: &str = "jHiccup-2.0.7S.logV2.hlog";
const V1: &str = "jHiccup-2.0.6.logV1.hlog";

/// A noise under its name.
pub(crate) struct Surroundings {
    pub(crate) name: String,
    pub(crate) noise: Noise,
    pub(crate) disturbances: Vec<Disturbance>,
}

/// The noises in which Enner's three modes have to be found.
pub(crate) fn with_modes() -> Result<Vec<Surroundings>, Box<dyn Error>> {
    let (wander, bursts) = (wander(300.0), bursts(60.0, 3.0));
    Ok(vec![
        of("even, 0.9 us", even(), &[]),
        of(
            "even, wander 300 ns, bursts 60/h",
            even(),
            &[wander, bursts],
        ),
        of("Pareto 1.5, scale 500 ns", pareto(500.0, 1.5), &[]),
        of("Pareto 2.0, scale 2 us", pareto(2_000.0, 2.0), &[]),
        of("Pareto 2.5, scale 2 us", pareto(2_000.0, 2.5), &[]),
        of("lognormal 1.5, median 300 ns", lognormal(300.0, 1.5), &[]),
        of("lognormal 0.5, median 1.5 us", lognormal(1_500.0, 0.5), &[]),
        of(
            "jHiccup V2, 99 % below 0.9 us, shuffled",
            shuffled(V2, 0.99)?,
            &[],
        ),
        recorded("jHiccup V2, 99 % below 0.9 us", V2, 0.99)?,
        recorded("jHiccup V1, 99 % below 0.9 us", V1, 0.99)?,
        recorded("jHiccup V2, 90 % below 0.9 us", V2, 0.9)?,
        of(
            "jHiccup V2, 99 % below 0.9 us, wander 300 ns, bursts 60/h",
            stretches(V2, 0.99)?,
            &[wander, bursts],
        ),
    ])
}

/// The noises in which nothing may be found.
pub(crate) fn without_modes() -> Result<Vec<Surroundings>, Box<dyn Error>> {
    Ok(vec![
        of("Pareto 1.5", pareto(2_000.0, 1.5), &[]),
        of("Pareto 2.0", pareto(2_000.0, 2.0), &[]),
        of("Pareto 2.5", pareto(2_000.0, 2.5), &[]),
        of("lognormal 0.5", lognormal(1_500.0, 0.5), &[]),
        of("lognormal 1.5", lognormal(1_500.0, 1.5), &[]),
        of("bursts of 3, 60/h", even(), &[bursts(60.0, 3.0)]),
        of("bursts of 400, 8/h", even(), &[bursts(8.0, 400.0)]),
        of(
            "bursts of 2, 3000/h, wander",
            even(),
            &[bursts(3_000.0, 2.0), wander(400.0)],
        ),
        of("1/f wander of 400 ns an octave", even(), &[wander(400.0)]),
        of("AR(1) of 900 ns, 0.99", even(), &[ar1(900.0, 0.99)]),
        of("AR(1) of 900 ns, 0.999", even(), &[ar1(900.0, 0.999)]),
        of(
            "Pareto 1.5, bursts of 10, 600/h, wander",
            pareto(2_000.0, 1.5),
            &[bursts(600.0, 10.0), wander(400.0)],
        ),
        recorded("jHiccup V2, as recorded", V2, 0.0)?,
        recorded("jHiccup V2, 99 % below 0.9 us", V2, 0.99)?,
        recorded("jHiccup V1, 99 % below 0.9 us", V1, 0.99)?,
    ])
}

/// Noises that grow by octaves until they hide the modes: the first of each family and the function that makes the next
/// from a number of octaves.
pub(crate) fn growing() -> Result<Vec<Vec<Surroundings>>, Box<dyn Error>> {
    const OCTAVES: i32 = 8;
    let times = |octave: i32| 2_f64.powi(octave);
    let family = |name: &str, make: &dyn Fn(f64) -> Noise| -> Vec<Surroundings> {
        let one = |octave| {
            of(
                &format!("{name} x{}", times(octave)),
                make(times(octave)),
                &[],
            )
        };
        (0..OCTAVES).map(one).collect()
    };
    let recorded = intervals(V2, 0.99)?;
    let scaled = |times: f64| Noise::Stretches {
        recorded: recorded
            .iter()
            .map(|it| it.iter().map(|ns| (*ns as f64 * times) as i64).collect())
            .collect(),
        samples: 100,
    };
    Ok(vec![
        family("even, 0.9 us", &|times| Noise::Even {
            width_ns: 900.0 * times,
        }),
        family("lognormal 1.0, median 500 ns", &|times| {
            lognormal(500.0 * times, 1.0)
        }),
        family("Pareto 2.5, scale 1 us", &|times| {
            pareto(1_000.0 * times, 2.5)
        }),
        family("Pareto 1.5, scale 500 ns", &|times| {
            pareto(500.0 * times, 1.5)
        }),
        family("jHiccup V2, 99 % below 0.9 us", &scaled),
    ])
}

impl Surroundings {
    /// Enner's day in this noise, with the given seed.
    pub(crate) fn day(&self, seed: u64) -> Recipe {
        Recipe {
            noise: self.noise.clone(),
            disturbances: self.disturbances.clone(),
            seed,
            ..Recipe::enner2016b()
        }
    }
}

fn of(name: &str, noise: Noise, disturbances: &[Disturbance]) -> Surroundings {
    Surroundings {
        name: name.to_owned(),
        noise,
        disturbances: disturbances.to_vec(),
    }
}

/// The intervals of a log without disturbances, scaled so that this share of the values lies below 0.9 us; of 0, as
/// they were recorded.
fn recorded(name: &str, log: &str, share: f64) -> Result<Surroundings, Box<dyn Error>> {
    Ok(of(name, stretches(log, share)?, &[]))
}

fn even() -> Noise {
    Noise::Even { width_ns: 900.0 }
}

fn pareto(scale_ns: f64, shape: f64) -> Noise {
    Noise::Pareto { scale_ns, shape }
}

fn lognormal(median_ns: f64, sigma: f64) -> Noise {
    Noise::Lognormal { median_ns, sigma }
}

fn wander(height_ns: f64) -> Disturbance {
    Disturbance::Wander { height_ns }
}

fn ar1(deviation_ns: f64, correlation: f64) -> Disturbance {
    Disturbance::Autoregressive {
        deviation_ns,
        correlation,
    }
}

fn bursts(per_hour: f64, samples: f64) -> Disturbance {
    Disturbance::Bursts {
        per_hour,
        samples,
        height_ns: 30_000.0,
    }
}

/// Each value of a log by itself.
fn shuffled(log: &str, share: f64) -> Result<Noise, Box<dyn Error>> {
    Ok(Noise::Recorded(intervals(log, share)?.concat()))
}

/// The intervals of a log, a second of Enner's 100 Hz from each in the mean.
fn stretches(log: &str, share: f64) -> Result<Noise, Box<dyn Error>> {
    Ok(Noise::Stretches {
        recorded: intervals(log, share)?,
        samples: 100,
    })
}

/// The values of each interval of a log, scaled so that `share` of all lie below 0.9 us, Enner's
/// quiet network: the tail stays as heavy as it was. Of 0, they are as they were recorded.
fn intervals(log: &str, share: f64) -> Result<Vec<Vec<i64>>, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/hlog");
    let mut all = Vec::new();
    for interval in IntervalLog::open(folder.join(log))? {
        let histogram = interval?.histogram.decode()?;
        let values = histogram
            .buckets()
            .flat_map(|it| std::iter::repeat_n(it.high, it.count as usize));
        all.push(values.map(|it| it as i64).collect::<Vec<i64>>());
    }
    if share == 0.0 {
        return Ok(all);
    }
    let mut sorted = all.concat();
    sorted.sort_unstable();
    let limit = sorted[(sorted.len() as f64 * share) as usize] as f64;
    for value in all.iter_mut().flatten() {
        *value = (*value as f64 * 900.0 / limit) as i64;
    }
    Ok(all)
}
