//! A probe of your own: how long a control law takes, as a series of a run.
use kadenz::record::run::{folder::SeriesSpec, model::Series};
use kadenz::record::samples::Sample;
use kadenz::{Recording, rt::clock::now};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let run = Recording::create("probe")?;
    let name = "control".to_owned();
    let series = Series {
        name,
        ..Series::default()
    };
    let mut probe = run.series(SeriesSpec { series, raw: false })?;
    for sequence in 0..2_000 {
        let start = now();
        std::hint::black_box((0..1_000).sum::<u64>()); // what you measure
        let end = now();
        probe.record(Sample {
            sequence,
            intended_ns: start.since(run.start()),
            actual_ns: end.since(run.start()),
            value_ns: end.since(start),
        });
    }
    println!("{}", run.finish()?);
    Ok(())
}
