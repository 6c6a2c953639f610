//! A control loop at 1 kHz that records how late each wake-up was.
use kadenz::{Periodic, Recording, Tuning};

fn main() -> kadenz::Result {
    let run = Recording::create("run")?;
    let ticks = Periodic::new("1kHz")?
        .deadline("400us")?
        .tuned(Tuning::fifo(80).locked())
        .record(&run, "lateness")?;
    for tick in ticks.take(2_000) {
        std::hint::black_box(tick.step()); // your control law
    }
    println!("{}", run.finish()?);
    Ok(())
}
