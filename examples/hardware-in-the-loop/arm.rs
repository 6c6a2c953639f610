//! A simulated arm that tells its position and is told a torque, for a controller in any language, and measures the loop
//! through it: `cargo run --release -p kadenz --example hardware_in_the_loop -- RUN [URL [RATE [SECONDS]]]`.
use kadenz::rt::clock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

#[derive(kadenz::Message, Default)]
struct Feedback {
    number: i64,
    sent_ns: i64,
    position: f64,
    velocity: f64,
}

#[derive(kadenz::Message, Default)]
struct Command {
    number: i64,
    sent_ns: i64,
    torque: f64,
}

/// A link of 1 kg and 0.5 m, which hangs at 0.
fn accelerate(position: f64, velocity: f64, torque: f64) -> f64 {
    (torque - 0.2 * velocity - 9.81 * 0.5 * position.sin()) / 0.25
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |default: &str| arguments.next().unwrap_or(default.to_owned());
    let (folder, url) = (next("arm"), next("udpm://239.255.76.67:7667?ttl=0"));
    let (rate, seconds) = (next("1kHz"), next("10").parse::<f64>()?);
    let bus = kadenz::Bus::open(&url)?;
    let mut commands = bus.subscribe::<Command>("COMMAND")?;
    let run = kadenz::Recording::create(folder)?;
    let mut round_trip = run.durations("round-trip")?;
    let (torque, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (mut position, mut velocity, mut answered) = (0.0, 0.0, 0);
    let sent = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                let Ok(Some(it)) = commands.recv(Duration::from_millis(50)) else {
                    continue;
                };
                let sent = clock::MonotonicTime::from_ns(it.message.sent_ns.cast_unsigned());
                round_trip.record(sent, clock::now());
                torque.store(it.message.torque.to_bits(), Relaxed);
                answered += 1;
            }
        });
        // Nothing moves before a controller answers.
        let ticks = kadenz::Periodic::new(&rate)?.record(&run, "lateness")?;
        let (mut number, mut end) = (0, None);
        for tick in ticks {
            if torque.load(Relaxed) != 0 && end.is_none() {
                end = Some(clock::now().offset_by_ns((seconds * 1e9) as i64));
            }
            let acceleration = accelerate(position, velocity, f64::from_bits(torque.load(Relaxed)));
            velocity += acceleration * tick.step().as_secs_f64();
            position += velocity * tick.step().as_secs_f64();
            number += 1;
            let sent_ns = clock::now().as_ns().cast_signed();
            bus.publish(
                "FEEDBACK",
                &Feedback {
                    number,
                    sent_ns,
                    position,
                    velocity,
                },
            )?;
            if end.is_some_and(|end| clock::now() >= end) || tick.index() > 1_000_000 {
                break;
            }
        }
        is_over.store(true, Relaxed);
        Ok::<_, Box<dyn std::error::Error>>(number)
    })?;
    println!("{}", run.finish()?);
    println!("{sent} feedbacks, {answered} answered; the arm is at {position:.3} rad");
    Ok(())
}
