//! A probe of your own: how long a control law takes, as a series of a run.
fn main() -> kadenz::Result {
    let run = kadenz::Recording::create("probe")?;
    let mut control = run.durations("control")?;
    for step in 0..2_000_u64 {
        control.time(|| std::hint::black_box((0..step).sum::<u64>())); // what you measure
    }
    println!("{}", run.finish()?);
    Ok(())
}
